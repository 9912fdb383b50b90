// SPDX-License-Identifier: MIT
#include "limen/uncertainty/evidence.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "uncertainty/evidence_level.h"

namespace limen {
namespace {

using detail::EvidenceCells;
using detail::EvidenceLevel;

constexpr std::size_t kShards = EvidenceLevel::kShards;
constexpr std::size_t kChunkRows = 16'384;

void check_rows(const Frame& frame, std::span<const std::uint8_t> label, std::span<const double> weight) {
  const auto check_length = [&](std::size_t rows, const char* name) {
    if (rows == 0 || rows == frame.num_rows) return;
    throw InvalidInput(std::string("evidence: ") + name + " has " + std::to_string(rows) + " rows, the keys have " +
                       std::to_string(frame.num_rows));
  };
  check_length(label.size(), "label");
  check_length(weight.size(), "weight");
  for (std::size_t row = 0; row < label.size(); ++row) {
    if (label[row] > 1) {
      throw InvalidInput("evidence",
                         "label[" + std::to_string(row) + "] is " + std::to_string(label[row]) + ", must be 0 or 1");
    }
  }
  for (std::size_t row = 0; row < weight.size(); ++row) {
    if (!(weight[row] >= 0) || !std::isfinite(weight[row])) {
      throw InvalidInput("evidence", "weight[" + std::to_string(row) + "] is " + std::to_string(weight[row]) +
                                         ", must be finite and >= 0");
    }
  }
}

// The rows of a batch in the order of their shards, within a shard in their own order.
struct Sharded {
  std::vector<std::uint32_t> row;
  std::vector<std::uint64_t> hash;                  // by row of the batch
  std::array<std::size_t, kShards + 1> begin = {};  // of each shard in `row`
};

// A counting sort: chunks of rows are counted and then placed, each by one task.
Sharded shard_rows(const std::vector<std::uint32_t>& codes, std::size_t num_rows, const EvidenceLevel& level,
                   std::span<const double> weight) {
  Sharded sharded;
  sharded.hash.resize(num_rows);
  const std::size_t num_chunks = (num_rows + kChunkRows - 1) / kChunkRows;
  std::vector<std::array<std::size_t, kShards>> place(num_chunks);
  const auto for_each_row = [&](std::size_t chunk, const auto& use) {
    for (std::size_t row = chunk * kChunkRows; row < std::min(num_rows, (chunk + 1) * kChunkRows); ++row) {
      if (weight.empty() || weight[row] != 0) use(row);
    }
  };
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    place[chunk].fill(0);
    for_each_row(chunk, [&](std::size_t row) {
      sharded.hash[row] = level.hash(codes.data() + row * level.num_keys());
      ++place[chunk][EvidenceLevel::shard_of(sharded.hash[row])];
    });
  });
  std::size_t next = 0;
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    sharded.begin[shard] = next;
    for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) next += std::exchange(place[chunk][shard], next);
  }
  sharded.begin[kShards] = next;
  sharded.row.resize(next);
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    for_each_row(chunk, [&](std::size_t row) {
      sharded.row[place[chunk][EvidenceLevel::shard_of(sharded.hash[row])]++] = static_cast<std::uint32_t>(row);
    });
  });
  return sharded;
}

double smoothed(double positives, double count, double strength, double parent_rate) {
  return count + strength > 0 ? (positives + strength * parent_rate) / (count + strength) : parent_rate;
}

// The cells of one key less. In the order of shards and cells, so that sums of weights depend on nothing else.
std::shared_ptr<EvidenceLevel> coarser(const EvidenceLevel& level) {
  auto result = std::make_shared<EvidenceLevel>(level.num_keys() - 1);
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    const EvidenceCells& cells = level.shard(shard);
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      const std::uint64_t hash = result->hash(cells.codes(cell));
      EvidenceCells& into = result->shard(EvidenceLevel::shard_of(hash));
      const std::uint32_t parent = into.find_or_add(cells.codes(cell), hash);
      into.count[parent] += cells.count[cell];
      into.positives[parent] += cells.positives[cell];
    }
  }
  return result;
}

