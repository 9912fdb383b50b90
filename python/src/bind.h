// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "limen/base/frame.h"
#include "limen/count/samples.h"
#include "limen/fit.h"
#include "limen/judge/metrics.h"
#include "limen/solve/objective.h"

namespace nb = nanobind;

namespace limen::python {

// What comes in was made ready by limen/_inputs.py: numpy arrays of one dimension without gaps. Nothing is copied.
using RealArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // of float or double
using LabelArray = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using DoubleArray = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NewArray = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

/// A hold-out or test table: y, score, uncertainty, sample_weight or None.
using Table = std::tuple<LabelArray, RealArray, RealArray, std::optional<DoubleArray>>;

/// A column of any kind: numbers (NaN: missing), or distinct texts and the code of each row (-1: missing).
using CodeArray = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Texts = std::pair<std::vector<std::string>, CodeArray>;
using KeyColumn = std::variant<DoubleArray, Texts>;

/// Numerator and denominator, in lowest terms.
using Fraction = std::pair<std::int64_t, std::int64_t>;

/// Not set, a number, or "all".
using Bins = std::optional<std::variant<std::int64_t, std::string>>;

[[nodiscard]] RealSpan real_span(const RealArray& array);
[[nodiscard]] Samples samples_of(const Table& table);
[[nodiscard]] Column column_of(const std::string& name, const KeyColumn& values);
[[nodiscard]] Rational rational_of(const Fraction& fraction);
/// goal: the name of the Python parameter; numbers: what was given for it.
[[nodiscard]] Objective objective_of(const std::string& goal, const std::vector<Fraction>& numbers);
[[nodiscard]] FitOptions fit_options(const std::string& method, std::optional<int> levels, const Bins& bins,
                                     const std::string& binning, int num_threads);

/// The values as a numpy array that owns them. Needs the GIL.
template <typename Value>
nb::ndarray<nb::numpy, Value, nb::ndim<1>> new_array(std::vector<Value> values) {
  auto kept = std::make_unique<std::vector<Value>>(std::move(values));
  Value* data = kept->data();
  const std::size_t size = kept->size();
  nb::capsule owner(kept.get(), [](void* vector) noexcept { delete static_cast<std::vector<Value>*>(vector); });
  (void)kept.release();
  return nb::ndarray<nb::numpy, Value, nb::ndim<1>>(data, {size}, owner);
}

/// Calls `function` with the GIL released.
template <typename Function>
auto without_gil(Function&& function) {
  const nb::gil_scoped_release release;
  return function();
}

/// Counts, precision and recall with intervals, as the Python face has them.
[[nodiscard]] nb::dict dict_of(const Confusion& counts, double confidence);

void bind_bias(nb::module_& module);
void bind_boundary(nb::module_& module);
void bind_calibration(nb::module_& module);
void bind_certify(nb::module_& module);
void bind_classes(nb::module_& module);
void bind_counted(nb::module_& module);
void bind_deploy(nb::module_& module);
void bind_plan(nb::module_& module);
void bind_monitor(nb::module_& module);
void bind_report(nb::module_& module);
void bind_segments(nb::module_& module);
void bind_studies(nb::module_& module);
void bind_swaps(nb::module_& module);
void bind_uncertainty(nb::module_& module);

}  // namespace limen::python
