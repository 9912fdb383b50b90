// SPDX-License-Identifier: MIT
#include "arrow_values.h"

#include <arrow/compute/cast.h>
#include <arrow/scalar.h>

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "arrow_status.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

using ArrayPointer = std::shared_ptr<arrow::Array>;

constexpr double kMissingNumber = std::numeric_limits<double>::quiet_NaN();

bool holds_text(const arrow::DataType& type) {
  return arrow::is_base_binary_like(type.id()) || arrow::is_binary_view_like(type.id());
}

bool is_time(const arrow::DataType& type) {
  return type.id() == arrow::Type::DATE32 || type.id() == arrow::Type::DATE64 || type.id() == arrow::Type::TIMESTAMP;
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
  if (array->type_id() == arrow::Type::DICTIONARY) {
    append_numbers(value_or_refuse(cast(array, value_type(array->type())), table, "numbers"), table, values);
  } else if (arrow::is_decimal(array->type_id())) {
    const auto digits = value_or_refuse(as_text(array), table, "numbers");
    for (std::int64_t row = 0; row < digits->length(); ++row) {
      values.push_back(digits->IsNull(row) ? kMissingNumber : parse_number(digits->GetView(row)).value);
    }
  } else {
    append_plain<arrow::DoubleArray>(*value_or_refuse(cast(array, arrow::float64()), table, "numbers"), values);
  }
}

// Reads labels and remembers the values of a rule that names the positive one.
class LabelReader {
 public:
  LabelReader(const ValueRules& rules, LabelsSeen& seen) : rules_(rules), seen_(seen) {}

  void append(const ArrayPointer& array, const std::string& table, Labels& labels) {
    if (holds_text(*value_type(array->type()))) {
      Texts texts;
      append_texts(array, {}, table, texts);
      std::vector<std::uint8_t> by_code;
      for (const std::string& text : texts.index.texts()) by_code.push_back(of_text(text));
      for (const std::int32_t code : texts.code) {
        labels.push_back(code == TextValues::kMissing ? kMissingLabel : by_code[static_cast<std::size_t>(code)]);
      }
      return;
    }
    Reals numbers;
    append_numbers(array, table, numbers);
    const bool is_bool = array->type_id() == arrow::Type::BOOL;
    if (rules_.labels.kind == LabelKind::kStandard) {
      for (const double value : numbers) {
        labels.push_back(value == 0 ? 0 : value == 1 ? 1 : std::isnan(value) ? kMissingLabel : kBadLabel);
      }
    } else {
      for (const double value : numbers) labels.push_back(of_number(value, is_bool));
    }
  }

 private:
  std::uint8_t of_text(std::string_view text) {
    text = trimmed(text);
    if (is_missing(text) || rules_.is_missing(text)) return kMissingLabel;
    return remember(label_value(text), label_of(rules_.labels, text));
  }
  // A boolean is the number 0 or 1, and the word true or false.
  std::uint8_t of_number(double value, bool is_bool) {
    if (std::isnan(value)) return kMissingLabel;
    const std::string& positive = rules_.labels.positive;
    if (is_bool && (equals_ignoring_case(positive, "true") || equals_ignoring_case(positive, "false"))) {
      const std::string text = value == 1 ? "true" : "false";
      return remember(text, static_cast<std::uint8_t>(equals_ignoring_case(positive, text)));
    }
    if (!std::isfinite(value)) return kBadLabel;
    return remember(number_text(value), label_of(rules_.labels, value));
  }
  std::uint8_t remember(const std::string& value, std::optional<std::uint8_t> label) {
    if (rules_.labels.kind == LabelKind::kEquals) seen_.add(value, label);
    return label ? *label : kBadLabel;
  }

  const ValueRules& rules_;
  LabelsSeen& seen_;
};

// The numbers that text stands for.
void append_parsed(const ArrayPointer& array, const ValueRules& rules, const std::string& table, Reals& values,
                   std::optional<std::size_t>& first_bad) {
  Texts texts;
  append_texts(array, rules, table, texts);
  std::vector<NumberField> fields;
  for (const std::string& text : texts.index.texts()) fields.push_back(parse_number(text));
  for (std::size_t row = 0; row < texts.code.size(); ++row) {
    values.push_back(kMissingNumber);
    if (texts.code[row] == TextValues::kMissing) continue;
    const NumberField& field = fields[static_cast<std::size_t>(texts.code[row])];
    if (field.status == FieldStatus::kOk) values.back() = field.value;
    if (field.status == FieldStatus::kBad && !first_bad) first_bad = row;
  }
}

