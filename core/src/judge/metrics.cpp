// SPDX-License-Identifier: MIT
#include "limen/judge/metrics.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "limen/base/error.h"
#include "limen/count/binning.h"
#include "limen/solve/segments.h"

namespace limen {
namespace {

struct LevelSums {
  std::int64_t rows = 0;
  std::int64_t positives = 0;
  std::int64_t flagged = 0;
  std::int64_t true_positives = 0;
  LevelSums& operator+=(const LevelSums& other) {
    rows += other.rows;
    positives += other.positives;
    flagged += other.flagged;
    true_positives += other.true_positives;
    return *this;
  }
};

Confusion scaled(const LevelSums& sums, double unit, double effective_fraction) {
  const auto value = [unit](std::int64_t units) { return static_cast<double>(units) * unit; };
  return {value(sums.rows), value(sums.positives), value(sums.flagged), value(sums.true_positives), effective_fraction};
}

}  // namespace

Interval Confusion::precision_interval(double confidence) const {
  return proportion_interval(true_positives * effective_fraction, flagged * effective_fraction, confidence);
}

Interval Confusion::recall_interval(double confidence) const {
  return proportion_interval(true_positives * effective_fraction, positives * effective_fraction, confidence);
}

Confusion confusion_of_counts(const Counts& all, const Counts& flagged) {
  return {static_cast<double>(all.rows), static_cast<double>(all.positives), static_cast<double>(flagged.rows),
          static_cast<double>(flagged.positives)};
}

Evaluation evaluate(const Rule& rule, const Samples& samples) {
  validate(samples);
  const std::size_t rows = samples.size();
  const std::size_t num_levels = rule.score_thresholds.size();
  std::vector<std::uint8_t> decision(rows);
  std::vector<std::int32_t> level(rows);
  decide(rule, samples.score, samples.uncertainty, decision, level);

  // Weights are rounded to the nearest unit and added as integers: the sums do not depend on the order of rows.
  const double unit = weight_units(samples, {}).unit;
  // Squares of weights are added relative to the largest.
  const double largest =
      samples.weight.empty() ? 1 : std::max(*std::max_element(samples.weight.begin(), samples.weight.end()), 1e-300);
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  const std::size_t num_blocks = (rows + kBlock - 1) / kBlock;
  std::vector<std::vector<LevelSums>> block_sums(num_blocks, std::vector<LevelSums>(num_levels));
  std::vector<double> block_weight(num_blocks, 0);
  std::vector<double> block_square(num_blocks, 0);
  tbb::parallel_for(std::size_t{0}, num_blocks, [&](std::size_t block) {
    for (std::size_t row = block * kBlock; row < std::min(rows, (block + 1) * kBlock); ++row) {
      const double weight = samples.weight.empty() ? 1 : samples.weight[row];
      const std::int64_t units = samples.weight.empty() ? 1 : std::llround(weight / unit);
      const std::int64_t positive = samples.label[row] * units;
      block_sums[block][static_cast<std::size_t>(level[row])] +=
          {units, positive, decision[row] * units, decision[row] * positive};
      block_weight[block] += weight / largest;
      block_square[block] += (weight / largest) * (weight / largest);
    }
  });
  double weight = 0;
  double square = 0;
  std::vector<LevelSums> sums(num_levels);
  for (std::size_t block = 0; block < num_blocks; ++block) {
    for (std::size_t at = 0; at < num_levels; ++at) sums[at] += block_sums[block][at];
    weight += block_weight[block];
    square += block_square[block];
  }
  const double effective_fraction = square > 0 ? weight / square / largest : 1;
  Evaluation evaluation;
  LevelSums total;
  for (const LevelSums& level_sums : sums) {
    total += level_sums;
    evaluation.levels.push_back(scaled(level_sums, unit, effective_fraction));
  }
  evaluation.total = scaled(total, unit, effective_fraction);
  return evaluation;
}

SegmentEvaluation evaluate(const Segments& segments, Samples samples, const TextValues& segment) {
  const SegmentCells cells(segments);
  const SegmentCells::Rows rows = cells.find(segment, samples.uncertainty);
  samples.uncertainty = std::span<const double>(rows.cell);
  SegmentEvaluation evaluation{evaluate(cell_rule(segments), samples), {}, rows.unseen};
  const std::size_t size = segments.own.size() + (segments.pooled ? 1 : 0);
  evaluation.segments.resize(size);
  for (std::size_t cell = 0; cell < cells.num_cells(); ++cell) {
    if (cells.segment_of(cell) >= size) continue;  // never seen
    const Confusion& counts = evaluation.cells.levels[cell];
    Confusion& sum = evaluation.segments[cells.segment_of(cell)];
    sum.rows += counts.rows;
    sum.positives += counts.positives;
    sum.flagged += counts.flagged;
    sum.true_positives += counts.true_positives;
    sum.effective_fraction = counts.effective_fraction;
  }
  return evaluation;
}

namespace {

/// Calls `step` with negatives and positives of every distinct score, from the highest down.
template <typename Step>
void for_each_score(std::span<const double> score, std::span<const std::uint8_t> label, const char* function,
                    const Step& step) {
  const auto refuse = [&](const std::string& what) { throw InvalidInput(std::string(function) + ": " + what); };
  if (score.size() != label.size()) {
    refuse("score has " + std::to_string(score.size()) + " rows, label has " + std::to_string(label.size()));
  }
  std::vector<std::pair<double, std::uint8_t>> rows(score.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (std::isnan(score[row])) refuse("score[" + std::to_string(row) + "] is NaN");
    rows[row] = {score[row], label[row]};
  }
  tbb::parallel_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t row = 0; row < rows.size();) {
    const double value = rows[row].first;
    double negatives = 0;
    double positives = 0;
    for (; row < rows.size() && rows[row].first == value; ++row) ++(rows[row].second != 0 ? positives : negatives);
    step(negatives, positives);
  }
}

}  // namespace

