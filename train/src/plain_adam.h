// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/ATen.h>

#include <string>

namespace limen::train {

/// A weight with Adam's moments.
struct PlainWeight {
  std::string name = {};
  bool decays = false;
  at::Tensor value = {};
  at::Tensor first = {};   ///< mean of the gradient
  at::Tensor second = {};  ///< mean of its square
};

/// One step of Adam (Kingma & Ba 2015) with decoupled weight decay (Loshchilov & Hutter 2019), in place.
/// step: its number, from 1, in double: one for the whole weight, or one for each of its rows (rows x 1).
void plain_adam(PlainWeight& weight, const at::Tensor& gradient, const at::Tensor& step, double learning_rate,
                double weight_decay);

}  // namespace limen::train
