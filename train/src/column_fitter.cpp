// SPDX-License-Identifier: MIT
#include "detail/column_fitter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::train::detail {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSmallest = std::numeric_limits<double>::min();

/// By linear interpolation between order statistics; written so that no difference of huge values overflows.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] == sorted[above] ? sorted[below] : (1 - weight) * sorted[below] + weight * sorted[above];
}

/// Of values divided by their largest size, so that no square overflows or vanishes.
double standard_deviation(const std::vector<double>& sorted) {
  const double size = std::max(std::abs(sorted.front()), std::abs(sorted.back()));
  if (size == 0) return 0;
  double sum = 0;
  for (const double value : sorted) sum += value / size;
  const double mean = sum / static_cast<double>(sorted.size());
  double squares = 0;
  for (const double value : sorted) squares += (value / size - mean) * (value / size - mean);
  return sorted.front() == sorted.back() ? 0 : std::sqrt(squares / static_cast<double>(sorted.size())) * size;
}

struct Spread {
  double center = 0;
  double scale = 0;  ///< 0 when the sample is constant
  double tail = 0;   ///< as FeatureFitter defines it
};

/// sorted: not empty. Differences are of halves, because those of huge values would overflow.
Spread spread_of(const std::vector<double>& sorted) {
  const auto half_distance = [](double from, double to) { return to / 2 - from / 2; };
  Spread spread{.center = quantile(sorted, 0.5)};
  const double half_range = half_distance(quantile(sorted, 0.25), quantile(sorted, 0.75));
  if (half_range > 0) {
    const double half_tail = std::max(half_distance(spread.center, quantile(sorted, 0.99)),
                                      half_distance(quantile(sorted, 0.01), spread.center));
    spread.scale = half_range / 1.349 * 2;
    spread.tail = half_tail / half_range;
  } else {
    spread.scale = standard_deviation(sorted);
    const double half_most =
        std::max(half_distance(spread.center, sorted.back()), half_distance(sorted.front(), spread.center));
    spread.tail = spread.scale > 0 ? half_most / spread.scale : 0;
  }
  return spread;
}

double log_of(double value) { return std::copysign(std::log1p(std::abs(value)), value); }

/// See FeatureFitter. sorted: not empty.
std::vector<double> knots_of(const std::vector<double>& sorted, std::size_t most, std::int64_t min_count) {
  struct Value {
    double value;
    double rows;
    bool has_knot;
  };
  std::vector<Value> values;
  for (const double value : sorted) {
    if (values.empty() || value != values.back().value) values.push_back({value, 0, false});
    values.back().rows += 1;
  }
  values.front().has_knot = values.back().has_knot = true;
  const std::size_t fitting = sorted.size() / static_cast<std::size_t>(min_count);
  const std::size_t room = std::clamp<std::size_t>(fitting, 2, most);
  if (values.size() <= room) {
    for (Value& value : values) value.has_knot |= value.rows >= static_cast<double>(min_count);
  } else {
    const auto room_for = static_cast<double>(room);
    double knots = 2;
    double rest = static_cast<double>(sorted.size()) - values.front().rows - values.back().rows;
    // A value that fills a share of its own has a knot, which leaves larger shares or smaller ones to the others.
    for (bool found = true; found && knots < room_for;) {
      found = false;
      const double share = rest / (room_for - knots);
      for (Value& value : values) {
        if (value.has_knot || value.rows < share) continue;
        value.has_knot = found = true;
        knots += 1;
        rest -= value.rows;
      }
    }
    // The others at equal distances in rows, from the middle of the first share on.
    const double share = rest / (room_for - knots);
    double so_far = share / 2;
    for (Value& value : values) {
      if (value.has_knot || knots >= room_for) continue;
      so_far += value.rows;
      if (so_far < share) continue;
      so_far -= share;
      value.has_knot = true;
    }
  }
  std::vector<double> knots;
  for (const Value& value : values) {
    if (value.has_knot) knots.push_back(value.value);
  }
  return knots;
}

}  // namespace

ColumnFitter::ColumnFitter(std::string name, std::optional<ColumnKind> declared, const FeatureOptions& options)
    : name_(std::move(name)),
      kind_(declared),
      declared_(declared.has_value()),
      scaling_(options.scaling),
      min_count_(options.min_count),
      hash_buckets_(options.hash_buckets),
      numeric_knots_(static_cast<std::size_t>(options.numeric_knots)),
      sample_(static_cast<std::size_t>(options.quantile_rows)),
      categories_(static_cast<std::size_t>(options.max_vocabulary)) {
  if (const auto own = options.scaling_of.find(name_); own != options.scaling_of.end()) {
    scaling_ = own->second;
    identifier_.refuse();
  }
  if (declared_) identifier_.refuse();
  if (const auto date = options.date.find(name_); date != options.date.end()) date_format_ = date->second;
}