double average_precision(std::span<const double> score, std::span<const std::uint8_t> label) {
  double flagged = 0;
  double true_positives = 0;
  double sum = 0;
  for_each_score(score, label, "average_precision", [&](double negatives, double positives) {
    flagged += negatives + positives;
    true_positives += positives;
    sum += positives * (true_positives / flagged);
  });
  if (true_positives == 0) throw InvalidInput("average_precision", "no row is positive");
  return sum / true_positives;
}

double log_loss(std::span<const double> score, std::span<const std::uint8_t> label) {
  if (score.size() != label.size() || score.empty()) {
    throw InvalidInput("log_loss", "there are " + std::to_string(score.size()) + " scores and " +
                                       std::to_string(label.size()) + " labels, must be equally many, at least one");
  }
  constexpr double kLeast = 1e-12;
  double sum = 0;
  for (std::size_t row = 0; row < score.size(); ++row) {
    if (!(score[row] >= 0 && score[row] <= 1)) {
      throw InvalidInput("log_loss", "score[" + std::to_string(row) + "] must be between 0 and 1");
    }
    const double p = std::clamp(score[row], kLeast, 1 - kLeast);
    sum -= label[row] != 0 ? std::log(p) : std::log1p(-p);
  }
  return sum / static_cast<double>(score.size());
}

double roc_auc(std::span<const double> score, std::span<const std::uint8_t> label) {
  double negatives_so_far = 0;
  double positives_so_far = 0;
  double pairs = 0;
  for_each_score(score, label, "roc_auc", [&](double negatives, double positives) {
    pairs += negatives * (positives_so_far + positives / 2);
    positives_so_far += positives;
    negatives_so_far += negatives;
  });
  if (positives_so_far == 0 || negatives_so_far == 0) throw InvalidInput("roc_auc", "both classes are needed");
  return pairs / positives_so_far / negatives_so_far;
}

}  // namespace limen
