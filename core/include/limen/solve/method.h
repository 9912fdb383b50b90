// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace limen {

/// kAuto finds out which of the others to use (choose.h): whatever was fitted with it names the one that was chosen.
enum class Method { kSt, kHr, kGmt, kMist, kEwDpmt, kVwDpmt, kSmooth, kExact, kJoint, kAuto };

struct MethodInfo {
  Method method;
  std::string_view name;         ///< as it is written in files and on the command line
  std::string_view description;  ///< one line
  int levels;                    ///< how many it has unless others are asked for; 1: uncertainty is not looked at
  [[nodiscard]] bool has_levels() const { return levels > 1; }
  bool needs_bins;  ///< false: works on every distinct score as well, true: meant for a limited number of bins
};

/// Every method, in the order in which they are shown. The only list of them.
[[nodiscard]] std::span<const MethodInfo> method_table();
[[nodiscard]] std::vector<Method> all_methods();

[[nodiscard]] const MethodInfo& info_of(Method method);
[[nodiscard]] std::string_view to_string(Method method);
/// Throws InvalidInput that lists the names.
[[nodiscard]] Method parse_method(std::string_view name);
/// "st, hr, gmt, mist, ew-dpmt, vw-dpmt, smooth, exact, joint, auto".
[[nodiscard]] std::string method_names();

}  // namespace limen
