// SPDX-License-Identifier: MIT
#include "plain_adam.h"

#include "kernels.h"

namespace limen::train {

void plain_adam(PlainWeight& weight, const at::Tensor& gradient, const at::Tensor& step, double learning_rate,
                double weight_decay) {
  weight.first += (gradient - weight.first) * (1 - kAdamFirst);
  weight.second += (gradient.square() - weight.second) * (1 - kAdamSecond);
  // Moments start at zero: early ones are too small by these.
  const at::Tensor first_share = (1 - at::pow(kAdamFirst, step)).to(at::kFloat);
  const at::Tensor second_share = (1 - at::pow(kAdamSecond, step)).to(at::kFloat);
  const at::Tensor move = (weight.first / first_share) / ((weight.second / second_share).sqrt() + kAdamEpsilon);
  weight.value -= learning_rate * (move + (weight.decays ? weight_decay : 0.0) * weight.value);
}

}  // namespace limen::train
