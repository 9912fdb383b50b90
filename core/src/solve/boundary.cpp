// SPDX-License-Identifier: MIT
#include "limen/solve/boundary.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "count/levels.h"
#include "limen/base/error.h"
#include "limen/base/multiversion.h"

namespace limen {
namespace {

/// Rows per inner block: its columns and masks stay in the first-level cache.
constexpr std::size_t kBlock = 1024;

/// Edges taken together in one pass over a block: one load and one store of the threshold so far serve all of them.
constexpr std::size_t kGroup = 2;

/// The rule in the precision of the data. An unset threshold is infinity, which no finite score reaches. Edges are
/// filled up with infinity, which no finite uncertainty reaches, to a multiple of kGroup.
template <typename Real>
struct Table {
  std::vector<Real> edges;
  std::vector<Real> thresholds;
};

template <typename Real>
Table<Real> make_table(const Rule& rule) {
  Table<Real> table;
  for (const double edge : rule.uncertainty_edges) table.edges.push_back(detail::round_to<Real>(edge));
  for (const auto& threshold : rule.score_thresholds) {
    table.thresholds.push_back(threshold ? detail::round_to<Real>(*threshold) : std::numeric_limits<Real>::infinity());
  }
  while (table.edges.size() % kGroup != 0) {
    table.edges.push_back(std::numeric_limits<Real>::infinity());
    table.thresholds.push_back(std::numeric_limits<Real>::infinity());
  }
  return table;
}

/// One block of rows, without branches: the threshold of level 0 is replaced, edge after edge, where the uncertainty
/// reaches that edge; one comparison with the score decides. Returns whether a value is not finite.
template <typename Real, typename Mask>
[[gnu::always_inline]] inline bool decide_block(const Real* score, const Real* uncertainty, std::size_t size,
                                                const Real* edges, const Real* thresholds, std::size_t num_edges,
                                                std::uint8_t* decision) {
  std::array<Real, kBlock> limit;
  for (std::size_t row = 0; row < size; ++row) limit[row] = thresholds[0];
  for (std::size_t edge = 0; edge < num_edges; edge += kGroup) {
    const Real edge0 = edges[edge];
    const Real edge1 = edges[edge + 1];
    const Real threshold0 = thresholds[edge + 1];
    const Real threshold1 = thresholds[edge + 2];
    for (std::size_t row = 0; row < size; ++row) {
      const Real before = limit[row];
      const Real after0 = uncertainty[row] >= edge0 ? threshold0 : before;
      limit[row] = uncertainty[row] >= edge1 ? threshold1 : after0;
    }
  }
  // x - x is 0 for finite x and NaN for the others.
  Mask bad = 0;
  for (std::size_t row = 0; row < size; ++row) {
    const Real zero = (score[row] - score[row]) + (uncertainty[row] - uncertainty[row]);
    bad |= static_cast<Mask>(zero != 0);
  }
  for (std::size_t row = 0; row < size; ++row) decision[row] = static_cast<std::uint8_t>(score[row] >= limit[row]);
  return bad != 0;
}

LIMEN_MULTIVERSION bool run_block(const float* score, const float* uncertainty, std::size_t size, const float* edges,
                                  const float* thresholds, std::size_t num_edges, std::uint8_t* decision) {
  return decide_block<float, std::int32_t>(score, uncertainty, size, edges, thresholds, num_edges, decision);
}

LIMEN_MULTIVERSION bool run_block(const double* score, const double* uncertainty, std::size_t size, const double* edges,
                                  const double* thresholds, std::size_t num_edges, std::uint8_t* decision) {
  return decide_block<double, std::int64_t>(score, uncertainty, size, edges, thresholds, num_edges, decision);
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
      throw InvalidInput(std::string("decide: ") + name + "[" + std::to_string(row) + "] is " +
                         (std::isnan(column[row]) ? "NaN" : "infinite") + ", must be finite");
    }
  }
}

}  // namespace

void validate(const Rule& rule) {
  if (rule.score_thresholds.size() != rule.uncertainty_edges.size() + 1) {
    throw InvalidInput("rule: " + std::to_string(rule.uncertainty_edges.size()) + " uncertainty edges need " +
                       std::to_string(rule.uncertainty_edges.size() + 1) + " score thresholds, there are " +
                       std::to_string(rule.score_thresholds.size()));
  }
  for (std::size_t edge = 0; edge < rule.uncertainty_edges.size(); ++edge) {
    const double value = rule.uncertainty_edges[edge];
    if (!std::isfinite(value))
      throw InvalidInput("rule: uncertainty_edges[" + std::to_string(edge) + "] is not finite");
    if (edge > 0 && value <= rule.uncertainty_edges[edge - 1]) {
      throw InvalidInput("rule: uncertainty_edges[" + std::to_string(edge) + "] is not above the edge before it");
    }
  }
  for (std::size_t level = 0; level < rule.score_thresholds.size(); ++level) {
    const auto& threshold = rule.score_thresholds[level];
    if (threshold && !std::isfinite(*threshold)) {
      throw InvalidInput("rule: score_thresholds[" + std::to_string(level) + "] is not finite");
    }
  }
}

Rule make_rule(const Grid& grid, std::span<const std::int32_t> taken) {
  Rule rule;
  rule.uncertainty_edges = grid.edges;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const auto bins = static_cast<std::size_t>(taken[level]);
    rule.score_thresholds.push_back(bins == 0 ? std::nullopt : std::optional(score_cut(grid.levels[level], bins)));
  }
  return rule;
}

void decide(const Rule& rule, RealSpan score, RealSpan uncertainty, std::span<std::uint8_t> decision,
            std::span<std::int32_t> level) {
  validate(rule);
  const std::size_t rows = score.size();
  if (uncertainty.size() != rows || decision.size() != rows || (!level.empty() && level.size() != rows)) {
    throw InvalidInput("decide: score has " + std::to_string(rows) + " rows, uncertainty " +
                       std::to_string(uncertainty.size()) + ", decision " + std::to_string(decision.size()) +
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
        bool range_bad = false;
        for (std::size_t begin = range.begin(); begin < range.end(); begin += kBlock) {
          const std::size_t size = std::min(kBlock, range.end() - begin);
          const Real* block_uncertainty = block_of<Real>(uncertainties, begin, size, uncertainty_buffer);
          range_bad |=
              run_block(block_of<Real>(scores, begin, size, score_buffer), block_uncertainty, size, table.edges.data(),
                        table.thresholds.data(), table.edges.size(), decision.data() + begin);
          if (level.empty()) continue;
          std::fill_n(level.data() + begin, size, 0);
          for (const Real edge : table.edges) {
            for (std::size_t row = 0; row < size; ++row) level[begin + row] += block_uncertainty[row] >= edge ? 1 : 0;
          }
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
