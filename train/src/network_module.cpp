// SPDX-License-Identifier: MIT
#include "network_module.h"

#include "fused_network.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "plain_network.h"

namespace limen::train {
namespace {

/// Kernels that are written by hand are for the processor.
NetworkKind kind_on(const std::string& device, std::optional<NetworkKind> kind) {
  return kind.value_or(device == "cpu" ? NetworkKind::kFused : NetworkKind::kPlain);
}

std::string check_device(const std::string& device, std::optional<NetworkKind> kind) {
  if (device != "cpu" && device != "cuda") return "device is " + limen::quoted(device) + ", must be cpu or cuda";
  if (device == "cuda" && kind_on(device, kind) == NetworkKind::kFused) {
    return "the network is fused, which computes on the processor alone: must be plain on cuda, or device cpu";
  }
  return device == "cuda" ? cuda_error() : "";
}

std::unique_ptr<AnyNetwork> create(const FeatureShape& shape, const ModelOptions& options,
                                   std::array<double, 2> class_counts, std::uint64_t seed, const std::string& device,
                                   int num_threads, std::optional<NetworkKind> kind) {
  if (const std::string error = check_device(device, kind); !error.empty()) throw InvalidInput("Network", error);
  if (kind_on(device, kind) == NetworkKind::kPlain) {
    return make_plain_network(shape, options, class_counts, seed, device);
  }
  return std::make_unique<FusedNetwork>(shape, options, class_counts, seed, num_threads);
}

const NetworkModule kModule = {.version = kNetworkModuleVersion, .create = create, .device_error = check_device};

}  // namespace
}  // namespace limen::train

extern "C" const limen::train::NetworkModule* limen_network_module() { return &limen::train::kModule; }