void ColumnFitter::add(const Column& column, const RowBatch& batch) {
  std::visit(
      [&](const auto& values) {
        if constexpr (std::is_same_v<std::decay_t<decltype(values)>, NumberValues>) {
          add_numbers(values, batch);
        } else {
          add_texts(values, batch);
        }
      },
      column.values);
}

void ColumnFitter::refuse(const std::string& value, std::size_t row, const RowBatch& batch) const {
  const bool numeric = kind_ == ColumnKind::kNumeric;
  throw InvalidInput(
      Where{.place = "row " + std::to_string(batch.first_row + row + 1), .column = name_, .function = "features"},
      value + " must be " +
          (numeric                                 ? "a number"
           : date_format_ == DateFormat::kYymmddhh ? "YYMMDDHH such as 14102107"
                                                   : "a date such as 2014-10-21 07:05") +
          (declared_ ? ", as it is declared" : ", as the rows before") + "; declare it categorical or drop it");
}

void ColumnFitter::add_value(double value, std::uint32_t hash) {
  ++present_;
  least_ = std::min(least_, value);
  most_ = std::max(most_, value);
  sample_.add(value, hash);
  identifier_.add(value);
}

void ColumnFitter::add_category(std::string_view text, std::int64_t count) {
  present_ += count;
  categories_.add(text, count);
  if (!maybe_date_) return;
  if (const auto date = parse_date(text, date_format_)) {
    dates_.add(*date, count);
  } else {
    maybe_date_ = false;
  }
}

void ColumnFitter::add_numbers(const NumberValues& values, const RowBatch& batch) {
  if (!kind_) {
    bool any = false;
    batch.for_each([&](std::size_t row) { any = any || std::isfinite(values[row]); });
    if (any) kind_ = ColumnKind::kNumeric;
  }
  std::unordered_map<std::uint64_t, std::int64_t> counts;  // of categories and dates, by the bits of the number
  std::vector<double> order;                               // as they come, so that no order of hashing matters
  batch.for_each([&](std::size_t row) {
    const double value = values[row];
    if (!std::isfinite(value)) {
      ++missing_;
      if (std::isinf(value)) ++infinite_;
    } else if (kind_ == ColumnKind::kNumeric) {
      add_value(value, batch.sample_hash[row]);
    } else {
      if (kind_ == ColumnKind::kDate && !parse_date(value, date_format_)) refuse(number_text(value), row, batch);
      if (counts[std::bit_cast<std::uint64_t>(value)]++ == 0) order.push_back(value);
    }
  });
  for (const double value : order) {
    const std::int64_t count = counts[std::bit_cast<std::uint64_t>(value)];
    if (kind_ == ColumnKind::kDate) {
      present_ += count;
      dates_.add(*parse_date(value, date_format_), count);
    } else {
      maybe_date_ = false;
      add_category(number_text(value), count);
    }
  }
}

void ColumnFitter::add_texts(const TextValues& values, const RowBatch& batch) {
  const std::size_t num_codes = values.distinct.size();
  std::vector<std::int64_t> counts(num_codes + 1);  // of code - 1
  batch.for_each([&](std::size_t row) { ++counts[static_cast<std::size_t>(values.code[row] + 1)]; });
  missing_ += counts[0];
  for (std::size_t code = 0; code < num_codes; ++code) {
    if (values.distinct[code].empty()) missing_ += std::exchange(counts[code + 1], 0);
  }
  if (std::all_of(counts.begin() + 1, counts.end(), [](std::int64_t count) { return count == 0; })) return;
  if (!kind_) {
    kind_ = ColumnKind::kCategorical;
    maybe_date_ = true;
  }
  if (kind_ == ColumnKind::kCategorical) {
    for (std::size_t code = 0; code < num_codes; ++code) {
      if (counts[code + 1] > 0) add_category(values.distinct[code], counts[code + 1]);
    }
    return;
  }
  std::vector<double> number(num_codes);
  std::vector<std::uint8_t> readable(num_codes, 1);
  for (std::size_t code = 0; code < num_codes; ++code) {
    const std::string& text = values.distinct[code];
    if (counts[code + 1] == 0) continue;
    if (kind_ == ColumnKind::kNumeric) {
      const NumberField parsed = parse_number(text);
      readable[code] = parsed.status != FieldStatus::kBad ? 1 : 0;
      number[code] = parsed.status == FieldStatus::kOk          ? parsed.value
                     : parsed.status == FieldStatus::kNotFinite ? std::numeric_limits<double>::infinity()
                                                                : std::numeric_limits<double>::quiet_NaN();
    } else if (const auto date = parse_date(text, date_format_)) {
      present_ += counts[code + 1];
      dates_.add(*date, counts[code + 1]);
    } else {
      readable[code] = 0;
    }
  }
  batch.for_each([&](std::size_t row) {
    const auto code = static_cast<std::size_t>(values.code[row]);
    if (values.code[row] == TextValues::kMissing || values.distinct[code].empty()) return;
    if (readable[code] == 0) refuse(quoted(values.distinct[code]), row, batch);
    if (kind_ != ColumnKind::kNumeric) return;
    if (std::isfinite(number[code])) {
      add_value(number[code], batch.sample_hash[row]);
    } else {
      ++missing_;
      if (std::isinf(number[code])) ++infinite_;
    }
  });
}

