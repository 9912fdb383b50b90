// SPDX-License-Identifier: MIT
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bind.h"
#include "limen/base/error.h"
#include "limen/fit_review.h"
#include "limen/judge/metrics.h"
#include "limen/solve/boundary.h"
#include "limen/solve/segments.h"

namespace limen::python {

Objective objective_of(const std::string& goal, const std::vector<Fraction>& numbers) {
  const auto number = [&](std::size_t at) { return rational_of(numbers.at(at)); };
  if (goal == "min_precision") return max_recall_at_precision(number(0));
  if (goal == "min_recall") return max_precision_at_recall(number(0));
  if (goal == "max_false_positive_rate") return max_recall_at_false_positive_rate(number(0));
  if (goal == "max_flag_rate") return max_recall_at_flag_rate(number(0));
  if (goal == "cost") return min_cost(number(0), number(1));
  if (goal == "f_beta") return max_f_beta(number(0));
  throw InvalidInput("fit_boundary: there is no goal \"" + goal + "\"");
}

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

nb::dict dict_of(const Confusion& counts, double confidence) {
  const bool flagged = counts.flagged > 0;
  const bool positives = counts.positives > 0;
  const Interval none = {kNan, kNan};
  const Interval precision = flagged ? counts.precision_interval(confidence) : none;
  const Interval recall = positives ? counts.recall_interval(confidence) : none;
  nb::dict result;
  result["rows"] = counts.rows;
  result["positives"] = counts.positives;
  result["flagged"] = counts.flagged;
  result["true_positives"] = counts.true_positives;
  result["precision"] = flagged ? counts.precision() : kNan;
  result["precision_interval"] = nb::make_tuple(precision.low, precision.high);
  result["recall"] = positives ? counts.recall() : kNan;
  result["recall_interval"] = nb::make_tuple(recall.low, recall.high);
  return result;
}

namespace {

/// Copies 0 and 1 of any type into bytes. The first row that is neither, or -1.
template <typename Value>
std::int64_t copy_labels_of(const Value* from, std::uint8_t* to, std::size_t rows) {
  const std::size_t first = tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, rows, 1 << 16), rows,
      [&](const tbb::blocked_range<std::size_t>& range, std::size_t found) {
        bool all_labels = true;
        for (std::size_t row = range.begin(); row < range.end(); ++row) {
          to[row] = from[row] == Value{1} ? 1 : 0;
          all_labels &= from[row] == Value{0} || from[row] == Value{1};
        }
        if (all_labels) return found;
        std::size_t row = range.begin();
        while (from[row] == Value{0} || from[row] == Value{1}) ++row;
        return std::min(found, row);
      },
      [](std::size_t a, std::size_t b) { return std::min(a, b); });
  return first == rows ? -1 : static_cast<std::int64_t>(first);
}

template <typename... Values>
std::int64_t copy_labels_as(const RealArray& from, std::uint8_t* to) {
  std::int64_t row = 0;
  const auto attempt = [&]<typename Value>(Value) {
    if (from.dtype() != nb::dtype<Value>()) return false;
    row = without_gil([&] { return copy_labels_of(static_cast<const Value*>(from.data()), to, from.size()); });
    return true;
  };
  if (!(attempt(Values{}) || ...)) throw nb::type_error("an array is of no type that labels have");
  return row;
}

using ByteArray = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using LevelArray = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::int64_t copy_labels(const RealArray& from, const ByteArray& to) {
  if (from.size() != to.size()) throw nb::value_error("copy_labels: unequal lengths");
  return copy_labels_as<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                        std::int64_t, std::uint64_t, float, double>(from, to.data());
}

/// Boundary or None, best attainable or None, levels used, bins or None.
using Fitted = std::tuple<std::optional<Boundary>, std::optional<double>, int, std::optional<std::int64_t>>;

