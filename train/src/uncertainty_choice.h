// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "limen/train/model.h"

namespace limen::train::detail {

/// The measure that tells most about the label beyond the score, by the information test (limen/choose/information.h)
/// on labelled rows that the model did not learn from, near the decision of the best F1: the one of the smallest
/// p-value if that is below 0.01 divided by the number of measures, else `otherwise`. A measure that the model does not
/// have, or that is not finite, is not tested.
[[nodiscard]] UncertaintyChoice choose_uncertainty(const Prediction& prediction, std::span<const std::uint8_t> label,
                                                   Uncertainty otherwise, int num_threads);

}  // namespace limen::train::detail
