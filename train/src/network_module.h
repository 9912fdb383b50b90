// SPDX-License-Identifier: MIT
// What the module liblimen_network.so hands to the program. Torch takes a third of a second to start; a program that is
// linked with it pays that for every verb, so the module is loaded by the first network alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "network.h"

namespace limen::train {

/// What the networks have in common; Network says what the functions do.
class AnyNetwork {
 public:
  virtual ~AnyNetwork() = default;
  virtual double train_step(const BatchView& batch, const StepOptions& options) = 0;
  [[nodiscard]] virtual NetworkOutput predict(const BatchView& batch, std::uint64_t seed) const = 0;
  [[nodiscard]] virtual std::vector<NamedArray> state(bool optimizer) const = 0;
  virtual void load_state(const std::vector<NamedArray>& arrays, bool optimizer) = 0;
};

/// Program and module come from one build; the number guards against a module of another one.
inline constexpr int kNetworkModuleVersion = 3;
inline constexpr const char* kNetworkModuleEntry = "limen_network_module";

struct NetworkModule {
  int version = kNetworkModuleVersion;
  std::unique_ptr<AnyNetwork> (*create)(const FeatureShape& shape, const ModelOptions& options,
                                        std::array<double, 2> class_counts, std::uint64_t seed,
                                        const std::string& device, int num_threads, std::optional<NetworkKind> kind);
  std::string (*device_error)(const std::string& device, std::optional<NetworkKind> kind);
};

using NetworkModuleEntry = const NetworkModule* (*)();

}  // namespace limen::train
