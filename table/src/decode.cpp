// SPDX-License-Identifier: MIT
#include "decode.h"

#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "arrow_status.h"
#include "limen/base/label_column.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

using ArrayPointer = std::shared_ptr<arrow::Array>;

constexpr double kMissingNumber = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint8_t kBadLabel = kMissingLabel + 1;  // code of a label beside 0, 1 and a missing one

bool holds_text(const arrow::DataType& type) {
  return arrow::is_base_binary_like(type.id()) || arrow::is_binary_view_like(type.id());
}

arrow::Result<ArrayPointer> cast(const ArrayPointer& array, const std::shared_ptr<arrow::DataType>& type) {
  if (array->type()->Equals(*type)) return array;
  return arrow::compute::Cast(*array, type, arrow::compute::CastOptions::Unsafe(type));
}

// Appends the values of a float or double array as they are, NaN for null.
template <typename RealArray, typename Vector>
void append_plain(const arrow::Array& array, Vector& values) {
  const auto& typed = static_cast<const RealArray&>(array);
  values.insert(values.end(), typed.raw_values(), typed.raw_values() + typed.length());
  if (typed.null_count() == 0) return;
  const std::size_t begin = values.size() - static_cast<std::size_t>(typed.length());
  for (std::int64_t row = 0; row < typed.length(); ++row) {
    if (typed.IsNull(row)) {
      values[begin + static_cast<std::size_t>(row)] = std::numeric_limits<typename Vector::value_type>::quiet_NaN();
    }
  }
}

// Decimals go by way of their digits: the result is the correctly rounded one, the same as for the number in a CSV
// file, which Arrow's cast does not promise.
void append_numbers(const ArrayPointer& array, const std::string& table, Reals& values) {
  const ArrayPointer plain = value_or_refuse(plain_array(array), table, "numbers");
  if (!arrow::is_decimal(plain->type_id())) {
    append_plain<arrow::DoubleArray>(*value_or_refuse(cast(plain, arrow::float64()), table, "numbers"), values);
    return;
  }
  const auto digits = value_or_refuse(as_text(plain), table, "numbers");
  for (std::int64_t row = 0; row < digits->length(); ++row) {
    values.push_back(digits->IsNull(row) ? kMissingNumber : parse_number(digits->GetView(row)).value);
  }
}

// Appends the numbers that texts stand for, NaN for any other; calls `refuse` with the rows of those that stand for no
// number and are not missing.
template <typename Refuse>
void append_parsed(std::span<const std::string_view> texts, const ValueRules& rules, Reals& values,
                   const Refuse& refuse) {
  const std::size_t begin = values.size();
  values.resize(begin + texts.size());
  for (std::size_t row = 0; row < texts.size(); ++row) {
    const NumberField field = parse_number(texts[row]);
    values[begin + row] = field.status == FieldStatus::kOk ? field.value : kMissingNumber;
    if (field.status == FieldStatus::kOk && rules.missing.empty()) continue;
    if (rules.is_missing(trimmed(texts[row]))) {
      values[begin + row] = kMissingNumber;
    } else if (field.status == FieldStatus::kBad) {
      refuse(row);
    }
  }
}

// Reads labels and remembers the values of a rule that names the positive one.
class LabelReader {
 public:
  LabelReader(const ValueRules& rules, LabelsSeen& seen) : rules_(rules), seen_(seen) {}

  void append(std::span<const std::string_view> texts, Labels& labels) {
    const bool is_standard = rules_.labels.kind == LabelKind::kStandard;
    TextIndex index;  // Under other rules each text is looked at once.
    std::vector<std::uint8_t> by_text;
    for (const std::string_view text : texts) {
      if (is_standard) {
        labels.push_back(of_text(text));
        continue;
      }
      const auto number = static_cast<std::size_t>(index.add(text));
      if (number == by_text.size()) by_text.push_back(of_text(text));
      labels.push_back(by_text[number]);
    }
  }

  void append(std::span<const double> numbers, bool is_bool, Labels& labels) {
    for (const double value : numbers) {
      if (rules_.labels.kind == LabelKind::kStandard) {
        labels.push_back(value == 0 ? 0 : value == 1 ? 1 : std::isnan(value) ? kMissingLabel : kBadLabel);
      } else {
        labels.push_back(of_number(value, is_bool));
      }
    }
  }

