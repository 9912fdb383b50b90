// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace limen::report {

/// A line through a heat map: in every row a place from 0 (before the first column) to the number of columns.
struct HeatMapLine {
  std::string name = {};
  std::vector<std::optional<double>> at = {};  ///< one for each row; unset: behind the last column
};

/// Numbers in a grid, written into their cells over a colour that goes with them.
struct HeatMap {
  std::string title = {};
  std::string description = {};
  std::string x_label = {};
  std::string y_label = {};
  std::vector<std::string> columns = {};
  std::vector<std::string> rows = {};            ///< from below to above
  std::vector<std::vector<double>> values = {};  ///< by row, in it by column; not finite: an empty cell
  int digits = 3;                                ///< behind the point
  bool percent = false;                          ///< values are shares that are written in percent
  std::optional<std::pair<std::size_t, std::size_t>> star = std::nullopt;  ///< row and column
  std::vector<HeatMapLine> lines = {};
  double width = 440;
  double height = 300;
};

/// Colours go from the smallest value to the largest. Throws InvalidInput: no cells, lengths that differ, a star beyond
/// the cells, a size below 100.
[[nodiscard]] std::string heat_map_svg(const HeatMap& map);

}  // namespace limen::report
