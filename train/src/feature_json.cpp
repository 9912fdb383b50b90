// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "detail/json_fields.h"
#include "detail/transform_data.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/train/features.h"

namespace limen::train {
namespace {

using detail::JsonFields;
using Json = nlohmann::ordered_json;

constexpr const char* kDocument = "feature transform";
constexpr const char* kFormat = "limen-features";
// 3: numeric columns have knots. Networks that were trained on what came before are of no use any more.
constexpr std::int64_t kVersion = 3;
constexpr std::int64_t kMostRows = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostNotes = 100;

struct WriteEncoding {
  Json& json;

  void operator()(const detail::LeftOut& left_out) const {
    json["kind"] = "unused";
    if (left_out.identifier) json["identifier"] = true;
  }
  void operator()(const detail::NumericEncoding& encoding) const {
    json["kind"] = "numeric";
    json["scaling"] = encoding.scaling == Scaling::kLog ? "log" : "linear";
    json["center"] = encoding.center;
    json["scale"] = encoding.scale;
    json["value"] = encoding.value;
    json["indicator"] = encoding.indicator;
    json["knots"] = encoding.knots;
  }
  void operator()(const detail::CategoricalEncoding& encoding) const {
    json["kind"] = "categorical";
    json["missing_token"] = encoding.missing_token;
    json["hash_buckets"] = encoding.hash_buckets;
    json["vocabulary"] = detail::texts_json(encoding.vocabulary.texts());
  }
  void operator()(const detail::DateEncoding& encoding) const {
    json["kind"] = "date";
    json["format"] = encoding.format == DateFormat::kYymmddhh ? "yymmddhh" : "text";
    json["missing_token"] = encoding.missing_token;
    json["parts"] = Json::array();
    for (const detail::DatePartEncoding& part : encoding.parts) {
      json["parts"].push_back({{"part", to_string(part.part)}, {"values", part.values}});
    }
  }
};

Json label_json(const detail::TransformData& data) {
  if (data.label.empty()) return nullptr;
  const LabelRule& rule = data.label_rule;
  Json json = {{"column", detail::text_json(data.label)}};
  switch (rule.kind) {
    case LabelKind::kStandard:
      json["rule"] = "standard";
      break;
    case LabelKind::kEquals:
      json["rule"] = "equals";
      json["positive"] = detail::text_json(rule.positive);
      json["negative"] = rule.negative ? detail::text_json(*rule.negative) : Json(nullptr);
      break;
    case LabelKind::kCompare:
      json["rule"] = "compare";
      json["comparison"] = to_string(rule.comparison);
      json["bound"] = rule.bound;
      break;
  }
  return json;
}

void read_label(const JsonFields& fields, detail::TransformData& data) {
  data.label = fields.text("column");
  if (data.label.empty()) fields.refuse("column", "is empty");
  LabelRule& rule = data.label_rule;
  const std::string kind = fields.text("rule");
  if (kind == "standard") return;
  if (kind == "equals") {
    rule.kind = LabelKind::kEquals;
    rule.positive = fields.text("positive");
    if (rule.positive != label_value(rule.positive) || rule.positive.empty()) {
      fields.refuse("positive", "is not a label as it is stored");
    }
    if (!fields.is_null("negative")) {
      rule.negative = fields.text("negative");
      if (*rule.negative == rule.positive) fields.refuse("negative", "is the positive value too");
    }
  } else if (kind == "compare") {
    rule.kind = LabelKind::kCompare;
    const auto comparison = parse_comparison(fields.text("comparison"));
    if (!comparison) fields.refuse("comparison", "is not one of > >= < <= == !=");
    rule.comparison = *comparison;
    rule.bound = fields.number("bound");
  } else {
    fields.refuse("rule", "is " + limen::quoted(kind) + ", must be standard, equals or compare");
  }
}

std::vector<double> read_knots(const JsonFields& fields) {
  std::vector<double> knots;
  for (const JsonFields::Json& value : fields.list("knots")) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      fields.refuse("knots", "holds " + value.dump() + ", must be numbers");
    }
    if (!knots.empty() && value.get<double>() <= knots.back()) fields.refuse("knots", "is not increasing");
    knots.push_back(value.get<double>());
  }
  if (knots.size() > static_cast<std::size_t>(detail::kMostKnots) || knots.size() == 1 || knots.size() == 2) {
    fields.refuse("knots", "has " + std::to_string(knots.size()) + ", must be none or 3 to " +
                               std::to_string(detail::kMostKnots));
  }
  return knots;
}

