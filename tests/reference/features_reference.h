// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "limen/train/features.h"

namespace limen::test {

/// What FeatureTransform does, column by column over plain lists, with nothing streamed, hashed by chance or sampled.
/// For labels of 0 and 1 in numbers, and columns that are not above max_vocabulary unless all their values differ.
class FeaturesReference {
 public:
  FeaturesReference(const Frame& train, train::FeatureOptions options) : train_(train), options_(std::move(options)) {}

  [[nodiscard]] train::FeatureRows encode(const Frame& frame) const {
    std::vector<std::vector<float>> numeric;
    std::vector<std::vector<std::int32_t>> categorical;
    std::vector<std::vector<float>> fractions;
    train::FeatureRows rows{.num_rows = frame.num_rows};
    for (const Column& column : train_.columns) {
      const Column& other = *std::find_if(frame.columns.begin(), frame.columns.end(),
                                          [&](const Column& one) { return one.name == column.name; });
      if (column.name == options_.label) {
        for (const double value : std::get<NumberValues>(other.values)) {
          rows.label.push_back(static_cast<std::uint8_t>(value));
        }
      } else if (contains(options_.drop, column.name)) {
        continue;
      } else if (std::holds_alternative<NumberValues>(column.values) && !contains(options_.categorical, column.name)) {
        encode_numbers(std::get<NumberValues>(column.values), std::get<NumberValues>(other.values), numeric);
        encode_knots(std::get<NumberValues>(column.values), std::get<NumberValues>(other.values), categorical,
                     fractions);
      } else {
        encode_texts(texts(column), texts(other), contains(options_.categorical, column.name), categorical);
      }
    }
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      for (const auto& input : numeric) rows.numeric.push_back(input[row]);
      for (const auto& input : categorical) rows.categorical.push_back(input[row]);
      for (const auto& input : fractions) rows.fraction.push_back(input[row]);
    }
    return rows;
  }

 private:
  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  static std::vector<std::string> texts(const Column& column) {
    std::vector<std::string> result;
    if (const auto* numbers = std::get_if<NumberValues>(&column.values)) {
      for (const double number : *numbers) {
        char buffer[64];
        result.emplace_back(buffer, std::isfinite(number) ? std::to_chars(buffer, buffer + 64, number).ptr : buffer);
      }
    } else {
      const auto& text = std::get<TextValues>(column.values);
      for (const auto code : text.code) result.push_back(code < 0 ? "" : text.distinct[static_cast<std::size_t>(code)]);
    }
    return result;
  }

