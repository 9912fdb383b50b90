// SPDX-License-Identifier: MIT
#include "limen/count/batch_overview.h"

#include <optional>
#include <string>

#include "count/batch_quantiles.h"
#include "count/batch_rows.h"
#include "count/quantiles.h"
#include "count/strided_sample.h"
#include "limen/base/error.h"

namespace limen {
namespace {

/// Finds the edges between levels of values that come in batches. The first values say how to count all of them, so
/// that as a rule no second pass is needed.
class BatchQuantiles {
 public:
  BatchQuantiles(int levels, std::size_t most_rows) : levels_(levels), most_rows_(most_rows) {}

  void add(const RealSpan& values) {
    if (counter_) {
      counter_->add(detail::RowsOfBatch{values});
      return;
    }
    values.visit([&](auto narrow) { first_.insert(first_.end(), narrow.begin(), narrow.end()); });
    if (first_.size() >= detail::kFewRows) start_counting();
  }

  /// range: of all values that were added. rows: the same values, for further passes.
  std::vector<double> edges(Range<double> range, std::size_t num_rows, const detail::RowsInBatches& rows) {
    std::vector<detail::Cut<std::uint64_t>> cuts;
    if (counter_) {
      counter_->map().reach(detail::ordered_key(range.low), detail::ordered_key(range.high));
      cuts = detail::quantile_cuts(rows, *counter_, num_rows, levels_, most_rows_);
    } else {
      std::vector<std::uint64_t> keys = detail::sample_keys(std::span<const double>(first_), first_.size() + 1);
      detail::sort_keys(std::span(keys));
      cuts = detail::sorted_cuts(std::span<const std::uint64_t>(keys), levels_);
    }
    std::vector<double> edges;
    for (const auto& cut : cuts) edges.push_back(detail::edge_of(cut));
    return edges;
  }

 private:
  void start_counting() {
    const std::vector<std::uint64_t> sample = detail::sample_keys(std::span<const double>(first_), detail::kFewRows);
    const auto [least, most] = std::minmax_element(sample.begin(), sample.end());
    const detail::KeyMap<std::uint64_t> map(*least, *most, sample, detail::quantile_buckets(levels_));
    counter_.emplace(map, detail::guess_buckets(map, std::span<const std::uint64_t>(sample), levels_),
                     kKeysPerRow * most_rows_);
    counter_->add(detail::RowsInMemory<double>{first_});
    first_ = {};
  }

  static constexpr std::size_t kKeysPerRow = 2;  // a key takes no more than half of the memory of a row

  int levels_;
  std::size_t most_rows_;
  std::vector<double> first_;
  std::optional<detail::KeyCounter<std::uint64_t>> counter_;
};

}  // namespace

BatchOverview summarize_batches(const SampleBatches& batches, int levels, std::size_t most_rows) {
  if (levels < 1 || levels > 1000) {
    throw InvalidInput("summarize_batches", "levels is " + std::to_string(levels) + ", must be 1 to 1000");
  }
  BatchOverview overview;
  SampleRanges ranges;
  detail::StridedSample<double> score_sample;
  BatchQuantiles quantiles(levels, most_rows);
  batches([&](const Samples& samples) {
    const SampleRanges more = detail::check_and_add(samples, overview.fingerprint);
    ranges.score.add(more.score);
    ranges.uncertainty.add(more.uncertainty);
    score_sample.add(samples.size(), [&](std::size_t row) { return samples.score[row]; });
    if (levels > 1) quantiles.add(samples.uncertainty);
  });
  if (overview.rows() == 0) return overview;
  overview.lowest_score = ranges.score.low;
  overview.highest_score = ranges.score.high;
  overview.score_sample = score_sample.values();
  if (levels > 1) {
    overview.edges = quantiles.edges(ranges.uncertainty, overview.rows(),
                                     {batches, overview.fingerprint, detail::RowsInBatches::Values::kUncertainties});
  }
  return overview;
}

std::vector<double> detail::batch_edges(const SampleBatches& batches, const BatchFingerprint& fingerprint, double score,
                                        int levels, std::size_t most_rows) {
  BatchQuantiles quantiles(levels, most_rows);
  BatchFingerprint now;
  Range<double> range;
  std::size_t num_rows = 0;
  std::vector<double> top;
  batches([&](const Samples& samples) {
    check_and_add(samples, now);
    uncertainties_from(samples, score, top);
    if (top.empty()) return;
    range.add(finite_range(RealSpan(std::span<const double>(top)), "top_edges", "uncertainty"));
    num_rows += top.size();
    quantiles.add(RealSpan(std::span<const double>(top)));
  });
  require_same_rows(fingerprint, now);
  if (num_rows == 0) return {};
  return quantiles.edges(range, num_rows,
                         {.batches = batches,
                          .fingerprint = fingerprint,
                          .values = RowsInBatches::Values::kUncertainties,
                          .score_from = score});
}

}  // namespace limen
