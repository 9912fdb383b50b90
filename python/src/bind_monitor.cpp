// SPDX-License-Identifier: MIT
#include "bind.h"
#include "limen/promise/monitor.h"

namespace limen::python {
namespace {

/// False when the rows were counted before, and `once` is asked for.
bool update(Monitor& monitor, const RealArray& score, const RealArray& uncertainty,
            const std::optional<LabelArray>& label, const std::optional<DoubleArray>& weight,
            const std::optional<KeyColumn>& id, const std::optional<KeyColumn>& time, bool once) {
  const std::optional<Column> ids = id ? std::optional(column_of("id", *id)) : std::nullopt;
  const std::optional<Column> times = time ? std::optional(column_of("time", *time)) : std::nullopt;
  const MonitorRows rows = {.score = real_span(score),
                            .uncertainty = real_span(uncertainty),
                            .label = label ? std::span(label->data(), label->size()) : std::span<const std::uint8_t>(),
                            .weight = weight ? std::span(weight->data(), weight->size()) : std::span<const double>(),
                            .id = ids ? &*ids : nullptr,
                            .time = times ? &*times : nullptr};
  return without_gil([&] {
    if (!once) {
      monitor.update(rows);
      return true;
    }
    check(rows, monitor.options());
    RowsFingerprint fingerprint;
    fingerprint.add(rows);
    if (monitor.has_counted(fingerprint.value())) return false;
    monitor.update(rows);
    if (rows.size() > 0) monitor.mark_counted(fingerprint.value());
    return true;
  });
}

}  // namespace

void bind_monitor(nb::module_& module) {
  nb::class_<Monitor>(module, "Monitor")
      .def(
          "__init__",
          [](Monitor* self, const Boundary& boundary, double alpha, std::optional<double> tolerance,
             std::optional<double> max_weight, std::int64_t remember) {
            new (self) Monitor(
                boundary, {.alpha = alpha, .tolerance = tolerance, .max_weight = max_weight, .remember = remember});
          },
          nb::arg("boundary"), nb::arg("alpha"), nb::arg("tolerance").none(), nb::arg("max_weight").none(),
          nb::arg("remember"))
      .def(
          "add_reference",
          [](Monitor& self, const RealArray& score, const RealArray& uncertainty) {
            const RealSpan scores = real_span(score);
            const RealSpan uncertainties = real_span(uncertainty);
            without_gil([&] { self.add_reference(scores, uncertainties); });
          },
          nb::arg("score").noconvert(), nb::arg("uncertainty").noconvert())
      .def("update", &update, nb::arg("score").noconvert(), nb::arg("uncertainty").noconvert(),
           nb::arg("label").noconvert().none(), nb::arg("weight").noconvert().none(), nb::arg("id").noconvert().none(),
           nb::arg("time").noconvert().none(), nb::arg("once"))
      .def("report", [](const Monitor& self) { return to_json(self.report()); })
      .def("to_json", [](const Monitor& self) { return self.to_json(); })
      .def_static(
          "from_json",
          [](const std::string& text, const Boundary& boundary) { return Monitor::from_json(text, boundary); },
          nb::arg("text"), nb::arg("boundary"));
}

}  // namespace limen::python
