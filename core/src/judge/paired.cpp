// SPDX-License-Identifier: MIT
#include "limen/judge/paired.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdio>

#include "limen/base/error.h"
#include "limen/promise/binomial.h"

namespace limen {
namespace {

double as_double(std::int64_t count) { return static_cast<double>(count); }

Counts negatives(const Counts& counts) { return {counts.rows - counts.positives, 0}; }

/// Both tails of the exact test that a coin is fair.
double fair_coin_p_value(std::int64_t heads, std::int64_t tails) {
  return std::min(1.0, 2 * binomial_upper_tail(std::max(heads, tails), heads + tails, 0.5));
}

Interval around(double difference, double half_width) {
  return {std::max(-1.0, difference - half_width), std::min(1.0, difference + half_width)};
}

/// Of the share that is flagged among rows of one class.
std::optional<PairedDifference> compare_shares(std::int64_t both, std::int64_t first_only, std::int64_t second_only,
                                               std::int64_t neither, double quantile) {
  const double rows = as_double(both + first_only + second_only + neither);
  if (rows == 0) return std::nullopt;
  PairedDifference result;
  result.first = as_double(both + first_only) / rows;
  result.second = as_double(both + second_only) / rows;
  result.difference = as_double(first_only - second_only) / rows;
  result.p_value = fair_coin_p_value(first_only, second_only);
  if (first_only + second_only == 0) {
    // The rules need not be the same beyond these rows: half a row more to each side.
    result.interval = around(0, quantile / (rows + 2));
    return result;
  }
  const double size = rows + 2;
  const double here = (as_double(first_only) + 0.5) / size;
  const double there = (as_double(second_only) + 0.5) / size;
  const double variance = (here + there - (here - there) * (here - there)) / size;
  result.interval = around(here - there, quantile * std::sqrt(variance));
  return result;
}

std::optional<PairedDifference> compare_precision(const PairedCounts& counts, double quantile) {
  const Counts first = counts.both + counts.first_only;
  const Counts second = counts.both + counts.second_only;
  if (first.rows == 0 || second.rows == 0) return std::nullopt;
  const double size = as_double(first.rows);
  const double other_size = as_double(second.rows);
  PairedDifference result;
  result.first = as_double(first.positives) / size;
  result.second = as_double(second.positives) / other_size;
  result.difference = result.first - result.second;
  if (counts.first_only.rows == 0 && counts.second_only.rows == 0) {
    result.interval = {0, 0};
    return result;
  }
  const double right = as_double(counts.both.positives);
  const double wrong = as_double(counts.both.rows - counts.both.positives);
  // A row moves the difference by (flagged by first / n1 - flagged by second / n2) (label - precision): the variance is
  // the sum of the squares, under the hypothesis with the precision of both together.
  const double pooled = as_double(first.positives + second.positives) / (size + other_size);
  const double shared = (right * (1 - pooled) * (1 - pooled) + wrong * pooled * pooled) / (size + other_size);
  const double null_variance = (pooled * (1 - pooled) - 2 * shared) * (1 / size + 1 / other_size);
  const double tolerance = 1e-12 * (1 / size + 1 / other_size);  // of sums of a few terms below 1
  if (null_variance > tolerance) {
    const double deviations = std::abs(result.difference) / std::sqrt(null_variance);
    result.p_value = std::min(1.0, 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), deviations)));
  }
  const double a = result.first;
  const double b = result.second;
  const double variance = a * (1 - a) / size + b * (1 - b) / other_size -
                          2 * (right * (1 - a) * (1 - b) + wrong * a * b) / (size * other_size);
  result.interval = around(result.difference, quantile * std::sqrt(std::max(0.0, variance)));
  return result;
}

std::string text_of(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

PairedCounts count_pairs(std::span<const std::uint8_t> first, std::span<const std::uint8_t> second,
                         std::span<const std::uint8_t> label) {
  if (first.size() != label.size() || second.size() != label.size()) {
    throw InvalidInput("count_pairs", "decisions of " + std::to_string(first.size()) + " and " +
                                          std::to_string(second.size()) + " rows, labels of " +
                                          std::to_string(label.size()));
  }
  std::int64_t rows[4] = {};
  std::int64_t positives[4] = {};
  for (std::size_t row = 0; row < label.size(); ++row) {
    const std::size_t kind = (first[row] != 0 ? 2U : 0U) + (second[row] != 0 ? 1U : 0U);
    ++rows[kind];
    positives[kind] += label[row];
  }
  return {{rows[3], positives[3]}, {rows[2], positives[2]}, {rows[1], positives[1]}, {rows[0], positives[0]}};
}

PairedComparison compare_pairs(const PairedCounts& counts, double confidence) {
  if (!(confidence > 0 && confidence < 1)) {
    throw InvalidInput("compare_pairs", "confidence is " + std::to_string(confidence) + ", must be between 0 and 1");
  }
  for (const Counts& kind : {counts.both, counts.first_only, counts.second_only, counts.neither}) {
    if (kind.positives < 0 || kind.positives > kind.rows) {
      throw InvalidInput("compare_pairs",
                         std::to_string(kind.positives) + " positives among " + std::to_string(kind.rows) + " rows");
    }
  }
  const double quantile = boost::math::quantile(boost::math::normal(), (1 + confidence) / 2);
  PairedComparison result;
  result.counts = counts;
  result.confidence = confidence;
  result.recall = compare_shares(counts.both.positives, counts.first_only.positives, counts.second_only.positives,
                                 counts.neither.positives, quantile);
  result.false_positive_rate =
      compare_shares(negatives(counts.both).rows, negatives(counts.first_only).rows, negatives(counts.second_only).rows,
                     negatives(counts.neither).rows, quantile);
  result.precision = compare_precision(counts, quantile);
  return result;
}

std::string verdict(const PairedComparison& comparison, std::string_view first, std::string_view second) {
  const double level = 1 - comparison.confidence;
  const std::int64_t differing = comparison.counts.first_only.rows + comparison.counts.second_only.rows;
  if (differing == 0) {
    return std::string(first) + " and " + std::string(second) + " flag the same rows";
  }
  bool first_better = false;
  bool second_better = false;
  std::string told;
  std::string untold;
  const auto look = [&](const char* name, const std::optional<PairedDifference>& figure) {
    if (!figure) return;
    if (figure->p_value > level || figure->difference == 0) {
      untold = name;
      return;
    }
    const bool is_first = figure->difference > 0;
    (is_first ? first_better : second_better) = true;
    told += std::string(told.empty() ? "" : ", ") + std::string(is_first ? first : second) + " has the higher " + name +
            " (" + text_of("%+.4f", std::abs(figure->difference)) + ", p = " + text_of("%.2g", figure->p_value) + ")";
  };
  look("recall", comparison.recall);
  look("precision", comparison.precision);
  if (told.empty()) {
    return std::string(first) + " and " + std::string(second) +
           " cannot be told apart on these rows, neither in recall nor in precision";
  }
  if (first_better && second_better) return "one trades recall for precision: " + told;
  return std::string(first_better ? first : second) + " wins: " + told +
         (untold.empty() ? "" : "; " + untold + " cannot be told apart");
}

}  // namespace limen
