// SPDX-License-Identifier: MIT
// The rules of a network's state, whichever network has it: a state of one is a state of the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network.h"
#include "parameters.h"

namespace limen::train {

/// What an array of a state has to be.
struct ArrayRule {
  std::string name = {};
  std::vector<std::int64_t> shape = {};
  bool non_negative = false;

  [[nodiscard]] std::size_t size() const;
};

/// The given arrays in the order of the rules. Throws InvalidInput that names the array when one is missing, unknown,
/// there twice, of another shape, not finite, or not of whole numbers where it counts steps.
[[nodiscard]] std::vector<const NamedArray*> checked_arrays(const std::vector<ArrayRule>& rules,
                                                            const std::vector<NamedArray>& arrays);

/// The steps of encoder and head, as the last array of an optimiser's state.
[[nodiscard]] ArrayRule clock_rule();
[[nodiscard]] NamedArray clock_array(const AdamClock& encoder, const AdamClock& head);
void read_clocks(const NamedArray& array, AdamClock& encoder, AdamClock& head);

}  // namespace limen::train
