// SPDX-License-Identifier: MIT
#include "dropout.h"

#include <vector>

namespace limen::train {

void drop_tokens(const FeatureShape& shape, double rate, std::uint64_t seed, std::span<std::int32_t> tokens) {
  constexpr std::uint64_t kStream = std::uint64_t{1} << 60U;  // none of the chunks'
  CounterRandom random(seed, kStream);
  std::vector<std::uint8_t> drops(shape.num_categorical(), 1);
  for (const KnotInput& knots : shape.knots) drops[knots.categorical] = 0;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    if (drops[at % drops.size()] != 0 && random.uniform() < rate) tokens[at] = 0;
  }
}

}  // namespace limen::train
