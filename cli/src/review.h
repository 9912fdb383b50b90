// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "limen/fit_review.h"
#include "limen/judge/metrics.h"
#include "options.h"

namespace limen::cli {

/// Flags that say which rows a person looks at.
struct ReviewFlags {
  std::string rate, recall, cost;
};
void add_review_flags(CLI::App& verb, ReviewFlags& flags);
[[nodiscard]] bool is_given(const ReviewFlags& flags);
/// Unset when no flag is given.
[[nodiscard]] std::optional<ReviewGoal> make_review_goal(const ReviewFlags& flags);

/// describe(objective), with the cost of a review where it counts.
[[nodiscard]] std::string objective_text(const Boundary& boundary);

/// Rows, positives and precision of what is flagged, reviewed and passed on the hold-out, and the recall of the first
/// two together.
[[nodiscard]] std::string review_text(const ReviewFit& fit);
/// Threshold, rows and positives of one level's review.
[[nodiscard]] std::vector<std::string> review_cells(const Boundary& boundary, const ReviewFit& fit, std::size_t level);
/// Says what is attainable; the exit code.
int report_infeasible_review(const std::string& table, bool json, const ReviewGoal& goal, const ReviewFit& fit);

/// A test table: what goes to a person, from the decisions of both rules of a boundary.
[[nodiscard]] std::string evaluated_review_text(const Confusion& flagged, const Confusion& flagged_or_reviewed,
                                                double confidence);
[[nodiscard]] Json evaluated_review_json(const Confusion& flagged, const Confusion& flagged_or_reviewed,
                                         double confidence);

}  // namespace limen::cli
