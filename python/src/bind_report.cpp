// SPDX-License-Identifier: MIT
#include <algorithm>

#include "bind.h"
#include "limen/report/render.h"
#include "limen/report/study.h"

namespace limen::python {
namespace {

/// The study's JSON and the page that shows it.
std::pair<std::string, std::string> report(const Table& holdout, const std::optional<Table>& test,
                                           const std::string& goal, const std::vector<Fraction>& numbers,
                                           const std::vector<Fraction>& bounds,
                                           const std::optional<std::vector<std::string>>& methods,
                                           std::optional<int> levels, const Bins& bins, const std::string& binning,
                                           const std::string& levels_from, std::optional<double> certified_confidence,
                                           std::uint64_t seed, double confidence, const std::string& title,
                                           bool timings, int num_threads) {
  report::StudyOptions options;
  options.objective = objective_of(goal, numbers);
  for (const Fraction& bound : bounds) options.bounds.push_back(rational_of(bound));
  const Samples samples = samples_of(holdout);
  if (methods) {
    options.methods.clear();
    for (const std::string& name : *methods) options.methods.push_back(parse_method(name));
  }
  options.fit = fit_options("exact", levels, bins, binning, num_threads);
  options.fit.levels_from = parse_levels_from(levels_from);
  options.certified_confidence = certified_confidence;
  options.seed = seed;
  options.confidence = confidence;
  options.title = title;
  options.timings = timings;
  options.num_threads = num_threads;
  const Samples test_samples = test ? samples_of(*test) : Samples{};
  return without_gil([&] {
    std::string study = study_json(compute_study(samples, test ? &test_samples : nullptr, options));
    std::string html = report::render_report(study);
    return std::pair(std::move(study), std::move(html));
  });
}

}  // namespace

void bind_report(nb::module_& module) {
  module.def("report", &report, nb::arg("holdout"), nb::arg("test").none(), nb::arg("goal"), nb::arg("numbers"),
             nb::arg("bounds"), nb::arg("methods").none(), nb::arg("levels").none(), nb::arg("bins").none(),
             nb::arg("binning"), nb::arg("levels_from"), nb::arg("certified_confidence").none(), nb::arg("seed"),
             nb::arg("confidence"), nb::arg("title"), nb::arg("timings"), nb::arg("num_threads"));
}

}  // namespace limen::python
