// SPDX-License-Identifier: MIT
#include "embedding_tables.h"

#include <algorithm>
#include <cstring>

#include "limen/base/random.h"

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

}  // namespace

EmbeddingTables::EmbeddingTables(std::span<const std::int32_t> num_tokens, std::span<const int> widths,
                                 double deviation, std::uint64_t seed) {
  std::size_t offset = 0;
  for (std::size_t feature = 0; feature < num_tokens.size(); ++feature) {
    const auto tokens = static_cast<std::size_t>(num_tokens[feature]);
    const auto width = static_cast<std::size_t>(widths[feature]);
    tables_.push_back({tokens, width, offset, row_width_});
    offset += tokens * width;
    row_width_ += width;
    touched_.push_back({std::vector<std::int32_t>(tokens, -1), {}, {}});
  }
  for (UninitializedVector<float>* part : {&value, &first, &second}) part->resize(offset, 0.0F);
  CounterRandom random(seed, kInitStream);
  for (float& number : value) number = static_cast<float>(deviation * random.normal());
}

void EmbeddingTables::gather(const std::int32_t* tokens, std::size_t rows, float* out, std::size_t stride) const {
  const std::size_t features = tables_.size();
  for (std::size_t row = 0; row < rows; ++row, out += stride, tokens += features) {
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
      copy_row(from, out + table.column, table.width);
    }
  }
}

double EmbeddingTables::reduce(std::size_t feature, const std::int32_t* tokens, const float* gradient,
                               std::size_t rows) {
  const std::size_t features = tables_.size();
  const Table& table = tables_[feature];
  Touched& touched = touched_[feature];
  for (const std::int32_t token : touched.token) touched.slot[static_cast<std::size_t>(token)] = -1;
  touched.token.clear();
  touched.gradient.resize(std::min(rows, table.num_tokens) * table.width);
  for (std::size_t row = 0; row < rows; ++row) {
    if (row + kAhead < rows) {
      __builtin_prefetch(&touched.slot[static_cast<std::size_t>(tokens[(row + kAhead) * features + feature])], 1);
    }
    const std::int32_t token = tokens[row * features + feature];
    const float* from = gradient + row * row_width_ + table.column;
    std::int32_t& slot = touched.slot[static_cast<std::size_t>(token)];
    const bool known = slot >= 0;
    if (!known) {
      slot = static_cast<std::int32_t>(touched.token.size());
      touched.token.push_back(token);
    }
    float* sum = &touched.gradient[static_cast<std::size_t>(slot) * table.width];
    if (known) {
      for (std::size_t at = 0; at < table.width; ++at) sum[at] += from[at];
    } else {
      copy_row(from, sum, table.width);
    }
  }
  return kernels().square_norm(touched.gradient.data(), touched.token.size() * table.width);
}

void EmbeddingTables::step(std::size_t feature, const AdamStep& step) {
  const Table& table = tables_[feature];
  const Touched& touched = touched_[feature];
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
    kernels().adam(&value[at], &first[at], &second[at], &touched.gradient[slot * table.width], table.width, step);
  }
}

int embedding_width(std::int32_t num_tokens, int widest) {
  int root = 1;
  while (static_cast<double>(root) * root * root * root < static_cast<double>(num_tokens)) ++root;
  return std::min(widest, (root + 3) / 4 * 4);
}

}  // namespace limen::train
