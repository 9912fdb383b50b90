// SPDX-License-Identifier: MIT
#include "detail/json_fields.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/json.h"

namespace limen::train::detail {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

JsonFields::JsonFields(const Json& value, std::string document, std::string path)
    : value_(&value), document_(std::move(document)), path_(std::move(path)) {
  if (!value.is_object()) throw InvalidInput(Where{.function = document_}, "\"" + path_ + "\" is not an object");
}

JsonFields::Json JsonFields::parse(std::string_view text, const std::string& document) {
  Json json = parse_json(text, document);
  if (!json.is_object()) throw InvalidInput(Where{.function = document}, "is not a JSON object");
  return json;
}

void JsonFields::refuse(const std::string& key, const std::string& what) const {
  throw InvalidInput(Where{.function = document_}, "\"" + path_ + key + "\" " + what);
}

const JsonFields::Json& JsonFields::member(const char* key) const {
  const auto found = value_->find(key);
  if (found == value_->end()) refuse(key, "is missing");
  return *found;
}

double JsonFields::number(const char* key) const {
  const Json& value = member(key);
  if (!value.is_number()) refuse(key, "is not a number");
  const auto result = value.get<double>();
  if (!std::isfinite(result)) refuse(key, "is not finite");
  return result;
}

std::int64_t JsonFields::integer(const char* key, std::int64_t least, std::int64_t most) const {
  const Json& value = member(key);
  if (!value.is_number_integer()) refuse(key, "is not a whole number");
  const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (huge || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    refuse(key, "is " + value.dump() + ", must be " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value.get<std::int64_t>();
}

bool JsonFields::flag(const char* key) const {
  const Json& value = member(key);
  if (!value.is_boolean()) refuse(key, "is neither true nor false");
  return value.get<bool>();
}

std::string JsonFields::text_of(const Json& value, const std::string& key) const {
  if (value.is_string()) return value.get<std::string>();
  const auto bytes = value.is_object() ? value.find("bytes") : value.end();
  if (!value.is_object() || bytes == value.end() || !bytes->is_string()) refuse(key, "is not a text");
  const auto& hex = bytes->get_ref<const std::string&>();
  std::string text;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    const int high = hex_digit(hex[at]);
    const int low = hex_digit(hex[at + 1]);
    if (high < 0 || low < 0) refuse(key, "holds bytes that are not hex digits");
    text.push_back(static_cast<char>(16 * high + low));
  }
  if (hex.size() % 2 != 0) refuse(key, "holds an odd number of hex digits");
  return text;
}

std::string JsonFields::text(const char* key) const { return text_of(member(key), key); }

const JsonFields::Json& JsonFields::list(const char* key) const {
  const Json& value = member(key);
  if (!value.is_array()) refuse(key, "is not a list");
  return value;
}

std::vector<std::string> JsonFields::texts(const char* key) const {
  std::vector<std::string> result;
  for (const Json& value : list(key)) result.push_back(text_of(value, key));
  return result;
}

JsonFields JsonFields::object(const char* key) const {
  const Json& value = member(key);
  if (!value.is_object()) refuse(key, "is not an object");
  return {value, document_, path_ + key + "."};
}

nlohmann::ordered_json text_json(const std::string& text) {
  using Json = nlohmann::ordered_json;
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return text;
  try {
    (void)Json(text).dump();
    return text;
  } catch (const Json::type_error&) {
    std::string hex;
    for (const char c : text) {
      hex.push_back("0123456789abcdef"[static_cast<unsigned char>(c) >> 4]);
      hex.push_back("0123456789abcdef"[static_cast<unsigned char>(c) & 15]);
    }
    return {{"bytes", hex}};
  }
}

nlohmann::ordered_json texts_json(const std::vector<std::string>& texts) {
  auto list = nlohmann::ordered_json::array();
  for (const std::string& text : texts) list.push_back(text_json(text));
  return list;
}

}  // namespace limen::train::detail