// On the bits, because the compiler vectorises that.
template <typename Real>
bool are_finite(std::span<const Real> values) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kExponent = std::bit_cast<Bits>(std::numeric_limits<Real>::infinity());
  Bits found = 0;
  for (const Real value : values) found |= (std::bit_cast<Bits>(value) & kExponent) == kExponent ? 1 : 0;
  return found == 0;
}

}  // namespace

bool is_plain_number(const arrow::DataType& type) {
  return type.id() == arrow::Type::NA || type.id() == arrow::Type::BOOL || arrow::is_integer(type.id()) ||
         arrow::is_floating(type.id()) || arrow::is_decimal(type.id());
}

const std::shared_ptr<arrow::DataType>& value_type(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() != arrow::Type::DICTIONARY) return type;
  return static_cast<const arrow::DictionaryType&>(*type).value_type();
}

void check_type(const ColumnNames& names, const Wanted& column, const std::shared_ptr<arrow::DataType>& type) {
  const arrow::DataType& plain = *value_type(type);
  std::string wanted;
  if (column.kind == Kind::kReal && !column.parses_text) {
    if (!is_plain_number(plain)) wanted = "a number";
  } else if (column.kind == Kind::kLabel) {
    if (!is_plain_number(plain) && !holds_text(plain)) wanted = "a number, boolean or text";
  } else if (!is_plain_number(plain) && !holds_text(plain) && !is_time(plain) && !arrow::is_primitive(plain.id())) {
    wanted = "a number, text or a time";
  }
  if (wanted.empty()) return;
  throw InvalidInput(Where{.source = names.table, .column = column.name},
                     "has type " + escaped(type->ToString(), 60) + ", must be " + wanted, Cause::kNotANumber);
}

void append_values(const ArrayPointer& array, const Wanted& column, const ValueRules& rules, const std::string& table,
                   Batch& batch, Values& values, std::optional<std::size_t>& first_bad) {
  if (Labels* labels = std::get_if<Labels>(&values)) {
    LabelReader(rules, batch.labels).append(array, table, *labels);
  } else if (Texts* texts = std::get_if<Texts>(&values)) {
    append_texts(array, rules, table, *texts);
  } else if (Singles* singles = std::get_if<Singles>(&values)) {
    append_plain<arrow::FloatArray>(*array, *singles);
  } else if (column.parses_text && !is_plain_number(*value_type(array->type()))) {
    append_parsed(array, rules, table, std::get<Reals>(values), first_bad);
  } else {
    append_numbers(array, table, std::get<Reals>(values));
  }
}

void append_texts(const ArrayPointer& array, const ValueRules& rules, const std::string& table, Texts& texts) {
  if (array->type_id() == arrow::Type::DICTIONARY) {
    const auto& encoded = static_cast<const arrow::DictionaryArray&>(*array);
    Texts dictionary;
    append_texts(encoded.dictionary(), rules, table, dictionary);
    for (std::int64_t row = 0; row < array->length(); ++row) {
      const std::int64_t index = encoded.IsNull(row) ? -1 : encoded.GetValueIndex(row);
      const bool is_known = index >= 0 && index < static_cast<std::int64_t>(dictionary.code.size());
      const std::int32_t code = is_known ? dictionary.code[static_cast<std::size_t>(index)] : TextValues::kMissing;
      texts.code.push_back(code == TextValues::kMissing
                               ? code
                               : texts.index.add(dictionary.index.texts()[static_cast<std::size_t>(code)]));
    }
    return;
  }
  const std::shared_ptr<arrow::StringArray> text = value_or_refuse(as_text(array), table, "text");
  const bool cuts = array->type_id() == arrow::Type::TIMESTAMP;
  for (std::int64_t row = 0; row < text->length(); ++row) {
    std::string_view value = text->IsNull(row) ? std::string_view() : text->GetView(row);
    if (cuts) value = value.substr(0, value.find('.'));  // no fractions of seconds
    texts.code.push_back(rules.is_missing(value) ? TextValues::kMissing : texts.index.add(value));
  }
}

arrow::Result<std::shared_ptr<arrow::StringArray>> as_text(const ArrayPointer& array) {
  ArrayPointer text = array;
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

std::string shown_value(const arrow::Array& array, std::int64_t row) {
  const auto scalar = array.GetScalar(row);
  if (!scalar.ok() || !(*scalar)->is_valid) return "";
  if ((*scalar)->type->id() != arrow::Type::DICTIONARY) return (*scalar)->ToString();
  const auto value = static_cast<const arrow::DictionaryScalar&>(**scalar).GetEncodedValue();
  return value.ok() && (*value)->is_valid ? (*value)->ToString() : "";
}

}  // namespace limen::table::detail
