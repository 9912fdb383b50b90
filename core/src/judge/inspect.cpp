// SPDX-License-Identifier: MIT
#include "limen/judge/inspect.h"

#include <algorithm>
#include <cmath>

#include "limen/count/binning.h"
#include "limen/fit.h"

namespace limen {
namespace {

constexpr int kReliabilityBins = 10;

ColumnSummary summary_of(const Grid& by_value) {
  ColumnSummary summary;
  const std::vector<Bin>& bins = by_value.levels[0];
  summary.range = {bins.back().threshold, bins.front().threshold};
  summary.distinct = static_cast<std::int64_t>(bins.size());
  const auto common = std::max_element(bins.begin(), bins.end(),
                                       [](const Bin& a, const Bin& b) { return a.counts.rows < b.counts.rows; });
  summary.most_common = common->threshold;
  summary.most_common_share = static_cast<double>(common->counts.rows) /
                              static_cast<double>(std::max<std::int64_t>(1, total_counts(by_value).rows));
  return summary;
}

/// Both areas walk the distinct scores from the highest down; equal scores are one step.
void add_areas(const std::vector<Bin>& bins, const Counts& total, Inspection& inspection) {
  const auto positives = static_cast<double>(total.positives);
  const auto negatives = static_cast<double>(total.rows - total.positives);
  Counts above;
  for (const Bin& bin : bins) {
    const auto step = static_cast<double>(bin.counts.positives);
    const double step_negatives = static_cast<double>(bin.counts.rows) - step;
    inspection.roc_auc += step_negatives * (static_cast<double>(above.positives) + step / 2) / (positives * negatives);
    above += bin.counts;
    inspection.average_precision += step / positives * static_cast<double>(above.positives) /
                                    static_cast<double>(std::max<std::int64_t>(1, above.rows));
  }
}

std::vector<ReliabilityBin> reliability_of(const Grid& by_score) {
  std::vector<ReliabilityBin> table;
  const Grid merged = merge_bins(by_score, kReliabilityBins);
  auto next = by_score.levels[0].begin();
  const double effective = rows_per_unit(by_score);
  for (const Bin& bin : merged.levels[0]) {
    ReliabilityBin line{.low = bin.threshold, .high = bin.highest};
    double score_sum = 0;
    for (; next != by_score.levels[0].end() && next->threshold >= bin.threshold; ++next) {
      score_sum += next->threshold * static_cast<double>(next->counts.rows);
    }
    const auto rows = static_cast<double>(bin.counts.rows);
    const auto positives = static_cast<double>(bin.counts.positives);
    line.mean_score = rows > 0 ? score_sum / rows : 0;
    line.rows = rows * by_score.unit;
    line.positives = positives * by_score.unit;
    line.rate = proportion_interval(positives * effective, rows * effective);
    table.push_back(line);
  }
  std::reverse(table.begin(), table.end());
  return table;
}

}  // namespace

Inspection inspect(const Samples& samples, const Objective& objective, int num_threads) {
  Inspection inspection;
  inspection.choice = *fit_boundary(samples, objective, {.method = Method::kAuto, .num_threads = num_threads}).choice;
  const WeightUnits units = weight_units(samples);
  const Grid by_score = count_distinct(samples, {}, units);
  const Counts total = total_counts(by_score);
  inspection.rows = static_cast<std::int64_t>(samples.size());
  inspection.weighted = !samples.weight.empty();
  inspection.weight = static_cast<double>(total.rows) * by_score.unit;
  inspection.positives = static_cast<double>(total.positives) * by_score.unit;
  inspection.score = summary_of(by_score);
  Samples by_uncertainty = samples;
  by_uncertainty.score = samples.uncertainty;
  inspection.uncertainty = summary_of(count_distinct(by_uncertainty, {}, units));
  add_areas(by_score.levels[0], total, inspection);
  inspection.reliability = reliability_of(by_score);
  return inspection;
}

}  // namespace limen
