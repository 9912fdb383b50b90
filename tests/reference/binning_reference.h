// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "limen/count/binning.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"

namespace limen::test {

inline std::vector<double> to_vector(const RealSpan& column) {
  std::vector<double> values;
  for (std::size_t row = 0; row < column.size(); ++row) values.push_back(column[row]);
  return values;
}

inline std::size_t level_by_definition(const std::vector<double>& edges, double uncertainty) {
  return static_cast<std::size_t>(
      std::count_if(edges.begin(), edges.end(), [&](double edge) { return edge <= uncertainty; }));
}

/// Equi-weight edges by sorting: the quantile of rank floor(n * level / levels) moves to the nearer end of its run of
/// equal values, to the lower end when both are as near, and to the upper end when the lower one would leave the level
/// below empty. A cut behind all rows is none.
inline std::vector<double> edges_by_sorting(std::vector<double> values, int levels) {
  std::sort(values.begin(), values.end());
  std::set<std::size_t> cuts;
  for (int level = 1; level < levels; ++level) {
    const std::size_t rank = values.size() * static_cast<std::size_t>(level) / static_cast<std::size_t>(levels);
    std::size_t begin = rank;
    while (begin > 0 && values[begin - 1] == values[rank]) --begin;
    std::size_t end = rank;
    while (end < values.size() && values[end] == values[rank]) ++end;
    cuts.insert(begin == 0 || end - rank < rank - begin ? end : begin);
  }
  std::vector<double> edges;
  for (const std::size_t cut : cuts) {
    if (cut < values.size()) edges.push_back(values[cut]);
  }
  return edges;
}

/// Bins of every distinct score of every level, by a map.
inline std::vector<std::map<double, Counts, std::greater<>>> distinct_by_map(const Samples& samples,
                                                                             const std::vector<double>& edges,
                                                                             const WeightUnits& units) {
  std::vector<std::map<double, Counts, std::greater<>>> levels(edges.size() + 1);
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const double weight = samples.weight.empty() ? 1 : samples.weight[row];
    const bool positive = samples.label[row] != 0;
    const std::int64_t count = positive ? units.of_positive(weight) : units.of_negative(weight);
    levels[level_by_definition(edges, samples.uncertainty[row])][samples.score[row]] +=
        Counts{count, positive ? count : 0};
  }
  return levels;
}

/// Row numbers, counted from the top of the level, at which equi-weight merging cuts: the bin end nearest to each equal
/// share of the rows, the higher score when two are as near. With 0 and the number of rows.
inline std::set<std::int64_t> cuts_at_equal_shares(const std::vector<Bin>& bins, std::int64_t parts) {
  std::vector<std::int64_t> ends = {0};
  for (const Bin& bin : bins) ends.push_back(ends.back() + bin.counts.rows);
  const std::int64_t total = ends.back();
  std::set<std::int64_t> cuts = {0, total};
  for (std::int64_t part = 1; part < parts; ++part) {
    const auto distance = [&](std::int64_t end) { return std::abs(end * parts - part * total); };
    std::int64_t nearest = 0;
    for (const std::int64_t end : ends) nearest = distance(end) < distance(nearest) ? end : nearest;
    cuts.insert(nearest);
  }
  return cuts;
}

}  // namespace limen::test
