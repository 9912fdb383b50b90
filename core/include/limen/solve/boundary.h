// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limen/count/binning.h"
#include "limen/count/samples.h"
#include "limen/solve/monotone_thresholds.h"
#include "limen/solve/objective.h"
#include "limen/solve/solve.h"

namespace limen {

/// The decision rule. Level of a row = number of edges <= its uncertainty; positive iff the level's threshold is set
/// and score >= threshold. Compared in double precision, so that every face of the product decides alike, bit for bit.
struct Rule {
  std::vector<double> uncertainty_edges;                ///< K - 1, increasing
  std::vector<std::optional<double>> score_thresholds;  ///< K; unset: no row of this level is positive

  friend bool operator==(const Rule&, const Rule&) = default;
};

/// Throws InvalidInput when the sizes do not fit, edges do not increase or a number is not finite.
void validate(const Rule& rule);

/// The rule that flags the `taken` highest bins of every level of the grid. Its thresholds lie between two observed
/// scores (score_cut), so that the rows the grid was counted from are decided alike in single and double precision.
[[nodiscard]] Rule make_rule(const Grid& grid, std::span<const std::int32_t> taken);

/// The rule of a method's solution. As make_rule, but for `smooth` its thresholds lie where the model is cut.
[[nodiscard]] Rule rule_of(Method method, const Grid& grid, const Objective& objective,
                           std::span<const std::int32_t> taken);

/// Writes 1 (positive) or 0 per row into `decision` and, unless it is empty, the level into `level`.
/// Branch-free, parallel. Throws InvalidInput on unequal lengths or a value that is not finite (with its row).
void decide(const Rule& rule, RealSpan score, RealSpan uncertainty, std::span<std::uint8_t> decision,
            std::span<std::int32_t> level = {});
[[nodiscard]] std::vector<std::uint8_t> decide(const Rule& rule, RealSpan score, RealSpan uncertainty);

/// What a fit saw and reached on its hold-out. With weights, all but `rows` are sums of weights.
struct HoldoutSummary {
  std::int64_t rows = 0;
  bool weighted = false;
  double weight = 0;  ///< sum of weights; equal to rows without
  double positives = 0;
  double flagged = 0;
  double true_positives = 0;
  double objective_value = 0;
  double objective_bound = 0;  ///< proven: no boundary on the same grid does better
  bool optimal = false;

  [[nodiscard]] double precision() const { return flagged > 0 ? true_positives / flagged : 0; }
  [[nodiscard]] double recall() const { return positives > 0 ? true_positives / positives : 0; }
  friend bool operator==(const HoldoutSummary&, const HoldoutSummary&) = default;
};

/// How a boundary came to be chosen among several ways to use the uncertainty (choose.h).
struct ChosenBy {
  struct Candidate {
    Method method = Method::kSt;
    int levels = 1;
    double gain = 0;        ///< over one threshold, relative, on rows left out
    double gain_se = 0;     ///< its standard error
    double lift = 0;        ///< positives more than one threshold has in as many rows, relative, on rows left out
    double lift_se = 0;     ///< its standard error
    bool segments = false;  ///< `levels` inside every segment; else of all rows together
    friend bool operator==(const Candidate&, const Candidate&) = default;
  };
  double information_p = 1;  ///< of the test whether uncertainty informs beyond the score
  std::vector<Candidate> candidates;
  std::string why;
  std::optional<double> segment_p = std::nullopt;  ///< the same of the segments, where there are some to look at
  friend bool operator==(const ChosenBy&, const ChosenBy&) = default;
};

/// What to expect of a boundary in deployment, from rows it was not fitted on: ranges of about 95%.
struct Expected {
  enum class By { kCrossValidation, kTestedRows };  ///< rows left out in turn, or those of a certification

  double precision_low = 0;
  double precision_high = 0;
  double recall_low = 0;
  double recall_high = 0;
  By by = By::kCrossValidation;
  friend bool operator==(const Expected&, const Expected&) = default;
};

/// That the bound of the objective's constraint is kept in deployment (certify.h), and the counts behind it: whole
/// rows, whatever their weights.
struct Guarantee {
  double confidence = 0.95;
  std::int64_t learning_rows = 0;  ///< which are not tested
  std::int64_t rows = 0;           ///< tested
  std::int64_t positives = 0;      ///< of these
  std::int64_t flagged = 0;        ///< of these, by the boundary
  std::int64_t true_positives = 0;
  double p_value = 1;             ///< of "the bound is not kept", at most 1 - confidence
  std::string test = "binomial";  ///< or "betting": rows with weights or in groups
  std::uint64_t seed = 0;         ///< of the split into rows that learn and rows that are tested
  std::string valid_for;
  friend bool operator==(const Guarantee&, const Guarantee&) = default;
};

/// What came of a segment that had to keep the bound by itself.
enum class SegmentStatus {
  kOptimal,       ///< keeps the bound on the hold-out; proved: nothing on its levels and bins is better
  kFeasible,      ///< keeps the bound on the hold-out
  kInfeasible,    ///< cannot keep it: nothing is flagged
  kCertified,     ///< keeps it in deployment, with the guarantee's confidence
  kNotCertified,  ///< its rows could not certify it: nothing is flagged
};
[[nodiscard]] std::string_view to_string(SegmentStatus status);

/// The part of a boundary that is for the rows of one value of a category column, or of several rare ones.
struct Segment {
  std::string value;  ///< not empty; that of the pool is
  Rule rule;          ///< on levels of its own; without edges it is one threshold
  // On the hold-out: rows or their weight, and the positives, the flagged and the true positives among them.
  double rows = 0;
  double positives = 0;
  double flagged = 0;
  double true_positives = 0;
  // Set where each segment keeps the bound by itself.
  std::optional<Method> method = std::nullopt;
  std::optional<SegmentStatus> status = std::nullopt;
  std::optional<Guarantee> guarantee = std::nullopt;  ///< with kCertified: of this segment alone

