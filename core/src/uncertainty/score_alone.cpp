// SPDX-License-Identifier: MIT
#include "uncertainty/score_alone.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace limen {
namespace {

constexpr double kClip = 1e-6;
constexpr double kOuterSlope = 1e-3;

double logit(double score) {
  const double p = std::clamp(score, kClip, 1 - kClip);
  return std::log(p / (1 - p));
}

// A spread that is lost in rounding is none.
double mean_and_sd(std::span<const double> values, double& sd) {
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  sd = std::sqrt(squares / static_cast<double>(values.size()));
  if (sd < 1e-9) sd = 1;
  return mean;
}

// The value below which the share lies, linear between neighbours.
double quantile(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Pools adjacent violators: each block that would fall takes its weighted mean. `solve` has the general one, of which
// this folder knows nothing.
void make_increasing(std::vector<double>& values, std::span<const double> weight) {
  struct Block {
    double value, weight;
    std::size_t size;
  };
  std::vector<Block> blocks;
  for (std::size_t at = 0; at < values.size(); ++at) {
    Block block = {values[at], weight[at], 1};
    while (!blocks.empty() && blocks.back().value > block.value) {
      const Block& before = blocks.back();
      const double total = before.weight + block.weight;
      block = {(before.value * before.weight + block.value * block.weight) / total, total, before.size + block.size};
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  auto out = values.begin();
  for (const Block& block : blocks) out = std::fill_n(out, block.size, block.value);
}

}  // namespace

double ScoreCurve::standardised(double score) const {
  const double z = logit(score);
  const double inside = std::clamp(z, at.front(), at.back());
  const auto above = std::min(std::upper_bound(at.begin(), at.end(), inside), at.end() - 1);
  const auto right = static_cast<std::size_t>(above - at.begin());
  double value = log_odds[right];
  if (right > 0) {
    const double share = (inside - at[right - 1]) / (at[right] - at[right - 1]);
    value = log_odds[right - 1] + share * (log_odds[right] - log_odds[right - 1]);
  }
  return (value + kOuterSlope * (z - inside) - mean) / sd;
}

namespace detail {

ScoreAlone fit_score_alone(std::span<const double> score, std::span<const std::uint8_t> label) {
  std::vector<double> z;
  z.reserve(score.size());
  for (const double value : score) z.push_back(logit(value));
  double sd = 1;
  const double mean = mean_and_sd(z, sd);
  std::vector<double> sorted = z;
  std::ranges::sort(sorted);
  std::vector<double> knots;
  for (const double share : {.02, .1, .25, .5, .75, .9, .97, .995}) {
    const double knot = quantile(sorted, share);
    if (knots.empty() || knot > knots.back() + 1e-9) knots.push_back(knot);
  }

  const std::size_t columns = 2 + knots.size();
  const auto put_features = [&](double place, double* out) {
    const double t = (place - mean) / sd;
    *out++ = 1;
    *out++ = t;
    for (const double knot : knots) *out++ = std::max(t - (knot - mean) / sd, 0.0);
  };
  ScoreAlone result;
  result.design.num_columns = columns;
  result.design.values.resize(z.size() * columns);
  for (std::size_t row = 0; row < z.size(); ++row) put_features(z[row], result.design.row(row));
  std::vector<double> precision(columns, 1e-2);
  precision[0] = 1e-6;
  RowLogisticFit fit = fit_row_logistic(result.design, label, precision);
  result.probability = std::move(fit.probability);
  result.log_likelihood = fit.log_likelihood;

  // The curve: the fit at its knots and at both ends, made increasing, and a small slope so that no two scores are one.
  ScoreCurve& curve = result.curve;
  const auto add_knot = [&](double place) {
    if (curve.at.empty() || place > curve.at.back() + 1e-9) curve.at.push_back(place);
  };
  add_knot(sorted.front());
  for (const double knot : knots) add_knot(knot);
  add_knot(sorted.back());
  std::vector<double> weight;
  for (std::size_t at = 0; at < curve.at.size(); ++at) {
    std::vector<double> features(columns);
    put_features(curve.at[at], features.data());
    double value = 0;
    for (std::size_t column = 0; column < columns; ++column) value += fit.coefficients[column] * features[column];
    curve.log_odds.push_back(value);
    // Rows between this knot and the one before.
    const auto rank = [&](double place) { return std::ranges::upper_bound(sorted, place) - sorted.begin(); };
    weight.push_back(1 + (at == 0 ? 0.0 : static_cast<double>(rank(curve.at[at]) - rank(curve.at[at - 1]))));
  }
  make_increasing(curve.log_odds, weight);
  for (std::size_t at = 0; at < curve.at.size(); ++at) curve.log_odds[at] += kOuterSlope * (curve.at[at] - mean) / sd;

  for (const double value : score) result.standardised.push_back(curve.standardised(value));
  curve.mean = mean_and_sd(result.standardised, curve.sd);
  for (double& value : result.standardised) value = (value - curve.mean) / curve.sd;
  return result;
}

}  // namespace detail
}  // namespace limen
