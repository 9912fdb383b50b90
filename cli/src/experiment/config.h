// SPDX-License-Identifier: MIT
// What an experiment is: docs/experiment.md has the format of the file.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "limen/base/rational.h"
#include "limen/count/binning.h"
#include "limen/solve/boundary.h"
#include "limen/solve/method.h"
#include "limen/theory/bias.h"
#include "limen/theory/simulate.h"
#include "limen/train/features.h"
#include "limen/train/options.h"
#include "options.h"

namespace limen::cli::experiment {

/// Rows by the paper's generation process; seed and tau are those of a cell.
struct SimulatedData {
  SimulationOptions options = {};
};

/// Tables of the user's: one that is split, or one for each part.
struct FileData {
  std::vector<std::string> table = {};
  std::vector<std::string> train = {};
  std::vector<std::string> holdout = {};
  std::vector<std::string> test = {};
  std::array<double, 3> split = {0.6, 0.2, 0.2};
  std::string time_column = {};
  /// Only so many of the rows, by a hash of their number.
  double share = 1;
  bool drop_missing = false;
  ReadFlags read = {};
  train::FeatureOptions features = {};
  std::string negative = {};  ///< every other label is positive; empty: by features.label_rule
};

/// The curves of the theory, with draws of the process beside them.
struct TheoryData {
  std::vector<double> evidence = {2, 10, 50};
  std::vector<double> tau = {1, 3, 10};
  double curve_tau = 3;        ///< of the curves by evidence
  double curve_evidence = 10;  ///< of the curves by tau
  std::int64_t regions = 100'000;
  BiasParameters parameters = {};
};

/// A drawing without data: "dependencies" or "pipeline".
struct DrawnData {
  std::string name = {};
};

using Data = std::variant<SimulatedData, FileData, TheoryData, DrawnData>;

struct PositivityStudy {
  int levels = 3;
  int bins = 10;
  int map_levels = 6;
  int map_bins = 10;
};
struct SweepStudy {
  std::vector<int> levels = {1, 2, 3, 5, 8};
  std::vector<std::optional<std::int64_t>> bins = {20, 50, 100, 200, 500};
  Method method = Method::kEwDpmt;
  int repetitions = 3;
};
struct CalibrationStudy {
  int levels = 3;
  int bins = 10;
};
struct CertifyStudy {
  double confidence = 0.95;
  Method method = Method::kAuto;
};
struct SwapStudy {
  Method first = Method::kSt;
  Method second = Method::kEwDpmt;
  std::vector<std::string> columns = {};
  int values = 4;
};
struct RunTimeStudy {
  std::vector<int> levels = {3, 7, 11};
  std::vector<std::int64_t> bins = {100, 500, 1000};
  std::vector<Method> methods = {Method::kEwDpmt, Method::kMist};
  int repetitions = 5;
};

/// What is done with the predictions of a cell.
struct Study {
  std::vector<Rational> bounds = {};
  Rational bound = {};  ///< of the studies that look at one bound
  std::vector<Method> methods = {};
  int levels = 3;
  std::optional<std::int64_t> bins = 500;  ///< unset: every distinct score
  std::vector<Binning> binning = {Binning::kEquiWeight};
  LevelsFrom levels_from = LevelsFrom::kAll;
  bool choose = false;
  std::optional<PositivityStudy> positivity = std::nullopt;
  std::optional<SweepStudy> sweep = std::nullopt;
  std::optional<CalibrationStudy> calibrate = std::nullopt;
  std::optional<CertifyStudy> certify = std::nullopt;
  std::optional<SwapStudy> swaps = std::nullopt;
  std::optional<RunTimeStudy> run_time = std::nullopt;
};

/// How networks are trained; what is unset has the defaults of `limen train`.
struct TrainSettings {
  std::string preset = {};
  std::optional<int> epochs, batch, patience, latent, flows, members, passes, embedding, blocks, heads;
  std::optional<double> learning_rate, dropout, regularizer;
  std::vector<std::int64_t> hidden = {};
  double validation = 0.1;
  bool law = true;
  bool rates = true;
};

/// One data set with a grid of cells and what is done with each.
struct Part {
  std::string name = {};
  std::string caption = {};
  Data data = {};
  std::vector<std::int64_t> seeds = {1};
  std::vector<double> tau = {1};
  std::vector<std::string> models = {};  ///< "ideal", or heads of `limen train`
  std::vector<std::string> encoders = {};
  std::vector<std::string> uncertainties = {};
  TrainSettings train = {};
  Study study = {};
  /// Data (without paths), training and study as they stand in the config: what determines a cell, beside its place in
  /// the grid.
  nlohmann::json determined_by = {};
};

/// One config file: its tables and figures are made together.
struct Section {
  std::string name = {};
  std::string title = {};
  std::string caption = {};
  std::vector<Part> parts = {};
};

struct Experiment {
  std::string title = {};
  bool is_small = false;
  std::vector<Section> sections = {};
};

}  // namespace limen::cli::experiment