  [[nodiscard]] double precision() const { return flagged > 0 ? true_positives / flagged : 0; }
  [[nodiscard]] double recall() const { return positives > 0 ? true_positives / positives : 0; }
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// A rule of its own for the values of a category column (segments.h decides by it).
struct Segments {
  std::string column = "segment";
  bool each = false;         ///< whether each segment keeps the bound by itself; else all of them together
  std::vector<Segment> own;  ///< values that stand alone, rising byte by byte
  std::optional<Segment> pooled = std::nullopt;  ///< of the values that were too rare to stand alone
  std::vector<std::string> pooled_values;        ///< rising; some where there is a pool
  /// Rows of values that the hold-out did not have are decided as the pool is, which had rows enough; else they are
  /// never flagged.
  bool unseen_as_pooled = false;

  friend bool operator==(const Segments&, const Segments&) = default;
};

/// Rows that are not flagged but sent to a person. All figures are of the hold-out.
struct Review {
  /// K: a row that is not flagged is reviewed iff its level's threshold is set and score >= threshold. Never above the
  /// threshold from which the level is flagged. Unset: nothing of the level is reviewed.
  std::vector<std::optional<double>> score_thresholds;
  // What was asked for (review.h).
  std::optional<Rational> max_rate = std::nullopt;
  std::optional<Rational> min_recall = std::nullopt;
  std::optional<Rational> cost = std::nullopt;
  double reviewed = 0;   ///< rows, or their weight
  double positives = 0;  ///< of them
  bool optimal = false;  ///< proved: no other review on these levels and bins is better

  friend bool operator==(const Review&, const Review&) = default;
};

/// Whose quantiles of uncertainty the edges between levels are.
enum class LevelsFrom {
  kAll,  ///< of all rows, as in the paper
  kTop,  ///< of the rows near the decision, among which levels can matter
};
[[nodiscard]] std::string_view to_string(LevelsFrom from);
/// Throws InvalidInput that lists the names.
[[nodiscard]] LevelsFrom parse_levels_from(std::string_view name);

/// A fitted boundary: the rule, where it came from and what it reached. One small JSON file (docs/boundary.md).
struct Boundary {
  Rule rule;  ///< of a boundary with segments: empty, so that nothing decides by it
  Objective objective;
  Method method = Method::kExact;
  std::optional<ChosenBy> chosen_by = std::nullopt;
  Binning binning = Binning::kEquiWeight;
  LevelsFrom levels_from = LevelsFrom::kAll;
  std::optional<std::int64_t> bins = std::nullopt;   ///< unset: every distinct score
  std::optional<Direction> monotone = std::nullopt;  ///< how thresholds had to go with uncertainty
  HoldoutSummary holdout;
  std::optional<Expected> expected = std::nullopt;
  std::optional<Guarantee> guarantee = std::nullopt;
  std::optional<Review> review = std::nullopt;
  std::optional<Segments> segments = std::nullopt;  ///< in place of `rule`
  std::string score_column = "score";
  std::string uncertainty_column = "uncertainty";

  friend bool operator==(const Boundary&, const Boundary&) = default;
};

/// Throws InvalidInput in the name of a function that knows no segments, when the boundary has some.
void refuse_segments(const Boundary& boundary, const char* function);

/// Throws InvalidInput when the thresholds do not fit the rule: their number, one that is not finite, or one above the
/// threshold from which its level is flagged.
void validate(const Review& review, const Rule& rule);

/// The rule that flags what the boundary flags or reviews; the boundary's own rule where it has no review.
[[nodiscard]] Rule flag_or_review_rule(const Boundary& boundary);

/// Which rows go to a person: writes 1 where a row is reviewed, 0 where it is flagged or passed. As decide otherwise.
/// Throws InvalidInput, also when the boundary has no review.
void decide_review(const Boundary& boundary, RealSpan score, RealSpan uncertainty, std::span<std::uint8_t> review);

/// The boundary as JSON text, version 1, with segments version 2, which programs that know no segments refuse. Numbers
/// read back exactly.
[[nodiscard]] std::string to_json(const Boundary& boundary);

/// Reads what to_json writes; unknown members are ignored, known ones are checked. Throws InvalidInput that says what
/// is wrong: not JSON, another format, a newer version, edges that do not increase, sizes that do not fit.
[[nodiscard]] Boundary boundary_from_json(std::string_view text);

}  // namespace limen
