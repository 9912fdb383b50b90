// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "experiment/products.h"
#include "limen/base/text.h"
#include "text.h"

namespace limen::cli::experiment {
namespace {

using report::TextTable;

std::string percent(double share) { return std::isfinite(share) ? fmt::format("{:.2f}%", 100 * share) : "-"; }

std::string percent_sd(double mean, double sd, bool several) {
  return several ? fmt::format("{:.2f}% +- {:.2f}%", 100 * mean, 100 * sd) : percent(mean);
}

std::string p_text(const std::optional<double>& p) { return p ? fmt::format("{:.2g}", *p) : "-"; }

/// Over the seeds that have a result.
std::string seeds_text(const SeedGroup& group) { return std::to_string(group.figures.size()); }

/// A column of the tables that are laid out as the paper's: methods down, data and binning across.
struct WideColumn {
  std::string header;
  Comparison comparison;
  bool several = false;
};

std::vector<WideColumn> wide_columns(const std::vector<SeedGroup>& groups) {
  std::vector<WideColumn> columns;
  for (const SeedGroup& group : groups) {
    for (Comparison& comparison : comparisons(group)) {
      std::string header = fmt::format("{} @ {}", group.label, number_text(comparison.bound));
      if (group.part->study.binning.size() > 1) header += fmt::format(", {}", to_string(comparison.binning));
      columns.push_back({std::move(header), std::move(comparison), group.figures.size() > 1});
    }
  }
  return columns;
}

/// Beyond so many columns methods go across and data down.
constexpr std::size_t kMostColumns = 10;

TextTable transposed(const TextTable& table) {
  TextTable result{.header = {"data"}};
  for (const auto& row : table.rows) result.header.push_back(row[0]);
  for (std::size_t column = 1; column < table.header.size(); ++column) {
    result.rows.push_back({table.header[column]});
    for (const auto& row : table.rows) result.rows.back().push_back(row[column]);
  }
  return result;
}

template <typename Text>
TextTable wide_table(const std::vector<WideColumn>& columns, bool with_st, const Text& text) {
  TextTable table{.header = {"method"}};
  for (const WideColumn& column : columns) table.header.push_back(column.header);
  for (const MethodInfo& info : method_table()) {
    if (info.method == Method::kSt && !with_st) continue;
    std::vector<std::string> row = {std::string(info.name)};
    bool any = false;
    for (const WideColumn& column : columns) {
      const MethodSummary* const summary = column.comparison.find(info.method);
      any = any || summary != nullptr;
      row.push_back(summary == nullptr ? "-" : text(column, *summary));
    }
    if (any) table.rows.push_back(std::move(row));
  }
  return table.header.size() > kMostColumns ? transposed(table) : table;
}

TextTable comparison_table(const std::vector<SeedGroup>& groups) {
  TextTable table{.header = {"data", "binning", "bound", "method", "seeds", "hold-out precision", "hold-out recall",
                             "test precision", "test recall", "sd", "matched recall", "sd", "gain over st",
                             "p (recall)", "p (matched)", "missed"}};
  for (const SeedGroup& group : groups) {
    for (const Comparison& comparison : comparisons(group)) {
      const MethodSummary* const st = comparison.find(Method::kSt);
      for (const MethodSummary& summary : comparison.methods) {
        const bool is_base = st == nullptr || summary.method == Method::kSt;
        table.rows.push_back(
            {group.label, std::string(to_string(comparison.binning)), number_text(comparison.bound),
             std::string(to_string(summary.method)), seeds_text(group), ratio_text(summary.mean_holdout_precision),
             ratio_text(summary.mean_holdout_recall), ratio_text(summary.mean_test_precision),
             ratio_text(summary.mean_test_recall), ratio_text(summary.sd_test_recall),
             ratio_text(summary.mean_matched_recall), ratio_text(summary.sd_matched_recall),
             is_base ? "-" : gain_text(summary.mean_matched_recall, st->mean_matched_recall),
             p_text(summary.p_value_recall), p_text(summary.p_value_matched), std::to_string(summary.missed)});
      }
    }
  }
  return table;
}

/// Figures of the seeds, by a path of two keys; NaN where one is not there.
std::vector<double> values_at(const SeedGroup& group, const char* first, const char* second = nullptr) {
  std::vector<double> values;
  for (const Json& seed : group.figures) {
    if (!seed.contains(first)) continue;
    const Json& inner = seed[first];
    values.push_back(second == nullptr ? number_of(inner) : inner.contains(second) ? number_of(inner[second]) : NAN);
  }
  return values;
}

TextTable models_table(const std::vector<SeedGroup>& groups) {
  TextTable table{.header = {"data", "tau", "model", "encoder", "uncertainty", "seeds", "test average precision", "sd",
                             "test ROC AUC", "sd"}};
  for (const SeedGroup& group : groups) {
    if (group.model.empty()) continue;
    const MeanSd precision = mean_sd(values_at(group, "average_precision"));
    const MeanSd area = mean_sd(values_at(group, "roc_auc"));
    std::vector<std::string> kinds;
    for (const Json& seed : group.figures) {
      const std::string kind = seed["uncertainty"].get<std::string>();
      if (!contains(kinds, kind)) kinds.push_back(kind);
    }
    table.rows.push_back({group.part->name, number_text(group.tau), group.model,
                          group.encoder.empty() ? "-" : group.encoder, fmt::format("{}", fmt::join(kinds, ", ")),
                          seeds_text(group), ratio_text(precision.mean), ratio_text(precision.sd),
                          ratio_text(area.mean), ratio_text(area.sd)});
  }
  return table;
}

TextTable choice_table(const std::vector<SeedGroup>& groups) {
  TextTable table{.header = {"data", "bound", "seed", "p of information", "chosen", "why"}};
  for (const SeedGroup& group : groups) {
    for (std::size_t at = 0; at < group.figures.size(); ++at) {
      if (!group.figures[at].contains("inspection")) continue;
      const Json& found = group.figures[at]["inspection"];
      table.rows.push_back({group.label, number_text(group.part->study.bound.to_double()),
                            std::to_string(group.seeds[at]), fmt::format("{:.2g}", number_of(found["information_p"])),
                            found["chosen"].get<std::string>(), found["why"].get<std::string>()});
    }
  }
  return table;
}

TextTable certification_table(const std::vector<SeedGroup>& groups) {
  TextTable table{.header = {"data", "bound", "confidence", "seeds", "certified", "test precision", "test recall", "sd",
                             "below the bound on test"}};
  for (const SeedGroup& group : groups) {
    if (!group.part->study.certify) continue;
    for (std::size_t at = 0; at < group.part->study.bounds.size(); ++at) {
      std::size_t certified = 0;
      std::size_t missed = 0;
      std::vector<double> precision;
      std::vector<double> recall;
      const double bound = group.part->study.bounds[at].to_double();
      for (const Json& seed : group.figures) {
        const Json& entry = seed["certification"][at];
        if (!entry["certified"].get<bool>()) {
          recall.push_back(0);
          continue;
        }
        ++certified;
        const double flagged = number_of(entry["test"]["flagged"]);
        const double found = number_of(entry["test"]["true_positives"]);
        if (flagged > 0) precision.push_back(found / flagged);
        if (flagged > 0 && found / flagged < bound) ++missed;
        recall.push_back(found / number_of(entry["test"]["positives"]));
      }
      const MeanSd reached = mean_sd(recall);
      table.rows.push_back({group.label, number_text(bound), number_text(group.part->study.certify->confidence),
                            seeds_text(group), std::to_string(certified), percent(mean_sd(precision).mean),
                            ratio_text(reached.mean), ratio_text(reached.sd), std::to_string(missed)});
    }
  }
  return table;
}

TextTable calibration_table(const std::vector<SeedGroup>& groups) {
  TextTable table{.header = {"data", "probability", "seeds", "ECE", "ECE by level", "Brier", "log loss",
                             "cumulative ECE, top half", "average precision"}};
  for (const SeedGroup& group : groups) {
    if (!group.part->study.calibrate || group.figures.empty()) continue;
    const Json& columns = group.figures[0]["calibration"]["columns"];
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const auto mean = [&](const char* key) {
        std::vector<double> values;
        for (const Json& seed : group.figures) values.push_back(number_of(seed["calibration"]["columns"][column][key]));
        const double found = mean_sd(values).mean;
        return std::isfinite(found) ? fmt::format("{:.5f}", found) : std::string("-");
      };
      std::vector<double> top;
      for (const Json& seed : group.figures) {
        const Json& curve = seed["calibration"]["columns"][column]["cumulative"];
        if (!curve.empty()) top.push_back(number_of(curve[curve.size() / 2]));
      }
      const double cumulative = mean_sd(top).mean;
      table.rows.push_back({group.label, columns[column]["name"].get<std::string>(), seeds_text(group), mean("ece"),
                            mean("ece_by_level"), mean("brier"), mean("log_loss"),
                            std::isfinite(cumulative) ? fmt::format("{:.5f}", cumulative) : "-",
                            mean("average_precision")});
    }
  }
  return table;
}

TextTable swaps_table(const std::vector<SeedGroup>& groups) {
  TextTable table{.header = {"data", "seed", "set", "rows", "positive", "share"}};
  for (const SeedGroup& group : groups) {
    if (!group.part->study.swaps) continue;
    const std::string first(to_string(group.part->study.swaps->first));
    const std::string second(to_string(group.part->study.swaps->second));
    for (std::size_t at = 0; at < group.figures.size(); ++at) {
      const Json& found = group.figures[at]["swaps"];
      if (found.is_null()) {
        table.rows.push_back({group.label, std::to_string(group.seeds[at]), "infeasible", "-", "-", "-"});
        continue;
      }
      for (const auto& [key, text] :
           {std::pair("first", "flagged by " + first), std::pair("second", "flagged by " + second),
            std::pair("taken_in", "by " + second + " alone"), std::pair("left_out", "by " + first + " alone")}) {
        const double rows = number_of(found[key]["rows"]);
        const double positives = number_of(found[key]["positives"]);
        table.rows.push_back({group.label, std::to_string(group.seeds[at]), text, count_text(rows),
                              count_text(positives), rows > 0 ? ratio_text(positives / rows) : "-"});
      }
    }
  }
  return table;
}

TextTable run_time_table(const std::vector<SeedGroup>& groups) {
  TextTable table{.header = {"data", "levels", "bins", "method", "seconds to solve", "seconds to count"}};
  for (const SeedGroup& group : groups) {
    if (!group.part->study.run_time) continue;
    for (std::size_t seed = 0; seed < std::min<std::size_t>(1, group.times.size()); ++seed) {
      if (!group.times[seed].contains("run_time")) continue;
      for (const Json& entry : group.times[seed]["run_time"]) {
        for (const Method method : group.part->study.run_time->methods) {
          const std::string name(to_string(method));
          table.rows.push_back({group.label, std::to_string(entry["levels"].get<int>()),
                                std::to_string(entry["bins"].get<int>()), name,
                                fmt::format("{:.3g}", number_of(entry[name])),
                                fmt::format("{:.3g}", number_of(entry["count_seconds"]))});
        }
      }
    }
  }
  return table;
}

}  // namespace

