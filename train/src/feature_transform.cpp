// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "detail/transform_data.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/train/features.h"

namespace limen::train {
namespace {

void check_range(const char* field, double value, double least, double most) {
  if (value >= least && value <= most) return;
  throw InvalidInput("features", std::string() + field + " is " + number_text(value) + ", must be " +
                                     (least < 1 ? number_text(least) : count_text(least)) + " to " + count_text(most));
}

/// "3.2%"; at least one digit that is not 0 for a share above 0.
std::string percent(double share) {
  char buffer[32];
  const int digits = share > 0 && share < 0.001 ? 4 : 1;
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, 100 * share, std::chars_format::fixed, digits);
  return std::string(buffer, end.ptr) + "%";
}

struct DescribeEncoding {
  std::string operator()(const detail::LeftOut&) const { return "not used"; }
  std::string operator()(const detail::NumericEncoding& numeric) const {
    std::string text = numeric.scaling == Scaling::kLog ? "numeric, log" : "numeric";
    if (numeric.has_token()) text += ", " + count_text(static_cast<double>(numeric.knots.size())) + " knots";
    return text + (numeric.indicator ? ", with missing indicator" : "");
  }
  std::string operator()(const detail::CategoricalEncoding& categorical) const {
    const auto tokens = static_cast<double>(categorical.first_token()) + static_cast<double>(categorical.hash_buckets) +
                        static_cast<double>(categorical.vocabulary.texts().size());
    return "categorical, " + count_text(tokens) + " tokens";
  }
  std::string operator()(const detail::DateEncoding& date) const {
    std::string text;
    for (const auto& part : date.parts) text += (text.empty() ? "" : ", ") + std::string(to_string(part.part));
    return "date: " + text;
  }
};

template <typename Encoding, typename Function>
void for_each_encoding(const detail::TransformData& data, Function function) {
  for (const detail::ColumnData& column : data.columns) {
    if (const auto* encoding = std::get_if<Encoding>(&column.encoding)) function(column.name, *encoding);
  }
}

}  // namespace

namespace detail {

FeatureShape TransformData::shape_of_columns() const {
  FeatureShape result;
  const auto tokens = [](std::int32_t first, std::size_t count) { return first + static_cast<std::int32_t>(count); };
  for (const ColumnData& column : columns) {
    if (const auto* numeric = std::get_if<NumericEncoding>(&column.encoding)) {
      if (numeric->has_token()) {
        result.knots.push_back({.numeric = result.num_numeric, .categorical = result.num_tokens.size()});
        result.num_tokens.push_back(numeric->num_tokens());
      }
      result.num_numeric += numeric->num_inputs();
    } else if (const auto* categorical = std::get_if<CategoricalEncoding>(&column.encoding)) {
      result.num_tokens.push_back(
          tokens(categorical->first_token() + categorical->hash_buckets, categorical->vocabulary.texts().size()));
    } else if (const auto* date = std::get_if<DateEncoding>(&column.encoding)) {
      for (const DatePartEncoding& part : date->parts) {
        result.num_tokens.push_back(tokens(date->first_token(), part.values.size()));
      }
    }
  }
  std::int64_t together = 0;
  for (const std::int32_t count : result.num_tokens) together += count;
  if (together > kMostTokensTogether || columns.size() > kMostColumns) {
    throw InvalidInput("features", "there are " + count_text(static_cast<double>(columns.size())) + " columns with " +
                                       count_text(static_cast<double>(together)) +
                                       " tokens together, must be at most " + count_text(kMostColumns) + " and " +
                                       count_text(kMostTokensTogether) + "; lower max_vocabulary and hash_buckets");
  }
  return result;
}

std::map<std::string_view, const Column*> columns_by_name(const Frame& frame, std::string_view function) {
  std::map<std::string_view, const Column*> columns;
  const auto fail = [&](const Column& column, const std::string& what) {
    throw InvalidInput(Where{.column = column.name, .function = std::string(function)}, what);
  };
  for (const Column& column : frame.columns) {
    if (!columns.emplace(column.name, &column).second) fail(column, "is there twice, names must differ");
    const auto* text = std::get_if<TextValues>(&column.values);
    const std::size_t rows = text != nullptr ? text->code.size() : std::get<NumberValues>(column.values).size();
    if (rows != frame.num_rows) {
      fail(column, "has " + std::to_string(rows) + " rows, the frame has " + std::to_string(frame.num_rows));
    }
    if (text == nullptr || rows == 0) continue;
    std::int32_t least = 0;
    std::int32_t most = 0;
    for (const std::int32_t code : text->code) {
      least = std::min(least, code);
      most = std::max(most, code);
    }
    const auto end = static_cast<std::int64_t>(text->distinct.size());
    const bool none_present = end == 0 && std::all_of(text->code.begin(), text->code.end(),
                                                      [](auto code) { return code == TextValues::kMissing; });
    if (least < TextValues::kMissing || (most >= end && !none_present)) {
      fail(column, "has code " + std::to_string(least < TextValues::kMissing ? least : most) + ", there are " +
                       std::to_string(end) + " texts");
    }
  }
  return columns;
}

}  // namespace detail

