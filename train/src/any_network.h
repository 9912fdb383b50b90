// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "network.h"

namespace limen::train {

/// What the networks have in common; Network says what the functions do.
class AnyNetwork {
 public:
  virtual ~AnyNetwork() = default;
  virtual double train_step(const BatchView& batch, const StepOptions& options) = 0;
  [[nodiscard]] virtual NetworkOutput predict(const BatchView& batch, std::uint64_t seed) const = 0;
  [[nodiscard]] virtual std::vector<NamedArray> state(bool optimizer) const = 0;
  virtual void load_state(const std::vector<NamedArray>& arrays, bool optimizer) = 0;
};

}  // namespace limen::train
