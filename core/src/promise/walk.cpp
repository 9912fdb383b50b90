// SPDX-License-Identifier: MIT
#include "limen/promise/walk.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "limen/count/levels.h"

namespace limen {

Rule Walk::rule(std::size_t step) const {
  Rule rule{edges, {}};
  for (const auto& level : thresholds) {
    rule.score_thresholds.push_back(std::isfinite(level[step]) ? std::optional(level[step]) : std::nullopt);
  }
  return rule;
}

std::size_t first_step(const Walk& walk, std::size_t level, double score) {
  const auto& thresholds = walk.thresholds[level];
  const auto found = std::partition_point(thresholds.begin(), thresholds.end(),
                                          [score](double threshold) { return score < threshold; });
  return static_cast<std::size_t>(found - thresholds.begin());
}

WalkCounts& WalkCounts::operator+=(const WalkCounts& other) {
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) cells_[cell] += other.cells_[cell];
  return *this;
}

Counts WalkCounts::total() const {
  Counts total;
  for (const Counts& cell : cells_) total += cell;
  return total;
}

Counts WalkCounts::total(std::size_t level) const { return flagged(level, num_steps_); }

Counts WalkCounts::flagged(std::size_t level, std::size_t step) const {
  Counts flagged;
  for (std::size_t at = 0; at <= step; ++at) flagged += cells_[level * (num_steps_ + 1) + at];
  return flagged;
}

std::vector<Counts> WalkCounts::flagged() const {
  std::vector<Counts> flagged(num_steps_);
  Counts sum;
  for (std::size_t step = 0; step < num_steps_; ++step) {
    for (std::size_t level = 0; level < num_levels_; ++level) sum += cells_[level * (num_steps_ + 1) + step];
    flagged[step] = sum;
  }
  return flagged;
}

void count_walk(const Walk& walk, const Samples& rows, std::uint64_t first_row, std::span<const std::uint64_t> group,
                const LearningSplit& split, SplitCounts& counts) {
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  std::mutex adding;
  const auto count = [&](auto score, auto uncertainty) {
    using Real = std::remove_cvref_t<decltype(uncertainty[0])>;
    const LevelFinder<Real> finder(walk.edges);
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, (rows.size() + kChunk - 1) / kChunk, 16), [&](const auto& chunks) {
          SplitCounts own{WalkCounts(walk), WalkCounts(walk)};
          std::vector<std::int32_t> level(kChunk);
          for (std::size_t chunk = chunks.begin(); chunk < chunks.end(); ++chunk) {
            const std::size_t begin = chunk * kChunk;
            const std::size_t end = std::min(begin + kChunk, rows.size());
            finder.find(uncertainty.data() + begin, end - begin, level.data());
            for (std::size_t row = begin; row < end; ++row) {
              const auto at = static_cast<std::size_t>(level[row - begin]);
              const bool learns = split.learns(group.empty() ? first_row + row : group[row]);
              Counts& cell =
                  (learns ? own.learning : own.tested).at(at, first_step(walk, at, static_cast<double>(score[row])));
              cell.rows += 1;
              cell.positives += rows.label[row];
            }
          }
          const std::lock_guard lock(adding);
          counts.learning += own.learning;
          counts.tested += own.tested;
        });
  };
  rows.score.visit([&](auto score) { rows.uncertainty.visit([&](auto uncertainty) { count(score, uncertainty); }); });
}

}  // namespace limen
