// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace limen::cli::experiment {

/// Reads an object of a config: every value is checked where it is taken, and what nobody took is refused. Errors name
/// the file, the key with the keys around it, its value and what it must be.
class ConfigReader {
 public:
  /// value: kept by the caller. path: of the object in the file, "" for the whole.
  ConfigReader(const nlohmann::json& value, std::string source, std::string path);

  [[nodiscard]] bool has(const char* key) const;
  /// The key may be there, though nothing takes its value.
  void allow(const char* key) { known_.insert(key); }
  /// An object; an empty one where there is none.
  [[nodiscard]] ConfigReader object(const char* key);

  [[nodiscard]] double number(const char* key, double fallback, double low, double high);
  [[nodiscard]] std::optional<double> number_if(const char* key, double low, double high);
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t fallback, std::int64_t low, std::int64_t high);
  [[nodiscard]] std::optional<int> integer_if(const char* key, int low, int high);
  [[nodiscard]] bool flag(const char* key, bool fallback);
  [[nodiscard]] std::string text(const char* key, const std::string& fallback = {});
  /// One of these words.
  [[nodiscard]] std::string word(const char* key, const std::string& fallback, const std::vector<std::string>& words);
  /// Lists: one value stands for a list of it. Empty lists, and values that come twice, are refused.
  [[nodiscard]] std::vector<double> numbers(const char* key, const std::vector<double>& fallback, double low,
                                            double high);
  [[nodiscard]] std::vector<std::int64_t> integers(const char* key, const std::vector<std::int64_t>& fallback,
                                                   std::int64_t low, std::int64_t high);
  /// words: empty allows any text.
  [[nodiscard]] std::vector<std::string> words(const char* key, const std::vector<std::string>& fallback,
                                               const std::vector<std::string>& words);
  /// Whole numbers, or "all", which is unset.
  [[nodiscard]] std::vector<std::optional<std::int64_t>> bins(const char* key,
                                                              const std::vector<std::optional<std::int64_t>>& fallback);

  /// Refuses keys that were not asked for, with the nearest one that was.
  void finish() const;

  [[noreturn]] void refuse(const std::string& key, const nlohmann::json& value, const std::string& needed) const;
  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path_of(const std::string& key) const;

 private:
  /// Null where there is no such key.
  const nlohmann::json* find(const char* key);
  /// The values of a list, or the single value; null where there is no such key.
  std::vector<const nlohmann::json*> list(const char* key);
  double number_of(const std::string& key, const nlohmann::json& value, double low, double high) const;
  std::int64_t integer_of(const std::string& key, const nlohmann::json& value, std::int64_t low,
                          std::int64_t high) const;

  const nlohmann::json& value_;
  std::string source_;
  std::string path_;
  std::set<std::string> known_;
};

}  // namespace limen::cli::experiment
