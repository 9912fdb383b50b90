// SPDX-License-Identifier: MIT
#include "bind.h"
#include "limen/base/error.h"
#include "limen/judge/swaps.h"

namespace limen::python {
namespace {

nb::object or_none(const std::optional<double>& value) { return value ? nb::object(nb::float_(*value)) : nb::none(); }

nb::tuple pair_of(const Counts& counts) { return nb::make_tuple(counts.rows, counts.positives); }

nb::dict dict_of(const SwapTest& test) {
  nb::dict result;
  result["divergence"] = test.divergence;
  result["statistic"] = or_none(test.statistic);
  result["degrees_of_freedom"] = test.degrees;
  result["p_value"] = or_none(test.p_value);
  result["adjusted_p"] = or_none(test.adjusted_p);
  return result;
}

nb::dict dict_of(const SwapColumn& column) {
  nb::dict result;
  nb::list values;
  for (const SwapValue& value : column.values) values.append(to_string(value));
  result["name"] = column.name;
  result["is_number"] = column.is_number;
  result["values"] = values;
  result["population"] = new_array(column.population);
  result["flagged_by_second"] = new_array(column.flagged);
  result["taken_in"] = new_array(column.taken_in);
  result["taken_in_equal_score"] = new_array(column.taken_in_bins);
  result["left_out"] = new_array(column.left_out);
  result["left_out_equal_score"] = new_array(column.left_out_bins);
  result["taken_in_test"] = dict_of(column.taken_in_test);
  result["left_out_test"] = dict_of(column.left_out_test);
  result["rows_overlooked"] = column.rows_overlooked;
  return result;
}

nb::dict dict_of(const Swaps& swaps) {
  nb::dict result;
  result["labelled"] = swaps.labelled;
  result["both"] = pair_of(swaps.counts.both);
  result["left_out"] = pair_of(swaps.left_out());
  result["taken_in"] = pair_of(swaps.taken_in());
  result["neither"] = pair_of(swaps.counts.neither);
  nb::list levels;
  for (const SwapLevel& level : swaps.levels) {
    levels.append(nb::make_tuple(or_none(level.lower_edge), or_none(level.first_threshold),
                                 or_none(level.second_threshold), pair_of(level.all), pair_of(level.taken_in),
                                 pair_of(level.left_out)));
  }
  result["levels"] = levels;
  result["score_low"] = swaps.score_low;
  result["score_high"] = or_none(swaps.score_high);
  result["score_edges"] = new_array(swaps.score_edges);
  nb::list cells;
  for (const SwapCell& cell : swaps.cells) {
    cells.append(
        nb::make_tuple(cell.level, cell.bin, pair_of(cell.all), pair_of(cell.taken_in), pair_of(cell.left_out)));
  }
  result["cells"] = cells;
  nb::list columns;
  for (const SwapColumn& column : swaps.columns) columns.append(dict_of(column));
  result["columns"] = columns;
  return result;
}

nb::dict swaps_of(const Boundary& first, const Boundary& second, const RealArray& score, const RealArray& uncertainty,
                  const std::optional<LabelArray>& label, const std::vector<std::string>& names,
                  const std::vector<KeyColumn>& values, int score_bins, int num_values, int candidates) {
  std::vector<Column> columns;
  for (std::size_t at = 0; at < names.size(); ++at) columns.push_back(column_of(names[at], values.at(at)));
  const std::span<const std::uint8_t> labels =
      label ? std::span(label->data(), label->size()) : std::span<const std::uint8_t>();
  const RealSpan scores = real_span(score);
  const RealSpan uncertainties = real_span(uncertainty);
  // Here, because an empty label means no labels to the core.
  if (label && label->size() != scores.size()) {
    throw InvalidInput("swaps: score has " + std::to_string(scores.size()) + " rows, y has " +
                       std::to_string(label->size()));
  }
  const Swaps swaps = without_gil([&] {
    for (const Boundary* boundary : {&first, &second}) refuse_segments(*boundary, "swaps");
    return find_swaps(first.rule, second.rule, scores, uncertainties, labels, columns,
                      {.score_bins = score_bins, .values = num_values, .candidates = candidates});
  });
  return dict_of(swaps);
}

}  // namespace

void bind_swaps(nb::module_& module) {
  module.def("swaps", &swaps_of, nb::arg("first"), nb::arg("second"), nb::arg("score").noconvert(),
             nb::arg("uncertainty").noconvert(), nb::arg("label").noconvert().none(), nb::arg("names"),
             nb::arg("columns").noconvert(), nb::arg("score_bins"), nb::arg("values"), nb::arg("candidates"));
  module.def(
      "proportion_interval",
      [](double successes, double trials, double confidence) {
        const Interval interval = proportion_interval(successes, trials, confidence);
        return nb::make_tuple(interval.low, interval.high);
      },
      nb::arg("successes"), nb::arg("trials"), nb::arg("confidence"));
}

}  // namespace limen::python
