// SPDX-License-Identifier: MIT
// The vectors of categorical features: what a batch looks up, and the step of what it touched.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

#include "plain_adam.h"

namespace limen::train {

struct PlainInputs {
  at::Tensor numeric = {};   ///< rows x num_numeric
  at::Tensor token = {};     ///< rows x features
  at::Tensor fraction = {};  ///< rows x knots
};

/// The vectors of one feature, one for each token.
struct PlainTable {
  PlainWeight weight = {};                    ///< tokens x width
  at::Tensor steps = {};                      ///< of Adam, of each token
  std::optional<std::int64_t> fraction = {};  ///< place among a row's fractions, of a feature with knots
};

struct PlainLookup {
  at::Tensor touched = {};  ///< tokens of the batch, each once
  at::Tensor vector = {};   ///< theirs; with `learning` a leaf of its own: only what a batch touched has a gradient
  at::Tensor rows = {};     ///< of the batch's rows: (1 - f) v(token) + f v(token + 1)
};

[[nodiscard]] PlainLookup look_up(const PlainTable& table, const PlainInputs& inputs, std::int64_t feature,
                                  bool learning);

/// Adam on the vectors of the touched tokens, each at its own count of steps. gradient: of them; l2: weight of half
/// their squares in the loss.
void step_table(PlainTable& table, const at::Tensor& touched, const at::Tensor& gradient, double learning_rate,
                double l2);

}  // namespace limen::train
