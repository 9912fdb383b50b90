// SPDX-License-Identifier: MIT
// The network of fused_network.h again, in plain tensor operations with autograd: to be read beside the papers, to be
// the oracle of what is written by hand, and to compute on other devices than the processor.
//   plain_tables.h     tokens -> vectors
//   plain_encoders.h   rows -> latent or logit
//   plain_heads.h      latent -> Beta posterior, and the losses
//   plain_adam.h       gradients -> weights
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "any_network.h"

namespace limen::train {

/// The same weights from the same seed, the same names and shapes in the state, the same masks of dropout: results
/// equal those of FusedNetwork but for rounding. device: cpu or cuda. On the processor one thread computes, so that
/// there is no number of threads to depend on.
[[nodiscard]] std::unique_ptr<AnyNetwork> make_plain_network(const FeatureShape& shape, const ModelOptions& options,
                                                             std::array<double, 2> class_counts, std::uint64_t seed,
                                                             const std::string& device);

/// Empty when there is a CUDA device that torch can use, else what is wrong and what to do.
[[nodiscard]] std::string cuda_error();

}  // namespace limen::train
