// SPDX-License-Identifier: MIT
#include "limen/uncertainty/evidence_law.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "uncertainty/evidence_index.h"
#include "uncertainty/law_checks.h"
#include "uncertainty/row_logistic.h"
#include "uncertainty/term_counts.h"

namespace limen {
namespace {

// Few digits, for people.
std::string rounded(double value, int digits = 2) {
  std::array<char, 64> text = {};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits).ptr;
  return std::string(text.data(), end);
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text = {};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, digits).ptr;
  return std::string(text.data(), end);
}

// What the law says, and not more: a crossing among the scores is the bias of a weak prior; without one, the counts
// are a sign of their own.
std::string meaning(const EvidenceLaw& law) {
  const double crossing_log_odds = law.crossing ? std::log(*law.crossing / (1 - *law.crossing)) : 0;
  const std::vector<double>& log_odds = law.curve.log_odds;
  const bool crosses = law.crossing && log_odds.size() > 2 && crossing_log_odds > log_odds[1] &&
                       crossing_log_odds < log_odds[log_odds.size() - 2];
  if (!crosses) {
    const bool is_fewer = law.coefficients[2] > 0;
    return std::string("At the same score, rows of little evidence are ") + (is_fewer ? "less" : "more") +
           " often positive: the counts are a sign of their own.";
  }
  return std::string("With little evidence scores lie too ") + (law.coefficients[3] > 0 ? "far from " : "near to ") +
         fixed(*law.crossing, 3) + ".";
}

}  // namespace

std::string_view to_string(EvidenceLawStatus status) {
  switch (status) {
    case EvidenceLawStatus::kActive:
      return "active";
    case EvidenceLawStatus::kNoRows:
      return "no_rows";
    case EvidenceLawStatus::kOneClass:
      return "one_class";
    case EvidenceLawStatus::kNoVariation:
      return "no_variation";
    case EvidenceLawStatus::kNothingFound:
      return "nothing_found";
    case EvidenceLawStatus::kNotConfirmed:
      return "not_confirmed";
  }
  return "";
}

std::vector<double> EvidenceLaw::log_evidence(const CodeRows& rows) const {
  detail::check_columns("log_evidence", rows, "rows", num_columns);
  std::vector<double> result(rows.num_rows(), 0);
  for (const EvidenceTerm& term : terms) {
    for (std::size_t row = 0; row < result.size(); ++row) {
      const auto count =
          static_cast<double>(detail::count_of(term.cells, rows.codes.data() + row * rows.num_columns, term.columns));
      result[row] += term.weight * std::log1p(std::min(count, static_cast<double>(cap)));
    }
  }
  return result;
}

std::vector<double> EvidenceLaw::probability(std::span<const double> score, const CodeRows& rows) const {
  detail::check_columns("probability", rows, "rows", num_columns);
  detail::check_scores("probability", score, rows.num_rows());
  if (is_silent()) return probability_by_score(score);
  std::vector<double> result = log_evidence(rows);
  for (std::size_t row = 0; row < result.size(); ++row) {
    const double h = (result[row] - evidence_mean) / evidence_sd;
    result[row] = detail::sigmoid(detail::law_log_odds(coefficients, curve.standardised(score[row]), h));
  }
  return result;
}

std::vector<double> EvidenceLaw::probability_by_score(std::span<const double> score) const {
  detail::check_scores("probability", score, score.size());
  std::vector<double> result(score.begin(), score.end());
  if (curve.at.empty()) return result;
  for (double& value : result) value = detail::sigmoid(curve.standardised(value) * curve.sd + curve.mean);
  return result;
}

std::string EvidenceLaw::describe(std::span<const std::string> column_names) const {
  if (column_names.size() != num_columns) {
    throw InvalidInput("describe",
                       std::to_string(column_names.size()) + " names, must be " + std::to_string(num_columns));
  }
  const std::string looked = count_text(static_cast<double>(num_candidates)) +
                             (num_candidates == 1 ? " combination of columns" : " combinations of columns");
  switch (status) {
    case EvidenceLawStatus::kActive:
      break;
    case EvidenceLawStatus::kNoRows:
      return "Silent: there are no validation rows.";
    case EvidenceLawStatus::kOneClass:
      return "Silent: the validation rows are all of one class.";
    case EvidenceLawStatus::kNoVariation:
      return "Silent: all validation rows have the same training rows behind them, whatever the columns.";
    case EvidenceLawStatus::kNothingFound:
      return "Silent: of " + looked + " none has counts that explain the labels beyond the score (p " +
             rounded(p_value) + ").";
    case EvidenceLawStatus::kNotConfirmed:
      return "Silent: what the best of " + looked + " explained (p " + rounded(p_value) +
             ") did not hold on rows that did not choose it (gain " + rounded(gain_z) + " standard deviations).";
  }
  std::string text = "Evidence: rows that agree on ";
  for (std::size_t at = 0; at < terms.size(); ++at) {
    if (at > 0) text += at + 1 == terms.size() ? " and " : ", ";
    for (std::size_t column = 0; column < terms[at].columns.size(); ++column) {
      text += (column == 0 ? "" : " x ") + escaped(column_names[terms[at].columns[column]], 40);
    }
    if (terms.size() > 1) text += " (" + fixed(terms[at].weight, 2) + ")";
  }
  return text + " (p " + rounded(p_value) + ", " + looked + "; gain " + rounded(gain_z, 3) + " standard deviations). " +
         meaning(*this);
}

}  // namespace limen
