// SPDX-License-Identifier: MIT
#include <cmath>
#include <nlohmann/json.hpp>

#include "limen/report/section_json.h"

namespace limen::report {

using Json = nlohmann::ordered_json;

Json count_json(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

namespace {

Json cell_json(const SweepCell& cell) {
  const auto optional = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"levels", cell.levels},
          {"levels_used", cell.levels_used},
          {"bins", cell.bins ? Json(*cell.bins) : Json("all")},
          {"value", optional(cell.value)},
          {"gain", optional(cell.gain)},
          {"gain_se", cell.gain ? Json(cell.gain_se) : Json(nullptr)},
          {"flagged", cell.flagged},
          {"true_positives", cell.true_positives},
          {"precision", cell.precision},
          {"recall", cell.recall},
          {"fits_missed", cell.fits_missed},
          {"fits_infeasible", cell.fits_infeasible}};
}

}  // namespace

Json sweep_json(const Sweep& found, const Objective& objective, const SweepOptions& options) {
  Json cells = Json::array();
  for (const SweepCell& cell : found.cells) cells.push_back(cell_json(cell));
  const auto marked = [&](const std::optional<std::size_t>& at) { return at ? cells[*at] : Json(nullptr); };
  const Json best = marked(found.best);
  const Json smallest = marked(found.smallest);
  return {{"objective", describe(objective)},
          {"value", value_name(objective)},
          {"method", to_string(options.method)},
          {"levels_from", to_string(options.levels_from)},
          {"rows", count_json(found.rows)},
          {"positives", count_json(found.positives)},
          {"fits", found.num_fits},
          {"single", cell_json(found.single)},
          {"best", best},
          {"smallest", smallest},
          {"sentence", found.why},
          {"cells", std::move(cells)}};
}

}  // namespace limen::report
