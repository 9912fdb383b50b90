// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <random>

#include "limen/train/trainer.h"

namespace limen::test {

/// Three numbers and two categories, about three positives in ten. With `signal`, they tell which rows are positive but
/// for some noise; without, they say nothing.
inline train::FeatureRows random_rows(std::size_t num_rows, unsigned seed, bool signal = true) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return static_cast<float>(random() % 4001) / 1000.0F - 2.0F; };
  train::FeatureRows rows;
  rows.num_rows = num_rows;
  for (std::size_t row = 0; row < num_rows; ++row) {
    const float first = uniform();
    const float second = uniform();
    const auto category = static_cast<std::int32_t>(random() % 4);
    const float pull = signal ? first + second * static_cast<float>(category - 1) : 2 * uniform();
    rows.numeric.insert(rows.numeric.end(), {first, second, uniform()});
    rows.categorical.insert(rows.categorical.end(), {category, static_cast<std::int32_t>(random() % 50)});
    rows.label.push_back(pull + 0.3F * uniform() > 1.2F ? 1 : 0);
  }
  return rows;
}

inline train::TrainingSet random_set(std::size_t num_rows, std::size_t num_validation, unsigned seed,
                                     bool signal = true) {
  train::TrainingSet set;
  set.shape.num_numeric = 3;
  set.shape.num_tokens = {4, 50};
  set.train = random_rows(num_rows, seed, signal);
  set.validation = random_rows(num_validation, seed + 1000, signal);
  return set;
}

/// Networks of a few hundred weights.
inline train::ModelOptions small_model(train::Head head) {
  train::ModelOptions options;
  options.encoder.hidden = {16, 8};
  options.encoder.embedding = 4;
  options.encoder.blocks = 2;
  options.encoder.heads = 4;
  options.encoder.dropout = head == train::Head::kMcDropout ? 0.1 : 0.0;
  options.head.kind = head;
  options.head.latent = 3;
  options.head.flows = 2;
  options.head.passes = 4;
  if (head == train::Head::kEnsemble) options.head.members = 3;
  return options;
}

}  // namespace limen::test