Fitted fit(const Table& table, const std::string& goal, const std::vector<Fraction>& numbers, const std::string& method,
           std::optional<int> levels, const Bins& bins, bool sweep_levels, bool sweep_bins, const std::string& binning,
           const std::string& levels_from, const std::optional<std::string>& monotone, int num_threads) {
  FitOptions options = fit_options(method, levels, bins, binning, num_threads);
  options.sweep_levels = sweep_levels;
  options.sweep_bins = sweep_bins;
  options.levels_from = parse_levels_from(levels_from);
  if (monotone) options.monotone = parse_direction(*monotone);
  const Objective objective = objective_of(goal, numbers);
  const Samples samples = samples_of(table);
  FitResult result = without_gil([&] { return fit_boundary(samples, objective, options); });
  return {std::move(result.boundary), result.solution.best_attainable, result.levels_used,
          result.boundary ? result.boundary->bins : bins_of(options).count};
}

/// Boundary or None, best recall and least rate (or None) where there is none.
using Reviewed = std::tuple<std::optional<Boundary>, double, std::optional<double>>;

Reviewed add_review(const Boundary& boundary, const Table& table, const std::optional<Fraction>& max_rate,
                    const std::optional<Fraction>& min_recall, const std::optional<Fraction>& cost, int num_threads) {
  const auto rational = [](const std::optional<Fraction>& value) {
    return value ? std::optional(rational_of(*value)) : std::nullopt;
  };
  const ReviewGoal goal{rational(max_rate), rational(min_recall), rational(cost)};
  const Samples samples = samples_of(table);
  ReviewFit fit = without_gil([&] { return fit_review(boundary, samples, goal, num_threads); });
  return {std::move(fit.boundary), fit.best_recall, fit.least_rate};
}

void review_rows(const Boundary& boundary, const RealArray& score, const RealArray& uncertainty,
                 const ByteArray& review) {
  const RealSpan scores = real_span(score);
  const RealSpan uncertainties = real_span(uncertainty);
  const std::span reviews(review.data(), review.size());
  without_gil([&] { decide_review(boundary, scores, uncertainties, reviews); });
}

void decide_rows(const Boundary& boundary, const RealArray& score, const RealArray& uncertainty,
                 const ByteArray& decision, const std::optional<LevelArray>& level) {
  const RealSpan scores = real_span(score);
  const RealSpan uncertainties = real_span(uncertainty);
  const std::span<std::int32_t> levels = level ? std::span(level->data(), level->size()) : std::span<std::int32_t>();
  const std::span decisions(decision.data(), decision.size());
  without_gil([&] { decide(boundary.rule, scores, uncertainties, decisions, levels); });
}

nb::dict review_dict(const Confusion& flagged, const Confusion& both, double confidence) {
  const Confusion reviewed = reviewed_only(flagged, both);
  const nb::dict figures = dict_of(reviewed, confidence);
  const nb::dict both_figures = dict_of(both, confidence);
  const FlagRate rate = flag_rate(reviewed, confidence);
  nb::dict result;
  result["reviewed"] = figures["flagged"];
  result["positives"] = figures["true_positives"];
  result["rate"] = rate.rate;
  result["rate_interval"] = nb::make_tuple(rate.interval.low, rate.interval.high);
  result["precision"] = figures["precision"];
  result["precision_interval"] = figures["precision_interval"];
  result["recall"] = both_figures["recall"];
  result["recall_interval"] = both_figures["recall_interval"];
  return result;
}

nb::dict evaluate_rows(const Boundary& boundary, const Table& table, double confidence) {
  const Samples samples = samples_of(table);
  const Evaluation evaluation = without_gil([&] { return evaluate(boundary.rule, samples); });
  nb::dict result = dict_of(evaluation.total, confidence);
  nb::list levels;
  for (const Confusion& level : evaluation.levels) levels.append(dict_of(level, confidence));
  result["levels"] = levels;
  if (boundary.review) {
    const Evaluation both = without_gil([&] { return evaluate(flag_or_review_rule(boundary), samples); });
    result["review"] = review_dict(evaluation.total, both.total, confidence);
  }
  return result;
}

std::vector<double> thresholds(const Boundary& boundary) {
  std::vector<double> values;
  for (const auto& threshold : boundary.rule.score_thresholds) values.push_back(threshold.value_or(kNan));
  return values;
}

}  // namespace