 private:
  std::uint8_t of_text(std::string_view text) {
    // The labels of the standard rule are no words for missing values.
    if (rules_.labels.kind == LabelKind::kStandard && rules_.missing.empty()) {
      if (const std::optional<std::uint8_t> label = label_of(rules_.labels, text)) return *label;
    }
    text = trimmed(text);
    if (is_missing(text) || rules_.is_missing(text)) return kMissingLabel;
    const std::optional<std::uint8_t> label = label_of(rules_.labels, text);
    if (rules_.labels.kind == LabelKind::kEquals) seen_.add(label_value(text), label);
    return label.value_or(kBadLabel);
  }
  // A boolean is the number 0 or 1, and the word true or false.
  std::uint8_t of_number(double value, bool is_bool) {
    if (std::isnan(value)) return kMissingLabel;
    const std::string& positive = rules_.labels.positive;
    if (is_bool && (equals_ignoring_case(positive, "true") || equals_ignoring_case(positive, "false"))) {
      const std::string text = value == 1 ? "true" : "false";
      const auto label = static_cast<std::uint8_t>(equals_ignoring_case(positive, text));
      seen_.add(text, label);
      return label;
    }
    if (!std::isfinite(value)) return kBadLabel;
    const std::optional<std::uint8_t> label = label_of(rules_.labels, value);
    if (rules_.labels.kind == LabelKind::kEquals) seen_.add(number_text(value), label);
    return label.value_or(kBadLabel);
  }

  const ValueRules& rules_;
  LabelsSeen& seen_;
};

// On the bits, because the compiler vectorises that.
template <typename Real>
bool are_finite(std::span<const Real> values) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kExponent = std::bit_cast<Bits>(std::numeric_limits<Real>::infinity());
  Bits found = 0;
  for (const Real value : values) found |= (std::bit_cast<Bits>(value) & kExponent) == kExponent ? 1 : 0;
  return found == 0;
}

// A column as texts, those of an array held by `held`.
std::vector<std::string_view> texts_of(const ArrayPointer& array, const std::string& table,
                                       std::shared_ptr<arrow::StringArray>& held) {
  held = value_or_refuse(as_text(array), table, "text");
  const bool is_time = value_type(array->type())->id() == arrow::Type::TIMESTAMP;
  std::vector<std::string_view> texts;
  for (std::int64_t row = 0; row < held->length(); ++row) {
    texts.push_back(held->IsNull(row) ? std::string_view() : held->GetView(row));
    if (is_time) texts.back() = texts.back().substr(0, texts.back().find('.'));  // no fractions of seconds
  }
  return texts;
}

// A value as the file has it; empty for null.
std::string shown_value(const RawColumn& column, std::size_t row) {
  if (!column.array) return std::string(column.texts[row]);
  const auto one = plain_array(column.array->Slice(static_cast<std::int64_t>(row), 1));
  const auto scalar = one.ok() ? (*one)->GetScalar(0) : one.status();
  return scalar.ok() && (*scalar)->is_valid ? (*scalar)->ToString() : "";
}

// What is wrong with a value that is refused.
void describe(BadValue& bad, const std::string& text, const Wanted& column, const ValueRules& rules) {
  const std::string_view value = trimmed(text);
  const FieldStatus status = parse_number(value).status;
  bad.cause = Cause::kMissingValue;
  if (value.empty()) {
    bad.problem = "the value is missing";
  } else if (is_missing(value) || rules.is_missing(value)) {
    bad.problem = quoted(text) + " is a missing value";
  } else if (column.kind == Kind::kLabel) {
    bad.problem = quoted(text) + " is not " + wanted_labels(rules.labels);
    bad.cause = Cause::kBadLabel;
  } else if (status == FieldStatus::kBad) {
    bad.problem = quoted(text) + " is not a number";
    bad.cause = Cause::kNotANumber;
  } else if (status == FieldStatus::kNotFinite) {
    bad.problem = quoted(text) + " is not finite";
  } else {
    bad.problem = quoted(text) + " is negative, a weight is at least 0";
  }
}

// Decodes one column after the other and notes which rows are dropped, and which value is the first to be refused.
class RowDecoder {
 public:
  RowDecoder(const RawRows& rows, const Selection& selection, const std::string& table, Batch& into)
      : rows_(rows), selection_(selection), table_(table), into_(into), begin_(into.num_rows) {}