void validate(const FeatureOptions& options) {
  check_range("clip", options.clip, 0.001, detail::kMostClip);
  check_range("numeric_knots", options.numeric_knots, 0, detail::kMostKnots);
  check_range("min_count", static_cast<double>(options.min_count), 1, 1e15);
  check_range("max_vocabulary", static_cast<double>(options.max_vocabulary), 1, detail::kMostTokens);
  check_range("hash_buckets", options.hash_buckets, 1, detail::kMostTokens);
  check_range("quantile_rows", static_cast<double>(options.quantile_rows), 1'000, 100'000'000);
  check_range("num_threads", options.num_threads, 0, 1e9);
  std::set<std::string_view> named;
  const auto name_once = [&](const std::string& name) {
    if (name.empty()) throw InvalidInput("features", "a column name is empty, must have at least one letter");
    if (!named.insert(name).second) {
      throw InvalidInput(
          "features",
          "column " + quoted(name) + " is named twice, must be only one of numeric, categorical, date, drop and label");
    }
  };
  for (const auto* names : {&options.numeric, &options.categorical, &options.drop}) {
    for (const std::string& name : *names) name_once(name);
  }
  for (const auto& [name, format] : options.date) name_once(name);
  if (!options.label.empty()) name_once(options.label);
  for (const auto& [name, scaling] : options.scaling_of) {
    const bool numeric = std::find(options.numeric.begin(), options.numeric.end(), name) != options.numeric.end();
    if (!numeric && named.count(name) != 0) {
      throw InvalidInput("features", "scaling_of names " + quoted(name) + ", which is no numeric column");
    }
  }
  if (options.label_rule.kind != LabelKind::kStandard && options.label.empty()) {
    throw InvalidInput("features", "there is a rule for labels, but no label column is named");
  }
}

FeatureTransform::FeatureTransform(std::shared_ptr<const detail::TransformData> data) : data_(std::move(data)) {}

const FeatureShape& FeatureTransform::shape() const { return data_->shape; }

const std::string& FeatureTransform::label() const { return data_->label; }

std::vector<ColumnUse> FeatureTransform::columns() const {
  std::vector<ColumnUse> uses;
  for (const detail::ColumnData& column : data_->columns) {
    if (std::holds_alternative<detail::LeftOut>(column.encoding)) continue;
    const ColumnKind kind = std::holds_alternative<detail::NumericEncoding>(column.encoding) ? ColumnKind::kNumeric
                            : std::holds_alternative<detail::DateEncoding>(column.encoding)  ? ColumnKind::kDate
                                                                                             : ColumnKind::kCategorical;
    uses.push_back({.name = column.name, .kind = kind});
  }
  return uses;
}

std::vector<std::string> FeatureTransform::numeric_names() const {
  std::vector<std::string> names;
  for_each_encoding<detail::NumericEncoding>(*data_, [&](const std::string& name, const auto& encoding) {
    if (encoding.value) names.push_back(name);
    if (encoding.indicator) names.push_back(name + " is missing");
  });
  return names;
}

std::vector<std::string> FeatureTransform::categorical_names() const {
  std::vector<std::string> names;
  for (const detail::ColumnData& column : data_->columns) {
    const auto* numeric = std::get_if<detail::NumericEncoding>(&column.encoding);
    if (numeric != nullptr && numeric->has_token()) names.push_back("knots of " + column.name);
    if (std::holds_alternative<detail::CategoricalEncoding>(column.encoding)) names.push_back(column.name);
    if (const auto* date = std::get_if<detail::DateEncoding>(&column.encoding)) {
      for (const auto& part : date->parts) names.push_back(std::string(to_string(part.part)) + " of " + column.name);
    }
  }
  return names;
}

std::vector<std::string> FeatureTransform::identifiers() const {
  std::vector<std::string> names;
  for_each_encoding<detail::LeftOut>(*data_, [&](const std::string& name, const auto& left_out) {
    if (left_out.identifier) names.push_back(name);
  });
  return names;
}

std::vector<std::string> FeatureTransform::summary() const {
  const auto rows = static_cast<double>(data_->rows);
  std::string first = count_text(rows) + " training rows";
  if (!data_->label.empty()) {
    first += ", " + percent(static_cast<double>(data_->positives) / rows) + " positive (" + escaped(data_->label) + ")";
  }
  first += "; " + count_text(static_cast<double>(data_->shape.num_numeric)) + " numeric inputs, " +
           count_text(static_cast<double>(data_->shape.num_categorical())) + " categorical";
  std::vector<std::string> lines = {std::move(first)};
  for (const detail::ColumnData& column : data_->columns) {
    std::string line = escaped(column.name) + ": " + std::visit(DescribeEncoding{}, column.encoding);
    if (column.missing > 0) line += ", " + percent(static_cast<double>(column.missing) / rows) + " missing";
    for (const std::string& note : column.notes) line += "; " + note;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace limen::train
