// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>
#include <vector>

namespace limen::cli {

/// Adds flags to one group of a verb's help, to that of the verb itself when no group is named.
class FlagGroup {
 public:
  explicit FlagGroup(CLI::App& verb, const char* name = nullptr) : verb_(verb), name_(name) {}

  /// A flag with a value, which the help calls `type`; the default is shown where there is one.
  template <typename Value>
  CLI::Option* add(const char* flag, Value& to, const char* type, const std::string& help) {
    CLI::Option* const option = in_group(verb_.add_option(flag, to, help)->type_name(type));
    if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) option->capture_default_str();
    return option;
  }
  /// A flag whose value is one of the words.
  CLI::Option* choice(const char* flag, std::string& to, const char* type, const std::vector<std::string>& words,
                      const std::string& help) {
    return add(flag, to, type, help)->check(CLI::IsMember(words).description(""));
  }
  /// A flag with several values between commas.
  template <typename Value>
  CLI::Option* list(const char* flag, std::vector<Value>& to, const std::string& help) {
    return add(flag, to, "A,B", help)->delimiter(',')->allow_extra_args(false);
  }
  /// A flag without a value.
  void toggle(const char* flag, bool& to, const std::string& help) { in_group(verb_.add_flag(flag, to, help)); }

 private:
  CLI::Option* in_group(CLI::Option* option) { return name_ == nullptr ? option : option->group(name_); }

  CLI::App& verb_;
  const char* name_;
};

}  // namespace limen::cli
