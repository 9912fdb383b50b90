// SPDX-License-Identifier: MIT
//
// Most rows are decided by their score alone: below the lowest threshold of all levels, or not below the highest one.
// One vectorised pass over a block decides these and checks that values are finite; the levels of the others are looked
// up. On 10 million rows of single precision, uniform scores, thresholds from 0.9 to 0.97 and 3, 11 and 100 levels this
// takes 13, 12 and 13 ms of one core; replacing every row's threshold edge after edge took 11, 16 and 66. Thresholds
// further apart leave more levels to look up: from 0.1 to 0.9 it takes 20, 26 and 29. First-time reader: the rule
// itself is in boundary.h.

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "limen/base/error.h"
#include "limen/base/multiversion.h"
#include "limen/count/levels.h"
#include "limen/solve/boundary.h"

namespace limen {
namespace {

/// Rows per inner block: its columns and marks stay in the first-level cache.
constexpr std::size_t kBlock = 1024;

/// The rule in the precision of the data. An unset threshold is infinity, which no finite score reaches.
template <typename Real>
struct Table {
  LevelFinder<Real> levels;
  std::vector<Real> thresholds;
  Real lowest;
  Real highest;
};

template <typename Real>
Table<Real> make_table(const Rule& rule) {
  Table<Real> table{LevelFinder<Real>(rule.uncertainty_edges), {}, 0, 0};
  for (const auto& threshold : rule.score_thresholds) {
    table.thresholds.push_back(threshold ? round_up_to<Real>(*threshold) : std::numeric_limits<Real>::infinity());
  }
  table.lowest = *std::min_element(table.thresholds.begin(), table.thresholds.end());
  table.highest = *std::max_element(table.thresholds.begin(), table.thresholds.end());
  return table;
}

/// decision = 1 where the score reaches every threshold, open = 1 where it reaches some of them, else 0. Returns
/// whether a value is not finite.
template <typename Real, typename Mask>
[[gnu::always_inline]] inline bool decide_by_score(const Real* score, const Real* uncertainty, std::size_t size,
                                                   Real lowest, Real highest, std::uint8_t* decision,
                                                   std::uint8_t* open) {
  // x - x is 0 for finite x and NaN for the others.
  Mask bad = 0;
  for (std::size_t row = 0; row < size; ++row) {
    const Real zero = (score[row] - score[row]) + (uncertainty[row] - uncertainty[row]);
    bad |= static_cast<Mask>(zero != 0);
  }
  for (std::size_t row = 0; row < size; ++row) decision[row] = static_cast<std::uint8_t>(score[row] >= highest);
  for (std::size_t row = 0; row < size; ++row) {
    open[row] = static_cast<std::uint8_t>(score[row] >= lowest) ^ decision[row];
  }
  return bad != 0;
}

LIMEN_MULTIVERSION bool run_block(const float* score, const float* uncertainty, std::size_t size, float lowest,
                                  float highest, std::uint8_t* decision, std::uint8_t* open) {
  return decide_by_score<float, std::int32_t>(score, uncertainty, size, lowest, highest, decision, open);
}

LIMEN_MULTIVERSION bool run_block(const double* score, const double* uncertainty, std::size_t size, double lowest,
                                  double highest, std::uint8_t* decision, std::uint8_t* open) {
  return decide_by_score<double, std::int64_t>(score, uncertainty, size, lowest, highest, decision, open);
}

/// The set bits of a byte.
struct Bits {
  std::array<std::uint16_t, 8> places{};  ///< from the lowest up
  std::size_t count = 0;
};

constexpr auto kBitsOf = [] {
  std::array<Bits, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    for (std::uint16_t bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1U) != 0) table[byte].places[table[byte].count++] = bit;
    }
  }
  return table;
}();

/// Writes the places of the marks (0 or 1) among the first `size`, rounded up to eights, and returns how many. Eight at
/// a time without branches: the marks are packed into a byte, whose places are looked up.
std::size_t collect_marks(const std::uint8_t* marks, std::size_t size, std::uint16_t* places) {
  std::size_t count = 0;
  for (std::size_t first = 0; first < size; first += 8) {
    std::uint64_t eight = 0;
    for (std::size_t at = 0; at < 8; ++at) eight |= std::uint64_t{marks[first + at]} << (8 * at);
    // Mark k is bit 8k; multiplied, it lands on bit 56 + k.
    const Bits& bits = kBitsOf[static_cast<std::size_t>(eight * 0x0102040810204080U >> 56U)];
    for (std::size_t at = 0; at < 8; ++at) {
      places[count + at] = static_cast<std::uint16_t>(bits.places[at] + first);
    }
    count += bits.count;
  }
  return count;
}

