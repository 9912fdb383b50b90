// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

#include "limen/count/samples.h"

namespace limen {

/// Rows that are too many for memory: calls its argument with batch after batch, anew for every pass. Every pass must
/// bring the same rows, in any order and in batches of any size; a pass that does not is refused with InvalidInput
/// (Cause::kFileChanged). Rows are checked in every pass, as by validate(Samples). Weights are refused.
using SampleBatches = std::function<void(const std::function<void(const Samples&)>&)>;

/// What a pass over the rows brought, whatever their order: two passes over the same rows have the same one.
struct BatchFingerprint {
  std::uint64_t rows = 0;
  std::uint64_t positives = 0;
  std::uint64_t hash = 0;  ///< sum over the rows of a hash of score, uncertainty and label

  friend bool operator==(const BatchFingerprint&, const BatchFingerprint&) = default;
};

}  // namespace limen
