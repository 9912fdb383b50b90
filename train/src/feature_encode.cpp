// SPDX-License-Identifier: MIT
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "detail/transform_data.h"
#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "limen/base/nearest_name.h"
#include "limen/base/parallel.h"
#include "limen/base/random.h"
#include "limen/base/text.h"
#include "limen/train/features.h"

namespace limen::train {
namespace {

constexpr std::size_t kNoRow = std::numeric_limits<std::size_t>::max();
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
// Rows of a block times the bytes of a row should stay in a core's second-level cache.
constexpr std::size_t kBlockRows = 1024;

/// One raw column on its way to its inputs. The text of a cell is looked up once per different text, not per row.
struct Task {
  const detail::ColumnData* column = nullptr;
  const NumberValues* numbers = nullptr;  ///< this or texts
  const TextValues* texts = nullptr;
  std::size_t first_output = 0;             ///< in the numeric or the categorical row
  std::size_t token_output = 0;             ///< numeric: of the knot, in the categorical row
  std::size_t fraction_output = 0;          ///< numeric: in the row of fractions
  std::vector<double> number_of_code = {};  ///< numeric: of code; kMissing for none
  /// Categorical and date: for part p of P, token_of_code[(code + 1) * P + p].
  std::vector<std::int32_t> token_of_code = {};
  std::vector<std::uint8_t> bad_code = {};
  std::atomic<std::size_t> first_bad_row = kNoRow;

  void report_bad(std::size_t row) {
    std::size_t known = first_bad_row.load();
    while (row < known && !first_bad_row.compare_exchange_weak(known, row)) {
    }
  }
};

std::int32_t token_of(const detail::CategoricalEncoding& encoding, std::string_view text) {
  if (text.empty()) return encoding.missing_token ? 1 : 0;
  if (encoding.hash_buckets > 0) return encoding.first_token() + hash_bucket(text_hash(text), encoding.hash_buckets);
  const std::int32_t number = encoding.vocabulary.find(text);
  return number == TextIndex::kNone ? 0 : encoding.first_token() + number;
}

std::int32_t token_of(const detail::DateEncoding& encoding, const detail::DatePartEncoding& part, const Date& date) {
  const int value = detail::part_value(date, part.part);
  const auto found = std::lower_bound(part.values.begin(), part.values.end(), value);
  if (found == part.values.end() || *found != value) return 0;
  return encoding.first_token() + static_cast<std::int32_t>(found - part.values.begin());
}

/// The last knot at or below a number, but at most the last but one. Which half is taken is chance: a product in place
/// of a branch. knots: at least two.
std::size_t knot_of(const std::vector<double>& knots, double number) {
  std::size_t first = 0;
  for (std::size_t size = knots.size() - 1; size > 1; size -= size / 2) {
    first += static_cast<std::size_t>(number >= knots[first + size / 2]) * (size / 2);
  }
  return first;
}

template <typename Function>
void for_each_code(const TextValues& texts, Function function) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, texts.distinct.size(), 4096), [&](const auto& range) {
    for (std::size_t code = range.begin(); code < range.end(); ++code) function(code);
  });
}

/// Fills the tables of a text column.
struct PrepareTexts {
  Task& task;

  void operator()(const detail::LeftOut&) const {}

  void operator()(const detail::NumericEncoding&) const {
    task.number_of_code.assign(task.texts->distinct.size(), kMissing);
    task.bad_code.assign(task.texts->distinct.size(), 0);
    for_each_code(*task.texts, [&](std::size_t code) {
      const std::string& text = task.texts->distinct[code];
      if (text.empty()) return;
      const NumberField number = parse_number(text);
      task.bad_code[code] = number.status == FieldStatus::kBad ? 1 : 0;
      if (number.status == FieldStatus::kOk) task.number_of_code[code] = number.value;
    });
  }

  void operator()(const detail::CategoricalEncoding& encoding) const {
    task.token_of_code.assign(task.texts->distinct.size() + 1, token_of(encoding, ""));
    for_each_code(*task.texts, [&](std::size_t code) {
      task.token_of_code[code + 1] = token_of(encoding, task.texts->distinct[code]);
    });
  }