detail::NumericEncoding read_numeric(const JsonFields& fields) {
  detail::NumericEncoding encoding;
  const std::string scaling = fields.text("scaling");
  if (scaling != "log" && scaling != "linear") {
    fields.refuse("scaling", "is " + limen::quoted(scaling) + ", must be linear or log");
  }
  encoding.scaling = scaling == "log" ? Scaling::kLog : Scaling::kLinear;
  encoding.center = fields.number("center");
  encoding.scale = fields.number("scale");
  if (encoding.scale <= 0) fields.refuse("scale", "is " + number_text(encoding.scale) + ", must be above 0");
  encoding.value = fields.flag("value");
  encoding.indicator = fields.flag("indicator");
  if (!encoding.value && !encoding.indicator) fields.refuse("value", "and indicator are false, one must be true");
  encoding.knots = read_knots(fields);
  if (encoding.has_token() && !encoding.value) fields.refuse("knots", "are there, but no input of the value");
  return encoding;
}

detail::CategoricalEncoding read_categorical(const JsonFields& fields) {
  detail::CategoricalEncoding encoding;
  encoding.missing_token = fields.flag("missing_token");
  encoding.hash_buckets = static_cast<std::int32_t>(fields.integer("hash_buckets", 0, detail::kMostTokens));
  const std::vector<std::string> vocabulary = fields.texts("vocabulary");
  if (vocabulary.size() > static_cast<std::size_t>(detail::kMostTokens)) {
    fields.refuse("vocabulary", "has " + std::to_string(vocabulary.size()) + " values, which are too many");
  }
  if (encoding.hash_buckets > 0 && !vocabulary.empty()) {
    fields.refuse("vocabulary", "has values, but the column is hashed");
  }
  for (const std::string& text : vocabulary) {
    if (text.empty()) fields.refuse("vocabulary", "holds an empty text");
    const auto next = static_cast<std::int32_t>(encoding.vocabulary.texts().size());
    if (encoding.vocabulary.add(text) != next) fields.refuse("vocabulary", "holds " + limen::quoted(text) + " twice");
  }
  return encoding;
}

detail::DateEncoding read_date(const JsonFields& fields, const std::string& path) {
  detail::DateEncoding encoding;
  const std::string format = fields.text("format");
  if (format != "text" && format != "yymmddhh") {
    fields.refuse("format", "is " + limen::quoted(format) + ", must be text or yymmddhh");
  }
  encoding.format = format == "text" ? DateFormat::kText : DateFormat::kYymmddhh;
  encoding.missing_token = fields.flag("missing_token");
  for (const JsonFields::Json& value : fields.list("parts")) {
    const JsonFields part_fields(value, kDocument, path + "parts.");
    const std::string name = part_fields.text("part");
    const auto part = std::find_if(detail::kDateParts.begin(), detail::kDateParts.end(),
                                   [&](DatePart known) { return to_string(known) == name; });
    if (part == detail::kDateParts.end()) {
      part_fields.refuse("part", "is " + limen::quoted(name) + ", must be hour, weekday, day or month");
    }
    detail::DatePartEncoding part_encoding{.part = *part};
    for (const JsonFields::Json& number : part_fields.list("values")) {
      const bool fits = number.is_number_integer() && number >= 0 && number < detail::kMostPartValues;
      if (!fits) part_fields.refuse("values", "holds " + number.dump() + ", must be whole numbers from 0 to 31");
      if (!part_encoding.values.empty() && number <= part_encoding.values.back()) {
        part_fields.refuse("values", "is not increasing");
      }
      part_encoding.values.push_back(number.get<int>());
    }
    encoding.parts.push_back(std::move(part_encoding));
  }
  if (encoding.parts.empty() || encoding.parts.size() > detail::kDateParts.size()) {
    fields.refuse("parts", "has " + std::to_string(encoding.parts.size()) + " parts, must be 1 to 4");
  }
  return encoding;
}

