// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "calibration.h"
#include "limen/base/text.h"
#include "limen/table/write_table.h"
#include "text.h"

namespace limen::cli {
namespace {

using Cells = std::vector<std::vector<std::string>>;

std::string error_text(const std::optional<Figure>& figure) {
  return figure ? fmt::format("{:.4f}", figure->value) : "-";
}

std::string band_text(const std::optional<Figure>& figure, bool is_signed = false) {
  if (!figure || !figure->band) return "";
  return is_signed ? fmt::format("{:+.4f} .. {:+.4f}", figure->band->low, figure->band->high)
                   : fmt::format("{:.4f} .. {:.4f}", figure->band->low, figure->band->high);
}

std::string difference_text(const std::optional<Figure>& figure) {
  return figure ? fmt::format("{:+.4f}", figure->value) : "-";
}

const ColumnErrors* column_named(const CalibrationErrors& errors, const char* name) {
  const auto found = std::ranges::find(errors.columns, name, &ColumnErrors::name);
  return found == errors.columns.end() ? nullptr : &*found;
}

void print_errors(const CalibrationErrors& errors, bool has_bands) {
  Cells rows = {{"", "ECE"}};
  const auto head = [&](const char* name) {
    if (has_bands) rows[0].push_back("95% band");
    rows[0].push_back(name);
  };
  head("ECE by level");
  head("Brier score");
  head("log loss");
  if (has_bands) rows[0].push_back("95% band");
  for (const ColumnErrors& column : errors.columns) {
    if (!column.is_probability) continue;
    rows.push_back({column.name});
    for (const auto& figure : {column.ece, column.ece_by_level, column.brier, column.log_loss}) {
      rows.back().push_back(error_text(figure));
      if (has_bands) rows.back().push_back(band_text(figure));
    }
  }
  fmt::print("{}", table_text(rows));
}

/// Of many bins about ten are shown, and the last.
std::vector<std::size_t> shown_bins(std::size_t bins) {
  std::vector<std::size_t> at;
  const std::size_t step = bins <= 20 ? 1 : bins / 10;
  for (std::size_t bin = 0; bin < bins; bin += step) at.push_back(bin);
  if (at.back() != bins - 1) at.push_back(bins - 1);
  return at;
}

void print_curves(const CalibrationErrors& errors, bool has_bands) {
  const auto bins = static_cast<std::size_t>(errors.bins.bins);
  const ColumnErrors* const mist = column_named(errors, "mist");
  Cells rows = {{"j"}};
  for (const ColumnErrors& column : errors.columns) {
    if (column.is_probability) rows[0].push_back(column.name);
  }
  rows[0].push_back("mist - ist");
  if (has_bands) rows[0].push_back("95% band");
  rows[0].push_back("by chance");
  for (const std::size_t bin : shown_bins(bins)) {
    rows.push_back({std::to_string(bin)});
    for (const ColumnErrors& column : errors.columns) {
      if (column.is_probability) rows.back().push_back(error_text(column.cumulative[bin]));
    }
    const auto difference = mist == nullptr || mist->cumulative_difference.empty() ? std::optional<Figure>()
                                                                                   : mist->cumulative_difference[bin];
    rows.back().push_back(difference_text(difference));
    if (has_bands) rows.back().push_back(band_text(difference, true));
    const auto& chance = errors.cumulative_by_chance[bin];
    rows.back().push_back(chance ? fmt::format("{:.4f}", *chance) : "-");
  }
  fmt::print("\ncumulative ECE@j: mean calibration error of the score bins above the j-th of {}, over {}\n{}", bins,
             plural_text(errors.bins.uncertainty_edges.size() + 1, "level"), table_text(rows));
  rows = {{"j"}};
  for (const ColumnErrors& column : errors.columns) {
    if (column.is_probability) rows[0].push_back(column.name);
  }
  rows[0].push_back("by chance");
  for (const std::size_t bin : shown_bins(bins)) {
    rows.push_back({std::to_string(bin + 1)});
    for (const ColumnErrors& column : errors.columns) {
      if (column.is_probability) rows.back().push_back(error_text(column.ece_at[bin]));
    }
    const auto& chance = errors.ece_by_chance[bin];
    rows.back().push_back(chance ? fmt::format("{:.4f}", *chance) : "-");
  }
  fmt::print("\nECE@j: of the j-th score bin alone\n{}", table_text(rows));
}

void print_order(const CalibrationErrors& errors, bool has_bands) {
  Cells rows = {{"", "ROC AUC", "less raw"}};
  if (has_bands) rows[0].push_back("95% band");
  rows[0].insert(rows[0].end(), {"average precision", "less raw"});
  if (has_bands) rows[0].push_back("95% band");
  for (const ColumnErrors& column : errors.columns) {
    const auto add = [&](const std::optional<Figure>& value, const std::optional<Figure>& less) {
      rows.back().push_back(error_text(value));
      rows.back().push_back(difference_text(less));
      if (has_bands) rows.back().push_back(band_text(less, true));
    };
    rows.push_back({column.name});
    add(column.roc_auc, column.roc_auc_difference);
    add(column.average_precision, column.average_precision_difference);
    if (!column.roc_auc_untied) continue;
    rows.push_back({column.name + ", ties by score"});
    add(column.roc_auc_untied, column.roc_auc_untied_difference);
    add(column.average_precision_untied, column.average_precision_untied_difference);
  }
  fmt::print("\norder of the rows\n{}", table_text(rows));
}

void print_reliability(const CalibrationErrors& errors) {
  Cells rows = {{"score", "rows", "positive", "rate", "95% interval"}};
  for (const ColumnErrors& column : errors.columns) {
    if (column.is_probability) rows[0].push_back(column.name);
  }
  for (const std::size_t at : shown_bins(errors.reliability.cells.size())) {
    const PositivityCell& cell = errors.reliability.cells[at];
    rows.push_back({fmt::format("{:.6g} .. {:.6g}", cell.low, cell.high), count_text(cell.rows),
                    count_text(cell.positives), ratio_text(cell.positivity()),
                    fmt::format("{:.4f} .. {:.4f}", cell.rate.low, cell.rate.high)});
    for (const ColumnErrors& column : errors.columns) {
      if (!column.is_probability) continue;
      const auto& mean = column.mean_probability[at];
      rows.back().push_back(mean ? fmt::format("{:.4f}", *mean) : "-");
    }
  }
  fmt::print("\nreliability: rate of positives and mean probability by score\n{}", table_text(rows));
}

}  // namespace

void print_report(const CalibrationReport& report, const std::string& output) {
  const CalibrationSet& set = report.study.set;
  const CalibrationErrors& errors = report.study.errors;
  fmt::print("{}: {}, {} positive{}; {}\n", report.holdout, plural_text(set.rows, "row"), count_text(set.positives),
             set.weighted ? " by weight" : "", plural_text(set.mist->levels.size(), "level"));
  std::vector<std::string> losses;
  for (const auto& [calibrator, loss] : set.losses) {
    losses.push_back(fmt::format("{} {:.5f}", to_string(calibrator), loss));
  }
  fmt::print("  log loss on rows left out: {}; shrunken by {}\n", fmt::join(losses, ", "),
             plural_text(set.shrinkage, "row"));
  fmt::print("  chosen: {}, the least{}\n", to_string(set.chosen),
             output.empty() ? "" : fmt::format("; written to {}", shown(output)));
  const bool has_bands = report.study.replicates > 0;
  const std::string bands = has_bands         ? fmt::format("; 95% bands of {} resamples", report.study.replicates)
                            : errors.weighted ? std::string("; no bands, as rows have weights and resamples draw rows")
                                              : std::string();
  if (report.study.is_cross_validated) {
    fmt::print("\non the hold-out, each row by calibrators of other rows (cross-validation, {} folds){}\n",
               report.study.folds, bands);
  } else {
    fmt::print("\non {}: {}, {} positive{}\n", report.judged, plural_text(errors.rows, "row"),
               count_text(errors.positives), bands);
  }
  for (const ColumnErrors& column : errors.columns) {
    if (column.is_probability) continue;
    fmt::print("  {} is outside 0 to 1: no probability, so that only its order is judged\n", column.name);
  }
  print_errors(errors, has_bands);
  print_curves(errors, has_bands);
  print_order(errors, has_bands);
  print_reliability(errors);
}

void write_calibration_curves(const std::string& path, const std::optional<table::Format>& format,
                              const CalibrationErrors& errors) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> name;
  std::vector<std::int64_t> j;
  std::vector<std::vector<double>> values(11);
  const auto add = [&](std::size_t at, const std::optional<Figure>& figure) {
    values[at].push_back(figure ? figure->value : kNone);
    values[at + 1].push_back(figure && figure->band ? figure->band->low : kNone);
    values[at + 2].push_back(figure && figure->band ? figure->band->high : kNone);
  };
  const auto bins = static_cast<std::size_t>(errors.bins.bins);
  for (const ColumnErrors& column : errors.columns) {
    if (!column.is_probability) continue;
    for (std::size_t at = 0; at <= bins; ++at) {
      name.push_back(column.name);
      j.push_back(static_cast<std::int64_t>(at));
      add(0, at > 0 ? column.ece_at[at - 1] : std::nullopt);
      add(3, at < bins ? column.cumulative[at] : std::nullopt);
      add(6, at < bins && !column.cumulative_difference.empty() ? column.cumulative_difference[at] : std::nullopt);
      values[9].push_back(at > 0 ? errors.ece_by_chance[at - 1].value_or(kNone) : kNone);
      values[10].push_back(at < bins ? errors.cumulative_by_chance[at].value_or(kNone) : kNone);
    }
  }
  std::vector<table::WrittenColumn> columns = {{"calibrator", std::move(name)}, {"j", std::move(j)}};
  const char* const names[] = {"ece_at",
                               "ece_at_low",
                               "ece_at_high",
                               "cumulative_ece",
                               "cumulative_ece_low",
                               "cumulative_ece_high",
                               "cumulative_ece_less_ist",
                               "cumulative_ece_less_ist_low",
                               "cumulative_ece_less_ist_high",
                               "ece_at_by_chance",
                               "cumulative_ece_by_chance"};
  for (std::size_t at = 0; at < values.size(); ++at) columns.push_back({names[at], std::move(values[at])});
  table::write_table(path, columns, format);
}

}  // namespace limen::cli
