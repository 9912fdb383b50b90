// SPDX-License-Identifier: MIT
#include "limen/count/batch_overview.h"

#include <algorithm>
#include <string>

#include "count/batch_rows.h"
#include "count/quantiles.h"
#include "count/strided_sample.h"
#include "limen/base/error.h"

namespace limen {
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
