// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "network.h"

namespace limen::train::detail {

/// What a network says about all rows, in batches that fit its buffers. first_row: how many rows of the table are
/// before these; with it, the dropout of a row depends on the seed and on its number in the table alone.
[[nodiscard]] NetworkOutput predict_rows(const Network& network, const FeatureShape& shape, const FeatureRows& rows,
                                         std::uint64_t seed, std::size_t first_row = 0);

/// What the members of an ensemble say together: the mean probability, its entropy, the variance between members, and
/// how much of the entropy their disagreement explains.
[[nodiscard]] NetworkOutput combine(std::span<const NetworkOutput> members);

}  // namespace limen::train::detail
