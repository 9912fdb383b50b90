// SPDX-License-Identifier: MIT
#include "limen/uncertainty/evidence_law.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/base/random.h"
#include "limen/base/text.h"
#include "uncertainty/evidence_choice.h"
#include "uncertainty/row_logistic.h"
#include "uncertainty/term_counts.h"

namespace limen {
namespace {

using detail::ChoiceRows;
using detail::EvidenceChoice;
using detail::Term;
using detail::TermCounts;

constexpr const char* kFit = "fit_evidence_law";
constexpr std::uint64_t kFolds = 5;

void check_columns(const char* function, const CodeRows& rows, const char* name, std::size_t num_columns) {
  if (rows.num_columns != num_columns) {
    throw InvalidInput(function, std::string(name) + " has " + std::to_string(rows.num_columns) +
                                     " columns, must have " + std::to_string(num_columns));
  }
  if (num_columns > 0 && rows.codes.size() % num_columns != 0) {
    throw InvalidInput(function, std::string(name) + " has " + std::to_string(rows.codes.size()) +
                                     " codes, must be a multiple of its " + std::to_string(num_columns) + " columns");
  }
}

void check_scores(const char* function, std::span<const double> score, std::size_t num_rows) {
  if (score.size() != num_rows) {
    throw InvalidInput(function,
                       "score has " + std::to_string(score.size()) + " rows, must have " + std::to_string(num_rows));
  }
  for (std::size_t row = 0; row < score.size(); ++row) {
    if (score[row] >= 0 && score[row] <= 1) continue;
    throw InvalidInput(function,
                       "score[" + std::to_string(row) + "] is " + number_text(score[row]) + ", must be from 0 to 1");
  }
}

void check(const CodeRows& training, const CodeRows& validation, std::span<const double> score,
           std::span<const std::uint8_t> label) {
  if (training.num_columns == 0) throw InvalidInput(kFit, "training has no columns, must have at least 1");
  check_columns(kFit, training, "training", training.num_columns);
  check_columns(kFit, validation, "validation", training.num_columns);
  if (training.codes.empty()) throw InvalidInput(kFit, "training has no rows", Cause::kNoRows);
  if (const auto unseen = std::ranges::find(training.codes, CodeRows::kUnseen); unseen != training.codes.end()) {
    const auto row = static_cast<std::size_t>(unseen - training.codes.begin()) / training.num_columns;
    throw InvalidInput(kFit, "training has an unseen value in row " + std::to_string(row) + ", must have none");
  }
  check_scores(kFit, score, validation.num_rows());
  if (label.size() != score.size()) {
    throw InvalidInput(
        kFit, "label has " + std::to_string(label.size()) + " rows, must have " + std::to_string(score.size()));
  }
  for (std::size_t row = 0; row < label.size(); ++row) {
    if (label[row] <= 1) continue;
    throw InvalidInput(kFit,
                       "label[" + std::to_string(row) + "] is " + std::to_string(label[row]) + ", must be 0 or 1");
  }
}

// The rows that are used, in their order: those of the smallest hashes.
std::vector<std::size_t> rows_to_use(std::size_t num_rows, const EvidenceLawOptions& options) {
  std::vector<std::size_t> rows(num_rows);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (num_rows <= options.most_rows) return rows;
  const RowHash hash(options.seed, RowUse::kLawRows);
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(options.most_rows);
  std::ranges::nth_element(rows, end, {}, [&](std::size_t row) { return std::pair(hash(row), row); });
  rows.erase(end, rows.end());
  std::ranges::sort(rows);
  return rows;
}

bool has_both_classes(std::span<const std::uint8_t> label) {
  return std::ranges::adjacent_find(label, std::ranges::not_equal_to()) != label.end();
}

struct Gain {
  double sum = 0;
  double z = 0;
};

// The second gate: five times, four fifths of the rows choose a law, and the last fifth says what it is worth.
Gain cross_gain(TermCounts& counts, const ChoiceRows& rows, std::span<const std::size_t> row_number,
                const EvidenceLawOptions& options) {
  const RowHash hash(options.seed, RowUse::kLawFolds);
  std::vector<double> gain(rows.row.size(), 0);
  for (std::uint64_t fold = 0; fold < kFolds; ++fold) {
    const auto is_out = [&](std::size_t row) { return hash(row_number[row]) % kFolds == fold; };
    ChoiceRows inside;
    for (std::size_t row = 0; row < rows.row.size(); ++row) {
      if (is_out(row)) continue;
      inside.row.push_back(row);
      inside.score.push_back(rows.score[row]);
      inside.label.push_back(rows.label[row]);
    }
    if (!has_both_classes(inside.label)) continue;
    const EvidenceChoice choice = detail::choose_terms(counts, inside, options);
    if (choice.terms.empty()) continue;
    for (std::size_t row = 0; row < rows.row.size(); ++row) {
      if (!is_out(row)) continue;
      double log_n = 0;
      for (std::size_t at = 0; at < choice.terms.size(); ++at) {
        log_n += choice.weight[at] * counts.log_counts()[counts.of(choice.terms[at])[row]];
      }
      const double f = choice.curve.standardised(rows.score[row]);
      const double law =
          detail::law_log_odds(choice.coefficients, f, (log_n - choice.evidence_mean) / choice.evidence_sd);
      const double alone = f * choice.curve.sd + choice.curve.mean;
      gain[row] = rows.label[row] != 0 ? detail::log1p_exp(-alone) - detail::log1p_exp(-law)
                                       : detail::log1p_exp(alone) - detail::log1p_exp(law);
    }
  }
  Gain result = {.sum = std::accumulate(gain.begin(), gain.end(), 0.0)};
  const double mean = result.sum / static_cast<double>(gain.size());
  double squares = 0;
  for (const double value : gain) squares += (value - mean) * (value - mean);
  result.z = squares > 0 ? result.sum / std::sqrt(squares) : 0;
  return result;
}

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

void validate(const EvidenceLawOptions& options) {
  const auto require = [](bool is_legal, const char* field, const std::string& value, const char* range) {
    if (is_legal) return;
    throw InvalidInput(Where{.function = kFit, .field = field}, "is " + value + ", must be " + range);
  };
  require(options.most_terms >= 1 && options.most_terms <= 16, "most_terms", std::to_string(options.most_terms),
          "from 1 to 16");
  require(options.level > 0 && options.level < 1, "level", number_text(options.level), "above 0 and below 1");
  require(options.least_z >= 0 && std::isfinite(options.least_z), "least_z", number_text(options.least_z),
          "finite and >= 0");
  require(options.cap >= 1 && options.cap <= 65'535, "cap", std::to_string(options.cap), "from 1 to 65535");
  require(options.most_columns_in_pairs >= 1 && options.most_columns_in_pairs <= 200, "most_columns_in_pairs",
          std::to_string(options.most_columns_in_pairs), "from 1 to 200");
  require(options.most_rows >= 1, "most_rows", std::to_string(options.most_rows), ">= 1");
  require(options.num_threads >= 0, "num_threads", std::to_string(options.num_threads), ">= 0");
}

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
  check_columns("log_evidence", rows, "rows", num_columns);
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
  check_columns("probability", rows, "rows", num_columns);
  check_scores("probability", score, rows.num_rows());
  if (curve.at.empty()) return {score.begin(), score.end()};
  std::vector<double> result = log_evidence(rows);
  for (std::size_t row = 0; row < result.size(); ++row) {
    const double f = curve.standardised(score[row]);
    result[row] = detail::sigmoid(
        is_silent() ? f * curve.sd + curve.mean
                    : detail::law_log_odds(coefficients, f, (result[row] - evidence_mean) / evidence_sd));
  }
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

EvidenceLaw fit_evidence_law(const CodeRows& training, const CodeRows& validation, std::span<const double> score,
                             std::span<const std::uint8_t> label, const EvidenceLawOptions& options) {
  validate(options);
  check(training, validation, score, label);
  EvidenceLaw law = {.num_columns = training.num_columns, .cap = options.cap};
  const std::vector<std::size_t> used = rows_to_use(score.size(), options);
  ChoiceRows rows;
  for (std::size_t at = 0; at < used.size(); ++at) {
    rows.row.push_back(at);
    rows.score.push_back(score[used[at]]);
    rows.label.push_back(label[used[at]]);
  }
  if (used.empty()) return law;
  law.status = EvidenceLawStatus::kOneClass;
  if (!has_both_classes(rows.label)) return law;

  tbb::task_arena arena(detail::arena_size(options.num_threads));
  arena.execute([&] {
    TermCounts counts(training, validation, used, options.cap);
    const EvidenceChoice choice = detail::choose_terms(counts, rows, options);
    law.curve = choice.curve;
    law.num_candidates = choice.num_candidates;
    law.chi_square = choice.chi_square;
    law.p_value = choice.p_value;
    law.status = choice.num_candidates == 0 ? EvidenceLawStatus::kNoVariation : EvidenceLawStatus::kNothingFound;
    if (choice.terms.empty()) return;
    const Gain gain = cross_gain(counts, rows, used, options);
    law.gain = gain.sum;
    law.gain_z = gain.z;
    law.status = EvidenceLawStatus::kNotConfirmed;
    if (!(gain.z >= options.least_z)) return;

    law.status = EvidenceLawStatus::kActive;
    law.coefficients = choice.coefficients;
    law.evidence_mean = choice.evidence_mean;
    law.evidence_sd = choice.evidence_sd;
    for (std::size_t at = 0; at < choice.terms.size(); ++at) {
      law.terms.push_back({.columns = choice.terms[at],
                           .weight = choice.weight[at],
                           .cells = detail::count_cells(training, choice.terms[at])});
    }
    const double place = law.curve.mean - law.curve.sd * law.coefficients[2] / law.coefficients[3];
    if (std::isfinite(place)) law.crossing = detail::sigmoid(place);
  });
  return law;
}

}  // namespace limen
