// SPDX-License-Identifier: MIT
// The fused network's numbers as named arrays, and back.
#include <algorithm>

#include "fused_network.h"
#include "network_state.h"

namespace limen::train {
struct FusedNetwork::Place {
  ArrayRule rule = {};
  float* data = nullptr;
};

std::vector<FusedNetwork::Place> FusedNetwork::places(bool optimizer) {
  std::vector<Place> weights;
  std::vector<Place> moments;
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& shape, std::size_t offset,
                       auto& owner) {
    weights.push_back({{name, shape, false}, owner.value.data() + offset});
    moments.push_back({{"adam.first." + name, shape, false}, owner.first.data() + offset});
    moments.push_back({{"adam.second." + name, shape, true}, owner.second.data() + offset});
  };
  for (Parameters* parameters : {&parameters_, head_ ? &head_->parameters : nullptr, &norm_.parameters}) {
    if (parameters == nullptr) continue;
    for (const Parameter& part : parameters->list) add(part.name, part.shape, part.offset, *parameters);
  }
  for (std::size_t feature = 0; feature < tables_.tables().size(); ++feature) {
    const EmbeddingTables::Table& table = tables_.tables()[feature];
    const auto tokens = static_cast<std::int64_t>(table.num_tokens);
    const std::string name = "embedding." + std::to_string(feature);
    add(name, {tokens, static_cast<std::int64_t>(table.width)}, table.offset, tables_);
    moments.push_back({{"adam.steps." + name, {tokens}, true}, tables_.steps.data() + table.token});
  }
  if (!norm_.mean.empty()) {
    const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(norm_.mean.size())};
    weights.push_back({{"norm.mean", shape, false}, norm_.mean.data()});
    weights.push_back({{"norm.variance", shape, true}, norm_.variance.data()});
  }
  if (optimizer) weights.insert(weights.end(), moments.begin(), moments.end());
  return weights;
}

std::vector<NamedArray> FusedNetwork::state(bool optimizer) const {
  std::vector<NamedArray> arrays;
  // places() hands out pointers to write through; here they are only read.
  for (const Place& place : const_cast<FusedNetwork*>(this)->places(optimizer)) {
    arrays.push_back({place.rule.name, place.rule.shape, {place.data, place.data + place.rule.size()}});
  }
  if (optimizer) arrays.push_back(clock_array(clock_, head_clock_));
  return arrays;
}

void FusedNetwork::load_state(const std::vector<NamedArray>& arrays, bool optimizer) {
  const std::vector<Place> wanted = places(optimizer);
  std::vector<ArrayRule> rules;
  for (const Place& place : wanted) rules.push_back(place.rule);
  if (optimizer) rules.push_back(clock_rule());
  // Everything is checked before anything is written.
  const std::vector<const NamedArray*> found = checked_arrays(rules, arrays);
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    std::copy(found[at]->values.begin(), found[at]->values.end(), wanted[at].data);
  }
  if (optimizer) read_clocks(*found.back(), clock_, head_clock_);
  if (head_) head_->prepare();
}

}  // namespace limen::train
