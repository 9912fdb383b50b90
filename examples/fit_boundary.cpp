// SPDX-License-Identifier: MIT
#include <cstdio>
#include <vector>

#include "limen/fit.h"

int main() {
  const std::vector<double> score = {0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6};
  const std::vector<double> uncertainty = {0.1, 0.8, 0.1, 0.9, 0.2, 0.7, 0.2, 0.8};
  const std::vector<std::uint8_t> label = {1, 1, 1, 0, 1, 0, 0, 0};

  limen::FitOptions options;
  options.levels = 2;
  options.bins = limen::BinCount::all();
  const auto fit = limen::fit_boundary({std::span(score), std::span(uncertainty), label, {}},
                                       limen::max_recall_at_precision(limen::parse_rational("0.9")), options);
  if (!fit.boundary) return 3;  // no boundary reaches 90% precision
  std::printf("recall %.2f\n", fit.boundary->holdout.recall());
  for (const auto decision : limen::decide(fit.boundary->rule, std::span(score), std::span(uncertainty))) {
    std::printf("%d ", decision);
  }
  std::printf("\n%s", limen::to_json(*fit.boundary).c_str());
}
