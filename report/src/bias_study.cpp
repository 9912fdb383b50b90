// SPDX-License-Identifier: MIT
#include "limen/report/bias_study.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "limen/report/section_json.h"

namespace limen::report {

using Json = nlohmann::ordered_json;

namespace {

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json curve_json(const BiasCurve& curve) {
  Json points = Json::array();
  for (std::size_t point = 0; point < curve.points.score.size(); ++point) {
    points.push_back({{"score", curve.points.score[point]},
                      {"train_positivity", finite(curve.points.train_positivity[point])},
                      {"expected_positivity", finite(curve.points.expected_positivity[point])},
                      {"bias", finite(curve.points.bias[point])}});
  }
  for (const SimulatedBiasCell& cell : curve.cells) {
    points.push_back({{"score", cell.score},
                      {"train_positivity", cell.train_positivity},
                      {"expected_positivity", cell.expected_positivity},
                      {"bias", cell.score - cell.expected_positivity},
                      {"regions", cell.regions},
                      {"true_positivity", cell.true_positivity.mean},
                      {"true_positivity_se", finite(cell.true_positivity.standard_error)},
                      {"test_positivity", cell.test_positivity.mean},
                      {"test_positivity_se", cell.test_positivity.standard_error}});
  }
  return {{"tau", curve.tau},
          {"evidence", count_json(curve.evidence)},
          {"lambda", curve.ratios.lambda},
          {"gamma", curve.ratios.gamma},
          {"nu", finite(curve.ratios.nu)},
          {"attainable_scores", {curve.range.low, curve.range.high}},
          {"points", std::move(points)}};
}

}  // namespace

BiasStudy compute_bias_study(BiasStudyOptions options) {
  if (options.scores.empty() && options.regions == 0) {
    for (int point = 0; point < options.points; ++point) {
      options.scores.push_back(static_cast<double>(point) / (options.points - 1));
    }
  }
  BiasStudy study;
  for (const double tau : options.tau) {
    for (const double evidence : options.evidence) {
      BiasParameters parameters = options.parameters;
      parameters.tau = tau;
      BiasCurve curve;
      curve.tau = tau;
      curve.evidence = evidence;
      curve.ratios = evidence_ratios(evidence, parameters);
      curve.range = attainable_scores(evidence, parameters);
      if (options.regions > 0) {
        curve.cells = simulate_bias(parameters, {.evidence = static_cast<std::int64_t>(evidence),
                                                 .regions = options.regions,
                                                 .cells = options.points,
                                                 .seed = options.seed,
                                                 .stream = study.curves.size()});
      } else {
        curve.points = bias_curves({&tau, 1}, {&evidence, 1}, options.scores, parameters);
      }
      study.curves.push_back(std::move(curve));
    }
  }
  study.options = std::move(options);
  return study;
}

Json bias_json(const BiasStudy& study) {
  const BiasParameters& parameters = study.options.parameters;
  Json report = {{"xi", parameters.xi},
                 {"prior_strength", parameters.prior_strength},
                 {"omega", parameters.omega},
                 {"model_strength", parameters.model_strength}};
  if (study.options.regions > 0) {
    report["simulation"] = {{"regions", study.options.regions}, {"seed", study.options.seed}};
  }
  report["curves"] = Json::array();
  for (const BiasCurve& curve : study.curves) report["curves"].push_back(curve_json(curve));
  return report;
}

}  // namespace limen::report
