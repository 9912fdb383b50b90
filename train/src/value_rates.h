// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limen/train/feature_rows.h"

namespace limen::train::detail {

/// Training rows with a token, and those of them that were positive, for every token of a categorical feature; none for
/// token 0, which stands for values that training did not have or hardly.
struct TokenCounts {
  std::size_t feature = 0;
  std::vector<std::uint32_t> rows = {};
  std::vector<std::uint32_t> positives = {};
};

/// Rates of positives by value, as inputs of the network: for every categorical feature of many values one number,
///   (logit((k + S p) / (n + S)) - logit(p)) / scale,
/// where k of the n training rows with the row's value were positive, at the natural rate, p is the rate of all of them
/// and S a strength. A value of few rows has a rate of its own all the same: how few they are is no input but evidence.
struct ValueRates {
  static constexpr std::int32_t kManyValues = 64;  ///< features of fewer tokens have no rate
  static constexpr double kStrength = 2;           ///< S: as the paper's model, whose prior has the weight of two rows

  double prior = 0.5;  ///< p; above 0 and below 1
  double tau = 1;      ///< negatives were learned from at rate 1 / tau: scores are those of such rows
  double scale = 1;    ///< above 0
  std::vector<TokenCounts> features = {};  ///< in increasing order

  [[nodiscard]] bool empty() const { return features.empty(); }
  /// What the network sees: the shape's inputs and behind them the rates.
  [[nodiscard]] FeatureShape widened(const FeatureShape& shape) const;
  /// Rows of the shape with their rates.
  [[nodiscard]] FeatureRows widened(const FeatureShape& shape, const FeatureRows& rows) const;

  /// The same as if training had had more rows like each of these, all of them positive or none. more: for each row.
  enum class More { kPositives, kNegatives };
  [[nodiscard]] FeatureRows widened(const FeatureShape& shape, const FeatureRows& rows, std::span<const double> more,
                                    More kind) const;
  /// For each row how many rows more make a difference that can be seen: one and a tenth of those that its rarest value
  /// has.
  [[nodiscard]] std::vector<double> step(const FeatureShape& shape, const FeatureRows& rows) const;
  /// The evidence n of a Beta posterior with mean p moves its mean by m / (n + m) between m more positives and m more
  /// negatives. So n by the two scores of the changed rows, taken back to the natural rate of negatives; 0.001 to 1e12.
  [[nodiscard]] std::vector<double> evidence(std::span<const double> more, std::span<const double> with_positives,
                                             std::span<const double> with_negatives) const;
};

/// Counts training rows by value, apart for ten folds: a row's own label must not be in the rate that it is learned
/// from with.
class RateCounter {
 public:
  static constexpr std::uint8_t kFolds = 10;

  /// Of the features without knots that have at least ValueRates::kManyValues tokens.
  explicit RateCounter(const FeatureShape& shape);

  [[nodiscard]] bool empty() const { return features_.empty(); }
  /// Rows with labels; those whose `fold` is kFolds or more do not count.
  void add(const FeatureRows& rows, std::span<const std::uint8_t> fold);
  /// Rates by all rows that were counted.
  [[nodiscard]] ValueRates rates(double tau, double scale = 1) const;
  /// Rows that were counted in these folds, each with the rates of the other folds. rates: of all rows so far; its
  /// scale is set so that the inputs have a standard deviation of 1.
  [[nodiscard]] FeatureRows out_of_fold(const FeatureShape& shape, const FeatureRows& rows,
                                        std::span<const std::uint8_t> fold, ValueRates& rates) const;

 private:
  struct Counts {
    std::uint32_t rows = 0;
    std::uint32_t positives = 0;
  };
  struct Feature {
    std::size_t feature = 0;
    std::vector<Counts> cells = {};  ///< token by token, of each fold
  };
  std::size_t num_categorical_;
  std::vector<std::int32_t> num_tokens_;
  std::vector<Feature> features_;
  std::uint64_t rows_ = 0;
  std::uint64_t positives_ = 0;
};

/// The rates as JSON text.
[[nodiscard]] std::string to_json(const ValueRates& rates);
/// Reads what to_json writes, for features of this shape; every member is checked. Throws InvalidInput.
[[nodiscard]] ValueRates rates_from_json(std::string_view text, const FeatureShape& shape);

}  // namespace limen::train::detail
