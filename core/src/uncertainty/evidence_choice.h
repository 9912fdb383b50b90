// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "limen/uncertainty/evidence_law.h"
#include "uncertainty/row_logistic.h"
#include "uncertainty/term_counts.h"

// One choice of terms from some rows: the steps of docs/algorithms/evidence.md but for the second gate, which makes
// five more choices.
namespace limen::detail {

/// Labelled rows; `row` is their place among those of the TermCounts.
struct ChoiceRows {
  std::vector<std::size_t> row = {};
  std::vector<double> score = {};
  std::vector<std::uint8_t> label = {};
};

struct EvidenceChoice {
  ScoreCurve curve = {};
  std::vector<Term> terms = {};
  std::vector<double> weight = {};  ///< > 0, summing to 1
  std::array<double, 4> coefficients = {0, 1, 0, 0};
  double evidence_mean = 0;
  double evidence_sd = 1;
  std::size_t num_candidates = 0;
  double chi_square = 0;
  double p_value = 1;
};

/// Score test of c and c F beyond a design, at a fit p of it: twice what the log likelihood would rise by, to first
/// order, were both added. With v = p (1 - p), G = [c, c F], u = G' (y - p):
///   I = G'VG - G'VX (X'VX)^-1 X'VG,    chi-square = u' I^-1 u
/// where directions of which the design leaves less than a thousandth count for nothing.
class ScreeningTest {
 public:
  /// f: F of each row. All must outlive the object.
  ScreeningTest(const RowMatrix& design, std::span<const double> probability, std::span<const std::uint8_t> label,
                std::span<const double> f);
  /// c = values[count[row[i]]], standardised: centre and scale have no bearing but on rounding.
  [[nodiscard]] double chi_square(std::span<const double> values, std::span<const std::uint16_t> count,
                                  std::span<const std::size_t> row, double mean, double sd) const;

 private:
  std::span<const double> f_;
  RowMatrix weighted_design_;  // v X, row by row
  std::vector<double> weight_;
  std::vector<double> residual_;
  Cholesky information_;
};

/// label: both classes.
[[nodiscard]] EvidenceChoice choose_terms(TermCounts& counts, const ChoiceRows& rows,
                                          const EvidenceLawOptions& options);

}  // namespace limen::detail
