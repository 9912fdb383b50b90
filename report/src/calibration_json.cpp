// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "limen/report/calibration_study.h"
#include "limen/report/section_json.h"

namespace limen::report {

using Json = nlohmann::ordered_json;

namespace {

Json figure_json(const std::optional<Figure>& figure) {
  if (!figure) return nullptr;
  Json json = {{"value", figure->value}};
  json["band"] = figure->band ? Json({figure->band->low, figure->band->high}) : Json(nullptr);
  return json;
}

Json curve_json(const std::vector<std::optional<Figure>>& curve) {
  Json json = Json::array();
  for (const auto& figure : curve) json.push_back(figure_json(figure));
  return json;
}

Json numbers_json(const std::vector<std::optional<double>>& numbers) {
  Json json = Json::array();
  for (const auto& number : numbers) json.push_back(number ? Json(*number) : Json(nullptr));
  return json;
}

}  // namespace

Json calibration_json(const CalibrationStudy& report) {
  const CalibrationSet& set = report.set;
  const CalibrationErrors& errors = report.errors;
  Json losses = Json::object();
  for (const auto& [calibrator, loss] : set.losses) losses[std::string(to_string(calibrator))] = loss;
  Json columns = Json::array();
  for (const ColumnErrors& column : errors.columns) {
    columns.push_back({{"name", column.name},
                       {"is_probability", column.is_probability},
                       {"ece", figure_json(column.ece)},
                       {"ece_by_level", figure_json(column.ece_by_level)},
                       {"brier", figure_json(column.brier)},
                       {"log_loss", figure_json(column.log_loss)},
                       {"ece_at", curve_json(column.ece_at)},
                       {"cumulative_ece", curve_json(column.cumulative)},
                       {"cumulative_ece_less_ist", curve_json(column.cumulative_difference)},
                       {"roc_auc", figure_json(column.roc_auc)},
                       {"roc_auc_less_raw", figure_json(column.roc_auc_difference)},
                       {"average_precision", figure_json(column.average_precision)},
                       {"average_precision_less_raw", figure_json(column.average_precision_difference)},
                       {"roc_auc_untied", figure_json(column.roc_auc_untied)},
                       {"roc_auc_untied_less_raw", figure_json(column.roc_auc_untied_difference)},
                       {"average_precision_untied", figure_json(column.average_precision_untied)},
                       {"average_precision_untied_less_raw", figure_json(column.average_precision_untied_difference)},
                       {"mean_probability", numbers_json(column.mean_probability)}});
  }
  Json reliability = Json::array();
  for (const PositivityCell& cell : errors.reliability.cells) {
    reliability.push_back({{"low", cell.low},
                           {"high", cell.high},
                           {"mean_score", cell.mean_score},
                           {"rows", count_json(cell.rows)},
                           {"positives", count_json(cell.positives)},
                           {"rate_interval", {cell.rate.low, cell.rate.high}}});
  }
  return {
      {"holdout",
       {{"rows", set.rows},
        {"weight", set.weighted ? count_json(set.weight) : Json(nullptr)},
        {"positives", count_json(set.positives)}}},
      {"uncertainty_edges", set.mist->uncertainty_edges},
      {"shrinkage", set.shrinkage},
      {"log_loss_on_rows_left_out", losses},
      {"chosen", to_string(set.chosen)},
      {"judged_on",
       {{"by", report.is_cross_validated ? "cross-validation" : "test"},
        {"folds", report.is_cross_validated ? Json(report.folds) : Json(nullptr)},
        {"rows", count_json(errors.rows)},
        {"positives", count_json(errors.positives)},
        {"rows_dropped", report.rows_dropped}}},
      {"levels", errors.bins.uncertainty_edges.size() + 1},
      {"bins", errors.bins.bins},
      {"replicates", report.replicates},
      {"seed", report.seed},
      {"columns", columns},
      {"by_chance",
       {{"ece_at", numbers_json(errors.ece_by_chance)}, {"cumulative_ece", numbers_json(errors.cumulative_by_chance)}}},
      {"reliability", reliability}};
}

}  // namespace limen::report
