// SPDX-License-Identifier: MIT
#include "experiment/config_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::cli::experiment {
namespace {

const nlohmann::json& empty_object() {
  static const nlohmann::json kEmpty = nlohmann::json::object();
  return kEmpty;
}

std::string words_text(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

template <typename Value>
void refuse_twice(const ConfigReader& reader, const char* key, const std::vector<Value>& values) {
  for (std::size_t at = 1; at < values.size(); ++at) {
    if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values[at]) !=
        values.begin() + static_cast<std::ptrdiff_t>(at)) {
      reader.refuse(fmt::format("{}[{}]", key, at), values[at], "a value that is not in the list already");
    }
  }
}

}  // namespace

ConfigReader::ConfigReader(const nlohmann::json& value, std::string source, std::string path)
    : value_(value), source_(std::move(source)), path_(std::move(path)) {
  if (!value_.is_object()) {
    throw InvalidInput(
        source_, path_.empty() ? "must hold one JSON object" : fmt::format("\"{}\" must be an object", escaped(path_)));
  }
}

std::string ConfigReader::path_of(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

void ConfigReader::refuse(const std::string& key, const nlohmann::json& value, const std::string& needed) const {
  throw InvalidInput(
      source_, fmt::format("\"{}\" is {}, must be {}", escaped(path_of(key)),
                           escaped(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 60), needed));
}

bool ConfigReader::has(const char* key) const { return value_.contains(key); }

const nlohmann::json* ConfigReader::find(const char* key) {
  known_.insert(key);
  const auto found = value_.find(key);
  return found == value_.end() ? nullptr : &*found;
}

ConfigReader ConfigReader::object(const char* key) {
  const nlohmann::json* const found = find(key);
  return {found == nullptr ? empty_object() : *found, source_, path_of(key)};
}

double ConfigReader::number_of(const std::string& key, const nlohmann::json& value, double low, double high) const {
  const double number = value.is_number() ? value.get<double>() : 0;
  if (!value.is_number() || !(number >= low && number <= high)) {
    refuse(key, value, fmt::format("a number from {:g} to {:g}", low, high));
  }
  return number;
}

std::int64_t ConfigReader::integer_of(const std::string& key, const nlohmann::json& value, std::int64_t low,
                                      std::int64_t high) const {
  const bool is_whole = value.is_number_integer() &&
                        (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
  const std::int64_t number = is_whole ? value.get<std::int64_t>() : 0;
  if (!is_whole || number < low || number > high) {
    refuse(key, value, fmt::format("a whole number from {} to {}", low, high));
  }
  return number;
}

double ConfigReader::number(const char* key, double fallback, double low, double high) {
  const nlohmann::json* const found = find(key);
  return found == nullptr ? fallback : number_of(key, *found, low, high);
}

std::optional<double> ConfigReader::number_if(const char* key, double low, double high) {
  const nlohmann::json* const found = find(key);
  return found == nullptr ? std::nullopt : std::optional(number_of(key, *found, low, high));
}

std::int64_t ConfigReader::integer(const char* key, std::int64_t fallback, std::int64_t low, std::int64_t high) {
  const nlohmann::json* const found = find(key);
  return found == nullptr ? fallback : integer_of(key, *found, low, high);
}

std::optional<int> ConfigReader::integer_if(const char* key, int low, int high) {
  const nlohmann::json* const found = find(key);
  return found == nullptr ? std::nullopt : std::optional(static_cast<int>(integer_of(key, *found, low, high)));
}

bool ConfigReader::flag(const char* key, bool fallback) {
  const nlohmann::json* const found = find(key);
  if (found == nullptr) return fallback;
  if (!found->is_boolean()) refuse(key, *found, "true or false");
  return found->get<bool>();
}

std::string ConfigReader::text(const char* key, const std::string& fallback) {
  const nlohmann::json* const found = find(key);
  if (found == nullptr) return fallback;
  if (!found->is_string()) refuse(key, *found, "a text");
  return found->get<std::string>();
}

std::string ConfigReader::word(const char* key, const std::string& fallback, const std::vector<std::string>& words) {
  const nlohmann::json* const found = find(key);
  if (found == nullptr) return fallback;
  if (!found->is_string()) refuse(key, *found, "one of " + words_text(words));
  std::string word = found->get<std::string>();
  if (std::find(words.begin(), words.end(), word) == words.end()) {
    refuse(key, *found, "one of " + words_text(words) + did_you_mean(word, words));
  }
  return word;
}

std::vector<const nlohmann::json*> ConfigReader::list(const char* key) {
  const nlohmann::json* const found = find(key);
  if (found == nullptr) return {};
  if (!found->is_array()) return {found};
  if (found->empty()) refuse(key, *found, "a list that is not empty");
  std::vector<const nlohmann::json*> values;
  for (const nlohmann::json& value : *found) values.push_back(&value);
  return values;
}

std::vector<double> ConfigReader::numbers(const char* key, const std::vector<double>& fallback, double low,
                                          double high) {
  const auto found = list(key);
  if (found.empty()) return fallback;
  std::vector<double> numbers;
  for (std::size_t at = 0; at < found.size(); ++at) {
    numbers.push_back(number_of(fmt::format("{}[{}]", key, at), *found[at], low, high));
  }
  refuse_twice(*this, key, numbers);
  return numbers;
}

std::vector<std::int64_t> ConfigReader::integers(const char* key, const std::vector<std::int64_t>& fallback,
                                                 std::int64_t low, std::int64_t high) {
  const auto found = list(key);
  if (found.empty()) return fallback;
  std::vector<std::int64_t> integers;
  for (std::size_t at = 0; at < found.size(); ++at) {
    integers.push_back(integer_of(fmt::format("{}[{}]", key, at), *found[at], low, high));
  }
  refuse_twice(*this, key, integers);
  return integers;
}

std::vector<std::string> ConfigReader::words(const char* key, const std::vector<std::string>& fallback,
                                             const std::vector<std::string>& words) {
  const auto found = list(key);
  if (found.empty()) return fallback;
  std::vector<std::string> taken;
  for (std::size_t at = 0; at < found.size(); ++at) {
    const std::string name = fmt::format("{}[{}]", key, at);
    if (!found[at]->is_string()) refuse(name, *found[at], words.empty() ? "a text" : "one of " + words_text(words));
    taken.push_back(found[at]->get<std::string>());
    if (!words.empty() && std::find(words.begin(), words.end(), taken.back()) == words.end()) {
      refuse(name, *found[at], "one of " + words_text(words) + did_you_mean(taken.back(), words));
    }
  }
  refuse_twice(*this, key, taken);
  return taken;
}

std::vector<std::optional<std::int64_t>> ConfigReader::bins(const char* key,
                                                            const std::vector<std::optional<std::int64_t>>& fallback) {
  const auto found = list(key);
  if (found.empty()) return fallback;
  std::vector<std::optional<std::int64_t>> bins;
  for (std::size_t at = 0; at < found.size(); ++at) {
    const std::string name = fmt::format("{}[{}]", key, at);
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    if (*found[at] == "all") {
      bins.push_back(std::nullopt);
    } else if (found[at]->is_string()) {
      refuse(name, *found[at], fmt::format("a whole number from 1 to {}, or \"all\"", kMost));
    } else {
      bins.push_back(integer_of(name, *found[at], 1, kMost));
    }
  }
  return bins;
}

void ConfigReader::finish() const {
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const auto& [key, value] : value_.items()) {
    if (known_.contains(key)) continue;
    throw InvalidInput(source_, fmt::format("\"{}\" is not a key{}; the keys here are {}", escaped(path_of(key), 60),
                                            did_you_mean(key, names), words_text(names)));
  }
}

}  // namespace limen::cli::experiment
