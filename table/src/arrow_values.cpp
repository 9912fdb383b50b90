// SPDX-License-Identifier: MIT
#include "arrow_values.h"

#include <arrow/compute/cast.h>
#include <arrow/scalar.h>
#include <arrow/util/float16.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "limen/base/labels.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Calls `use` with the array as its own type, for the types that hold numbers as C++ does; false for other types.
template <typename Use>
bool visit_primitive(const arrow::Array& array, Use&& use) {
  switch (array.type_id()) {
    case arrow::Type::INT8:
      use(static_cast<const arrow::Int8Array&>(array));
      return true;
    case arrow::Type::UINT8:
      use(static_cast<const arrow::UInt8Array&>(array));
      return true;
    case arrow::Type::INT16:
      use(static_cast<const arrow::Int16Array&>(array));
      return true;
    case arrow::Type::UINT16:
      use(static_cast<const arrow::UInt16Array&>(array));
      return true;
    case arrow::Type::INT32:
      use(static_cast<const arrow::Int32Array&>(array));
      return true;
    case arrow::Type::UINT32:
      use(static_cast<const arrow::UInt32Array&>(array));
      return true;
    case arrow::Type::INT64:
      use(static_cast<const arrow::Int64Array&>(array));
      return true;
    case arrow::Type::UINT64:
      use(static_cast<const arrow::UInt64Array&>(array));
      return true;
    case arrow::Type::FLOAT:
      use(static_cast<const arrow::FloatArray&>(array));
      return true;
    case arrow::Type::DOUBLE:
      use(static_cast<const arrow::DoubleArray&>(array));
      return true;
    default:
      return false;
  }
}

// By way of its digits: the result is the correctly rounded one, the same as for the number in a CSV file.
template <typename DecimalArray>
double decimal_value(const arrow::Array& array, std::int64_t row) {
  return parse_number(static_cast<const DecimalArray&>(array).FormatValue(row)).value;
}

double slow_number(const arrow::Array& array, std::int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(row) ? 1 : 0;
    case arrow::Type::HALF_FLOAT:
      return arrow::util::Float16::FromBits(static_cast<const arrow::HalfFloatArray&>(array).Value(row)).ToDouble();
    case arrow::Type::DECIMAL32:
      return decimal_value<arrow::Decimal32Array>(array, row);
    case arrow::Type::DECIMAL64:
      return decimal_value<arrow::Decimal64Array>(array, row);
    case arrow::Type::DECIMAL128:
      return decimal_value<arrow::Decimal128Array>(array, row);
    case arrow::Type::DECIMAL256:
      return decimal_value<arrow::Decimal256Array>(array, row);
    default:
      return kMissing;  // the null type
  }
}

std::uint8_t label_of(double value) {
  if (std::isnan(value)) return kMissingLabel;
  return value == 0 ? 0 : value == 1 ? 1 : kBadLabelValue;
}

std::uint8_t label_of(std::string_view text) {
  if (is_missing(trimmed(text))) return kMissingLabel;
  return limen::label_of(LabelRule{}, text).value_or(kBadLabelValue);
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

// Appends the values of a dictionary array, given how to append those of its dictionary.
template <typename Value, typename Append>
void append_dictionary(const arrow::Array& array, std::vector<Value>& values, Value missing, const Append& append) {
  const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
  std::vector<Value> dictionary;
  append(*encoded.dictionary(), dictionary);
  values.reserve(values.size() + static_cast<std::size_t>(array.length()));
  for (std::int64_t row = 0; row < array.length(); ++row) {
    const std::int64_t index = encoded.IsNull(row) ? -1 : encoded.GetValueIndex(row);
    const bool is_known = index >= 0 && index < static_cast<std::int64_t>(dictionary.size());
    values.push_back(is_known ? dictionary[static_cast<std::size_t>(index)] : missing);
  }
}

// `begin` is where the values of the array begin.
template <typename Values>
void mark_nulls(const arrow::Array& array, Values& values, std::size_t begin, typename Values::value_type missing) {
  if (array.null_count() == 0) return;
  for (std::int64_t row = 0; row < array.length(); ++row) {
    if (array.IsNull(row)) values[begin + static_cast<std::size_t>(row)] = missing;
  }
}

}  // namespace

bool is_plain_number(const arrow::DataType& type) {
  return type.id() == arrow::Type::NA || type.id() == arrow::Type::BOOL || arrow::is_integer(type.id()) ||
         arrow::is_floating(type.id()) || arrow::is_decimal(type.id());
}

bool holds_text(const arrow::DataType& type) {
  return arrow::is_base_binary_like(type.id()) || arrow::is_binary_view_like(type.id());
}

const arrow::DataType& value_type(const arrow::DataType& type) {
  if (type.id() != arrow::Type::DICTIONARY) return type;
  return *static_cast<const arrow::DictionaryType&>(type).value_type();
}

void refuse_type(const ColumnNames& names, const Column& column, const arrow::DataType& type, const char* wanted) {
  names.refuse("column " + quoted(column.name) + " has type " + escaped(type.ToString(), 60) + ", must be " + wanted);
}

std::string_view string_value(const arrow::Array& array, std::int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(array).GetView(row);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).GetView(row);
    default:
      return static_cast<const arrow::BinaryViewArray&>(array).GetView(row);
  }
}

void check_number_type(const ColumnNames& names, const Column& column, const arrow::DataType& type) {
  if (!is_plain_number(value_type(type))) refuse_type(names, column, type, "a number");
}

void check_label_type(const ColumnNames& names, const Column& column, const arrow::DataType& type) {
  const arrow::DataType& plain = value_type(type);
  if (!is_plain_number(plain) && !holds_text(plain)) refuse_type(names, column, type, "0/1 or true/false");
}

