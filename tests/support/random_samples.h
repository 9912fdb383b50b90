// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "limen/count/samples.h"

namespace limen::test {

/// A table of labelled predictions that owns its memory, in single or double precision.
struct SampleTable {
  bool single_score = false;
  bool single_uncertainty = false;
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  std::vector<double> weight;
  std::vector<float> score32;  ///< the same numbers, when single
  std::vector<float> uncertainty32;

  [[nodiscard]] std::size_t size() const { return label.size(); }
  [[nodiscard]] Samples samples() const {
    Samples result;
    result.score = single_score ? RealSpan(std::span<const float>(score32)) : RealSpan(std::span<const double>(score));
    result.uncertainty = single_uncertainty ? RealSpan(std::span<const float>(uncertainty32))
                                            : RealSpan(std::span<const double>(uncertainty));
    result.label = label;
    result.weight = weight;
    return result;
  }
  /// Rounds a column to single precision, for good: what the double column then holds is what the float column holds.
  void use_single_score() {
    single_score = true;
    score32.assign(score.begin(), score.end());
    score.assign(score32.begin(), score32.end());
  }
  void use_single_uncertainty() {
    single_uncertainty = true;
    uncertainty32.assign(uncertainty.begin(), uncertainty.end());
    uncertainty.assign(uncertainty32.begin(), uncertainty32.end());
  }
};

/// Named shapes of tables. Each one breaks an easy assumption about scores, uncertainties, precision or weights.
inline const std::vector<std::string>& sample_shapes() {
  static const std::vector<std::string> shapes = {"continuous",
                                                  "heavy_ties",
                                                  "equal_scores",
                                                  "equal_uncertainty",
                                                  "mostly_zero_uncertainty",
                                                  "single_precision",
                                                  "mixed",
                                                  "margins",
                                                  "signed_zeros",
                                                  "weighted",
                                                  "weighted_integers",
                                                  "weighted_ties_single"};
  return shapes;
}

inline double random_unit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// `rows` random rows of the named shape, both classes among them when rows >= 2. Labels follow the score, and less so
/// where uncertainty is high: one threshold for all levels is not the best rule.
inline SampleTable make_random_samples(const std::string& shape, std::size_t rows, std::mt19937_64& random) {
  const auto has = [&](const char* part) { return shape.find(part) != std::string::npos; };
  SampleTable table;
  for (std::size_t row = 0; row < rows; ++row) {
    double score = random_unit(random);
    double uncertainty = random_unit(random);
    const double rate = 0.5 + (score - 0.5) * (1.2 - uncertainty);
    table.label.push_back(random_unit(random) < rate ? 1 : 0);
    if (has("ties")) {
      score = std::floor(score * 8) / 10;
      uncertainty = std::floor(uncertainty * uncertainty * 5) / 7;
    }
    if (shape == "equal_scores") score = 0.3;
    if (shape == "equal_uncertainty") uncertainty = 0.7;
    if (shape == "mostly_zero_uncertainty") uncertainty = uncertainty < 0.6 ? 0 : uncertainty;
    if (shape == "margins") {
      score = (score - 0.6) * 1e6;
      uncertainty = -std::exp(20 * uncertainty);
    }
    if (shape == "signed_zeros") {
      score = std::floor(score * 5) - 2;
      if (score == 0 && random() % 2 == 0) score = -0.0;
      uncertainty = std::floor(uncertainty * 3) - 1;
      if (uncertainty == 0 && random() % 2 == 0) uncertainty = -0.0;
    }
    table.score.push_back(score);
    table.uncertainty.push_back(uncertainty);
    if (has("weighted")) {
      double weight = std::exp(4 * random_unit(random)) / 7;
      if (has("integers")) weight = std::floor(weight);
      if (random() % 20 == 0) weight = 0;
      table.weight.push_back(weight);
    }
  }
  if (rows >= 2) {
    table.label[0] = 0;
    table.label[rows - 1] = 1;
    if (has("weighted")) table.weight[0] = table.weight[rows - 1] = 1;
  }
  if (has("single") || shape == "mixed") table.use_single_score();
  if (has("single")) table.use_single_uncertainty();
  return table;
}

}  // namespace limen::test
