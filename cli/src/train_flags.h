// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flags.h"
#include "limen/train/features.h"
#include "limen/train/options.h"
#include "options.h"

namespace limen::cli {

/// The flags of `train`; words are parsed by settle().
struct TrainFlags {
  std::vector<std::string> data;
  std::vector<std::string> validation_data;
  std::string output;
  std::string schema;
  std::string preset;
  std::function<bool(const char*)> is_given;  // whether a flag is on the command line
  std::string model = "natpn";
  std::string encoder = "mlp";
  std::string sam = "2a";
  std::string gated = "reglu";
  std::string budget = "normal";
  std::string selection = "average-precision";
  std::string schedule = "cosine";
  std::string network;
  std::string scaling = "auto";
  LabelFlags labels;
  std::vector<std::string> date;
  std::string split;
  std::string split_by_time;
  std::string prior;
  double tau = 1;
  double validation = 0.1;
  double save_seconds = 60;
  bool no_residual = false;
  bool no_law = false;
  bool no_rates = false;
  bool resume = false;
  bool overwrite = false;
  bool json = false;
  train::FeatureOptions features;
  train::ModelOptions options;
  train::TrainOptions training;
  ReadFlags read;
};
void add_train_flags(CLI::App& verb, TrainFlags& flags);

/// --device and --network, the same in train and predict.
void add_device_flags(FlagGroup& group, std::string& device, std::string& network);
/// What --network says; unset when it was not given.
[[nodiscard]] std::optional<train::NetworkKind> parse_network(const std::string& network);

/// Refuses wrong flags and a folder that does not fit them, and fills in the options what flags say in words.
void settle(TrainFlags& flags);

/// In the folder of a model whose training is not finished.
inline constexpr const char* kCheckpointFile = "checkpoint.safetensors";

}  // namespace limen::cli
