// SPDX-License-Identifier: MIT
#include "limen/choose/joint.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "choose/joint.h"
#include "limen/base/error.h"
#include "limen/solve/chain.h"
#include "limen/solve/smooth.h"
#include "limen/solve/solve.h"

namespace limen {
namespace detail {
namespace {

/// A way to put levels together, and what its best thresholds for a price flag.
struct Boundary {
  std::vector<std::size_t> ends;
  Counts flagged;
};

class Partitions {
 public:
  Partitions(const ScoreTable& table, int levels) : size_(table.num_levels), levels_(static_cast<std::size_t>(levels)) {
    constexpr std::size_t kBinsInOne = 4;
    below_.assign(size_ + 1, Counts{});
    for (std::size_t bin = 0; bin < table.num_bins(); ++bin) {
      const std::size_t row = below_.size() - (size_ + 1);
      Counts before;  // of this bin, in lower levels
      std::vector<Counts> next(below_.begin() + static_cast<std::ptrdiff_t>(row), below_.end());
      for (std::size_t level = 0; level < size_; ++level) {
        before += table.cells[bin * size_ + level];
        next[level + 1] += before;
      }
      if (bin % kBinsInOne == 0) {
        below_.insert(below_.end(), next.begin(), next.end());
      } else {
        std::copy(next.begin(), next.end(), below_.begin() + static_cast<std::ptrdiff_t>(row));
      }
    }
  }

  /// The best boundary when a positive is worth 1 and every flagged row costs `price`.
  [[nodiscard]] Boundary best(double price) const {
    struct Step {
      double value = 0;
      std::size_t from = 0;
      Counts flagged;
    };
    // Of the levels from a to b - 1 the best single threshold; the fewest rows among equals.
    std::vector<Step> one((size_ + 1) * (size_ + 1));
    for (std::size_t a = 0; a < size_; ++a) {
      for (std::size_t b = a + 1; b <= size_; ++b) {
        Step& step = one[a * (size_ + 1) + b];
        for (std::size_t row = 0; row < below_.size(); row += size_ + 1) {
          const Counts flagged = below_[row + b] - below_[row + a];
          const double value = static_cast<double>(flagged.positives) - price * static_cast<double>(flagged.rows);
          if (value > step.value) step = {value, a, flagged};
        }
      }
    }
    // paths[k][b]: levels 0 to b - 1 in at most k + 1 steps.
    std::vector<std::vector<Step>> paths(std::min(levels_, size_), std::vector<Step>(size_ + 1));
    for (std::size_t b = 1; b <= size_; ++b) paths[0][b] = one[b];
    for (std::size_t k = 1; k < paths.size(); ++k) {
      for (std::size_t b = 1; b <= size_; ++b) {
        // A step more must bring something, else `from` stays at b: the path with fewer steps.
        Step found = {paths[k - 1][b].value, b, {}};
        for (std::size_t a = 1; a < b; ++a) {
          const double value = paths[k - 1][a].value + one[a * (size_ + 1) + b].value;
          if (value > found.value * (1 + 1e-12)) found = {value, a, {}};
        }
        paths[k][b] = found;
      }
    }
    Boundary boundary;
    std::size_t end = size_;
    for (std::size_t k = paths.size(); k-- > 0 && end > 0;) {
      const std::size_t from = k == 0 ? 0 : paths[k][end].from;
      if (from == end) continue;
      boundary.flagged += one[from * (size_ + 1) + end].flagged;
      boundary.ends.push_back(end);
      end = from;
    }
    std::reverse(boundary.ends.begin(), boundary.ends.end());
    return boundary;
  }

 private:
  std::size_t size_;
  std::size_t levels_;
  /// Counts above a score and below a level: [score from the highest down, none first][level].
  std::vector<Counts> below_;
};

}  // namespace

std::vector<std::size_t> joint_partition(const ScoreTable& table, const Objective& objective, int levels) {
  const Partitions partitions(table, levels);
  const Totals totals = table.totals();
  std::optional<Boundary> best;
  double best_logit = 0;
  const auto look_at = [&](double logit) {
    Boundary found = partitions.best(1 / (1 + std::exp(-logit)));
    if (!is_feasible(objective, totals, found.flagged)) return;
    if (best && !is_better(objective, totals, found.flagged, best->flagged)) return;
    best = std::move(found);
    best_logit = logit;
  };
  // Costs have one price.
  if (objective.goal == Goal::kCost) {
    look_at(std::log(objective.false_positive_cost.to_double() / objective.false_negative_cost.to_double()));
    return best->ends;
  }
  // Prices from a hundred-thousandth to nearly 1, then ever closer around the best.
  constexpr double kWidest = 11.5;
  double step = 0.75;
  for (double logit = -kWidest; logit <= kWidest; logit += step) look_at(logit);
  for (int round = 0; round < 2 && best; ++round) {
    const double middle = best_logit;
    step /= 4;
    for (const int side : {-3, -2, -1, 1, 2, 3}) look_at(middle + side * step);
  }
  return best ? best->ends : std::vector<std::size_t>{table.num_levels};
}

}  // namespace detail

std::vector<double> joint_edges(const Grid& grid, const Objective& objective, int levels) {
  validate(grid);
  validate(objective);
  if (levels < 1 || levels > 1000) {
    throw InvalidInput("joint_edges", "levels is " + std::to_string(levels) + ", must be 1 to 1000");
  }
  const std::int64_t all = total_counts(grid).rows;
  std::int64_t near_rows = rows_near_decision(grid, score_chain(grid), objective);
  for (;;) {
    std::vector<double> edges;
    for (const std::size_t end : detail::joint_partition(detail::score_table(grid, near_rows), objective, levels)) {
      if (end < grid.num_levels()) edges.push_back(grid.edges[end - 1]);
    }
    if (near_rows >= all) return edges;
    // Levels can reach far below the best single threshold: then more rows are near the decision.
    const std::optional<Grid> merged = merge_levels(grid, edges);
    const std::int64_t flagged = merged ? solve_exact({*merged, objective}).flagged.rows : 0;
    if (2 * flagged <= near_rows) return edges;
    near_rows = std::min(all, std::max(3 * flagged, 2 * near_rows));
  }
}

}  // namespace limen
