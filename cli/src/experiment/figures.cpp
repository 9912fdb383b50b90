// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiment/drawn_figures.h"
#include "experiment/products.h"
#include "limen/base/text.h"
#include "limen/report/chart.h"
#include "limen/report/heat_map.h"
#include "text.h"

namespace limen::cli::experiment {
namespace {

using report::LineChart;
using report::Series;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string bound_text(const Part& part) { return number_text(part.study.bound.to_double()); }

// ---- positivity by score and level

std::string positivity_curves(const SeedGroup& group, const Json& found) {
  LineChart chart;
  chart.title = "Share of positives by score and level: " + group.label;
  chart.description =
      "One curve for each uncertainty level over the mean score of its bins, with 95% intervals. Dotted: where the "
      "share of positives equals the score.";
  chart.x = {.label = "score", .low = 0, .high = 1};
  chart.y = {.label = "share of positives in test", .low = 0, .high = 1};
  chart.has_diagonal = true;
  const std::size_t levels = found["edges"].size() + 1;
  for (std::size_t level = 0; level < levels; ++level) {
    Series series;
    series.mark = Series::Mark::kLinePoints;
    series.name = levels == 1          ? "all rows"
                  : level == 0         ? "most certain"
                  : level + 1 < levels ? fmt::format("level {}", level + 1)
                                       : "least certain";
    for (const Json& cell : found["curves"]) {
      if (cell["level"].get<std::size_t>() != level) continue;
      series.x.push_back(number_of(cell["mean_score"]));
      series.y.push_back(number_of(cell["positivity"]));
      series.low.push_back(number_of(cell["low"]));
      series.high.push_back(number_of(cell["high"]));
    }
    chart.series.push_back(std::move(series));
  }
  return report::line_chart_svg(chart);
}

/// Where a threshold lies in the bins of a level, from 0 to their number; unset: above all of them.
std::optional<double> place_of(double threshold, const std::vector<const Json*>& bins, std::size_t num_bins) {
  for (std::size_t at = 0; at < num_bins; ++at) {
    if (bins[at] == nullptr) continue;
    const double low = number_of((*bins[at])["low_score"]);
    const double high = number_of((*bins[at])["high_score"]);
    if (threshold > high) continue;
    const double share = high > low ? std::clamp((threshold - low) / (high - low), 0.0, 1.0) : 0;
    return static_cast<double>(at) + share;
  }
  return std::nullopt;
}

std::string positivity_heat(const SeedGroup& group, const Json& found) {
  report::HeatMap map;
  map.title = fmt::format("Share of positives, boundaries at precision {}: {}", bound_text(*group.part), group.label);
  map.description =
      "Cells by score bin (across, rising) and uncertainty level (up). Lines: what a boundary flags is to the right.";
  map.x_label = "score bin, rising";
  map.y_label = "uncertainty level";
  map.digits = 2;
  map.width = 560;
  const std::size_t levels = found["map_edges"].size() + 1;
  const auto num_bins = static_cast<std::size_t>(group.part->study.positivity->map_bins);
  for (std::size_t bin = 0; bin < num_bins; ++bin) map.columns.push_back(std::to_string(bin + 1));
  std::vector<std::vector<const Json*>> cells(levels, std::vector<const Json*>(num_bins, nullptr));
  for (const Json& cell : found["map"]) cells[cell["level"].get<std::size_t>()][cell["bin"].get<std::size_t>()] = &cell;
  for (std::size_t level = 0; level < levels; ++level) {
    map.rows.push_back(std::to_string(level + 1));
    map.values.emplace_back();
    for (const Json* const cell : cells[level])
      map.values.back().push_back(cell == nullptr ? kNone : number_of((*cell)["positivity"]));
  }
  for (const auto& [method, rule] : found["rules"].items()) {
    if (rule.is_null()) continue;
    report::HeatMapLine line{.name = method};
    // Levels of the map are of the test rows, those of the rule of the hold-out; both are quantiles, so the same but
    // for a few rows.
    for (std::size_t level = 0; level < levels; ++level) {
      const std::size_t own = std::min(level, rule["thresholds"].size() - 1);
      const Json& threshold = rule["thresholds"][own];
      line.at.push_back(threshold.is_null() ? std::nullopt : place_of(number_of(threshold), cells[level], num_bins));
    }
    map.lines.push_back(std::move(line));
  }
  return report::heat_map_svg(map);
}

// ---- gain by bound, recall by tau

/// Methods that have a summary at any of the comparisons, but for st.
std::vector<Method> other_methods(const Part& part) {
  std::vector<Method> methods;
  for (const Method method : part.study.methods) {
    if (method != Method::kSt) methods.push_back(method);
  }
  return methods;
}

/// Of the paired differences in matched recall, over that of st: mean, and standard error.
MeanSd relative_gain(const MethodSummary& summary, const MethodSummary& st) {
  if (st.mean_matched_recall == 0) return {kNone, 0};
  std::vector<double> differences;
  for (std::size_t pair = 0; pair < summary.trials.size(); ++pair) {
    differences.push_back(summary.trials[pair].matched_recall - st.trials[pair].matched_recall);
  }
  const MeanSd found = mean_sd(differences);
  return {found.mean / st.mean_matched_recall,
          found.sd / std::sqrt(static_cast<double>(differences.size())) / st.mean_matched_recall};
}

std::string gain_by_bound(const SeedGroup& group) {
  LineChart chart;
  chart.title = "Gain over one threshold, by precision bound: " + group.label;
  chart.description =
      "Recall on test rows at equal test precision, relative to st; mean over the seeds, bars of one standard error of "
      "the paired difference.";
  chart.x = {.label = "precision bound"};
  chart.y = {.label = "gain in matched recall", .percent = true};
  chart.has_zero_line = true;
  const std::vector<Comparison> found = comparisons(group);
  for (const Method method : other_methods(*group.part)) {
    Series series;
    series.name = std::string(to_string(method));
    series.mark = Series::Mark::kLinePoints;
    series.has_error_bars = true;
    for (const Comparison& comparison : found) {
      if (comparison.binning != group.part->study.binning.front()) continue;
      const MethodSummary* const summary = comparison.find(method);
      const MethodSummary* const st = comparison.find(Method::kSt);
      if (summary == nullptr || st == nullptr) continue;
      const MeanSd gain = relative_gain(*summary, *st);
      series.x.push_back(comparison.bound);
      series.y.push_back(gain.mean);
      series.low.push_back(gain.mean - gain.sd);
      series.high.push_back(gain.mean + gain.sd);
    }
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return chart.series.empty() ? "" : report::line_chart_svg(chart);
}

/// Recall of methods at the bound over tau; the groups differ in tau alone.
std::string recall_by_tau(const std::vector<const SeedGroup*>& groups) {
  const Part& part = *groups.front()->part;
  LineChart chart;
  chart.title = fmt::format("Recall at precision {} by undersampling: {}", bound_text(part), part.name);
  chart.description = "Matched recall on test rows for each tau; mean over the seeds, bars of one standard deviation.";
  chart.x = {.label = "tau: negatives in training are kept at rate 1/tau"};
  chart.y = {.label = "matched recall", .percent = true};
  for (const Method method : part.study.methods) {
    Series series;
    series.name = std::string(to_string(method));
    series.mark = Series::Mark::kLinePoints;
    series.has_error_bars = true;
    for (const SeedGroup* const group : groups) {
      for (const Comparison& comparison : comparisons(*group)) {
        if (comparison.binning != part.study.binning.front() || comparison.bound != part.study.bound.to_double())
          continue;
        const MethodSummary* const summary = comparison.find(method);
        if (summary == nullptr) continue;
        series.x.push_back(group->tau);
        series.y.push_back(summary->mean_matched_recall);
        series.low.push_back(summary->mean_matched_recall - summary->sd_matched_recall);
        series.high.push_back(summary->mean_matched_recall + summary->sd_matched_recall);
      }
    }
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return chart.series.empty() ? "" : report::line_chart_svg(chart);
}

// ---- levels and bins

std::string sweep_heat(const SeedGroup& group) {
  const Json& first = group.figures[0]["sweep"];
  report::HeatMap map;
  map.title = fmt::format("{}: recall at precision {}, {}", to_string(group.part->study.sweep->method),
                          bound_text(*group.part), group.label);
  map.description =
      "Matched recall on rows of the hold-out left out by cross-validation, mean over the seeds. Star: the best.";
  map.x_label = "score bins";
  map.y_label = "uncertainty levels";
  map.percent = true;
  map.digits = 2;
  for (const Json& bins : first["bins"])
    map.columns.push_back(bins.is_string() ? bins.get<std::string>() : std::to_string(bins.get<std::int64_t>()));
  double best = -1;
  for (std::size_t level = 0; level < first["levels"].size(); ++level) {
    map.rows.push_back(std::to_string(first["levels"][level].get<int>()));
    map.values.emplace_back();
    for (std::size_t bin = 0; bin < map.columns.size(); ++bin) {
      std::vector<double> values;
      for (const Json& seed : group.figures)
        values.push_back(number_of(seed["sweep"]["values"][level * map.columns.size() + bin]));
      const double mean = mean_sd(values).mean;
      map.values.back().push_back(mean);
      if (std::isfinite(mean) && mean > best) {
        best = mean;
        map.star = {level, bin};
      }
    }
  }
  return report::heat_map_svg(map);
}

// ---- calibration

std::string calibration_curves(const SeedGroup& group, const char* key, const char* chance, const std::string& title,
                               const std::string& label, int first_bin) {
  LineChart chart;
  chart.title = title + ": " + group.label;
  chart.description =
      "Lower is better. Mean over the seeds, bands of one standard deviation. Dashed: what perfect probabilities would "
      "have by chance.";
  chart.x = {.label = label};
  chart.y = {.label = title, .low = 0};
  const Json& columns = group.figures[0]["calibration"]["columns"];
  const auto curve = [&](const auto& values_of, std::size_t size, Series series) {
    for (std::size_t bin = 0; bin < size; ++bin) {
      std::vector<double> values;
      for (const Json& seed : group.figures) values.push_back(number_of(values_of(seed)[bin]));
      const MeanSd found = mean_sd(values);
      series.x.push_back(static_cast<double>(bin) + first_bin);
      series.y.push_back(found.mean);
      series.low.push_back(std::max(0.0, found.mean - found.sd));
      series.high.push_back(found.mean + found.sd);
    }
    if (series.is_dashed || group.figures.size() < 2) {
      series.low.clear();
      series.high.clear();
    }
    chart.series.push_back(std::move(series));
  };
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const std::string name = columns[column]["name"].get<std::string>();
    if (name != "ist" && name != "mist" && name != "shrunken") continue;
    curve([&](const Json& seed) -> const Json& { return seed["calibration"]["columns"][column][key]; },
          columns[column][key].size(), {.name = name});
  }
  const Json& by_chance = group.figures[0]["calibration"][chance];
  curve([&](const Json& seed) -> const Json& { return seed["calibration"][chance]; }, by_chance.size(),
        {.name = "by chance", .is_dashed = true});
  return report::line_chart_svg(chart);
}

// ---- swaps

std::string swap_bars(const SeedGroup& group, const Json& column) {
  const SwapStudy& asked = *group.part->study.swaps;
  const std::string first(to_string(asked.first));
  const std::string second(to_string(asked.second));
  report::BarChart chart;
  chart.title = fmt::format("What is swapped, by {}: {}", column["name"].get<std::string>(), group.label);
  chart.description = fmt::format(
      "Shares of values among the test rows that {} flags, those that it alone flags, those that {} alone flags, "
      "and the rows of the same score bins at all levels.",
      second, first);
  chart.groups = {"flagged by " + second, second + " alone", "same scores, all levels", first + " alone",
                  "same scores, all levels"};
  chart.y = {.label = "share of rows", .low = 0, .high = 1, .percent = true};
  chart.is_stacked = true;
  chart.width = 560;
  std::vector<std::vector<double>> shares;
  for (const char* key : {"flagged", "taken_in", "taken_in_bins", "left_out", "left_out_bins"}) {
    double sum = 0;
    for (const Json& value : column[key]) sum += number_of(value);
    shares.emplace_back();
    for (const Json& value : column[key]) shares.back().push_back(sum > 0 ? number_of(value) / sum : kNone);
  }
  for (std::size_t value = 0; value < column["values"].size(); ++value) {
    report::BarSeries series{.name = column["values"][value].get<std::string>()};
    double all = 0;
    for (const std::vector<double>& set : shares) {
      series.values.push_back(set[value]);
      all += std::isfinite(set[value]) ? set[value] : 0;
    }
    if (all > 0) chart.series.push_back(std::move(series));
  }
  return chart.series.empty() ? "" : report::bar_chart_svg(chart);
}

/// "table-1-criteo-tau3": for the names of files.
std::string file_label(const std::string& label) {
  std::string name;
  for (const char c : label) {
    if (c == ',') continue;
    name += c == ' ' ? '-' : c;
  }
  return name;
}

}  // namespace

std::vector<FigureProduct> make_figures(const Section& section, const std::vector<SeedGroup>& groups) {
  std::vector<FigureProduct> products;
  const auto add = [&](const std::string& label, const char* kind, const std::string& caption, std::string svg) {
    if (svg.empty()) return;
    const std::string prefix = label == section.name ? section.name : section.name + "-" + file_label(label);
    products.push_back({fmt::format("{}-{}", prefix, kind), caption, std::move(svg)});
  };
  for (const Part& part : section.parts) {
    if (const auto* drawn = std::get_if<DrawnData>(&part.data))
      add(part.name, "drawing", part.caption, drawing(drawn->name));
  }
  for (const SeedGroup& group : groups) {
    const Study& study = group.part->study;
    const Json& first = group.figures[0];
    const std::string which = group.figures.size() > 1 ? " (first seed)" : "";
    if (std::holds_alternative<TheoryData>(group.part->data)) {
      const auto& theory = std::get<TheoryData>(group.part->data);
      add(group.label, "by-evidence", "Expected test positivity by model score, for several evidences",
          theory_curves(first["by_evidence"],
                        fmt::format("Test positivity by score, tau {}", number_text(theory.curve_tau)),
                        "n =", "evidence"));
      add(group.label, "by-tau", "Expected test positivity by model score, for several tau",
          theory_curves(first["by_tau"],
                        fmt::format("Test positivity by score, n = {}", number_text(theory.curve_evidence)), "tau",
                        "tau"));
      continue;
    }
    if (study.positivity) {
      add(group.label, "positivity", "Share of positives in test by score, for each uncertainty level" + which,
          positivity_curves(group, first["positivity"]));
      add(group.label, "map",
          "Share of positives by score bin and uncertainty level, with the boundaries of one threshold (st) and of "
          "ew-dpmt" +
              which,
          positivity_heat(group, first["positivity"]));
    }
    if (study.bounds.size() > 1)
      add(group.label, "gain", "Gain in recall over one threshold, by precision bound", gain_by_bound(group));
    if (study.sweep)
      add(group.label, "bins", "Recall by number of uncertainty levels and score bins", sweep_heat(group));
    if (study.calibrate) {
      add(group.label, "ece", "ECE@j of MIST against IST by score bin",
          calibration_curves(group, "ece_at", "ece_by_chance", "ECE@j", "score bin j", 1));
      add(group.label, "cumulative-ece", "Cumulative ECE@j of MIST against IST: bins above j",
          calibration_curves(group, "cumulative", "cumulative_by_chance", "cumulative ECE@j", "j: bins above it count",
                             0));
    }
    if (study.swaps && !first["swaps"].is_null()) {
      for (const Json& column : first["swaps"]["columns"]) {
        const std::string kind = "swaps-" + column["name"].get<std::string>();
        add(group.label, kind.c_str(), "Rows that two boundaries decide differently, by values of a column" + which,
            swap_bars(group, column));
      }
    }
  }
  for (const Part& part : section.parts) {
    if (part.tau.size() < 2) continue;
    std::vector<const SeedGroup*> line;
    const bool is_one_line = part.models.size() * part.encoders.size() * part.uncertainties.size() == 1;
    const auto draw = [&] {
      const SeedGroup& head = *line.front();
      std::string kind = "tau";
      if (!is_one_line)
        kind += "-" + head.model + (head.encoder.empty() ? "" : "-" + head.encoder) + "-" + head.uncertainty;
      if (line.size() > 1) {
        add(part.name, kind.c_str(), "Recall at the precision bound by undersampling in training", recall_by_tau(line));
      }
      line.clear();
    };
    // Groups come tau by tau: those of each other place in the grid make a figure.
    std::vector<const SeedGroup*> own;
    for (const SeedGroup& group : groups) {
      if (group.part == &part) own.push_back(&group);
    }
    while (!own.empty()) {
      const SeedGroup& head = *own.front();
      const auto belongs = [&](const SeedGroup* group) {
        return group->model == head.model && group->encoder == head.encoder && group->uncertainty == head.uncertainty;
      };
      for (const SeedGroup* const group : own) {
        if (belongs(group)) line.push_back(group);
      }
      std::erase_if(own, [&](const SeedGroup* group) { return std::ranges::find(line, group) != line.end(); });
      draw();
    }
  }
  return products;
}

}  // namespace limen::cli::experiment
