// SPDX-License-Identifier: MIT
// ECE@j and the rest straight from their definitions, row by row and pair by pair. O(rows^2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "support/random_samples.h"

namespace limen::test {

struct ReferenceErrors {
  std::vector<double> ece_at;      ///< [j - 1]; NaN: no bin has rows
  std::vector<double> cumulative;  ///< [j]
  double ece = 0;
  double ece_by_level = 0;
  double brier = 0;
  double log_loss = 0;
  double roc_auc = 0;
  double average_precision = 0;
};

inline double weight_of(const SampleTable& table, std::size_t row) {
  return table.weight.empty() ? 1 : table.weight[row];
}

/// Of `bins` bins of the rows in `among`, that of the middle of the rows with this row's score.
inline std::size_t reference_bin(const SampleTable& table, const std::vector<std::size_t>& among, std::size_t row,
                                 int bins) {
  double below = 0;
  double equal = 0;
  double all = 0;
  for (const std::size_t other : among) {
    const double weight = weight_of(table, other);
    if (table.score[other] < table.score[row]) below += weight;
    if (table.score[other] == table.score[row]) equal += weight;
    all += weight;
  }
  return static_cast<std::size_t>(std::floor(bins * (2 * below + equal) / (2 * all)));
}

inline std::size_t reference_level(const std::vector<double>& edges, double uncertainty) {
  return static_cast<std::size_t>(std::ranges::count_if(edges, [&](double edge) { return edge <= uncertainty; }));
}

inline ReferenceErrors reference_errors(const SampleTable& table, const std::vector<double>& edges,
                                        const std::vector<double>& probability, int bins) {
  struct Sums {
    double gap = 0;
    double rows = 0;
  };
  const std::size_t size = table.size();
  std::vector<std::vector<std::size_t>> levels(edges.size() + 1);
  std::vector<std::size_t> everything;
  for (std::size_t row = 0; row < size; ++row) {
    levels[reference_level(edges, table.uncertainty[row])].push_back(row);
    everything.push_back(row);
  }
  std::map<std::pair<std::size_t, std::size_t>, Sums> by_level;  // level and bin
  std::map<std::size_t, Sums> by_score;
  ReferenceErrors found;
  double all = 0;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (const std::size_t row : levels[level]) {
      const double weight = weight_of(table, row);
      if (weight == 0) continue;
      const double gap = probability[row] - table.label[row];
      Sums& cell = by_level[{level, reference_bin(table, levels[level], row, bins)}];
      cell.gap += weight * gap;
      cell.rows += weight;
      by_score[reference_bin(table, everything, row, bins)].gap += weight * gap;
      found.brier += weight * gap * gap;
      const double p = std::clamp(table.label[row] != 0 ? probability[row] : 1 - probability[row], 1e-6, 1 - 1e-6);
      found.log_loss -= weight * std::log(p);
      all += weight;
    }
  }
  found.brier /= all;
  found.log_loss /= all;
  for (const auto& [bin, sums] : by_score) found.ece += std::abs(sums.gap) / all;
  for (const auto& [cell, sums] : by_level) found.ece_by_level += std::abs(sums.gap) / all;
  const auto mean = [&](auto takes) {
    double sum = 0;
    double count = 0;
    for (const auto& [cell, sums] : by_level) {
      if (!takes(cell.second)) continue;
      sum += std::abs(sums.gap) / sums.rows;
      ++count;
    }
    return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
  };
  for (std::size_t bin = 0; bin < static_cast<std::size_t>(bins); ++bin) {
    found.ece_at.push_back(mean([bin](std::size_t at) { return at == bin; }));
    found.cumulative.push_back(mean([bin](std::size_t at) { return at >= bin; }));
  }
  double pairs = 0;
  double won = 0;
  double positives = 0;
  for (std::size_t row = 0; row < size; ++row) {
    if (table.label[row] == 0) continue;
    const double weight = weight_of(table, row);
    positives += weight;
    double above = 0;
    double above_positives = 0;
    for (std::size_t other = 0; other < size; ++other) {
      const double other_weight = weight_of(table, other);
      if (probability[other] >= probability[row]) {
        above += other_weight;
        above_positives += table.label[other] * other_weight;
      }
      if (table.label[other] != 0) continue;
      pairs += weight * other_weight;
      won += weight * other_weight *
             (probability[row] > probability[other]    ? 1.0
              : probability[row] == probability[other] ? 0.5
                                                       : 0.0);
    }
    if (weight > 0) found.average_precision += weight * above_positives / above;
  }
  found.roc_auc = won / pairs;
  found.average_precision /= positives;
  return found;
}

}  // namespace limen::test
