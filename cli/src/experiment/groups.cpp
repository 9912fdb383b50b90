// SPDX-License-Identifier: MIT
#include "experiment/groups.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "limen/base/text.h"

namespace limen::cli::experiment {
namespace {

std::string group_label(const Cell& cell, const Part& part) {
  std::vector<std::string> words = {part.name};
  if (part.tau.size() > 1) words.push_back("tau " + number_text(cell.tau));
  if (part.models.size() > 1) words.push_back(cell.model);
  if (part.encoders.size() > 1 && !cell.encoder.empty()) words.push_back(cell.encoder);
  if (part.uncertainties.size() > 1) words.push_back(cell.uncertainty);
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::vector<SeedGroup> seed_groups(const Experiment& experiment, const std::vector<Cell>& cells,
                                   const CellStore& store) {
  std::vector<SeedGroup> groups;
  using Place = std::tuple<std::size_t, std::size_t, double, std::string, std::string, std::string>;
  std::optional<Place> last;
  for (const Cell& cell : cells) {
    const auto figures = store.load(cell);
    if (!figures) continue;
    const Place place = {cell.section, cell.part, cell.tau, cell.model, cell.encoder, cell.uncertainty};
    if (last != place) {
      const Section& section = experiment.sections[cell.section];
      const Part& part = section.parts[cell.part];
      groups.push_back({.section = &section,
                        .part = &part,
                        .tau = cell.tau,
                        .model = cell.model,
                        .encoder = cell.encoder,
                        .uncertainty = cell.uncertainty,
                        .label = group_label(cell, part)});
      last = place;
    }
    groups.back().figures.push_back(*figures);
    groups.back().times.push_back(store.load_times(cell));
    groups.back().seeds.push_back(cell.seed);
  }
  return groups;
}

const MethodSummary* Comparison::find(Method method) const {
  for (const MethodSummary& summary : methods) {
    if (summary.method == method) return &summary;
  }
  return nullptr;
}

std::vector<Comparison> comparisons(const SeedGroup& group) {
  std::vector<Comparison> all;
  for (const Json& seed : group.figures) {
    if (!seed.contains("comparison")) continue;
    for (const Json& entry : seed["comparison"]) {
      const Binning binning = parse_binning(entry.at("binning").get<std::string>());
      const double bound = entry.at("bound").get<double>();
      const Method method = parse_method(entry.at("method").get<std::string>());
      Comparison* comparison = nullptr;
      for (Comparison& known : all) {
        if (known.binning == binning && known.bound == bound) comparison = &known;
      }
      if (comparison == nullptr) comparison = &all.emplace_back(Comparison{.binning = binning, .bound = bound});
      MethodSummary* summary = nullptr;
      for (MethodSummary& known : comparison->methods) {
        if (known.method == method) summary = &known;
      }
      if (summary == nullptr) {
        summary = &comparison->methods.emplace_back();
        summary->method = method;
        summary->bound = decimal_rational(bound);
      }
      summary->trials.push_back(trial_of(entry.at("trial")));
    }
  }
  for (Comparison& comparison : all) {
    std::erase_if(comparison.methods,
                  [&](const MethodSummary& summary) { return summary.trials.size() != group.figures.size(); });
    summarize_trials(comparison.methods);
  }
  return all;
}

MeanSd mean_sd(const std::vector<double>& values) {
  double sum = 0;
  double count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  if (count == 0) return {std::numeric_limits<double>::quiet_NaN(), 0};
  const double mean = sum / count;
  double squares = 0;
  for (const double value : values) {
    if (std::isfinite(value)) squares += (value - mean) * (value - mean);
  }
  return {mean, count < 2 ? 0 : std::sqrt(squares / (count - 1))};
}

double number_of(const Json& json) {
  return json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace limen::cli::experiment
