// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace limen::train::detail {

/// Reads members of untrusted JSON. Every refusal is an InvalidInput that names `document` and the member's path.
class JsonFields {
 public:
  using Json = nlohmann::json;

  /// value: an object, and outlives this. path: of the object, empty for the document itself, else ending with a dot.
  JsonFields(const Json& value, std::string document, std::string path);

  /// Parses a text whose root is an object. Nesting is limited, because deep documents would exhaust the stack.
  [[nodiscard]] static Json parse(std::string_view text, const std::string& document);

  [[nodiscard]] bool has(const char* key) const { return value_->contains(key); }
  [[nodiscard]] bool is_null(const char* key) const { return member(key).is_null(); }
  [[nodiscard]] double number(const char* key) const;  ///< finite
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) const;
  [[nodiscard]] bool flag(const char* key) const;
  /// A string, or {"bytes": "hex digits"} where the text is not UTF-8.
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] const Json& list(const char* key) const;
  [[nodiscard]] std::vector<std::string> texts(const char* key) const;
  [[nodiscard]] JsonFields object(const char* key) const;

  [[noreturn]] void refuse(const std::string& key, const std::string& what) const;

 private:
  [[nodiscard]] const Json& member(const char* key) const;
  [[nodiscard]] std::string text_of(const Json& value, const std::string& key) const;

  const Json* value_;
  std::string document_;
  std::string path_;
};

/// What JsonFields::text reads back, byte for byte.
[[nodiscard]] nlohmann::ordered_json text_json(const std::string& text);
[[nodiscard]] nlohmann::ordered_json texts_json(const std::vector<std::string>& texts);

}  // namespace limen::train::detail
