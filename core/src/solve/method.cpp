// SPDX-License-Identifier: MIT
#include "limen/solve/method.h"

#include <algorithm>

#include "limen/base/error.h"

namespace limen {
namespace {

constexpr MethodInfo kMethods[] = {
    {Method::kSt, "st", "one score threshold for all rows", 1, false},
    {Method::kHr, "hr", "one threshold on score + scaled uncertainty", 3, true},
    {Method::kGmt, "gmt", "every level alone, greedily", 3, true},
    {Method::kMist, "mist", "one threshold on level-wise isotonic rates", 3, true},
    {Method::kEwDpmt, "ew-dpmt", "dynamic programme over bins of equal size", 3, true},
    {Method::kVwDpmt, "vw-dpmt", "dynamic programme over bins of any size", 3, true},
    {Method::kSmooth, "smooth", "one threshold on a model of score and uncertainty", 32, false},
    {Method::kExact, "exact", "multiple-choice knapsack, proved optimal", 3, false},
    {Method::kJoint, "joint", "exact, on levels whose edges are found together with the thresholds", 4, false},
    {Method::kAuto, "auto", "finds out whether uncertainty helps, and which of them uses it best", 32, false},
};

}  // namespace

std::span<const MethodInfo> method_table() { return kMethods; }

std::vector<Method> all_methods() {
  std::vector<Method> methods;
  for (const MethodInfo& info : kMethods) methods.push_back(info.method);
  return methods;
}

const MethodInfo& info_of(Method method) {
  const auto* const found =
      std::ranges::find_if(kMethods, [&](const MethodInfo& info) { return info.method == method; });
  if (found == std::end(kMethods)) throw InvalidInput("method", "there is none with this number");
  return *found;
}

std::string_view to_string(Method method) { return info_of(method).name; }

Method parse_method(std::string_view name) {
  for (const MethodInfo& info : kMethods) {
    if (info.name == name) return info.method;
  }
  throw InvalidInput("method \"" + std::string(name) + "\" is not one of " + method_names());
}

std::string method_names() {
  std::string names;
  for (const MethodInfo& info : kMethods) names += (names.empty() ? "" : ", ") + std::string(info.name);
  return names;
}

}  // namespace limen
