// SPDX-License-Identifier: MIT
#include "network_module.h"

#include "fused_network.h"
#include "limen/base/error.h"

namespace limen::train {
namespace {

FusedNetwork& network(void* pointer) { return *static_cast<FusedNetwork*>(pointer); }
const FusedNetwork& network(const void* pointer) { return *static_cast<const FusedNetwork*>(pointer); }

std::string check_device(const std::string& device) {
  if (device == "cpu") return {};
  return "device is \"" + device + "\", must be cpu: networks are computed on the processor";
}

const NetworkModule kModule = {
    .version = kNetworkModuleVersion,
    .create = [](const FeatureShape& shape, const ModelOptions& options, std::array<double, 2> class_counts,
                 std::uint64_t seed, const std::string& device, int num_threads) -> void* {
      if (const std::string error = check_device(device); !error.empty()) throw InvalidInput("Network", error);
      return new FusedNetwork(shape, options, class_counts, seed, num_threads);
    },
    .destroy = [](void* pointer) { delete static_cast<FusedNetwork*>(pointer); },
    .train_step = [](void* pointer, const BatchView& batch,
                     const StepOptions& options) { return network(pointer).train_step(batch, options); },
    .predict = [](const void* pointer, const BatchView& batch,
                  std::uint64_t seed) { return network(pointer).predict(batch, seed); },
    .state = [](const void* pointer, bool optimizer) { return network(pointer).state(optimizer); },
    .load_state = [](void* pointer, const std::vector<NamedArray>& arrays,
                     bool optimizer) { network(pointer).load_state(arrays, optimizer); },
    .device_error = check_device};

}  // namespace
}  // namespace limen::train

extern "C" const limen::train::NetworkModule* limen_network_module() { return &limen::train::kModule; }