  [[nodiscard]] std::optional<BadValue> run() {
    for (column_ = 0; column_ < rows_.columns.size(); ++column_) decode_column();
    if (bad_row_ < rows_.size) {
      const Wanted& column = selection_.wanted[bad_column_];
      BadValue bad = {.row = bad_row_, .column = column.index};
      describe(bad, shown_value(rows_.columns[bad_column_], bad_row_), column, selection_.rules);
      return bad;
    }
    if (!keep_.empty()) keep_rows(into_, begin_, keep_);
    const auto kept = keep_.empty() ? rows_.size : static_cast<std::size_t>(std::ranges::count(keep_, true));
    into_.num_rows += kept;
    into_.rows_dropped += rows_.size - kept;
    for (std::size_t row = 0; row < rows_.places.size(); ++row) {
      if (keep_.empty() || keep_[row]) into_.places.push_back(rows_.places[row]);
    }
    if (rows_.copied && kept > 0) {
      into_.copied.push_back(keep_.empty() ? rows_.copied : filtered(rows_.copied, keep_, table_));
    }
    return std::nullopt;
  }

 private:
  void decode_column() {
    const RawColumn& raw = rows_.columns[column_];
    const Wanted& wanted = selection_.wanted[column_];
    Values& values = into_.columns[column_];
    const bool is_text = !raw.array || wanted.kind == Kind::kText || !is_plain_number(*value_type(raw.array->type()));
    std::shared_ptr<arrow::StringArray> held;
    std::vector<std::string_view> own_texts;
    if (is_text && raw.array) own_texts = texts_of(raw.array, table_, held);
    const std::span<const std::string_view> texts = raw.array ? own_texts : raw.texts;
    if (Labels* labels = std::get_if<Labels>(&values)) {
      LabelReader reader(selection_.rules, into_.labels);
      if (is_text) {
        reader.append(texts, *labels);
      } else {
        Reals numbers;
        append_numbers(raw.array, table_, numbers);
        reader.append(numbers, raw.array->type_id() == arrow::Type::BOOL, *labels);
      }
      leave_out_if(*labels, [](std::uint8_t label) { return label > 1; });
    } else if (Texts* into = std::get_if<Texts>(&values)) {
      for (const std::string_view text : texts) {
        into->code.push_back(selection_.rules.is_missing(text) ? TextValues::kMissing : into->index.add(text));
      }
      leave_out_if(into->code, [](std::int32_t code) { return code == TextValues::kMissing; });
    } else if (Singles* singles = std::get_if<Singles>(&values)) {
      append_plain<arrow::FloatArray>(*raw.array, *singles);
      check_reals(*singles, wanted.is_weight);
    } else {
      Reals& reals = std::get<Reals>(values);
      if (is_text) {
        append_parsed(texts, selection_.rules, reals, [this](std::size_t row) { refuse(row); });
      } else {
        append_numbers(raw.array, table_, reals);
      }
      check_reals(reals, wanted.is_weight);
    }
  }

  void refuse(std::size_t row) {
    if (row >= bad_row_) return;
    bad_row_ = row;
    bad_column_ = column_;
  }

  template <typename Vector, typename Condition>
  void leave_out_if(const Vector& values, const Condition& condition) {
    if (selection_.rules.rule == MissingRule::kKeep) return;
    for (std::size_t row = 0; row < rows_.size; ++row) {
      if (condition(values[begin_ + row])) leave_out(row);
    }
  }

  void leave_out(std::size_t row) {
    if (selection_.rules.rule == MissingRule::kRefuse) refuse(row);
    if (selection_.rules.rule != MissingRule::kDrop) return;
    if (keep_.empty()) keep_.assign(rows_.size, true);
    keep_[row] = false;
  }

  template <typename Vector>
  void check_reals(Vector& all, bool is_weight) {
    using Real = typename Vector::value_type;
    const std::span<Real> values = std::span(all).subspan(begin_);
    const auto is_negative = [is_weight](Real value) { return is_weight && value < 0; };
    if (all_finite(std::span<const Real>(values)) && std::ranges::none_of(values, is_negative)) return;
    for (std::size_t row = 0; row < rows_.size; ++row) {
      if (std::isfinite(values[row]) && !is_negative(values[row])) continue;
      values[row] = std::numeric_limits<Real>::quiet_NaN();
      leave_out(row);
    }
  }

