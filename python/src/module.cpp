// SPDX-License-Identifier: MIT
#include "bind.h"
#include "limen/base/error.h"
#include "limen/base/version.h"

namespace limen::python {
namespace {

/// Messages about samples in the words of the Python face: "samples: label[3] is 2" -> "y[3] is 2".
std::string in_python_words(std::string message) {
  constexpr std::string_view kPrefix = "samples: ";
  if (message.compare(0, kPrefix.size(), kPrefix) != 0) return message;
  message.erase(0, kPrefix.size());
  for (const auto& [name, word] : {std::pair<std::string, std::string>{"label", "y"}, {"weight", "sample_weight"}}) {
    const std::size_t at = message.find(name);
    if (at != std::string::npos) message.replace(at, name.size(), word);
  }
  return message;
}

}  // namespace

RealSpan real_span(const RealArray& array) {
  if (array.dtype() == nb::dtype<float>()) return std::span(static_cast<const float*>(array.data()), array.size());
  if (array.dtype() == nb::dtype<double>()) return std::span(static_cast<const double*>(array.data()), array.size());
  throw nb::type_error("an array is neither float32 nor float64");
}

Samples samples_of(const Table& table) {
  const auto& [label, score, uncertainty, weight] = table;
  // Here, because an empty weight means no weights to the core, and no labels no rows.
  const auto check_length = [&](const char* name, std::size_t length) {
    if (length == label.size()) return;
    throw InvalidInput(std::string("samples: ") + name + " has " + std::to_string(length) + " rows, label has " +
                       std::to_string(label.size()));
  };
  check_length("score", score.size());
  check_length("uncertainty", uncertainty.size());
  if (weight) check_length("weight", weight->size());
  Samples samples = {real_span(score), real_span(uncertainty), {label.data(), label.size()}, {}};
  if (weight) samples.weight = {weight->data(), weight->size()};
  return samples;
}

Column column_of(const std::string& name, const KeyColumn& values) {
  if (const auto* numbers = std::get_if<DoubleArray>(&values)) {
    return {.name = name, .values = NumberValues(numbers->data(), numbers->data() + numbers->size())};
  }
  const auto& [distinct, code] = std::get<Texts>(values);
  return {.name = name, .values = TextValues{distinct, {code.data(), code.data() + code.size()}}};
}

Rational rational_of(const Fraction& fraction) { return {fraction.first, fraction.second}; }

FitOptions fit_options(const std::string& method, std::optional<int> levels, const Bins& bins,
                       const std::string& binning, int num_threads) {
  FitOptions options;
  options.method = parse_method(method);
  options.levels = levels;
  if (bins) {
    if (const auto* count = std::get_if<std::int64_t>(&*bins)) {
      options.bins = BinCount::of(*count);
    } else if (std::get<std::string>(*bins) == "all") {
      options.bins = BinCount::all();
    } else {
      throw InvalidInput("fit_boundary: bins is \"" + std::get<std::string>(*bins) + "\", must be a number or \"all\"");
    }
  }
  options.binning = parse_binning(binning);
  options.num_threads = num_threads;
  validate(options);
  return options;
}

}  // namespace limen::python

NB_MODULE(_core, module) {
  module.doc() = "The compiled half of limen; its interface is private.";
  module.attr("version") = limen::kLimenVersion;
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const limen::InvalidInput& refused) {
      PyErr_SetString(PyExc_ValueError, limen::python::in_python_words(refused.what()).c_str());
    }
  });
  limen::python::bind_bias(module);
  limen::python::bind_boundary(module);
  limen::python::bind_calibration(module);
  limen::python::bind_certify(module);
  limen::python::bind_classes(module);
  limen::python::bind_counted(module);
  limen::python::bind_deploy(module);
  limen::python::bind_plan(module);
  limen::python::bind_monitor(module);
  limen::python::bind_report(module);
  limen::python::bind_segments(module);
  limen::python::bind_studies(module);
  limen::python::bind_swaps(module);
  limen::python::bind_uncertainty(module);
}