void ColumnFitter::finish_numeric(ColumnData& data) const {
  NumericEncoding encoding{.indicator = missing_ > 0};
  if (infinite_ > 0) data.notes.push_back(count_text(static_cast<double>(infinite_)) + " infinite, taken as missing");
  constexpr std::int64_t kFewestIdentifiers = 100;
  if (identifier_.holds() && missing_ == 0 && present_ > kFewestIdentifiers) {
    data.notes.emplace_back(
        "left out: every row has a whole number of its own, as an identifier; say that it is "
        "numeric to use it");
    data.encoding = LeftOut{.identifier = true};
    return;
  }
  if (least_ == most_) {
    if (missing_ == 0) {
      data.notes.push_back("left out: every row has " + number_text(least_));
      return;
    }
    data.notes.push_back("every value is " + number_text(least_) + ": only whether it is missing is used");
    encoding.value = false;
    data.encoding = encoding;
    return;
  }
  std::vector<double> sorted = sample_.sorted();
  Spread spread = spread_of(sorted);
  double (*transform)(double) = [](double value) { return value; };
  if (scaling_ != Scaling::kLinear) {
    std::vector<double> logs = sorted;
    std::transform(logs.begin(), logs.end(), logs.begin(), log_of);
    const Spread log_spread = spread_of(logs);
    if (scaling_ == Scaling::kLog || (spread.tail > 5 && log_spread.tail <= spread.tail / 2)) {
      spread = log_spread;
      transform = log_of;
      encoding.scaling = Scaling::kLog;
    }
  }
  if (spread.scale == 0) {
    // The sample is constant and the column is not: its extremes say how far values go.
    spread.scale = std::max(transform(most_) - spread.center, spread.center - transform(least_));
  }
  // Two knots tell no more than the scaled value does.
  if (numeric_knots_ > 2) encoding.knots = knots_of(sorted, numeric_knots_, min_count_);
  if (encoding.knots.size() < 3) encoding.knots.clear();
  encoding.center = spread.center;
  encoding.scale = std::clamp(spread.scale, kSmallest, kLargest);
  data.encoding = encoding;
}

void ColumnFitter::finish_categorical(ColumnData& data, std::int64_t rows) const {
  const double distinct = categories_.num_distinct();
  if (distinct == 1 && missing_ == 0) {
    data.notes.emplace_back("left out: every row has the same value");
    return;
  }
  CategoricalEncoding encoding{.missing_token = missing_ >= min_count_};
  if (categories_.overflowed()) {
    encoding.hash_buckets = hash_buckets_;
    data.notes.push_back("about " + count_text(distinct) + " different values, hashed");
  } else {
    encoding.vocabulary = categories_.vocabulary(min_count_);
    const double rare = distinct - static_cast<double>(encoding.vocabulary.texts().size());
    if (rare > 0) {
      data.notes.push_back(count_text(rare) + (rare == 1 ? " value" : " values") + " below " +
                           count_text(static_cast<double>(min_count_)) + " rows share a token");
    }
    if (encoding.vocabulary.texts().empty() && !encoding.missing_token) {
      data.notes.emplace_back("left out: no value is frequent enough");
      return;
    }
  }
  if (rows >= 1000 && distinct > 0.5 * static_cast<double>(present_)) {
    data.notes.emplace_back("most rows have a value of their own: drop it if it is an identifier");
  }
  data.encoding = std::move(encoding);
}

void ColumnFitter::finish_dates(ColumnData& data) const {
  DateEncoding encoding{.format = date_format_, .missing_token = missing_ >= min_count_};
  encoding.parts = dates_.parts(min_count_);
  if (encoding.parts.empty()) {
    data.notes.emplace_back("left out: neither hour nor weekday vary");
    return;
  }
  data.encoding = std::move(encoding);
}

ColumnData ColumnFitter::finish(std::int64_t rows) const {
  ColumnData data{.name = name_, .missing = missing_};
  if (present_ == 0) {
    data.notes.emplace_back("left out: no row has a value");
  } else if (kind_ == ColumnKind::kNumeric) {
    finish_numeric(data);
  } else if (kind_ == ColumnKind::kDate || maybe_date_) {
    finish_dates(data);
  } else {
    finish_categorical(data, rows);
  }
  return data;
}

}  // namespace limen::train::detail
