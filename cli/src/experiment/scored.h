// SPDX-License-Identifier: MIT
// What a model says of the hold-out and test rows of a cell: by the ideal model of the simulation, or by a network that
// is trained here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "experiment/config.h"
#include "limen/base/frame.h"
#include "limen/count/samples.h"

namespace limen::cli::experiment {

/// A model of a part's grid. All uncertainties are read from the same one.
struct ModelPlace {
  const Part* part = nullptr;
  std::int64_t seed = 0;
  double tau = 1;
  std::string model = {};
  std::string encoder = {};  ///< empty for the ideal model
};

struct ScoredTable {
  std::vector<double> score = {};
  std::vector<std::uint8_t> label = {};
  std::map<std::string, std::vector<double>> uncertainty = {};  ///< by its name in the grid
  std::vector<Column> columns = {};                             ///< those that were asked for

  /// Views of this table.
  [[nodiscard]] Samples samples(const std::string& uncertainty_name) const;
};

struct ScoredPair {
  ScoredTable holdout = {};
  ScoredTable test = {};
  Json model = nullptr;                             ///< what is to be known of it: rows, epochs, average precision
  std::map<std::string, std::string> chosen = {};   ///< by name in the grid: what "auto" was
  std::map<std::string, std::string> lacking = {};  ///< uncertainties that the model does not have, and why
};

struct ScoreOptions {
  std::vector<std::string> uncertainties = {};
  std::vector<std::string> columns = {};  ///< of the test rows, to be kept beside the scores
  std::string checkpoint = {};            ///< file of a training that is not finished; empty: none is kept
  int threads = 0;
  std::function<void(const std::string&)> say = nullptr;  ///< gets a line now and then
};

/// Throws InvalidInput, IoError; std::runtime_error where the training failed.
[[nodiscard]] ScoredPair score_pair(const ModelPlace& place, const ScoreOptions& options);

}  // namespace limen::cli::experiment
