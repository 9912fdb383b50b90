// SPDX-License-Identifier: MIT
// The encoders of encoder.h, whose formulas are there, for a whole batch at once.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <vector>

#include "dropout.h"
#include "limen/train/feature_rows.h"
#include "limen/train/options.h"

namespace limen::train {

/// Weights by their names in the state.
using PlainWeights = std::map<std::string, at::Tensor>;

struct PlainRows {
  at::Tensor numeric = {};               ///< rows x num_numeric
  std::vector<at::Tensor> vectors = {};  ///< of each categorical feature: rows x width
};

/// One mask for each call, each from its own stream: those of the fused network, which come by chunks of kChunkRows.
class PlainDropout {
 public:
  explicit PlainDropout(const Dropout& dropout) : dropout_(dropout) {}
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x, double rate);

 private:
  Dropout dropout_;
  std::uint64_t calls_ = 0;
};

/// rows x outputs.
[[nodiscard]] at::Tensor plain_encode(const FeatureShape& shape, const EncoderOptions& options,
                                      const PlainWeights& weights, const PlainRows& rows, PlainDropout drop);

}  // namespace limen::train
