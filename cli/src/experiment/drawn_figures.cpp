// SPDX-License-Identifier: MIT
#include "experiment/drawn_figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/groups.h"
#include "limen/base/text.h"
#include "limen/report/chart.h"
#include "limen/report/diagram.h"

namespace limen::cli::experiment {

using report::LineChart;
using report::Series;

std::string theory_curves(const Json& curves, const std::string& title, const std::string& what, const char* key) {
  LineChart chart;
  chart.title = title;
  chart.description =
      "Curves: the theorem. Points: drawn by the generation process, with bars of two standard errors. Dotted: test "
      "positivity equals the score.";
  chart.x = {.label = "model score", .low = 0, .high = 1};
  chart.y = {.label = "expected test positivity", .low = 0, .high = 1};
  chart.has_diagonal = true;
  for (std::size_t at = 0; at < curves.size(); ++at) {
    const Json& curve = curves[at];
    Series theory{.name = fmt::format("{} {}", what, number_text(number_of(curve[key]))), .colour = at};
    for (std::size_t point = 0; point < curve["score"].size(); ++point) {
      theory.x.push_back(number_of(curve["score"][point]));
      theory.y.push_back(number_of(curve["expected"][point]));
    }
    Series drawn{.colour = at, .mark = Series::Mark::kPoints};
    for (const Json& cell : curve["drawn"]) {
      if (number_of(cell["regions"]) < 30) continue;
      const double error = cell["se"].is_null() ? 0 : number_of(cell["se"]);
      drawn.x.push_back(number_of(cell["score"]));
      drawn.y.push_back(number_of(cell["test"]));
      drawn.low.push_back(std::max(0.0, drawn.y.back() - 2 * error));
      drawn.high.push_back(std::min(1.0, drawn.y.back() + 2 * error));
    }
    chart.series.push_back(std::move(theory));
    chart.series.push_back(std::move(drawn));
  }
  return report::line_chart_svg(chart);
}

std::string drawing(const std::string& name) {
  report::Diagram diagram;
  if (name == "dependencies") {
    diagram.title = "What depends on what in the generation process";
    diagram.description =
        "A region's true positivity is drawn from the global prior. Test labels follow it; training labels follow it "
        "after "
        "negatives are undersampled by tau; the model's score adds its own prior to what it saw in training.";
    diagram.boxes = {{{"global prior", "Beta(b1T, b0T)"}, 0, 0},      {{"true positivity", "S true"}, 1, 0},
                     {{"test positivity", "S test"}, 2, 0},           {{"undersampling", "tau"}, 0, 1},
                     {{"train positivity", "S train, n rows"}, 1, 1}, {{"model's prior", "Beta(b1P, b0P)"}, 0, 2},
                     {{"model score", "and uncertainty"}, 1, 2}};
    diagram.arrows = {{0, 1, ""}, {1, 2, ""}, {1, 4, ""}, {3, 4, ""}, {4, 6, ""}, {5, 6, ""}};
    diagram.height = 260;
    return report::diagram_svg(diagram);
  }
  diagram.title = "From labelled rows to a decision";
  diagram.description =
      "A model is trained on undersampled rows. On the hold-out its score and uncertainty are binned and a boundary "
      "with the "
      "highest recall at the precision bound is chosen; the boundary decides rows in deployment.";
  diagram.boxes = {{{"training rows", "negatives kept", "at 1/tau"}, 0, 0},
                   {{"model"}, 1, 0},
                   {{"score,", "uncertainty"}, 2, 0},
                   {{"hold-out rows", "natural rate"}, 0, 1},
                   {{"levels x bins:", "rows, positives"}, 1, 1},
                   {{"boundary b(u):", "most recall,", "precision >= bound"}, 2, 1},
                   {{"rows in", "deployment"}, 0, 2},
                   {{"flag where", "score >= b(u)"}, 2, 2}};
  diagram.arrows = {{0, 1, ""}, {1, 2, ""}, {3, 4, ""}, {2, 4, ""}, {4, 5, ""}, {6, 7, ""}, {5, 7, ""}};
  diagram.width = 480;
  diagram.height = 280;
  return report::diagram_svg(diagram);
}

}  // namespace limen::cli::experiment