void bind_boundary(nb::module_& module) {
  nb::class_<HoldoutSummary>(module, "HoldoutSummary")
      .def_ro("rows", &HoldoutSummary::rows)
      .def_ro("weighted", &HoldoutSummary::weighted)
      .def_ro("weight", &HoldoutSummary::weight)
      .def_ro("positives", &HoldoutSummary::positives)
      .def_ro("flagged", &HoldoutSummary::flagged)
      .def_ro("true_positives", &HoldoutSummary::true_positives)
      .def_ro("objective_value", &HoldoutSummary::objective_value)
      .def_ro("objective_bound", &HoldoutSummary::objective_bound)
      .def_ro("optimal", &HoldoutSummary::optimal)
      .def_prop_ro("precision", &HoldoutSummary::precision)
      .def_prop_ro("recall", &HoldoutSummary::recall);

  nb::class_<Boundary>(module, "Boundary")
      .def_prop_ro(
          "uncertainty_edges", [](const Boundary& b) { return new_array(b.rule.uncertainty_edges); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "score_thresholds", [](const Boundary& b) { return new_array(thresholds(b)); }, nb::rv_policy::automatic)
      .def_prop_ro("method", [](const Boundary& b) { return std::string(to_string(b.method)); })
      .def_prop_ro("binning", [](const Boundary& b) { return std::string(to_string(b.binning)); })
      .def_prop_ro("levels_from", [](const Boundary& b) { return std::string(to_string(b.levels_from)); })
      .def_prop_ro("objective", [](const Boundary& b) { return describe(b.objective); })
      .def_ro("bins", &Boundary::bins)
      .def_prop_ro("holdout", [](const Boundary& b) { return b.holdout; })
      .def_ro("score_column", &Boundary::score_column)
      .def_ro("uncertainty_column", &Boundary::uncertainty_column)
      .def("to_json", [](const Boundary& b) { return to_json(b); })
      .def_static(
          "from_json", [](const std::string& text) { return boundary_from_json(text); }, nb::arg("text"))
      .def(
          "__eq__", [](const Boundary& a, const Boundary& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("decide", &decide_rows, nb::arg("score").noconvert(), nb::arg("uncertainty").noconvert(),
           nb::arg("decision").noconvert(), nb::arg("level").noconvert().none())
      .def_prop_ro("has_segments", [](const Boundary& b) { return b.segments.has_value(); })
      .def_prop_ro("uses_uncertainty", [](const Boundary& b) { return !b.segments || uses_uncertainty(*b.segments); })
      .def_prop_ro("has_review", [](const Boundary& b) { return b.review.has_value(); })
      .def("review", &review_rows, nb::arg("score").noconvert(), nb::arg("uncertainty").noconvert(),
           nb::arg("review").noconvert())
      .def("evaluate", &evaluate_rows, nb::arg("table").noconvert(), nb::arg("confidence"));

  module.def("fit_boundary", &fit, nb::arg("table").noconvert(), nb::arg("goal"), nb::arg("numbers"), nb::arg("method"),
             nb::arg("levels").none(), nb::arg("bins").none(), nb::arg("sweep_levels"), nb::arg("sweep_bins"),
             nb::arg("binning"), nb::arg("levels_from"), nb::arg("monotone").none(), nb::arg("num_threads"));
  module.def("add_review", &add_review, nb::arg("boundary"), nb::arg("table").noconvert(), nb::arg("max_rate").none(),
             nb::arg("min_recall").none(), nb::arg("cost").none(), nb::arg("num_threads"));
  module.def(
      "describe_objective",
      [](const std::string& goal, const std::vector<Fraction>& numbers) {
        return describe(objective_of(goal, numbers));
      },
      nb::arg("goal"), nb::arg("numbers"));
  module.def("copy_labels", &copy_labels, nb::arg("values").noconvert(), nb::arg("label").noconvert(),
             "Copies 0 and 1 of any numeric type into bytes; the first row that is neither, or -1.");
  module.def(
      "parse_rational",
      [](const std::string& text) -> Fraction {
        const Rational value = parse_rational(text);
        return {value.num, value.den};
      },
      nb::arg("text"));
}

}  // namespace limen::python