std::vector<TableProduct> make_tables(const Section& section, const std::vector<SeedGroup>& all) {
  std::vector<SeedGroup> groups;  // of rows; the theory has figures alone
  std::ranges::copy_if(all, std::back_inserter(groups), [](const SeedGroup& group) { return !group.model.empty(); });
  std::vector<TableProduct> products;
  const auto add = [&](const char* name, const std::string& caption, TextTable table, bool has_times = false) {
    if (table.rows.empty()) return;
    products.push_back({section.name + "-" + name, caption, std::move(table), has_times});
  };
  const std::vector<WideColumn> columns = wide_columns(groups);
  const bool several = std::ranges::any_of(columns, &WideColumn::several);
  const std::string over = several ? ", mean +- standard deviation over the seeds" : "";
  add("recall", "Recall on the test rows of the boundary that was fitted on the hold-out, by precision bound" + over,
      wide_table(columns, true, [](const WideColumn& column, const MethodSummary& summary) {
        return percent_sd(summary.mean_test_recall, summary.sd_test_recall, column.several);
      }));
  add("gain",
      "Gain over one threshold (st) in recall on the test rows at equal test precision (matched recall), mean over the "
      "seeds",
      wide_table(columns, false, [](const WideColumn& column, const MethodSummary& summary) {
        const MethodSummary* const st = column.comparison.find(Method::kSt);
        return st == nullptr ? std::string("-") : gain_text(summary.mean_matched_recall, st->mean_matched_recall);
      }));
  if (several) {
    add("p-values",
        "p-values of a one-sided paired t-test over the seeds, \"recall is higher than that of st\": of the fitted "
        "boundary / at equal test precision",
        wide_table(columns, false, [](const WideColumn&, const MethodSummary& summary) {
          return p_text(summary.p_value_recall) + " / " + p_text(summary.p_value_matched);
        }));
  }
  add("comparison", "All figures behind these tables; missed: seeds whose test precision is below the bound",
      comparison_table(groups));
  add("models", "How well the scores order the test rows", models_table(groups));
  add("choice", "Whether uncertainty informs beyond the score, and what auto chooses, on the hold-out",
      choice_table(groups));
  add("certification",
      "Certified boundaries: for how many seeds the bound was certified, and what they reach on the test rows (recall "
      "0 "
      "where nothing was certified)",
      certification_table(groups));
  add("calibration", "Calibrators of the hold-out on the test rows, mean over the seeds", calibration_table(groups));
  add("swaps", "Test rows that two boundaries decide differently", swaps_table(groups));
  add("run-time", "Run time: median seconds to solve, and seconds to count the grid, on one thread",
      run_time_table(groups), true);
  return products;
}

}  // namespace limen::cli::experiment
