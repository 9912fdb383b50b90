// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "limen/train/feature_rows.h"
#include "limen/train/options.h"
#include "network.h"

namespace limen::train {

/// Each throws InvalidInput that names what is wrong, its value and what was needed.
void validate(const FeatureShape& shape, const ModelOptions& options, std::array<double, 2> class_counts);
void validate(const StepOptions& options, Head head);
void check_batch(const char* function, const FeatureShape& shape, const BatchView& batch, bool labels);

}  // namespace limen::train