// Sets the rates of a level from those of the next coarser one; null for the coarsest.
void set_rates(EvidenceLevel& level, const EvidenceLevel* parents, double strength) {
  tbb::parallel_for(std::size_t{0}, kShards, [&](std::size_t shard) {
    EvidenceCells& cells = level.shard(shard);
    cells.rate.resize(cells.size());
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      if (parents == nullptr) {
        cells.rate[cell] = cells.positives[cell] / cells.count[cell];
        continue;
      }
      const std::uint64_t hash = parents->hash(cells.codes(cell));
      const EvidenceCells& parent_cells = parents->shard(EvidenceLevel::shard_of(hash));
      const double parent_rate = parent_cells.rate[parent_cells.find(cells.codes(cell), hash)];
      cells.rate[cell] = smoothed(cells.positives[cell], cells.count[cell], strength, parent_rate);
    }
  });
}

struct FoundCell {
  const EvidenceCells* cells = nullptr;
  std::uint32_t cell = EvidenceCells::kNone;

  [[nodiscard]] double count() const { return cells->count[cell]; }
  [[nodiscard]] double positives() const { return cells->positives[cell]; }
  [[nodiscard]] double rate() const { return cells->rate[cell]; }
};

}  // namespace

double evidence_uncertainty(double count, std::size_t keys_dropped) {
  if (keys_dropped == 0 && count > 0) return -std::log1p(count);
  return static_cast<double>(keys_dropped) - count / (1 + count);
}

EvidenceCounter::EvidenceCounter(EvidenceKeys keys, const EvidenceOptions& options)
    : options_(options), keys_(std::move(keys)), cells_(std::make_shared<EvidenceLevel>(keys_.size())) {
  validate(options);
  if (keys_.size() > kMostKeys) {
    throw InvalidInput("evidence",
                       std::to_string(keys_.size()) + " keys, must be from 1 to " + std::to_string(kMostKeys));
  }
  if (keys_.needs_fit() && !keys_.is_fitted())
    throw InvalidInput("evidence", "numeric keys need fit() before counting");
}

void EvidenceCounter::add(const Frame& frame, std::span<const std::uint8_t> label, std::span<const double> weight) {
  check_rows(frame, label, weight);
  if (frame.num_rows > EvidenceCells::kNone) throw InvalidInput("evidence", "more than 2^32 - 1 rows in a batch");
  const std::vector<std::uint32_t> codes = keys_.add_codes(frame);
  tbb::task_arena(detail::arena_size(options_.num_threads)).execute([&] {
    const Sharded sharded = shard_rows(codes, frame.num_rows, *cells_, weight);
    tbb::parallel_for(std::size_t{0}, kShards, [&](std::size_t shard) {
      EvidenceCells& cells = cells_->shard(shard);
      for (std::size_t at = sharded.begin[shard]; at < sharded.begin[shard + 1]; ++at) {
        const std::size_t row = sharded.row[at];
        const std::uint32_t cell = cells.find_or_add(codes.data() + row * keys_.size(), sharded.hash[row]);
        const double part = weight.empty() ? 1 : weight[row];
        cells.count[cell] += part;
        if (!label.empty() && label[row] != 0) cells.positives[cell] += part;
      }
    });
  });
}

void EvidenceCounter::merge(const EvidenceCounter& other) {
  std::vector<std::vector<std::uint32_t>> own_code = keys_.merge(other.keys_);
  std::vector<std::uint32_t> codes(keys_.size());
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    const EvidenceCells& cells = other.cells_->shard(shard);
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      for (std::size_t key = 0; key < codes.size(); ++key) {
        const std::uint32_t code = cells.codes(cell)[key];
        codes[key] = own_code[key].empty() ? code : own_code[key][code];
      }
      const std::uint64_t hash = cells_->hash(codes.data());
      EvidenceCells& into = cells_->shard(EvidenceLevel::shard_of(hash));
      const std::uint32_t own = into.find_or_add(codes.data(), hash);
      into.count[own] += cells.count[cell];
      into.positives[own] += cells.positives[cell];
    }
  }
}