/// Decides the rows marked as open.
template <typename Real>
void decide_open(const Table<Real>& table, const Real* score, const Real* uncertainty, const std::uint8_t* open,
                 std::size_t size, std::uint8_t* decision) {
  std::array<std::uint16_t, kBlock + 8> rows;
  std::array<Real, kBlock> open_uncertainty{};  // filled, so that the compiler sees that nothing unset is read
  std::array<std::uint16_t, kBlock> level;
  const std::size_t count = collect_marks(open, size, rows.data());
  for (std::size_t at = 0; at < count; ++at) open_uncertainty[at] = uncertainty[rows[at]];
  table.levels.find(open_uncertainty.data(), count, level.data());
  const Real* const thresholds = table.thresholds.data();
  for (std::size_t at = 0; at < count; ++at) {
    decision[rows[at]] = static_cast<std::uint8_t>(score[rows[at]] >= thresholds[level[at]]);
  }
}

/// A block of the column in the wanted precision: the column itself, or a copy in `buffer`.
template <typename Real, typename Column>
const Real* block_of(std::span<const Column> column, std::size_t begin, std::size_t size,
                     std::array<Real, kBlock>& buffer) {
  if constexpr (std::is_same_v<Real, Column>) {
    return column.data() + begin;
  } else {
    std::copy_n(column.data() + begin, size, buffer.data());
    return buffer.data();
  }
}

void refuse_row(RealSpan column, const char* name) {
  for (std::size_t row = 0; row < column.size(); ++row) {
    if (!std::isfinite(column[row])) {
      throw InvalidInput("decide",
                         std::string(name) + "[" + std::to_string(row) + "] is " +
                             (std::isnan(column[row]) ? "NaN" : "infinite") + ", must be finite",
                         Cause::kMissingValue);
    }
  }
}

}  // namespace

void decide(const Rule& rule, RealSpan score, RealSpan uncertainty, std::span<std::uint8_t> decision,
            std::span<std::int32_t> level) {
  validate(rule);
  const std::size_t rows = score.size();
  if (uncertainty.size() != rows || decision.size() != rows || (!level.empty() && level.size() != rows)) {
    throw InvalidInput(
        "decide", "score has " + std::to_string(rows) + " rows, uncertainty " + std::to_string(uncertainty.size()) +
                      ", decision " + std::to_string(decision.size()) +
                      (level.empty() ? "" : ", level " + std::to_string(level.size())) + "; all must be equal");
  }
  std::atomic<bool> bad = false;
  score.visit([&](auto scores) {
    uncertainty.visit([&](auto uncertainties) {
      using ScoreReal = typename decltype(scores)::value_type;
      using UncertaintyReal = typename decltype(uncertainties)::value_type;
      // Columns of unequal precision are both read in double.
      using Real = std::conditional_t<std::is_same_v<ScoreReal, UncertaintyReal>, ScoreReal, double>;
      const Table<Real> table = make_table<Real>(rule);
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, rows, 16 * kBlock), [&](const auto& range) {
        std::array<Real, kBlock> score_buffer;
        std::array<Real, kBlock> uncertainty_buffer;
        std::array<std::uint8_t, kBlock> open{};  // the marks beyond the last row stay 0
        bool range_bad = false;
        for (std::size_t begin = range.begin(); begin < range.end(); begin += kBlock) {
          const std::size_t size = std::min(kBlock, range.end() - begin);
          if (size < kBlock) open.fill(0);
          const Real* block_score = block_of<Real>(scores, begin, size, score_buffer);
          const Real* block_uncertainty = block_of<Real>(uncertainties, begin, size, uncertainty_buffer);
          range_bad |= run_block(block_score, block_uncertainty, size, table.lowest, table.highest,
                                 decision.data() + begin, open.data());
          if (table.lowest < table.highest) {
            decide_open(table, block_score, block_uncertainty, open.data(), size, decision.data() + begin);
          }
          if (!level.empty()) table.levels.find(block_uncertainty, size, level.data() + begin);
        }
        if (range_bad) bad = true;
      });
    });
  });
  if (bad) {
    refuse_row(score, "score");
    refuse_row(uncertainty, "uncertainty");
  }
}

std::vector<std::uint8_t> decide(const Rule& rule, RealSpan score, RealSpan uncertainty) {
  std::vector<std::uint8_t> decision(score.size());
  decide(rule, score, uncertainty, decision);
  return decision;
}

}  // namespace limen
