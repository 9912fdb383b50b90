// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limen/uncertainty/code_rows.h"

// Which training rows count as evidence for a score, learnt from labelled rows that the model was not trained on.
//
// A term is a set of columns; its count for a row x is the number of training rows that agree with x on all of them.
// The law has few terms t with weights w_t > 0 that sum to 1:
//   log n(x)    = sum_t w_t log(1 + min(count_t(x), cap))                                  evidence, in rows
//   logit P(x)  = b0 + b1 F(s) + (g0 + g1 F(s)) h(x),    h = (log n - mean) / sd           the mean
// F(s) is the log odds of a positive by the score s alone, increasing and standardised. To first order in log n this is
// the mean of a Beta posterior whose prior is too weak: rows of much evidence have the steeper slope, and all slopes
// meet at the prior's mean, where F = -g0 / g1. Nothing need be known of undersampling: it shifts the log odds, and F
// takes it up. Where counts explain nothing beyond the score, the law has no terms: it is silent.
// docs/algorithms/evidence.md has the steps and why each is there.
namespace limen {

struct EvidenceLawOptions {
  /// Terms of a law at most; 1 to 16.
  int most_terms = 6;
  /// Probability of a law where labels depend on the score alone, by the first gate: the best chi-square of all terms
  /// that were looked at, by Bonferroni's bound. In (0, 1).
  double level = 0.01;
  /// The second gate: the gain in log likelihood over the score alone, on rows that did not choose the law, must be
  /// this many of its standard deviations; >= 0 and finite.
  double least_z = 2;
  /// Training rows beyond so many in a cell add nothing; 1 to 65535. Without a cap a column of few values is a mere
  /// name of its value, and what it learns does not last.
  std::int64_t cap = 1000;
  /// Columns whose pairs and triples are looked at, the best by themselves; 1 to 200.
  int most_columns_in_pairs = 20;
  /// Validation rows that are used, at least 1; of more, a sample by a hash of their number.
  std::size_t most_rows = 200'000;
  /// Which rows are in that sample, and in which of the five folds of the second gate.
  std::uint64_t seed = 0;
  /// 0: all cores. The results do not depend on it.
  int num_threads = 0;
};

/// Throws InvalidInput that names field, value and range.
void validate(const EvidenceLawOptions& options);

struct EvidenceTerm {
  std::vector<std::size_t> columns = {};  ///< ascending
  double weight = 0;                      ///< > 0; those of all terms sum to 1
  CellCounts cells = {};
};

/// Log odds of a positive by the score alone: linear between knots in logit(score), increasing.
struct ScoreCurve {
  std::vector<double> at = {};        ///< logit of the score, increasing
  std::vector<double> log_odds = {};  ///< increasing, one for each knot; before and after them a slope of 0.001
  double mean = 0;                    ///< of the log odds of the validation rows
  double sd = 1;                      ///< the same; 1 where all are equal

  /// Log odds less the mean, by the sd. score: in [0, 1].
  [[nodiscard]] double standardised(double score) const;
};

/// Why a law has terms, or none.
enum class EvidenceLawStatus {
  kActive,
  kNoRows,        ///< no validation rows
  kOneClass,      ///< they are all positive, or all negative
  kNoVariation,   ///< all validation rows have the same counts, whatever the columns
  kNothingFound,  ///< the first gate: no count explains more than chance would, with so many looked at
  kNotConfirmed,  ///< the second gate: what was found does not hold on rows that did not choose it
};
[[nodiscard]] std::string_view to_string(EvidenceLawStatus status);

struct EvidenceLaw {
  EvidenceLawStatus status = EvidenceLawStatus::kNoRows;
  std::vector<EvidenceTerm> terms = {};  ///< in the order in which they were chosen; empty: silent
  std::size_t num_columns = 0;           ///< of the rows that it takes
  std::int64_t cap = 1;                  ///< see EvidenceLawOptions
  std::size_t num_candidates = 0;        ///< terms that were looked at and vary
  double chi_square = 0;                 ///< of the best of them, with 2 degrees of freedom
  double p_value = 1;                    ///< of it, times the number of candidates; at most 1
  double gain = 0;                       ///< in log likelihood over the score alone, on rows that did not choose
  double gain_z = 0;                     ///< the same in standard deviations; both 0 where the first gate was shut
  ScoreCurve curve = {};                 ///< without knots for kNoRows and kOneClass
  std::array<double, 4> coefficients = {0, 1, 0, 0};  ///< b0, b1, g0, g1
  double evidence_mean = 0;                           ///< of log n over the validation rows
  double evidence_sd = 1;                             ///< the same
  /// The probability of a positive at which evidence makes no difference. Unset for a silent law, and where evidence
  /// counts the same at all scores.
  std::optional<double> crossing = std::nullopt;

  [[nodiscard]] bool is_silent() const { return terms.empty(); }

  /// log n of each row; 0 for one of which training had nothing, and for all rows when silent. Throws InvalidInput when
  /// the rows have other columns. O(rows * terms * log(cells)).
  [[nodiscard]] std::vector<double> log_evidence(const CodeRows& rows) const;

  /// The law's mean: the probability of a positive by score and evidence; never falls with the score, since
  /// b1 + g1 h counts as 0.05 b1 where it is less. When silent: by the score alone. score: one in [0, 1] for each row.
  /// Throws InvalidInput.
  [[nodiscard]] std::vector<double> probability(std::span<const double> score, const CodeRows& rows) const;

  /// The probability of a positive by the score alone; the score itself where there is no curve. score: in [0, 1].
  [[nodiscard]] std::vector<double> probability_by_score(std::span<const double> score) const;

  /// One or two sentences for people. Throws InvalidInput unless there is a name for each column.
  [[nodiscard]] std::string describe(std::span<const std::string> column_names) const;
};

/// Learns a law.
///
/// training: the rows that the model saw (after undersampling, if there was any), at least one, without kUnseen.
/// validation: rows the model was not trained on, with their score in [0, 1] (clipped to 1e-6 from its ends) and label
/// 0/1; the same columns. One column at least. Columns with one value everywhere are passed over.
///
/// Terms that are looked at: each column; pairs of the best columns; the ten best pairs with each of these columns; of
/// 4 to 12 columns also all of them and all but one. O(terms * (training + validation rows * 10)) and a few logistic
/// regressions; memory 2 bytes for each term and validation row. Deterministic: a function of the rows, their order
/// among the validation rows and the options but num_threads; the order of training rows has no bearing.
/// Throws InvalidInput.
[[nodiscard]] EvidenceLaw fit_evidence_law(const CodeRows& training, const CodeRows& validation,
                                           std::span<const double> score, std::span<const std::uint8_t> label,
                                           const EvidenceLawOptions& options = {});

/// The law as JSON text, with its count tables.
[[nodiscard]] std::string to_json(const EvidenceLaw& law);
/// Reads what to_json writes; every member is checked. Throws InvalidInput.
[[nodiscard]] EvidenceLaw evidence_law_from_json(std::string_view text);

}  // namespace limen