detail::ColumnData read_column(const JsonFields& fields, const std::string& path, std::int64_t rows) {
  detail::ColumnData column;
  column.name = fields.text("name");
  column.missing = fields.integer("missing", 0, rows);
  column.notes = fields.texts("notes");
  if (column.notes.size() > kMostNotes) fields.refuse("notes", "has too many lines");
  const std::string kind = fields.text("kind");
  if (kind == "numeric") {
    column.encoding = read_numeric(fields);
  } else if (kind == "categorical") {
    column.encoding = read_categorical(fields);
  } else if (kind == "date") {
    column.encoding = read_date(fields, path);
  } else if (kind == "unused") {
    column.encoding = detail::LeftOut{.identifier = fields.has("identifier") && fields.flag("identifier")};
  } else {
    fields.refuse("kind", "is " + limen::quoted(kind) + ", must be numeric, categorical, date or unused");
  }
  return column;
}

}  // namespace

std::string FeatureTransform::to_json() const {
  const detail::TransformData& data = *data_;
  Json json = {{"format", kFormat},           {"version", kVersion}, {"rows", data.rows},
               {"positives", data.positives}, {"clip", data.clip},   {"label", label_json(data)}};
  Json& columns = json["columns"] = Json::array();
  for (const detail::ColumnData& column : data.columns) {
    Json one = {{"name", detail::text_json(column.name)},
                {"missing", column.missing},
                {"notes", detail::texts_json(column.notes)}};
    std::visit(WriteEncoding{one}, column.encoding);
    columns.push_back(std::move(one));
  }
  return json.dump();
}

FeatureTransform FeatureTransform::from_json(std::string_view text) {
  const JsonFields::Json json = JsonFields::parse(text, kDocument);
  const JsonFields fields(json, kDocument, "");
  if (fields.text("format") != kFormat) fields.refuse("format", std::string("is not \"") + kFormat + "\"");
  const std::int64_t version = fields.integer("version", 1, kMostRows);
  if (version != kVersion) {
    fields.refuse("version", "is " + std::to_string(version) + ", this program reads " + std::to_string(kVersion) +
                                 (version > kVersion ? "; update limen" : "; train anew"));
  }
  auto data = std::make_shared<detail::TransformData>();
  data->rows = fields.integer("rows", 1, kMostRows);
  data->positives = fields.integer("positives", 0, data->rows);
  data->clip = fields.number("clip");
  if (!(data->clip > 0 && data->clip <= detail::kMostClip)) fields.refuse("clip", "is not above 0 and at most 1e6");
  if (!fields.is_null("label")) read_label(fields.object("label"), *data);
  std::set<std::string> names = {};
  if (!data->label.empty()) names.insert(data->label);
  for (const JsonFields::Json& value : fields.list("columns")) {
    const std::string path = "columns[" + std::to_string(data->columns.size()) + "].";
    data->columns.push_back(read_column(JsonFields(value, kDocument, path), path, data->rows));
    const std::string& name = data->columns.back().name;
    if (!names.insert(name).second) fields.refuse(path + "name", "is " + limen::quoted(name) + " for the second time");
  }
  data->shape = data->shape_of_columns();
  if (data->shape.num_numeric == 0 && data->shape.num_categorical() == 0) fields.refuse("columns", "hold no feature");
  return FeatureTransform(std::move(data));
}

}  // namespace limen::train
