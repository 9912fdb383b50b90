// SPDX-License-Identifier: MIT
#include "limen/count/batches.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <bit>

#include "count/batch_rows.h"
#include "count/quantiles.h"
#include "count/strided_sample.h"
#include "limen/base/error.h"

namespace limen {
namespace detail {
namespace {

/// The finaliser of splitmix64: a bijection in which every bit of the input reaches every bit of the output.
std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

}  // namespace

void check_and_add(const Samples& samples, BatchFingerprint& fingerprint) {
  validate(samples);
  if (!samples.weight.empty()) throw InvalidInput("fit_boundary", "rows in batches cannot have weights");
  struct Sums {
    std::uint64_t positives = 0;
    std::uint64_t hash = 0;
  };
  const Sums sums = samples.score.visit([&](auto score) {
    return samples.uncertainty.visit([&](auto uncertainty) {
      return tbb::parallel_reduce(
          tbb::blocked_range<std::size_t>(0, samples.size(), kBlockRows), Sums{},
          [&](const tbb::blocked_range<std::size_t>& range, Sums part) {
            for (std::size_t row = range.begin(); row < range.end(); ++row) {
              const std::uint64_t score_bits = ordered_key(static_cast<double>(score[row]));
              const std::uint64_t uncertainty_bits = ordered_key(static_cast<double>(uncertainty[row]));
              part.hash += mix(mix(score_bits) ^ std::rotl(uncertainty_bits, 32) ^ samples.label[row]);
              part.positives += samples.label[row];
            }
            return part;
          },
          [](Sums a, Sums b) {
            return Sums{a.positives + b.positives, a.hash + b.hash};
          });
    });
  });
  fingerprint.rows += samples.size();
  fingerprint.positives += sums.positives;
  fingerprint.hash += sums.hash;
}

void require_same_rows(const BatchFingerprint& first, const BatchFingerprint& now) {
  if (first == now) return;
  throw InvalidInput("fit_boundary", "the rows changed from one pass over the batches to the next",
                     Cause::kFileChanged);
}

}  // namespace detail

BatchOverview summarize_batches(const SampleBatches& batches, int levels, std::size_t most_rows) {
  if (levels < 1 || levels > 1000) {
    throw InvalidInput("summarize_batches", "levels is " + std::to_string(levels) + ", must be 1 to 1000");
  }
  BatchOverview overview;
  detail::Range<double> scores;
  detail::Range<double> uncertainties;
  detail::StridedSample<double> score_sample;
  detail::StridedSample<std::uint64_t> uncertainty_sample;
  const auto widen = [](detail::Range<double>& range, RealSpan column) {
    column.visit([&](auto values) {
      const auto more = detail::range_of(values);
      range.low = std::min(range.low, static_cast<double>(more.low));
      range.high = std::max(range.high, static_cast<double>(more.high));
    });
  };
  batches([&](const Samples& samples) {
    detail::check_and_add(samples, overview.fingerprint);
    widen(scores, samples.score);
    widen(uncertainties, samples.uncertainty);
    score_sample.add(samples.size(), [&](std::size_t row) { return samples.score[row]; });
    uncertainty_sample.add(samples.size(),
                           [&](std::size_t row) { return detail::ordered_key(samples.uncertainty[row]); });
  });
  if (overview.rows() == 0) return overview;
  overview.lowest_score = scores.low;
  overview.highest_score = scores.high;
  overview.score_sample = score_sample.values();
  if (levels > 1) {
    const detail::RowsInBatches rows{batches, overview.fingerprint, detail::RowsInBatches::Values::kUncertainties};
    for (const auto& cut :
         detail::quantile_cuts(rows, overview.rows(), levels, uncertainties,
                               std::span<const std::uint64_t>(uncertainty_sample.values()), most_rows)) {
      overview.edges.push_back(detail::edge_of(cut));
    }
  }
  return overview;
}

}  // namespace limen
