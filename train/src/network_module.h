// SPDX-License-Identifier: MIT
// What the module liblimen_network.so hands to the program. Torch takes a third of a second to start; a program that is
// linked with it pays that for every verb, so the module is loaded by the first network alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "any_network.h"

namespace limen::train {

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
