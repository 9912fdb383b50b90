// SPDX-License-Identifier: MIT
// What verbs print with --json and reports hold too, written once.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "limen/choose/sweep.h"
#include "limen/judge/swaps.h"
#include "limen/solve/boundary.h"

namespace limen::report {

/// A count as an integer when it is whole.
[[nodiscard]] nlohmann::ordered_json count_json(double value);

/// What `limen sweep --json` prints.
[[nodiscard]] nlohmann::ordered_json sweep_json(const Sweep& sweep, const Objective& objective,
                                                const SweepOptions& options);

/// What is known of swap sets beside their counts.
struct SwapsContext {
  std::string first;  ///< names of the boundaries
  std::string second;
  std::uint64_t table_rows = 0;
  std::uint64_t rows_dropped = 0;
  double confidence = 0.95;  ///< of the intervals
};
/// What `limen swaps --json` prints, all but "columns". brief: levels and score bins are left empty.
[[nodiscard]] nlohmann::ordered_json swaps_json(const Swaps& swaps, const SwapsContext& context, bool brief = false);
/// One of its "columns".
[[nodiscard]] nlohmann::ordered_json swap_column_json(const SwapColumn& column);

}  // namespace limen::report
