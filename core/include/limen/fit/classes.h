// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limen/base/rational.h"
#include "limen/base/real_span.h"
#include "limen/judge/metrics.h"
#include "limen/solve/boundary.h"
#include "limen/solve/method.h"

namespace limen {

// Several classes, each with a score of its own and a promise of its own: "at least 90% of the rows that are called cat
// are cats". Each class gets a boundary of its own, one against the rest.

/// Who may claim a row.
enum class Claims {
  /// A row is claimed by one class at the most: its eligible class, the one with the highest score, of equal scores the
  /// one listed first. Eligibility is a function of the row's scores alone, so that the classes' problems separate:
  /// each
  /// is solved, and certified, on its own eligible rows, and no row is ever claimed twice.
  kOne,
  /// Several labels: every class decides every row, whatever the others say.
  kSeveral,
};
[[nodiscard]] std::string_view to_string(Claims claims);
/// Throws InvalidInput that lists the names.
[[nodiscard]] Claims parse_claims(std::string_view name);

/// The label of a row that is of none of the classes: a negative for all of them.
inline constexpr std::int32_t kNoClass = -1;

/// Scores of rows; views of memory that the caller keeps alive.
struct ClassScores {
  std::span<const RealSpan> score;  ///< one for each class, all of equal length, finite
  /// One for each class, or one for all of them, or none: every class has one threshold then.
  std::span<const RealSpan> uncertainty;

  [[nodiscard]] std::size_t num_classes() const { return score.size(); }
  [[nodiscard]] std::size_t num_rows() const { return score.empty() ? 0 : score.front().size(); }
};

struct ClassGoal {
  std::string name;        ///< not empty, each once
  Rational min_precision;  ///< above 0, at most 1
};

struct ClassFitOptions {
  Claims claims = Claims::kOne;
  Method method = Method::kAuto;             ///< of every class; `st` where there is no uncertainty
  std::optional<int> levels = std::nullopt;  ///< as FitOptions::levels
  LevelsFrom levels_from = LevelsFrom::kTop;
  /// Set: every class is certified at this confidence, or not decided. For each class, not for all of them at once.
  std::optional<double> confidence = std::nullopt;
  /// All promises are kept at once with that confidence (Bonferroni: each class at 1 - (1 - confidence) / classes).
  bool joint = false;
  std::uint64_t seed = 0;  ///< of certification
  int num_threads = 0;
};

/// One class: its promise, and the boundary that keeps it.
struct ClassBoundary {
  std::string name;
  Rational min_precision;
  std::string score_column;
  std::string uncertainty_column;  ///< empty: none
  /// Of the rows that may be claimed: all figures in it are of eligible rows. Unset: the class claims nothing.
  std::optional<Boundary> boundary = std::nullopt;
  std::string why = {};           ///< where there is no boundary: one sentence
  std::int64_t rows = 0;          ///< of the hold-out
  std::int64_t eligible = 0;      ///< of them, that the class may claim
  double positives = 0;           ///< of the class, among all rows; by weight where there are weights
  double eligible_positives = 0;  ///< of the class, among eligible rows

  /// On the hold-out, of all rows of the class: those that are not eligible are missed.
  [[nodiscard]] double recall() const {
    return boundary && positives > 0 ? boundary->holdout.true_positives / positives : 0;
  }
  friend bool operator==(const ClassBoundary&, const ClassBoundary&) = default;
};

/// Boundaries of several classes; one JSON file ("limen-classes").
struct ClassBoundaries {
  Claims claims = Claims::kOne;
  std::string label_column = "label";
  std::optional<double> confidence = std::nullopt;  ///< as asked for
  bool joint = false;
  std::vector<ClassBoundary> classes = {};

  [[nodiscard]] std::size_t num_decided() const;
  friend bool operator==(const ClassBoundaries&, const ClassBoundaries&) = default;
};

/// The class that may claim each row. Throws InvalidInput: no class, unequal lengths, a score that is not finite.
[[nodiscard]] std::vector<std::int32_t> eligible_classes(const ClassScores& rows);

/// One boundary for each class: the most recall at its precision, exact where the method is, on the rows that the class
/// may claim; its recall counts all rows of the class. Because eligibility depends on scores alone, the classes'
/// boundaries together are the best that the claim rule allows: no choice for one class takes anything from another.
///
/// With a confidence each class is certified as certify does, on its eligible rows: they are drawn like eligible rows
/// of deployment, and the class claims no others. A class that no boundary serves, or none can be certified for, claims
/// nothing, and says why.
///
/// label: the index of the class, or kNoClass. weight: empty, or one for each row. Throws InvalidInput: bad scores,
/// names, bounds or labels, a class without rows, a method that needs an uncertainty that is not there.
[[nodiscard]] ClassBoundaries fit_classes(const ClassScores& rows, std::span<const std::int32_t> label,
                                          std::span<const ClassGoal> goals, const ClassFitOptions& options = {},
                                          std::span<const double> weight = {});

/// Which rows each class claims: 1 or 0 for each row, class by class. Throws InvalidInput.
[[nodiscard]] std::vector<std::vector<std::uint8_t>> decide_classes(const ClassBoundaries& boundaries,
                                                                    const ClassScores& rows);

/// The class that claims each row, or kNoClass. For Claims::kOne only. Throws InvalidInput.
[[nodiscard]] std::vector<std::int32_t> decide_one_class(const ClassBoundaries& boundaries, const ClassScores& rows);

/// Claims counted against labels, one for each class; positives are all rows of the class. Throws InvalidInput.
[[nodiscard]] std::vector<Confusion> evaluate_classes(const ClassBoundaries& boundaries, const ClassScores& rows,
                                                      std::span<const std::int32_t> label,
                                                      std::span<const double> weight = {});

/// The file, version 1. Numbers read back exactly.
[[nodiscard]] std::string to_json(const ClassBoundaries& boundaries);

/// Whether a JSON text says that it is such a file, whatever else may be wrong with it.
[[nodiscard]] bool is_classes_json(std::string_view text);

/// Reads what to_json writes, and checks all of it. Throws InvalidInput that says what is wrong.
[[nodiscard]] ClassBoundaries classes_from_json(std::string_view text);

}  // namespace limen
