// SPDX-License-Identifier: MIT
#include "experiment/write_report.h"

#include <algorithm>

#include "experiment/cells.h"
#include "limen/report/render.h"
#include "limen/report/study.h"
#include "limen/table/predictions.h"

namespace limen::cli::experiment {
namespace {

report::StudyOptions report_options(const ReportInput& input, Rational bound) {
  const Study& study = input.part->study;
  report::StudyOptions options;
  options.objective = max_recall_at_precision(bound);
  for (const Method method : study.methods) {
    if (std::ranges::find(options.methods, method) == options.methods.end()) options.methods.push_back(method);
  }
  options.fit.levels = study.levels;
  options.fit.bins = study.bins ? BinCount::of(*study.bins) : BinCount::all();
  options.fit.levels_from = study.levels_from;
  if (study.certify) options.certified_confidence = study.certify->confidence;
  options.title = input.title;
  options.command = input.command;
  return options;
}

}  // namespace

bool write_report(const std::string& path, const ReportInput& input) {
  const Study& study = input.part->study;
  if (!report::has_page() || (study.bound.num == 0 && study.bounds.empty())) return false;
  const Rational bound = study.bound.num > 0 ? study.bound : study.bounds[study.bounds.size() / 2];
  const table::Predictions holdout = table::read_predictions(input.predictions.holdout);
  const table::Predictions test = table::read_predictions(input.predictions.test);
  const Samples test_rows = test.samples();
  const report::Study shown = compute_study(holdout.samples(), &test_rows, report_options(input, bound));
  write_text(path, report::render_report(report::study_json(shown)));
  return true;
}

}  // namespace limen::cli::experiment
