// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "experiment/cells.h"
#include "limen/judge/compare.h"

namespace limen::cli::experiment {

/// Cells that differ in their seed alone, with what came out of them.
struct SeedGroup {
  const Section* section = nullptr;
  const Part* part = nullptr;
  double tau = 1;
  std::string model = {};
  std::string encoder = {};
  std::string uncertainty = {};
  std::string label = {};          ///< the part's name, and what the part has several of
  std::vector<Json> figures = {};  ///< one for each seed that has a result
  std::vector<Json> times = {};
  std::vector<std::int64_t> seeds = {};
};

/// In the order of the cells; groups without any result are left out.
[[nodiscard]] std::vector<SeedGroup> seed_groups(const Experiment& experiment, const std::vector<Cell>& cells,
                                                 const CellStore& store);

/// The methods of a group at one bound, summarised over the seeds as `limen compare` does.
struct Comparison {
  Binning binning = Binning::kEquiWeight;
  double bound = 0;
  std::vector<MethodSummary> methods = {};

  [[nodiscard]] const MethodSummary* find(Method method) const;
};
/// By binning, then bound; a method that one of the seeds lacks is left out.
[[nodiscard]] std::vector<Comparison> comparisons(const SeedGroup& group);

/// Mean and standard deviation (0 for one value) of those that are finite; NaN for none.
struct MeanSd {
  double mean = 0;
  double sd = 0;
};
[[nodiscard]] MeanSd mean_sd(const std::vector<double>& values);

/// A number, NaN for null.
[[nodiscard]] double number_of(const Json& json);

}  // namespace limen::cli::experiment
