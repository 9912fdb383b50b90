// SPDX-License-Identifier: MIT
#include "bind.h"
#include "bind_parameters.h"
#include "limen/theory/bias.h"
#include "limen/theory/bias_simulation.h"
#include "limen/theory/undersampling_correction.h"

namespace limen::python {
namespace {

nb::dict curves(const std::vector<double>& tau, const std::vector<double>& evidence, const DoubleArray& score,
                const Parameters& parameters) {
  BiasCurves found = without_gil(
      [&] { return bias_curves(tau, evidence, std::span(score.data(), score.size()), parameters_of(parameters)); });
  nb::dict result;
  result["tau"] = new_array(std::move(found.tau));
  result["evidence"] = new_array(std::move(found.evidence));
  result["score"] = new_array(std::move(found.score));
  result["train_positivity"] = new_array(std::move(found.train_positivity));
  result["expected_positivity"] = new_array(std::move(found.expected_positivity));
  result["bias"] = new_array(std::move(found.bias));
  return result;
}

nb::dict simulate(std::int64_t evidence, std::int64_t regions, int cells, std::uint64_t seed, std::uint64_t stream,
                  const Parameters& parameters) {
  const auto found = without_gil([&] {
    return simulate_bias(parameters_of(parameters),
                         {.evidence = evidence, .regions = regions, .cells = cells, .seed = seed, .stream = stream});
  });
  const auto column = [&](auto member) {
    std::vector<double> values;
    for (const SimulatedBiasCell& cell : found) values.push_back(static_cast<double>(member(cell)));
    return new_array(std::move(values));
  };
  nb::dict result;
  result["regions"] = column([](const auto& cell) { return cell.regions; });
  result["score"] = column([](const auto& cell) { return cell.score; });
  result["train_positivity"] = column([](const auto& cell) { return cell.train_positivity; });
  result["expected_positivity"] = column([](const auto& cell) { return cell.expected_positivity; });
  result["true_positivity"] = column([](const auto& cell) { return cell.true_positivity.mean; });
  result["true_positivity_se"] = column([](const auto& cell) { return cell.true_positivity.standard_error; });
  result["test_positivity"] = column([](const auto& cell) { return cell.test_positivity.mean; });
  result["test_positivity_se"] = column([](const auto& cell) { return cell.test_positivity.standard_error; });
  return result;
}

NewArray correct(const RealArray& score, double tau, int num_threads) {
  const RealSpan rows = real_span(score);
  return new_array(without_gil([&] { return correct_undersampling(rows, tau, num_threads); }));
}

NewArray correct_with_evidence(const RealArray& score, const RealArray& evidence, const Parameters& parameters,
                               int num_threads) {
  const RealSpan rows = real_span(score);
  const RealSpan counts = real_span(evidence);
  return new_array(
      without_gil([&] { return correct_undersampling(rows, counts, parameters_of(parameters), num_threads); }));
}

}  // namespace

void bind_bias(nb::module_& module) {
  module.def("bias_curves", &curves, nb::arg("tau"), nb::arg("evidence"), nb::arg("score").noconvert(),
             nb::arg("parameters"));
  module.def("simulate_bias", &simulate, nb::arg("evidence"), nb::arg("regions"), nb::arg("cells"), nb::arg("seed"),
             nb::arg("stream"), nb::arg("parameters"));
  module.def("correct_undersampling", &correct, nb::arg("score").noconvert(), nb::arg("tau"), nb::arg("num_threads"));
  module.def("correct_undersampling_by_evidence", &correct_with_evidence, nb::arg("score").noconvert(),
             nb::arg("evidence").noconvert(), nb::arg("parameters"), nb::arg("num_threads"));
}

}  // namespace limen::python
