// SPDX-License-Identifier: MIT
// What every certification shares, wherever its rows are: the steps of a walk, their tests, and what is said of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limen/promise/certification.h"
#include "limen/promise/walk.h"
#include "limen/solve/chain.h"
#include "limen/solve/smooth.h"

namespace limen::detail {

/// Precision along nested boundaries may rise and fall; the other constraints only get harder, or easier, as boundaries
/// grow.
[[nodiscard]] bool is_monotone(Goal goal);

/// Whether smaller boundaries keep the bound if a larger one does.
[[nodiscard]] bool grows_harder(Goal goal);

/// learning_share_of and gate_share_of of certify.h.
[[nodiscard]] double learning_share(std::uint64_t rows);
[[nodiscard]] double gate_share(std::uint64_t rows);

/// The rank at which one threshold begins to be tested. Fewer rows have too little power, more of them too little
/// precision; measured on five real sets (docs/algorithms/certify.md).
[[nodiscard]] double first_rank(std::uint64_t rows, double bound, double level);

/// The nested boundaries of a chain that are worth testing, at most some hundred. tested_per_learning: rows that are
/// tested for each that learns. smooth: of its chain.
[[nodiscard]] Walk walk_along(const Grid& grid, const Chain& chain, const Objective& objective,
                              double tested_per_learning, const SmoothCuts* smooth);

/// p-values of the steps in the order of the test up to the first that is not accepted, and 1 for those behind it.
/// Steps that are surely accepted have the level itself, but for the last accepted one.
///
/// A bound on precision: the fewest positives among n rows that are accepted, c(n), rise by at most one with each row,
/// so that the most negatives, n - c(n), never fall. Where they are known for n' rows, a step of n >= n' rows with no
/// more negatives is accepted: one search for c(n') takes the place of hundreds of tests.
[[nodiscard]] std::vector<double> binomial_p_values(const Objective& objective, const Counts& all,
                                                    const std::vector<Counts>& flagged, double level);

/// The bound on the share of trials that speak for it.
[[nodiscard]] double success_bound(const Objective& objective);

/// What is said of a choice that a few rows settle.
[[nodiscard]] Choice settle_for_one(const Information& information);

/// `auto` takes two columns only where a few rows say that uncertainty may inform, and where what is given up by
/// testing fewer rows comes back.
inline constexpr double kMayInform = 0.002;
inline constexpr double kWorthLearning = 0.03;

/// One threshold, unless the choice is kWorthLearning.
void drop_unless_worth_learning(Choice& choice);

/// What the learning rows say: how to use the uncertainty, and along which boundaries to walk.
struct Learnt {
  Method method = Method::kSt;
  std::optional<Choice> choice = std::nullopt;
  Walk walk = {};
};

/// Tests the walk of `found` and fills in what comes of it. untouched_from: no row of this score or more was looked at,
/// and one threshold from here on is tested on all rows. betting: the p-values where rows have weights or groups.
void conclude(Certification& found, const SplitCounts& counts, std::optional<double> untouched_from,
              std::optional<std::vector<double>> betting, const Objective& objective, const CertifyOptions& options,
              bool groups);

}  // namespace limen::detail
