// SPDX-License-Identifier: MIT
#include <limits>

#include "bind.h"
#include "limen/fit/classes.h"

namespace limen::python {
namespace {

using IndexArray = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = std::vector<RealArray>;

/// Views of the columns of classes.
struct Views {
  std::vector<RealSpan> score;
  std::vector<RealSpan> uncertainty;

  Views(const Columns& scores, const Columns& uncertainties) {
    for (const RealArray& column : scores) score.push_back(real_span(column));
    for (const RealArray& column : uncertainties) uncertainty.push_back(real_span(column));
  }
  [[nodiscard]] ClassScores rows() const { return {score, uncertainty}; }
};

std::span<const double> weight_span(const std::optional<DoubleArray>& weight) {
  return weight ? std::span(weight->data(), weight->size()) : std::span<const double>();
}

ClassBoundaries fit(const Columns& score, const Columns& uncertainty, const IndexArray& label,
                    const std::vector<std::string>& names, const std::vector<Fraction>& bounds,
                    const std::string& claims, const std::string& method, std::optional<int> levels,
                    std::optional<double> confidence, bool joint, std::uint64_t seed,
                    const std::optional<DoubleArray>& weight, int num_threads) {
  std::vector<ClassGoal> goals;
  for (std::size_t at = 0; at < names.size(); ++at) goals.push_back({names[at], rational_of(bounds.at(at))});
  const ClassFitOptions options{.claims = parse_claims(claims),
                                .method = parse_method(method),
                                .levels = levels,
                                .confidence = confidence,
                                .joint = joint,
                                .seed = seed,
                                .num_threads = num_threads};
  const Views views(score, uncertainty);
  const std::span labels(label.data(), label.size());
  return without_gil([&] { return fit_classes(views.rows(), labels, goals, options, weight_span(weight)); });
}

nb::list decide(const ClassBoundaries& classes, const Columns& score, const Columns& uncertainty) {
  const Views views(score, uncertainty);
  auto claimed = without_gil([&] { return decide_classes(classes, views.rows()); });
  nb::list result;
  for (auto& rows : claimed) result.append(new_array(std::move(rows)));
  return result;
}

nb::list evaluate(const ClassBoundaries& classes, const Columns& score, const Columns& uncertainty,
                  const IndexArray& label, const std::optional<DoubleArray>& weight, double confidence) {
  const Views views(score, uncertainty);
  const std::span labels(label.data(), label.size());
  const std::vector<Confusion> figures =
      without_gil([&] { return evaluate_classes(classes, views.rows(), labels, weight_span(weight)); });
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  nb::list result;
  for (const Confusion& counts : figures) {
    const Interval none{kNan, kNan};
    const Interval precision = counts.flagged > 0 ? counts.precision_interval(confidence) : none;
    const Interval recall = counts.positives > 0 ? counts.recall_interval(confidence) : none;
    nb::dict entry;
    entry["rows"] = counts.rows;
    entry["positives"] = counts.positives;
    entry["flagged"] = counts.flagged;
    entry["true_positives"] = counts.true_positives;
    entry["precision"] = counts.flagged > 0 ? counts.precision() : kNan;
    entry["precision_interval"] = nb::make_tuple(precision.low, precision.high);
    entry["recall"] = counts.positives > 0 ? counts.recall() : kNan;
    entry["recall_interval"] = nb::make_tuple(recall.low, recall.high);
    result.append(entry);
  }
  return result;
}

}  // namespace

void bind_classes(nb::module_& module) {
  nb::class_<ClassBoundary>(module, "ClassBoundary")
      .def_ro("name", &ClassBoundary::name)
      .def_prop_ro("min_precision", [](const ClassBoundary& entry) { return entry.min_precision.to_double(); })
      .def_prop_ro("boundary", [](const ClassBoundary& entry) { return entry.boundary; })
      .def_ro("why", &ClassBoundary::why)
      .def_ro("rows", &ClassBoundary::rows)
      .def_ro("eligible", &ClassBoundary::eligible)
      .def_ro("positives", &ClassBoundary::positives)
      .def_ro("eligible_positives", &ClassBoundary::eligible_positives)
      .def_ro("score_column", &ClassBoundary::score_column)
      .def_ro("uncertainty_column", &ClassBoundary::uncertainty_column)
      .def_prop_ro("recall", &ClassBoundary::recall);
  nb::class_<ClassBoundaries>(module, "ClassBoundaries")
      .def_prop_ro("claims", [](const ClassBoundaries& found) { return std::string(to_string(found.claims)); })
      .def_ro("confidence", &ClassBoundaries::confidence)
      .def_ro("joint", &ClassBoundaries::joint)
      .def_prop_ro("classes", [](const ClassBoundaries& found) { return found.classes; })
      .def_prop_ro("num_decided", &ClassBoundaries::num_decided)
      .def("decide", &decide, nb::arg("score").noconvert(), nb::arg("uncertainty").noconvert())
      .def("evaluate", &evaluate, nb::arg("score").noconvert(), nb::arg("uncertainty").noconvert(),
           nb::arg("label").noconvert(), nb::arg("weight").noconvert().none(), nb::arg("confidence"))
      .def("to_json", [](const ClassBoundaries& found) { return to_json(found); })
      .def_static(
          "from_json", [](const std::string& text) { return classes_from_json(text); }, nb::arg("text"))
      .def(
          "__eq__", [](const ClassBoundaries& a, const ClassBoundaries& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));
  module.def("fit_classes", &fit, nb::arg("score").noconvert(), nb::arg("uncertainty").noconvert(),
             nb::arg("label").noconvert(), nb::arg("names"), nb::arg("bounds"), nb::arg("claims"), nb::arg("method"),
             nb::arg("levels").none(), nb::arg("confidence").none(), nb::arg("joint"), nb::arg("seed"),
             nb::arg("weight").noconvert().none(), nb::arg("num_threads"));
}

}  // namespace limen::python
