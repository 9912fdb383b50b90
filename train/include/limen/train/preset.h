// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limen/train/options.h"

namespace limen::train {

/// Options of a network that is known from elsewhere.
struct Preset {
  ModelOptions model = {};
  TrainOptions training = {};
};

/// The networks of the paper ("Leveraging Uncertainty Estimates to Improve Classifier Performance"), each a Posterior
/// Network:
///   paper-criteo, paper-avazu: SAM3A with the settings that the BARS benchmark found for Criteo_x1 and Avazu_x1
///     (embeddings of 10 numbers, 5 and 4 layers, dropout 0 and 0.3, L2 of embeddings 1e-5 and 0.01, steps of 4096
///     rows, rate 0.001 and a tenth of it after each epoch without a higher ROC AUC, at most two of them), one linear
///     layer behind, 6 radial flows;
///   paper-ecom: FT-Transformer with the defaults of rtdl, 8 flows.
/// The benchmark pools the tokens by learned weights on Criteo; here they are joined, as there on Avazu (its grid has
/// joined tokens 0.00004 below in ROC AUC). It also shrinks all embeddings in every step, here those of the step's
/// tokens. Another name: InvalidInput.
[[nodiscard]] Preset model_preset(std::string_view name);

/// Names that model_preset knows.
[[nodiscard]] std::vector<std::string> model_presets();

}  // namespace limen::train
