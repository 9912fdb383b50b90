// SPDX-License-Identifier: MIT
// The dense weights of a network in one piece of memory, with Adam's moments: one loop updates them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels.h"
#include "limen/base/uninitialized_vector.h"

namespace limen::train {

/// Counts and bias corrections of Adam; the moments lie beside the weights.
struct AdamClock {
  std::uint64_t steps = 0;

  /// The step after `steps` steps.
  [[nodiscard]] AdamStep next(double learning_rate, double weight_decay, double gradient_scale) const;
};

struct Parameter {
  std::string name = {};
  std::vector<std::int64_t> shape = {};
  std::size_t offset = 0;
  std::size_t size = 0;
  bool decays = false;  ///< by weight decay
};

struct Parameters {
  std::vector<Parameter> list = {};
  UninitializedVector<float> value =
      {};                          ///< beginning on a line of the cache, so that a matrix product is the same each time
  std::vector<float> first = {};   ///< Adam's mean of the gradient
  std::vector<float> second = {};  ///< Adam's mean of its square

  /// Zeros; returns the offset.
  std::size_t add(std::string name, std::vector<std::int64_t> shape, bool decays);
  /// The weights in pieces of a few thousand that share their decay: the tasks of parallel loops.
  struct Block {
    std::size_t offset = 0;
    std::size_t size = 0;
    bool decays = false;
  };
  [[nodiscard]] std::vector<Block> blocks() const;
  /// One step of a block with the gradient in the layout of `value`.
  void step(const Block& block, const float* gradient, AdamStep step);
};

/// Sets the parameter at `offset` to numbers between -bound and bound; they depend on the seed and the offset only.
void set_uniform(Parameters& parameters, std::size_t offset, double bound, std::uint64_t seed);

}  // namespace limen::train
