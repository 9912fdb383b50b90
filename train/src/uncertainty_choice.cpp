// SPDX-License-Identifier: MIT
#include "uncertainty_choice.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "limen/base/text.h"
#include "limen/judge/inspect.h"

namespace limen::train::detail {
namespace {

constexpr double kSignificance = 0.01;

std::string p_text(const TestedUncertainty& test) {
  return std::string(to_string(test.kind)) +
         (test.p_value < 0.001 ? " p < 0.001" : " p " + number_text(std::round(1000 * test.p_value) / 1000));
}

}  // namespace

UncertaintyChoice choose_uncertainty(const Prediction& prediction, std::span<const std::uint8_t> label,
                                     Uncertainty otherwise, int num_threads) {
  UncertaintyChoice choice = {.kind = otherwise};
  for (const Uncertainty kind :
       {Uncertainty::kEntropy, Uncertainty::kEvidence, Uncertainty::kVariance, Uncertainty::kMutualInformation,
        Uncertainty::kLearntEvidence, Uncertainty::kCountedEvidence}) {
    if (!prediction.has(kind)) continue;
    const std::vector<double> uncertainty = prediction.uncertainty(kind);
    if (!std::ranges::all_of(uncertainty, [](double value) { return std::isfinite(value); })) continue;
    const Samples samples = {
        std::span<const double>(prediction.score), std::span<const double>(uncertainty), label, {}};
    const Inspection found = inspect(samples, max_f_beta({1, 1}), num_threads);
    choice.tested.push_back({kind, found.choice.information.p()});
  }
  std::string tests;
  for (const TestedUncertainty& test : choice.tested) tests += (tests.empty() ? "" : ", ") + p_text(test);
  const auto best = std::ranges::min_element(choice.tested, {}, &TestedUncertainty::p_value);
  const double level = kSignificance / static_cast<double>(std::max<std::size_t>(1, choice.tested.size()));
  if (best != choice.tested.end() && best->p_value < level) {
    choice.kind = best->kind;
    choice.why = std::string(to_string(choice.kind)) + ", which tells most beyond the score on the validation rows (" +
                 tests + ")";
  } else {
    choice.why = std::string(to_string(choice.kind)) +
                 ", though none tells anything beyond the score on the validation rows (" + tests + ")";
  }
  return choice;
}

}  // namespace limen::train::detail
