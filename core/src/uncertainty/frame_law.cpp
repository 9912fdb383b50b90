// SPDX-License-Identifier: MIT
#include "limen/uncertainty/frame_law.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "uncertainty/law_checks.h"

namespace limen {
namespace {

constexpr const char* kFit = "fit_frame_law";

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Infinities have no place in JSON, and tables are read without them.
void check_numbers(const Frame& frame, const char* table) {
  for (const Column& column : frame.columns) {
    const NumberValues* values = std::get_if<NumberValues>(&column.values);
    if (values == nullptr) continue;
    const auto infinite = std::ranges::find_if(*values, [](double value) { return std::isinf(value); });
    if (infinite == values->end()) continue;
    throw InvalidInput(kFit, std::string(table) + " has an infinite number in row " +
                                 std::to_string(infinite - values->begin()) + " of column " + quoted(column.name) +
                                 ", must be finite or missing");
  }
}

Frame without(const Frame& frame, const std::vector<bool>& is_left_out) {
  Frame kept = {.num_rows = frame.num_rows};
  for (std::size_t column = 0; column < frame.columns.size(); ++column) {
    if (!is_left_out[column]) kept.columns.push_back(frame.columns[column]);
  }
  return kept;
}

// The columns that are in a term, ascending.
std::vector<std::size_t> columns_in_terms(const EvidenceLaw& law) {
  std::vector<std::size_t> columns;
  for (const EvidenceTerm& term : law.terms) columns.insert(columns.end(), term.columns.begin(), term.columns.end());
  std::ranges::sort(columns);
  columns.erase(std::ranges::unique(columns).begin(), columns.end());
  return columns;
}

// A cell's name is made of the codes of its term's columns in their order, which the new numbers keep.
EvidenceLaw with_columns(EvidenceLaw law, const std::vector<std::size_t>& columns) {
  law.num_columns = columns.size();
  for (EvidenceTerm& term : law.terms) {
    for (std::size_t& column : term.columns) {
      column = static_cast<std::size_t>(std::ranges::lower_bound(columns, column) - columns.begin());
    }
  }
  return law;
}

EvidenceKeys keys_of(const EvidenceKeys& keys, const EvidenceLaw& law) {
  if (keys.size() != law.num_columns) {
    throw InvalidInput("frame law", "there are " + std::to_string(keys.size()) + " keys, the law has " +
                                        std::to_string(law.num_columns) + " columns");
  }
  return keys.only(columns_in_terms(law));
}

}  // namespace

std::vector<std::string> evidence_columns(std::span<const std::string> training,
                                          std::span<const std::vector<std::string>> others,
                                          const EvidenceColumnsOptions& options) {
  for (const std::string& name : options.drop) {
    if (contains(training, name)) continue;
    throw InvalidInput(Where{.function = "evidence_columns", .field = "drop"},
                       "names " + quoted(name) + ", which is not a column of the training rows");
  }
  std::vector<std::string> columns;
  for (const std::string& name : training) {
    const bool is_other =
        name == options.label || name == options.score || contains(options.made, name) || contains(options.drop, name);
    const auto has_it = [&](const std::vector<std::string>& table) { return contains(table, name); };
    if (!is_other && std::ranges::all_of(others, has_it)) columns.push_back(name);
  }
  return columns;
}

void RisingColumns::add(const Frame& frame) {
  if (last_.empty()) {
    last_.assign(frame.columns.size(), -std::numeric_limits<double>::infinity());
    rises_.assign(frame.columns.size(), true);
  }
  for (std::size_t column = 0; column < frame.columns.size(); ++column) {
    const NumberValues* values = std::get_if<NumberValues>(&frame.columns[column].values);
    if (values == nullptr) rises_[column] = false;
    for (std::size_t row = 0; row < frame.num_rows && rises_[column]; ++row) {
      rises_[column] = (*values)[row] > last_[column];
      last_[column] = (*values)[row];
    }
  }
  rows_ += frame.num_rows;
}

FrameLaw::FrameLaw(const EvidenceKeys& keys, const EvidenceLaw& law)
    : keys_(keys_of(keys, law)), law_(with_columns(law, columns_in_terms(law))) {}

std::vector<std::string> FrameLaw::column_names() const {
  std::vector<std::string> names;
  for (std::size_t column = 0; column < keys_.size(); ++column) names.push_back(keys_.name(column));
  return names;
}

CodeRows FrameLaw::codes(const Frame& frame) const {
  return {.num_columns = keys_.size(), .codes = keys_.codes(frame)};
}

LawEvidence FrameLaw::evidence(const Frame& frame) const {
  LawEvidence result;
  result.uncertainty = law_.is_silent() ? std::vector<double>(frame.num_rows, 0) : law_.log_evidence(codes(frame));
  result.evidence.reserve(frame.num_rows);
  for (double& value : result.uncertainty) {
    result.evidence.push_back(std::exp(value));
    value = 0 - value;  // not -0 for a row of which training had nothing
  }
  return result;
}

std::vector<double> FrameLaw::probability(std::span<const double> score, const Frame& frame) const {
  if (!law_.is_silent()) return law_.probability(score, codes(frame));
  detail::check_scores("probability", score, frame.num_rows);
  return law_.probability_by_score(score);
}

FrameLawFit fit_frame_law(const Frame& training, const Frame& validation, std::span<const double> score,
                          std::span<const std::uint8_t> label, const FrameLawOptions& options) {
  validate(options.law);
  check_numbers(training, "training");
  check_numbers(validation, "validation");
  RisingColumns rising;
  rising.add(training);
  std::vector<bool> is_left_out;
  std::vector<std::string> left_out;
  for (std::size_t column = 0; column < training.columns.size(); ++column) {
    is_left_out.push_back(rising.rises(column));
    if (is_left_out.back()) left_out.push_back(training.columns[column].name);
  }
  if (left_out.size() == training.columns.size()) {
    throw InvalidInput(kFit, left_out.empty() ? "the tables have no column in common that could be counted by"
                                              : "no column is left to count by but what rises from row to row");
  }
  if (validation.columns.size() != training.columns.size()) {
    throw InvalidInput(kFit, "validation has " + std::to_string(validation.columns.size()) + " columns, training has " +
                                 std::to_string(training.columns.size()));
  }
  if (training.columns.size() - left_out.size() > EvidenceKeys::kMostKeys) {
    throw InvalidInput(kFit, "there are " + std::to_string(training.columns.size() - left_out.size()) +
                                 " columns to look at, at most " + std::to_string(EvidenceKeys::kMostKeys) +
                                 ": leave some out");
  }
  const Frame training_rows = without(training, is_left_out);
  EvidenceKeys keys(training_rows, {.num_bins = options.num_bins, .num_threads = options.law.num_threads});
  keys.fit(training_rows);
  keys.finish_fit();
  const CodeRows training_codes = {.num_columns = keys.size(), .codes = keys.add_codes(training_rows)};
  const CodeRows validation_codes = {.num_columns = keys.size(), .codes = keys.codes(without(validation, is_left_out))};
  const EvidenceLaw law = fit_evidence_law(training_codes, validation_codes, score, label, options.law);
  FrameLawFit fit = {.law = FrameLaw(keys, law), .rising = std::move(left_out)};
  for (std::size_t column = 0; column < keys.size(); ++column) fit.columns.push_back(keys.name(column));
  return fit;
}

}  // namespace limen
