// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "detail/transform_data.h"

namespace limen::train::detail {

/// Rows of one frame as column fitters see them.
struct RowBatch {
  std::size_t num_rows = 0;
  std::size_t first_row = 0;                        ///< rows of the file before
  std::span<const std::uint8_t> selected = {};      ///< empty: all
  std::span<const std::uint32_t> sample_hash = {};  ///< per row, for ValueSample

  template <typename Function>
  void for_each(Function function) const {
    for (std::size_t row = 0; row < num_rows; ++row) {
      if (selected.empty() || selected[row] != 0) function(row);
    }
  }
};

/// Values of random rows: all of them up to `limit`, above that those whose row hash is below 2^(32 - level), for the
/// smallest level that leaves at most `limit`. The set does not depend on the order in which rows come.
class ValueSample {
 public:
  explicit ValueSample(std::size_t limit) : limit_(limit) {}
  void add(double value, std::uint32_t hash);
  [[nodiscard]] std::vector<double> sorted() const;

 private:
  [[nodiscard]] bool keeps(std::uint32_t hash) const { return (static_cast<std::uint64_t>(hash) << level_) >> 32 == 0; }

  std::size_t limit_;
  int level_ = 0;
  std::vector<double> values_;
  std::vector<std::uint32_t> hashes_;
};

/// Counts texts exactly up to `limit` different ones; from then on only how many different ones there are, about.
class CategoryCounter {
 public:
  explicit CategoryCounter(std::size_t limit) : limit_(limit) {}
  void add(std::string_view text, std::int64_t count);
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  /// Exact without overflow; else an estimate with a standard error of about 2%.
  [[nodiscard]] double num_distinct() const;
  /// Texts with at least min_count rows, most frequent first, ties by text. Not after overflow.
  [[nodiscard]] TextIndex vocabulary(std::int64_t min_count) const;

 private:
  void add_to_sketch(std::uint64_t hash);

  std::size_t limit_;
  TextIndex texts_;
  std::vector<std::int64_t> counts_;
  bool overflowed_ = false;
  // Distinct hashes whose lowest `sketch_level_` bits are 0, never more than kSketchSize of them.
  static constexpr std::size_t kSketchSize = 4096;
  int sketch_level_ = 0;
  std::unordered_set<std::uint64_t> sketch_;
};

/// Whether every value is a whole number that no other row has, as identifiers are. Exact up to kMost values; above,
/// only a share of all numbers, chosen by their hash, is remembered: numbers that are there twice are met in it unless
/// they are rare. Most columns are done with at their first fraction or repeated value.
class IdentifierTest {
 public:
  void add(double value);
  void refuse() { holds_ = false; }
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 16;
  bool holds_ = true;
  int level_ = 0;  // hashes whose lowest bits, so many, are 0 are remembered
  std::unordered_set<std::uint64_t> hashes_;
};

/// What a date column's parts have taken.
class DateCounter {
 public:
  void add(const Date& date, std::int64_t count);
  /// Parts that vary and are not a clock (see FeatureTransform), with the values of at least min_count rows.
  [[nodiscard]] std::vector<DatePartEncoding> parts(std::int64_t min_count) const;

 private:
  std::int64_t counts_[kDateParts.size()][kMostPartValues] = {};  // in the order of kDateParts
  std::int64_t first_day_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_day_ = std::numeric_limits<std::int64_t>::min();
};

/// Learns one column.
class ColumnFitter {
 public:
  /// declared: unset when the kind is to be detected.
  ColumnFitter(std::string name, std::optional<ColumnKind> declared, const FeatureOptions& options);

  /// Throws InvalidInput for a value of the wrong kind.
  void add(const Column& column, const RowBatch& batch);
  /// rows: all training rows.
  [[nodiscard]] ColumnData finish(std::int64_t rows) const;

 private:
  void add_numbers(const NumberValues& values, const RowBatch& batch);
  void add_texts(const TextValues& values, const RowBatch& batch);
  void add_category(std::string_view text, std::int64_t count);
  void add_value(double value, std::uint32_t hash);
  [[noreturn]] void refuse(const std::string& value, std::size_t row, const RowBatch& batch) const;
  void finish_numeric(ColumnData& data) const;
  void finish_categorical(ColumnData& data, std::int64_t rows) const;
  void finish_dates(ColumnData& data) const;

  std::string name_;
  std::optional<ColumnKind> kind_;  ///< unset until a value is met
  bool declared_;
  Scaling scaling_;
  DateFormat date_format_ = DateFormat::kText;
  std::int64_t min_count_;
  std::int32_t hash_buckets_;
  std::size_t numeric_knots_;

  std::int64_t present_ = 0;
  std::int64_t missing_ = 0;
  std::int64_t infinite_ = 0;  ///< among the missing
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
  ValueSample sample_;
  IdentifierTest identifier_;
  CategoryCounter categories_;
  bool maybe_date_ = false;  ///< a text column that nobody declared, dates so far
  DateCounter dates_;
};

}  // namespace limen::train::detail
