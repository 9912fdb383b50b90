// SPDX-License-Identifier: MIT
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/base/random.h"
#include "limen/base/text.h"
#include "limen/uncertainty/evidence_law.h"
#include "uncertainty/evidence_choice.h"
#include "uncertainty/evidence_index.h"
#include "uncertainty/law_checks.h"
#include "uncertainty/row_logistic.h"
#include "uncertainty/term_counts.h"

namespace limen {
namespace {

using detail::ChoiceRows;
using detail::EvidenceChoice;
using detail::TermCounts;

constexpr const char* kFit = "fit_evidence_law";
constexpr std::uint64_t kFolds = 5;

void check(const CodeRows& training, const CodeRows& validation, std::span<const double> score,
           std::span<const std::uint8_t> label) {
  if (training.num_columns == 0) throw InvalidInput(kFit, "training has no columns, must have at least 1");
  detail::check_columns(kFit, training, "training", training.num_columns);
  detail::check_columns(kFit, validation, "validation", training.num_columns);
  if (training.codes.empty()) throw InvalidInput(kFit, "training has no rows", Cause::kNoRows);
  if (const auto unseen = std::ranges::find(training.codes, CodeRows::kUnseen); unseen != training.codes.end()) {
    const auto row = static_cast<std::size_t>(unseen - training.codes.begin()) / training.num_columns;
    throw InvalidInput(kFit, "training has an unseen value in row " + std::to_string(row) + ", must have none");
  }
  detail::check_scores(kFit, score, validation.num_rows());
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
