// SPDX-License-Identifier: MIT
#include "network_state.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::train {
namespace {

// A count of steps in two single-precision numbers, each exact.
constexpr std::uint64_t kHalf = std::uint64_t{1} << 23U;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t side : shape) text += (text.empty() ? "" : " x ") + std::to_string(side);
  return text;
}

void check(const ArrayRule& rule, const NamedArray& array) {
  const auto refuse = [&](const std::string& what) {
    throw InvalidInput("load_state", "array " + limen::quoted(rule.name) + what);
  };
  if (array.shape != rule.shape || array.values.size() != rule.size()) {
    refuse(" is " + shape_text(array.shape) + " with " + std::to_string(array.values.size()) + " values, must be " +
           shape_text(rule.shape));
  }
  for (std::size_t at = 0; at < array.values.size(); ++at) {
    const float value = array.values[at];
    if (std::isfinite(value) && (value >= 0 || !rule.non_negative)) continue;
    refuse("[" + std::to_string(at) + "] is " + std::to_string(value) + ", must be finite" +
           (rule.non_negative ? " and >= 0" : ""));
  }
}

}  // namespace

std::size_t ArrayRule::size() const {
  std::size_t size = 1;
  for (const std::int64_t side : shape) size *= static_cast<std::size_t>(side);
  return size;
}

std::vector<const NamedArray*> checked_arrays(const std::vector<ArrayRule>& rules,
                                              const std::vector<NamedArray>& arrays) {
  std::map<std::string, const NamedArray*> given;
  for (const NamedArray& array : arrays) {
    if (!given.emplace(array.name, &array).second) {
      throw InvalidInput("load_state", "array " + limen::quoted(array.name) + " is there twice");
    }
  }
  std::vector<const NamedArray*> found;
  for (const ArrayRule& rule : rules) {
    const auto at = given.find(rule.name);
    if (at == given.end()) throw InvalidInput("load_state", "array " + limen::quoted(rule.name) + " is missing");
    check(rule, *at->second);
    found.push_back(at->second);
  }
  if (given.size() > rules.size()) {
    for (const ArrayRule& rule : rules) given.erase(rule.name);
    throw InvalidInput("load_state", "array " + limen::quoted(given.begin()->first) + " is not of this network");
  }
  const auto whole = [](float value) { return std::floor(value) == value && value <= static_cast<float>(kHalf); };
  for (const auto& [name, array] : given) {
    if (name.starts_with("adam.steps") && !std::all_of(array->values.begin(), array->values.end(), whole)) {
      throw InvalidInput("load_state", "array " + limen::quoted(name) + " must hold whole numbers");
    }
  }
  return found;
}

ArrayRule clock_rule() { return {"adam.steps", {4}, true}; }

NamedArray clock_array(const AdamClock& encoder, const AdamClock& head) {
  NamedArray array = {"adam.steps", {4}, {}};
  for (const AdamClock& clock : {encoder, head}) {
    array.values.push_back(static_cast<float>(clock.steps / kHalf));
    array.values.push_back(static_cast<float>(clock.steps % kHalf));
  }
  return array;
}

void read_clocks(const NamedArray& array, AdamClock& encoder, AdamClock& head) {
  const auto count = [&](std::size_t at) {
    return static_cast<std::uint64_t>(array.values[at]) * kHalf + static_cast<std::uint64_t>(array.values[at + 1]);
  };
  encoder.steps = count(0);
  head.steps = count(2);
}

}  // namespace limen::train