  static double quantile(const std::vector<double>& sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1);
    const double below = sorted[static_cast<std::size_t>(std::floor(at))];
    const double above = sorted[static_cast<std::size_t>(std::ceil(at))];
    const double weight = at - std::floor(at);
    return below == above ? below : (1 - weight) * below + weight * above;
  }

  // In long double, whose range the squares of huge doubles do not leave.
  struct Spread {
    long double center = 0, scale = 0, tail = 0;
  };
  static Spread spread(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const long double q2 = quantile(values, 0.5);
    const long double range = static_cast<long double>(quantile(values, 0.75)) - quantile(values, 0.25);
    if (range > 0) {
      return {q2, range / 1.349L, std::max(quantile(values, 0.99) - q2, q2 - quantile(values, 0.01)) / range};
    }
    long double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    const long double mean = sum / static_cast<long double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    const long double deviation = std::sqrt(squares / static_cast<long double>(values.size()));
    return {q2, deviation, std::max(values.back() - q2, q2 - values.front()) / (2 * deviation)};
  }

  static double log_of(double value) { return value < 0 ? -std::log1p(-value) : std::log1p(value); }

  void encode_numbers(const NumberValues& train, const NumberValues& values,
                      std::vector<std::vector<float>>& inputs) const {
    std::vector<double> present;
    for (const double value : train) {
      if (std::isfinite(value)) present.push_back(value);
    }
    if (present.empty()) return;
    const bool has_missing = present.size() < train.size();
    if (*std::min_element(present.begin(), present.end()) < *std::max_element(present.begin(), present.end())) {
      Spread chosen = spread(present);
      std::vector<double> logs = present;
      std::transform(logs.begin(), logs.end(), logs.begin(), log_of);
      const Spread of_logs = spread(logs);
      const bool log = chosen.tail > 5 && of_logs.tail <= chosen.tail / 2;
      if (log) chosen = of_logs;
      std::vector<float>& input = inputs.emplace_back();
      for (const double value : values) {
        const long double scaled = ((log ? log_of(value) : value) - chosen.center) / chosen.scale;
        const auto clip = static_cast<long double>(options_.clip);
        input.push_back(std::isfinite(value) ? static_cast<float>(std::clamp(scaled, -clip, clip)) : 0);
      }
    }
    if (!has_missing) return;
    std::vector<float>& indicator = inputs.emplace_back();
    for (const double value : values) indicator.push_back(std::isfinite(value) ? 0 : 1);
  }

  void encode_knots(const NumberValues& train, const NumberValues& values,
                    std::vector<std::vector<std::int32_t>>& inputs, std::vector<std::vector<float>>& fractions) const {
    std::map<double, double> rows_of;
    double rows = 0;
    for (const double value : train) {
      if (!std::isfinite(value)) continue;
      rows_of[value] += 1;
      rows += 1;
    }
    if (rows_of.empty() || options_.numeric_knots < 3) return;
    const double room = std::clamp(std::floor(rows / static_cast<double>(options_.min_count)), 2.0,
                                   static_cast<double>(options_.numeric_knots));
    std::set<double> knots = {rows_of.begin()->first, rows_of.rbegin()->first};
    if (static_cast<double>(rows_of.size()) <= room) {
      for (const auto& [value, count] : rows_of) {
        if (count >= static_cast<double>(options_.min_count)) knots.insert(value);
      }
    } else {
      const auto left = [&] {
        double sum = 0;
        for (const auto& [value, count] : rows_of) sum += knots.count(value) != 0 ? 0 : count;
        return sum;
      };
      while (true) {
        const double share = left() / (room - static_cast<double>(knots.size()));
        std::vector<double> large;
        for (const auto& [value, count] : rows_of) {
          if (knots.count(value) == 0 && count >= share) large.push_back(value);
        }
        if (static_cast<double>(knots.size()) >= room || large.empty()) break;
        knots.insert(large.begin(), large.end());
      }
      const double share = left() / (room - static_cast<double>(knots.size()));
      double so_far = share / 2;
      for (const auto& [value, count] : std::map<double, double>(rows_of)) {
        if (knots.count(value) != 0 || !std::isfinite(share)) continue;
        so_far += count;
        if (so_far < share) continue;
        so_far -= share;
        knots.insert(value);
      }
    }
    if (knots.size() < 3) return;
    const std::vector<double> sorted(knots.begin(), knots.end());
    std::vector<std::int32_t>& input = inputs.emplace_back();
    std::vector<float>& fraction = fractions.emplace_back();
    for (const double value : values) {
      if (!std::isfinite(value)) {
        input.push_back(0);
        fraction.push_back(0);
        continue;
      }
      std::size_t knot = 0;
      while (knot + 2 < sorted.size() && sorted[knot + 1] <= value) ++knot;
      input.push_back(static_cast<std::int32_t>(knot) + 1);
      const long double from = sorted[knot];
      const long double width = static_cast<long double>(sorted[knot + 1]) - from;
      fraction.push_back(static_cast<float>(std::clamp((static_cast<long double>(value) - from) / width, -1.0L, 2.0L)));
    }
  }

  /// Tokens of values by how often training has them.
  std::vector<std::int32_t> tokens(const std::vector<std::string>& train, const std::vector<std::string>& values,
                                   bool by_count) const {
    std::map<std::string, std::int64_t> count;
    std::int64_t missing = 0;
    for (const std::string& value : train) value.empty() ? ++missing : ++count[value];
    std::vector<std::string> vocabulary;
    for (const auto& [value, rows] : count) {
      if (rows >= options_.min_count) vocabulary.push_back(value);
    }
    if (by_count) {
      std::stable_sort(vocabulary.begin(), vocabulary.end(),
                       [&](const std::string& left, const std::string& right) { return count[left] > count[right]; });
    }
    const bool missing_token = missing >= options_.min_count;
    std::vector<std::int32_t> result;
    for (const std::string& value : values) {
      const auto found = std::find(vocabulary.begin(), vocabulary.end(), value);
      result.push_back(value.empty() ? (missing_token ? 1 : 0)
                       : found == vocabulary.end()
                           ? 0
                           : static_cast<std::int32_t>(found - vocabulary.begin()) + (missing_token ? 2 : 1));
    }
    return result;
  }

  static std::string part(const std::string& text, int which) {
    const auto date = limen::parse_date(text);
    if (!date) return "";
    const int values[] = {date->hour, limen::weekday(*date), date->day, date->month};
    return std::string(1, static_cast<char>('a' + values[which]));  // in the order of the values
  }

  void encode_texts(const std::vector<std::string>& train, const std::vector<std::string>& values, bool declared,
                    std::vector<std::vector<std::int32_t>>& inputs) const {
    std::set<std::string> distinct(train.begin(), train.end());
    const bool has_missing = distinct.erase("") > 0;
    if (distinct.empty() || (distinct.size() == 1 && !has_missing)) return;
    const bool dates = !declared && std::all_of(distinct.begin(), distinct.end(),
                                                [](const std::string& text) { return limen::parse_date(text); });
    if (!dates) {
      const auto result = tokens(train, values, true);
      const auto of_train = tokens(train, train, true);
      // A column none of whose training rows has a token is left out.
      if (std::any_of(of_train.begin(), of_train.end(), [](auto token) { return token > 0; })) inputs.push_back(result);
      return;
    }
    const std::int64_t span = limen::days_since_epoch(*limen::parse_date(*distinct.rbegin())) -
                              limen::days_since_epoch(*limen::parse_date(*distinct.begin()));
    for (int which = 0; which < 4; ++which) {
      if ((which == 2 && span < 366) || (which == 3 && span < 731)) continue;
      std::vector<std::string> train_parts, parts;
      for (const std::string& text : train) train_parts.push_back(part(text, which));
      for (const std::string& text : values) parts.push_back(part(text, which));
      std::set<std::string> different(train_parts.begin(), train_parts.end());
      different.erase("");
      const auto frequent = [&](const std::string& value) {
        return std::count(train_parts.begin(), train_parts.end(), value) >= options_.min_count;
      };
      if (different.size() >= 2 && std::any_of(different.begin(), different.end(), frequent)) {
        inputs.push_back(tokens(train_parts, parts, false));
      }
    }
  }

  const Frame& train_;
  train::FeatureOptions options_;
};

}  // namespace limen::test