  const RawRows& rows_;
  const Selection& selection_;
  const std::string& table_;
  Batch& into_;
  std::size_t begin_;  // of the rows in the batch
  std::size_t column_ = 0;
  std::vector<bool> keep_;  // empty: all
  std::size_t bad_row_ = std::numeric_limits<std::size_t>::max();
  std::size_t bad_column_ = 0;
};

}  // namespace

std::optional<BadValue> decode_rows(const RawRows& rows, const Selection& selection, const std::string& table,
                                    Batch& into) {
  return RowDecoder(rows, selection, table, into).run();
}

void refuse_value(const ColumnNames& names, const std::string& place, const BadValue& bad) {
  throw InvalidInput(Where{.source = names.table, .place = place, .column = names.names[bad.column]}, bad.problem,
                     bad.cause);
}

void check_type(const ColumnNames& names, const Wanted& column, const std::shared_ptr<arrow::DataType>& type) {
  const arrow::DataType& plain = *value_type(type);
  std::string wanted;
  if (column.kind == Kind::kReal && !column.parses_text) {
    if (!is_plain_number(plain)) wanted = "a number";
  } else if (column.kind == Kind::kLabel) {
    if (!is_plain_number(plain) && !holds_text(plain)) wanted = "a number, boolean or text";
  } else if (!is_plain_number(plain) && !holds_text(plain) && !arrow::is_primitive(plain.id())) {
    wanted = "a number, text or a time";
  }
  if (wanted.empty()) return;
  throw InvalidInput(Where{.source = names.table, .column = column.name},
                     "has type " + escaped(type->ToString(), 60) + ", must be " + wanted, Cause::kNotANumber);
}

bool is_plain_number(const arrow::DataType& type) {
  return type.id() == arrow::Type::NA || type.id() == arrow::Type::BOOL || arrow::is_integer(type.id()) ||
         arrow::is_floating(type.id()) || arrow::is_decimal(type.id());
}

const std::shared_ptr<arrow::DataType>& value_type(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() != arrow::Type::DICTIONARY) return type;
  return static_cast<const arrow::DictionaryType&>(*type).value_type();
}

arrow::Result<ArrayPointer> plain_array(const ArrayPointer& array) { return cast(array, value_type(array->type())); }

arrow::Result<std::shared_ptr<arrow::StringArray>> as_text(const ArrayPointer& array) {
  ARROW_ASSIGN_OR_RAISE(ArrayPointer text, plain_array(array));
  // The shortest digits of a single-precision number read back as another double, and decisions could change.
  if (text->type_id() == arrow::Type::FLOAT || text->type_id() == arrow::Type::HALF_FLOAT) {
    ARROW_ASSIGN_OR_RAISE(text, cast(text, arrow::float64()));
  }
  // Without its zone, a time is written in UTC.
  if (text->type_id() == arrow::Type::TIMESTAMP) {
    ARROW_ASSIGN_OR_RAISE(text,
                          text->View(arrow::timestamp(static_cast<const arrow::TimestampType&>(*text->type()).unit())));
  }
  ARROW_ASSIGN_OR_RAISE(text, cast(text, arrow::utf8()));
  return std::static_pointer_cast<arrow::StringArray>(text);
}

bool all_finite(std::span<const float> values) { return are_finite(values); }
bool all_finite(std::span<const double> values) { return are_finite(values); }

std::shared_ptr<arrow::RecordBatch> filtered(const std::shared_ptr<arrow::RecordBatch>& rows,
                                             const std::vector<bool>& keep, const std::string& table) {
  const auto kept = static_cast<std::int64_t>(std::ranges::count(keep, true));
  if (rows->num_columns() == 0) return arrow::RecordBatch::Make(rows->schema(), kept, arrow::ArrayVector());
  arrow::BooleanBuilder builder;
  refuse_unless_ok(builder.AppendValues(keep), table, "a table");
  const std::shared_ptr<arrow::Array> mask = value_or_refuse(builder.Finish(), table, "a table");
  return value_or_refuse(arrow::compute::Filter(rows, mask), table, "a table").record_batch();
}

}  // namespace limen::table::detail
