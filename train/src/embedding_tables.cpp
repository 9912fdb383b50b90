// SPDX-License-Identifier: MIT
#include "embedding_tables.h"

#include <algorithm>
#include <cstring>

#include "layer_loops.h"
#include "limen/base/random.h"
#include "parameters.h"

namespace limen::train {
namespace {

// Rows of large tables are far apart in memory: ask for them this many rows ahead.
constexpr std::size_t kAhead = 8;
constexpr std::uint64_t kInitStream = 0xe0;

// Most widths are multiples of 4: copies of a known size, without a call.
void copy_row(const float* from, float* to, std::size_t width) {
  std::size_t at = 0;
  for (; at + 4 <= width; at += 4) std::memcpy(to + at, from + at, 4 * sizeof(float));
  for (; at < width; ++at) to[at] = from[at];
}

constexpr std::size_t kMostSteps = EmbeddingTables::kMostSteps;
/// Bias corrections of the n-th step, n from 1 to kMostSteps; later ones are those of the last.
struct Correction {
  float first = 1;   // of the learning rate
  float second = 1;  // of the root of the second moment
};
const Correction& correction_of(std::size_t step) {
  static const std::vector<Correction> all = [] {
    std::vector<Correction> made(kMostSteps + 1);
    for (std::size_t n = 1; n <= kMostSteps; ++n) {
      const AdamStep unit = AdamClock{n - 1}.next(1, 0, 1);
      made[n] = {unit.rate, unit.second_scale};
    }
    return made;
  }();
  return all[step];
}

}  // namespace

EmbeddingTables::EmbeddingTables(const FeatureShape& shape, std::span<const int> widths, double deviation,
                                 std::uint64_t seed)
    : num_fractions_(shape.knots.size()) {
  std::size_t offset = 0;
  for (std::size_t feature = 0; feature < shape.num_tokens.size(); ++feature) {
    const auto tokens = static_cast<std::size_t>(shape.num_tokens[feature]);
    const auto width = static_cast<std::size_t>(widths[feature]);
    tables_.push_back({tokens, width, offset, steps.size(), row_width_, kNone});
    offset += tokens * width;
    row_width_ += width;
    steps.resize(steps.size() + tokens, 0.0F);
    touched_.push_back({std::vector<std::int32_t>(tokens, -1), {}, {}});
  }
  for (std::size_t at = 0; at < shape.knots.size(); ++at) tables_[shape.knots[at].categorical].fraction = at;
  for (UninitializedVector<float>* part : {&value, &first, &second}) part->resize(offset, 0.0F);
  CounterRandom random(seed, kInitStream);
  for (float& number : value) number = static_cast<float>(deviation * random.normal());
}

void EmbeddingTables::gather(const std::int32_t* tokens, const float* fraction, std::size_t rows, float* out,
                             std::size_t stride) const {
  const std::size_t features = tables_.size();
  for (std::size_t row = 0; row < rows; ++row, out += stride, tokens += features, fraction += num_fractions_) {
    if (row + kAhead < rows) {
      const std::int32_t* ahead = tokens + kAhead * features;
      for (std::size_t feature = 0; feature < features; ++feature) {
        const Table& table = tables_[feature];
        __builtin_prefetch(&value[table.offset + static_cast<std::size_t>(ahead[feature]) * table.width]);
      }
    }
    for (std::size_t feature = 0; feature < features; ++feature) {
      const Table& table = tables_[feature];
      const float* from = &value[table.offset + static_cast<std::size_t>(tokens[feature]) * table.width];
      float* to = out + table.column;
      const float part = table.fraction == kNone ? 0.0F : fraction[table.fraction];
      if (part == 0.0F) {
        copy_row(from, to, table.width);
        continue;
      }
      const float* next = from + table.width;
      for (std::size_t at = 0; at < table.width; ++at) to[at] = from[at] + part * (next[at] - from[at]);
    }
  }
}

/// Where the gradients of a token are added up, zeros at first.
float* EmbeddingTables::sum_of(Touched& touched, const Table& table, std::int32_t token) {
  std::int32_t& slot = touched.slot[static_cast<std::size_t>(token)];
  if (slot < 0) {
    slot = static_cast<std::int32_t>(touched.token.size());
    touched.token.push_back(token);
    std::fill_n(&touched.gradient[static_cast<std::size_t>(slot) * table.width], table.width, 0.0F);
  }
  return &touched.gradient[static_cast<std::size_t>(slot) * table.width];
}

double EmbeddingTables::reduce(std::size_t feature, const std::int32_t* tokens, const float* fraction,
                               const float* gradient, std::size_t rows) {
  const std::size_t features = tables_.size();
  const Table& table = tables_[feature];
  Touched& touched = touched_[feature];
  for (const std::int32_t token : touched.token) touched.slot[static_cast<std::size_t>(token)] = -1;
  touched.token.clear();
  const std::size_t most = table.fraction == kNone ? rows : 2 * rows;
  touched.gradient.resize(std::min(most, table.num_tokens) * table.width);
  for (std::size_t row = 0; row < rows; ++row) {
    if (row + kAhead < rows) {
      __builtin_prefetch(&touched.slot[static_cast<std::size_t>(tokens[(row + kAhead) * features + feature])], 1);
    }
    const std::int32_t token = tokens[row * features + feature];
    const float* from = gradient + row * row_width_ + table.column;
    const float part = table.fraction == kNone ? 0.0F : fraction[row * num_fractions_ + table.fraction];
    float* sum = sum_of(touched, table, token);
    if (part == 0.0F) {
      for (std::size_t at = 0; at < table.width; ++at) sum[at] += from[at];
      continue;
    }
    for (std::size_t at = 0; at < table.width; ++at) sum[at] += (1 - part) * from[at];
    float* next = sum_of(touched, table, token + 1);
    for (std::size_t at = 0; at < table.width; ++at) next[at] += part * from[at];
  }
  return square_norm(touched.gradient.data(), touched.token.size() * table.width);
}

void EmbeddingTables::step(std::size_t feature, const Step& step) {
  const Table& table = tables_[feature];
  Touched& touched = touched_[feature];
  const auto place = [&](std::size_t slot) {
    return table.offset + static_cast<std::size_t>(touched.token[slot]) * table.width;
  };
  for (std::size_t slot = 0; slot < touched.token.size(); ++slot) {
    if (slot + kAhead < touched.token.size()) {
      const std::size_t ahead = place(slot + kAhead);
      __builtin_prefetch(&value[ahead], 1);
      __builtin_prefetch(&first[ahead], 1);
      __builtin_prefetch(&second[ahead], 1);
    }
    const std::size_t at = place(slot);
    float& count = steps[table.token + static_cast<std::size_t>(touched.token[slot])];
    count = std::min(count, static_cast<float>(kMostSteps - 1)) + 1;  // it may have been read from a file
    const Correction& correction = correction_of(static_cast<std::size_t>(count));
    const AdamStep own = {.rate = static_cast<float>(step.learning_rate) * correction.first,
                          .second_scale = correction.second,
                          .gradient_scale = static_cast<float>(step.gradient_scale)};
    float* gradient = &touched.gradient[slot * table.width];
    for (std::size_t d = 0; step.l2 > 0 && d < table.width; ++d) {
      gradient[d] += static_cast<float>(step.l2 / step.gradient_scale) * value[at + d];
    }
    kernels().adam(&value[at], &first[at], &second[at], gradient, table.width, own);
  }
}

int embedding_width(std::int32_t num_tokens, int widest) {
  return static_cast<int>(std::min<std::int64_t>(widest, (static_cast<std::int64_t>(num_tokens) + 3) / 4 * 4));
}

}  // namespace limen::train