void append_numbers(const arrow::Array& array, std::vector<double>& values) {
  if (array.type_id() == arrow::Type::DICTIONARY) {
    append_dictionary(array, values, kMissing, [](const arrow::Array& dictionary, std::vector<double>& numbers) {
      append_numbers(dictionary, numbers);
    });
    return;
  }
  const bool done = visit_primitive(array, [&](const auto& typed) {
    values.insert(values.end(), typed.raw_values(), typed.raw_values() + typed.length());
  });
  for (std::int64_t row = 0; !done && row < array.length(); ++row) {
    values.push_back(array.IsNull(row) ? kMissing : slow_number(array, row));
  }
  if (done) mark_nulls(array, values, values.size() - static_cast<std::size_t>(array.length()), kMissing);
}

void put_numbers(const arrow::Array& array, RealColumn& column, std::size_t begin) {
  const auto put = [&]<typename Real>(RealColumn::Vector<Real>& values) {
    using RealArray = std::conditional_t<sizeof(Real) == 4, arrow::FloatArray, arrow::DoubleArray>;
    if (array.type_id() == RealArray::TypeClass::type_id) {
      const auto& typed = static_cast<const RealArray&>(array);
      std::copy(typed.raw_values(), typed.raw_values() + typed.length(),
                values.begin() + static_cast<std::ptrdiff_t>(begin));
      mark_nulls(array, values, begin, std::numeric_limits<Real>::quiet_NaN());
      return;
    }
    std::vector<double> numbers;
    append_numbers(array, numbers);
    for (std::size_t row = 0; row < numbers.size(); ++row) values[begin + row] = static_cast<Real>(numbers[row]);
  };
  std::visit(put, column.values());
}

void append_labels(const arrow::Array& array, std::vector<std::uint8_t>& labels) {
  if (array.type_id() == arrow::Type::DICTIONARY) {
    append_dictionary(array, labels, kMissingLabel, append_labels);
    return;
  }
  const std::size_t begin = labels.size();
  const auto length = static_cast<std::size_t>(array.length());
  labels.resize(begin + length, kMissingLabel);
  std::uint8_t* const out = labels.data() + begin;
  const bool done = visit_primitive(array, [&](const auto& typed) {
    const auto* const values = typed.raw_values();
    using Value = std::remove_cvref_t<decltype(values[0])>;
    for (std::size_t row = 0; row < length; ++row) {
      if constexpr (std::is_floating_point_v<Value>) {
        out[row] = label_of(static_cast<double>(values[row]));
      } else {
        out[row] = values[row] == 0 ? 0 : values[row] == 1 ? 1 : kBadLabelValue;
      }
    }
  });
  if (done) {
    mark_nulls(array, labels, begin, kMissingLabel);
  } else if (array.type_id() == arrow::Type::BOOL && array.null_count() == 0 && length > 0) {
    const std::uint8_t* const bits = array.data()->buffers[1]->data();
    const auto offset = static_cast<std::size_t>(array.offset());
    for (std::size_t row = 0; row < length; ++row) {
      out[row] = (bits[(offset + row) >> 3] >> ((offset + row) & 7)) & 1;
    }
  } else {
    const bool has_strings = holds_text(*array.type());
    for (std::size_t row = 0; row < length; ++row) {
      const auto index = static_cast<std::int64_t>(row);
      if (array.IsNull(index)) continue;
      out[row] = has_strings ? label_of(string_value(array, index)) : label_of(slow_number(array, index));
    }
  }
}

arrow::Result<std::shared_ptr<arrow::StringArray>> as_text(const arrow::Array& array) {
  std::shared_ptr<arrow::Array> text = arrow::MakeArray(array.data());
  // The shortest digits of a single-precision number read back as another double, and decisions could change.
  if (text->type_id() == arrow::Type::FLOAT || text->type_id() == arrow::Type::HALF_FLOAT) {
    ARROW_ASSIGN_OR_RAISE(text, arrow::compute::Cast(*text, arrow::float64()));
  }
  ARROW_ASSIGN_OR_RAISE(text, arrow::compute::Cast(*text, arrow::utf8()));
  return std::static_pointer_cast<arrow::StringArray>(text);
}

RealColumn empty_column(const arrow::DataType& type) {
  return type.id() == arrow::Type::FLOAT ? RealColumn(std::vector<float>()) : RealColumn(std::vector<double>());
}

bool all_finite(RealSpan values, std::size_t begin, std::size_t size) {
  return values.visit([=](auto span) { return are_finite(span.subspan(begin, size)); });
}

std::string bad_value(const arrow::Array& array, std::int64_t row) {
  const std::string text = array.IsNull(row) ? "" : shown_value(array, row);
  if (text == "\"inf\"" || text == "\"-inf\"") return (text + " is not finite ").append(kDropHint);
  // A value that is not null but missing is NaN, a null in a dictionary, or an empty or missing word of a label.
  const bool is_nothing = text.empty() || text == "\"null\"" || trimmed(text.substr(1, text.size() - 2)).empty();
  return (is_nothing ? "the value is missing " : text + " is a missing value ").append(kDropHint);
}

std::string shown_value(const arrow::Array& array, std::int64_t row) {
  if (array.type_id() == arrow::Type::DICTIONARY) {
    const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
    return shown_value(*encoded.dictionary(), encoded.GetValueIndex(row));
  }
  if (holds_text(*array.type())) return quoted(string_value(array, row));
  const auto scalar = array.GetScalar(row);
  return scalar.ok() ? quoted((*scalar)->ToString()) : "the value";
}

}  // namespace limen::table::detail