  void operator()(const detail::DateEncoding& encoding) const {
    const std::size_t num_parts = encoding.parts.size();
    task.token_of_code.assign((task.texts->distinct.size() + 1) * num_parts, encoding.missing_token ? 1 : 0);
    task.bad_code.assign(task.texts->distinct.size(), 0);
    for_each_code(*task.texts, [&](std::size_t code) {
      const std::string& text = task.texts->distinct[code];
      if (text.empty()) return;
      const auto date = parse_date(text, encoding.format);
      task.bad_code[code] = date ? 0 : 1;
      for (std::size_t part = 0; date && part < num_parts; ++part) {
        task.token_of_code[(code + 1) * num_parts + part] = token_of(encoding, encoding.parts[part], *date);
      }
    });
  }
};

/// Writes one column's inputs for the rows of a block.
struct EncodeBlock {
  Task& task;
  std::size_t begin;
  std::size_t end;
  double clip;
  FeatureRows& rows;
  const FeatureShape& shape;

  void operator()(const detail::LeftOut&) const {}

  void operator()(const detail::NumericEncoding& encoding) const {
    if (task.numbers != nullptr) {
      write_numbers(encoding, [&](std::size_t row) { return (*task.numbers)[row]; });
    } else {
      write_numbers(encoding, [&](std::size_t row) {
        const std::int32_t code = task.texts->code[row];
        return code == TextValues::kMissing ? kMissing : task.number_of_code[static_cast<std::size_t>(code)];
      });
    }
  }

  void operator()(const detail::CategoricalEncoding& encoding) const {
    std::int32_t* out = rows.categorical.data() + begin * shape.num_categorical() + task.first_output;
    for (std::size_t row = begin; row < end; ++row, out += shape.num_categorical()) {
      if (task.texts != nullptr) {
        *out = task.token_of_code[static_cast<std::size_t>(task.texts->code[row] + 1)];
      } else {
        const double number = (*task.numbers)[row];
        *out = token_of(encoding, std::isfinite(number) ? number_text(number) : std::string());
      }
    }
  }

  void operator()(const detail::DateEncoding& encoding) const {
    const std::size_t num_parts = encoding.parts.size();
    std::int32_t* out = rows.categorical.data() + begin * shape.num_categorical() + task.first_output;
    for (std::size_t row = begin; row < end; ++row, out += shape.num_categorical()) {
      if (task.texts != nullptr) {
        const auto code = static_cast<std::size_t>(task.texts->code[row] + 1);
        std::copy_n(task.token_of_code.data() + code * num_parts, num_parts, out);
        continue;
      }
      const double number = (*task.numbers)[row];
      const auto date = parse_date(number, encoding.format);
      if (!date && std::isfinite(number)) task.report_bad(row);
      for (std::size_t part = 0; part < num_parts; ++part) {
        out[part] = date ? token_of(encoding, encoding.parts[part], *date) : encoding.missing_token ? 1 : 0;
      }
    }
  }

 private:
  template <typename NumberAt>
  void write_numbers(const detail::NumericEncoding& encoding, NumberAt number_at) const {
    if (encoding.has_token()) write_knots(encoding, number_at);
    if (encoding.scaling == Scaling::kLog) {
      write_scaled(encoding, number_at, [](double x) { return std::copysign(std::log1p(std::abs(x)), x); });
    } else {
      write_scaled(encoding, number_at, [](double x) { return x; });
    }
  }

