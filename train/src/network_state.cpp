// SPDX-License-Identifier: MIT
// A network's numbers as named arrays, and back.
#include <algorithm>
#include <cmath>
#include <map>

#include "fused_network.h"
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

}  // namespace

struct FusedNetwork::Place {
  std::string name = {};
  std::vector<std::int64_t> shape = {};
  float* data = nullptr;
  std::size_t size = 0;
  bool non_negative = false;
};

std::vector<FusedNetwork::Place> FusedNetwork::places(bool optimizer) {
  std::vector<Place> weights;
  std::vector<Place> moments;
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& shape, std::size_t offset,
                       std::size_t size, auto& owner) {
    weights.push_back({name, shape, owner.value.data() + offset, size, false});
    moments.push_back({"adam.first." + name, shape, owner.first.data() + offset, size, false});
    moments.push_back({"adam.second." + name, shape, owner.second.data() + offset, size, true});
  };
  for (Parameters* parameters : {&parameters_, head_ ? &head_->parameters : nullptr, &norm_.parameters}) {
    if (parameters == nullptr) continue;
    for (const Parameter& part : parameters->list) add(part.name, part.shape, part.offset, part.size, *parameters);
  }
  for (std::size_t feature = 0; feature < tables_.tables().size(); ++feature) {
    const EmbeddingTables::Table& table = tables_.tables()[feature];
    add("embedding." + std::to_string(feature),
        {static_cast<std::int64_t>(table.num_tokens), static_cast<std::int64_t>(table.width)}, table.offset,
        table.num_tokens * table.width, tables_);
    moments.push_back({"adam.steps.embedding." + std::to_string(feature),
                       {static_cast<std::int64_t>(table.num_tokens)},
                       tables_.steps.data() + table.token,
                       table.num_tokens,
                       true});
  }
  if (!norm_.mean.empty()) {
    const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(norm_.mean.size())};
    weights.push_back({"norm.mean", shape, norm_.mean.data(), norm_.mean.size(), false});
    weights.push_back({"norm.variance", shape, norm_.variance.data(), norm_.variance.size(), true});
  }
  if (optimizer) weights.insert(weights.end(), moments.begin(), moments.end());
  return weights;
}

std::vector<NamedArray> FusedNetwork::state(bool optimizer) const {
  std::vector<NamedArray> arrays;
  // places() hands out pointers to write through; here they are only read.
  for (const Place& place : const_cast<FusedNetwork*>(this)->places(optimizer)) {
    arrays.push_back({place.name, place.shape, std::vector<float>(place.data, place.data + place.size)});
  }
  if (optimizer) {
    NamedArray steps = {"adam.steps", {4}, {}};
    for (const AdamClock& clock : {clock_, head_clock_}) {
      steps.values.push_back(static_cast<float>(clock.steps / kHalf));
      steps.values.push_back(static_cast<float>(clock.steps % kHalf));
    }
    arrays.push_back(std::move(steps));
  }
  return arrays;
}

void FusedNetwork::load_state(const std::vector<NamedArray>& arrays, bool optimizer) {
  float steps[4] = {};
  std::vector<Place> wanted = places(optimizer);
  if (optimizer) wanted.push_back({"adam.steps", {4}, steps, 4, true});
  std::map<std::string, const NamedArray*> given;
  for (const NamedArray& array : arrays) {
    if (!given.emplace(array.name, &array).second) {
      throw InvalidInput("load_state", "array " + limen::quoted(array.name) + " is there twice");
    }
  }
  // Everything is checked before anything is written.
  for (const Place& place : wanted) {
    const auto found = given.find(place.name);
    if (found == given.end()) throw InvalidInput("load_state", "array " + limen::quoted(place.name) + " is missing");
    const NamedArray& array = *found->second;
    if (array.shape != place.shape || array.values.size() != place.size) {
      throw InvalidInput("load_state", "array " + limen::quoted(place.name) + " is " + shape_text(array.shape) +
                                           " with " + std::to_string(array.values.size()) + " values, must be " +
                                           shape_text(place.shape));
    }
    for (std::size_t at = 0; at < place.size; ++at) {
      const float value = array.values[at];
      if (std::isfinite(value) && (value >= 0 || !place.non_negative)) continue;
      throw InvalidInput("load_state", "array " + limen::quoted(place.name) + "[" + std::to_string(at) + "] is " +
                                           std::to_string(value) + ", must be finite" +
                                           (place.non_negative ? " and >= 0" : ""));
    }
  }
  if (given.size() > wanted.size()) {
    for (const Place& place : wanted) given.erase(place.name);
    throw InvalidInput("load_state", "array " + limen::quoted(given.begin()->first) + " is not of this network");
  }
  const auto whole = [](float value) { return std::floor(value) == value && value <= static_cast<float>(kHalf); };
  for (const auto& [name, array] : given) {
    if (name.starts_with("adam.steps") && !std::all_of(array->values.begin(), array->values.end(), whole)) {
      throw InvalidInput("load_state", "array " + limen::quoted(name) + " must hold whole numbers");
    }
  }
  for (const Place& place : wanted) {
    const std::vector<float>& values = given.at(place.name)->values;
    std::copy(values.begin(), values.end(), place.data);
  }
  if (optimizer) {
    const auto count = [&](int at) {
      return static_cast<std::uint64_t>(steps[at]) * kHalf + static_cast<std::uint64_t>(steps[at + 1]);
    };
    clock_.steps = count(0);
    head_clock_.steps = count(2);
  }
  if (head_) head_->prepare();
}

}  // namespace limen::train