Evidence EvidenceCounter::finish() && {
  if (cells_->size() == 0) throw InvalidInput("evidence", "no training rows");
  std::vector<std::shared_ptr<EvidenceLevel>> levels = {std::exchange(cells_, nullptr)};
  while (levels.back()->num_keys() > 0) levels.push_back(coarser(*levels.back()));
  std::ranges::reverse(levels);
  tbb::task_arena(detail::arena_size(options_.num_threads)).execute([&] {
    const EvidenceLevel* parents = nullptr;
    for (const std::shared_ptr<EvidenceLevel>& level : levels) {
      set_rates(*level, parents, options_.strength);
      parents = level.get();
    }
  });
  return {std::move(keys_), options_, {levels.begin(), levels.end()}};
}

Evidence::Evidence(EvidenceKeys keys, const EvidenceOptions& options,
                   std::vector<std::shared_ptr<const EvidenceLevel>> levels)
    : options_(options), keys_(std::move(keys)), levels_(std::move(levels)) {}

// Level 0 has one cell, whose hash is 0.
double Evidence::num_rows() const { return levels_[0]->shard(0).count[0]; }
double Evidence::num_positives() const { return levels_[0]->shard(0).positives[0]; }
std::size_t Evidence::num_cells() const { return levels_.back()->size(); }

EvidenceRows Evidence::query(const Frame& frame) const { return query_with(frame, nullptr); }
EvidenceRows Evidence::query(const Frame& frame, const Own& own) const {
  check_rows(frame, own.label, own.weight);
  return query_with(frame, &own);
}

EvidenceRows Evidence::query_with(const Frame& frame, const Own* own) const {
  const std::vector<std::uint32_t> all_codes = keys_.codes(frame);
  const std::size_t num_keys = keys_.size();
  EvidenceRows rows;
  for (std::vector<double>* values : {&rows.count, &rows.positives, &rows.rate, &rows.uncertainty}) {
    values->resize(frame.num_rows);
  }
  rows.keys_used.resize(frame.num_rows);

  const auto look_up = [&](std::size_t row, std::vector<FoundCell>& chain) {
    const std::uint32_t* const codes = all_codes.data() + row * num_keys;
    const double own_count = own == nullptr ? 0 : own->weight.empty() ? 1 : own->weight[row];
    const double own_positives = own == nullptr || own->label.empty() || own->label[row] == 0 ? 0 : own_count;
    // Whatever rounding leaves of a cell whose only row is left out does not count.
    constexpr double kNothing = 1e-9;
    const auto is_left = [&](double count) { return count - own_count > kNothing * count; };

    std::array<std::uint64_t, 33> hash = {};
    std::size_t used = 0;
    for (; used < num_keys && codes[used] != EvidenceKeys::kUnseen; ++used) {
      hash[used + 1] = detail::hash_step(hash[used], codes[used]);
    }
    FoundCell found;
    for (;; --used) {
      found.cells = &levels_[used]->shard(EvidenceLevel::shard_of(hash[used]));
      found.cell = found.cells->find(codes, hash[used]);
      if (found.cell != EvidenceCells::kNone && is_left(found.count())) break;
      if (used == 0) break;
    }
    if (own_count == 0) {
      rows.count[row] = found.count();
      rows.positives[row] = found.positives();
      rows.rate[row] = found.rate();
    } else if (is_left(found.count())) {
      rows.count[row] = found.count() - own_count;
      rows.positives[row] = std::max(0.0, found.positives() - own_positives);
      chain.clear();
      for (std::size_t level = 0; level <= used; ++level) {
        const EvidenceCells& cells = levels_[level]->shard(EvidenceLevel::shard_of(hash[level]));
        chain.push_back({&cells, cells.find(codes, hash[level])});
      }
      double rate = std::max(0.0, chain[0].positives() - own_positives) / (chain[0].count() - own_count);
      for (std::size_t level = 1; level <= used; ++level) {
        rate = smoothed(std::max(0.0, chain[level].positives() - own_positives), chain[level].count() - own_count,
                        options_.strength, rate);
      }
      rows.rate[row] = rate;
    }
    rows.keys_used[row] = static_cast<std::int32_t>(used);
    rows.uncertainty[row] = evidence_uncertainty(rows.count[row], num_keys - used);
  };
  tbb::task_arena(detail::arena_size(options_.num_threads)).execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, frame.num_rows, kChunkRows), [&](const auto& range) {
      std::vector<FoundCell> chain;
      for (std::size_t row = range.begin(); row < range.end(); ++row) look_up(row, chain);
    });
  });
  return rows;
}

}  // namespace limen
