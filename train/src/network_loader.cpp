// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "network.h"
#include "network_module.h"

namespace limen::train {
namespace {

// The module lies in LIMEN_NETWORK_FOLDER, relative to the folder of the program, in the build and after install.
const NetworkModule& load_module() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path path =
      (program.parent_path() / LIMEN_NETWORK_FOLDER / "liblimen_network.so").lexically_normal();
  if (!std::filesystem::exists(path, ignored)) {
    throw std::runtime_error(
        path.string() +
        " is missing: limen was built without torch; install torch==2.13.0 into .venv (make setup) "
        "and build again");
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(std::string("the networks cannot be loaded: ") + dlerror());
  const auto entry = reinterpret_cast<NetworkModuleEntry>(dlsym(library, kNetworkModuleEntry));
  if (entry == nullptr || entry()->version != kNetworkModuleVersion) {
    throw std::runtime_error(path.string() + " is of another build of limen");
  }
  return *entry();
}

const NetworkModule& network_module() {
  static const NetworkModule& loaded = load_module();
  return loaded;
}

}  // namespace

Network::Network(const FeatureShape& shape, const ModelOptions& options, std::array<double, 2> class_counts,
                 std::uint64_t seed, const std::string& device, int num_threads, std::optional<NetworkKind> kind)
    : network_(network_module().create(shape, options, class_counts, seed, device, num_threads, kind)) {}
Network::~Network() = default;
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;

double Network::train_step(const BatchView& batch, const StepOptions& options) {
  return network_->train_step(batch, options);
}

NetworkOutput Network::predict(const BatchView& batch, std::uint64_t seed) const {
  return network_->predict(batch, seed);
}

std::vector<NamedArray> Network::state(bool optimizer) const { return network_->state(optimizer); }

void Network::load_state(const std::vector<NamedArray>& arrays, bool optimizer) {
  network_->load_state(arrays, optimizer);
}

std::string device_error(const std::string& device, std::optional<NetworkKind> kind) {
  return network_module().device_error(device, kind);
}

}  // namespace limen::train
