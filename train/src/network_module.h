// SPDX-License-Identifier: MIT
// What the module liblimen_network.so hands to the program. Torch takes a third of a second to start; a program that is
// linked with it pays that for every verb, so the module is loaded by the first network alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "network.h"

namespace limen::train {

/// Program and module come from one build; the number guards against a module of another one.
inline constexpr int kNetworkModuleVersion = 2;
inline constexpr const char* kNetworkModuleEntry = "limen_network_module";

struct NetworkModule {
  int version = kNetworkModuleVersion;
  void* (*create)(const FeatureShape& shape, const ModelOptions& options, std::array<double, 2> class_counts,
                  std::uint64_t seed, const std::string& device, int num_threads);
  void (*destroy)(void* network);
  double (*train_step)(void* network, const BatchView& batch, const StepOptions& options);
  NetworkOutput (*predict)(const void* network, const BatchView& batch, std::uint64_t seed);
  std::vector<NamedArray> (*state)(const void* network, bool optimizer);
  void (*load_state)(void* network, const std::vector<NamedArray>& arrays, bool optimizer);
  std::string (*device_error)(const std::string& device);
};

using NetworkModuleEntry = const NetworkModule* (*)();

}  // namespace limen::train