  // Differences of halves: those of huge values would overflow.
  template <typename NumberAt>
  void write_knots(const detail::NumericEncoding& encoding, NumberAt number_at) const {
    std::int32_t* token = rows.categorical.data() + begin * shape.num_categorical() + task.token_output;
    float* fraction = rows.fraction.data() + begin * shape.knots.size() + task.fraction_output;
    const std::vector<double>& knots = encoding.knots;
    for (std::size_t row = begin; row < end; ++row, token += shape.num_categorical(), fraction += shape.knots.size()) {
      const double number = number_at(row);
      if (!std::isfinite(number)) {
        *token = 0;
        *fraction = 0;
        continue;
      }
      const std::size_t knot = knot_of(knots, number);
      const double width = knots[knot + 1] / 2 - knots[knot] / 2;  // 0 between the smallest numbers there are
      const double part = width > 0 ? (number / 2 - knots[knot] / 2) / width : 0;
      *token = 1 + static_cast<std::int32_t>(knot);
      *fraction = static_cast<float>(std::clamp(part, -1.0, 2.0));
    }
  }

  // The difference of two finite numbers may be infinite but not NaN, and neither is its quotient by a finite scale:
  // clipping makes every result finite. Only where the scale itself is near the largest double may a difference that
  // overflows belong inside the clipping range; there all three are halved, which is exact.
  template <typename NumberAt, typename Transform>
  void write_scaled(const detail::NumericEncoding& encoding, NumberAt number_at, Transform transform) const {
    float* out = rows.numeric.data() + begin * shape.num_numeric + task.first_output;
    const std::size_t indicator_at = encoding.value ? 1 : 0;
    const double factor = encoding.scale > 1e300 ? 0.5 : 1;
    const double center = factor * encoding.center;
    const double scale = factor * encoding.scale;
    for (std::size_t row = begin; row < end; ++row, out += shape.num_numeric) {
      const double number = number_at(row);
      const bool present = std::isfinite(number);
      if (encoding.value) {
        const double scaled = (factor * transform(present ? number : 0) - center) / scale;
        *out = present ? static_cast<float>(std::clamp(scaled, -clip, clip)) : 0.0F;
      }
      if (encoding.indicator) out[indicator_at] = present ? 0.0F : 1.0F;
    }
  }
};

[[noreturn]] void refuse_missing(const std::vector<std::string>& missing,
                                 const std::map<std::string_view, const Column*>& columns) {
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + quoted(name);
  std::vector<std::string> present;
  for (const auto& [name, column] : columns) present.emplace_back(name);
  const std::string nearest = nearest_name(missing.front(), present);
  throw InvalidInput("encode", "column" + std::string(missing.size() == 1 ? " " : "s ") + names +
                                   (missing.size() == 1 ? " is" : " are") + " missing, must be there as in training" +
                                   (nearest.empty() ? "" : "; the nearest there is " + quoted(nearest)) +
                                   "; rename or add it, or train without it");
}

/// Throws for the first row whose value is of the wrong kind.
void check_values(const Task& task, std::size_t first_row) {
  std::size_t bad_row = task.first_bad_row.load();
  const bool any_bad = std::find(task.bad_code.begin(), task.bad_code.end(), 1) != task.bad_code.end();
  for (std::size_t row = 0; any_bad && bad_row == kNoRow && row < task.texts->code.size(); ++row) {
    const std::int32_t code = task.texts->code[row];
    if (code != TextValues::kMissing && task.bad_code[static_cast<std::size_t>(code)] != 0) bad_row = row;
  }
  if (bad_row == kNoRow) return;
  const std::string value = task.texts != nullptr
                                ? quoted(task.texts->distinct[static_cast<std::size_t>(task.texts->code[bad_row])])
                                : number_text((*task.numbers)[bad_row]);
  const auto* date = std::get_if<detail::DateEncoding>(&task.column->encoding);
  throw InvalidInput(
      Where{
          .place = "row " + std::to_string(first_row + bad_row + 1), .column = task.column->name, .function = "encode"},
      value + " must be " +
          (date == nullptr                         ? "a number"
           : date->format == DateFormat::kYymmddhh ? "YYMMDDHH such as 14102107"
                                                   : "a date such as 2014-10-21 07:05") +
          ", as in training; correct it or leave it empty");
}

