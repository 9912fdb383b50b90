// SPDX-License-Identifier: MIT
#include "parameters.h"

#include <algorithm>
#include <cmath>

#include "limen/base/random.h"

namespace limen::train {

AdamStep AdamClock::next(double learning_rate, double weight_decay, double gradient_scale) const {
  const auto count = static_cast<double>(steps + 1);
  return {.rate = static_cast<float>(learning_rate / (1 - std::pow(kAdamFirst, count))),
          .second_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(kAdamSecond, count))),
          .decay = static_cast<float>(learning_rate * weight_decay),
          .gradient_scale = static_cast<float>(gradient_scale)};
}

std::size_t Parameters::add(std::string name, std::vector<std::int64_t> shape, bool decays) {
  const std::size_t offset = value.size();
  std::size_t size = 1;
  for (const std::int64_t side : shape) size *= static_cast<std::size_t>(side);
  list.push_back({std::move(name), std::move(shape), offset, size, decays});
  value.resize(offset + size, 0.0F);
  for (std::vector<float>* part : {&first, &second}) part->resize(offset + size, 0.0F);
  return offset;
}

std::vector<Parameters::Block> Parameters::blocks() const {
  constexpr std::size_t kBlock = 8192;
  std::vector<Block> blocks;
  for (const Parameter& parameter : list) {
    for (std::size_t begin = 0; begin < parameter.size; begin += kBlock) {
      blocks.push_back({parameter.offset + begin, std::min(kBlock, parameter.size - begin), parameter.decays});
    }
  }
  return blocks;
}

void Parameters::step(const Block& block, const float* gradient, AdamStep step) {
  if (!block.decays) step.decay = 0;
  const std::size_t at = block.offset;
  kernels().adam(&value[at], &first[at], &second[at], gradient + at, block.size, step);
}

void set_uniform(Parameters& parameters, std::size_t offset, double bound, std::uint64_t seed) {
  for (const Parameter& parameter : parameters.list) {
    if (parameter.offset != offset) continue;
    CounterRandom random(seed, offset + (std::uint64_t{1} << 32U));
    for (std::size_t at = offset; at < offset + parameter.size; ++at) {
      parameters.value[at] = static_cast<float>(bound * (2 * random.uniform() - 1));
    }
  }
}

}  // namespace limen::train
