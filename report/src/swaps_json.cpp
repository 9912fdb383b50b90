// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "limen/base/text.h"
#include "limen/judge/paired.h"
#include "limen/promise/intervals.h"
#include "limen/report/section_json.h"

namespace limen::report {

using Json = nlohmann::ordered_json;

namespace {

Json counts_json(const Counts& counts, const Swaps& swaps, double confidence) {
  Json json = {{"rows", counts.rows}};
  if (!swaps.labelled) return json;
  json["positives"] = counts.positives;
  json["positivity"] = nullptr;
  json["positivity_interval"] = nullptr;
  if (counts.rows == 0) return json;
  const auto rows = static_cast<double>(counts.rows);
  const auto positives = static_cast<double>(counts.positives);
  const Interval interval = proportion_interval(positives, rows, confidence);
  json["positivity"] = positives / rows;
  json["positivity_interval"] = {interval.low, interval.high};
  return json;
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json test_json(const SwapTest& test) {
  return {{"divergence", test.divergence},
          {"statistic", optional_json(test.statistic)},
          {"degrees_of_freedom", test.degrees},
          {"p_value", optional_json(test.p_value)},
          {"adjusted_p", optional_json(test.adjusted_p)}};
}

}  // namespace

Json swap_column_json(const SwapColumn& column) {
  Json values = Json::array();
  for (std::size_t at = 0; at < column.values.size(); ++at) {
    const SwapValue& value = column.values[at];
    const bool is_text = value.kind == SwapValue::Kind::kText;
    Json entry = {{"value", is_text ? escaped(value.text) : to_string(value)}};
    if (value.kind == SwapValue::Kind::kRange) {
      entry["low"] = optional_json(value.low);
      entry["high"] = optional_json(value.high);
    }
    if (value.kind == SwapValue::Kind::kOther) entry["rest"] = "other";
    if (value.kind == SwapValue::Kind::kMissing) entry["rest"] = "missing";
    entry["population"] = column.population[at];
    entry["flagged_by_second"] = column.flagged[at];
    entry["taken_in"] = column.taken_in[at];
    entry["taken_in_equal_score"] = column.taken_in_bins[at];
    entry["left_out"] = column.left_out[at];
    entry["left_out_equal_score"] = column.left_out_bins[at];
    values.push_back(std::move(entry));
  }
  return {{"column", escaped(column.name)},
          {"kind", column.is_number ? "number" : "text"},
          {"taken_in", test_json(column.taken_in_test)},
          {"left_out", test_json(column.left_out_test)},
          {"rows_overlooked", column.rows_overlooked},
          {"values", std::move(values)}};
}

Json swaps_json(const Swaps& swaps, const SwapsContext& context, bool brief) {
  const auto counts = [&](const Counts& of) { return counts_json(of, swaps, context.confidence); };
  Json report = {{"first", context.first},
                 {"second", context.second},
                 {"table_rows", context.table_rows},
                 {"rows_dropped", context.rows_dropped},
                 {"labelled", swaps.labelled},
                 {"confidence", context.confidence},
                 {"flagged_by_first", counts(swaps.first())},
                 {"flagged_by_second", counts(swaps.second())},
                 {"left_out", counts(swaps.left_out())},
                 {"taken_in", counts(swaps.taken_in())},
                 {"both", counts(swaps.counts.both)},
                 {"neither", counts(swaps.counts.neither)}};
  if (swaps.labelled) {
    report["verdict"] = verdict(compare_pairs(swaps.counts, context.confidence), context.first, context.second);
  }
  Json levels = Json::array();
  for (const SwapLevel& level : swaps.levels) {
    if (brief) break;
    levels.push_back({{"lower_edge", optional_json(level.lower_edge)},
                      {"first_threshold", optional_json(level.first_threshold)},
                      {"second_threshold", optional_json(level.second_threshold)},
                      {"all", counts(level.all)},
                      {"taken_in", counts(level.taken_in)},
                      {"left_out", counts(level.left_out)}});
  }
  report["levels"] = std::move(levels);
  report["score_range"] = {swaps.score_low, optional_json(swaps.score_high)};
  report["score_edges"] = swaps.score_edges;
  Json cells = Json::array();
  for (const SwapCell& cell : swaps.cells) {
    if (brief) break;
    cells.push_back({{"level", cell.level},
                     {"bin", cell.bin},
                     {"all", counts(cell.all)},
                     {"taken_in", counts(cell.taken_in)},
                     {"left_out", counts(cell.left_out)}});
  }
  report["cells"] = std::move(cells);
  return report;
}

}  // namespace limen::report