std::vector<std::uint8_t> decode_labels(const detail::TransformData& data, const Column& column,
                                        const EncodeOptions& options) {
  LabelsSeen seen;
  std::vector<std::uint8_t> labels =
      read_labels(column, data.label_rule, Where{.function = "encode"}, options.first_row, seen);
  if (options.missing_labels == MissingLabels::kMark) return labels;
  const auto missing = std::ranges::find(labels, kMissingLabel);
  if (missing != labels.end()) {
    const auto row = options.first_row + static_cast<std::size_t>(missing - labels.begin());
    refuse_missing_label(Where{.function = "encode"}, column.name, row, data.label_rule);
  }
  return labels;
}

}  // namespace

FeatureRows FeatureTransform::encode(const Frame& frame, const EncodeOptions& options) const {
  if (options.num_threads < 0) {
    throw InvalidInput("encode", "num_threads is " + std::to_string(options.num_threads) + ", must be 0 or more");
  }
  const detail::TransformData& data = *data_;
  const auto columns = detail::columns_by_name(frame, "encode");
  std::vector<std::unique_ptr<Task>> tasks;
  std::vector<std::string> missing;
  std::size_t next_numeric = 0;
  std::size_t next_categorical = 0;
  std::size_t next_fraction = 0;
  for (const detail::ColumnData& column : data.columns) {
    if (std::holds_alternative<detail::LeftOut>(column.encoding)) continue;
    const auto found = columns.find(column.name);
    if (found == columns.end()) {
      missing.push_back(column.name);
      continue;
    }
    auto task = std::make_unique<Task>();
    task->column = &column;
    task->numbers = std::get_if<NumberValues>(&found->second->values);
    task->texts = std::get_if<TextValues>(&found->second->values);
    if (const auto* numeric = std::get_if<detail::NumericEncoding>(&column.encoding)) {
      task->first_output = next_numeric;
      next_numeric += numeric->num_inputs();
      task->token_output = next_categorical;
      task->fraction_output = next_fraction;
      next_categorical += numeric->has_token() ? 1 : 0;
      next_fraction += numeric->has_token() ? 1 : 0;
    } else {
      const auto* date = std::get_if<detail::DateEncoding>(&column.encoding);
      task->first_output = next_categorical;
      next_categorical += date != nullptr ? date->parts.size() : 1;
    }
    tasks.push_back(std::move(task));
  }
  const bool wants_label = options.labels != LabelUse::kIgnore && !data.label.empty();
  const auto label = wants_label ? columns.find(data.label) : columns.end();
  if (options.labels == LabelUse::kRequired && label == columns.end()) {
    if (data.label.empty()) throw InvalidInput("encode", "labels are required, but training named no label column");
    missing.push_back(data.label);
  }
  if (!missing.empty()) refuse_missing(missing, columns);

  FeatureRows rows;
  rows.num_rows = frame.num_rows;
  if (label != columns.end()) rows.label = decode_labels(data, *label->second, options);
  rows.numeric.resize(frame.num_rows * data.shape.num_numeric);
  rows.categorical.resize(frame.num_rows * data.shape.num_categorical());
  rows.fraction.resize(frame.num_rows * data.shape.knots.size());
  tbb::task_arena arena(limen::detail::arena_size(options.num_threads));
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, tasks.size(), [&](std::size_t at) {
      if (tasks[at]->texts != nullptr) std::visit(PrepareTexts{*tasks[at]}, tasks[at]->column->encoding);
    });
    const std::size_t num_blocks = (frame.num_rows + kBlockRows - 1) / kBlockRows;
    tbb::parallel_for(std::size_t{0}, num_blocks, [&](std::size_t block) {
      const std::size_t begin = block * kBlockRows;
      const std::size_t end = std::min(begin + kBlockRows, frame.num_rows);
      for (const auto& task : tasks) {
        std::visit(EncodeBlock{*task, begin, end, data.clip, rows, data.shape}, task->column->encoding);
      }
    });
  });
  for (const auto& task : tasks) check_values(*task, options.first_row);
  return rows;
}

}  // namespace limen::train
