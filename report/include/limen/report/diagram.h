// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace limen::report {

/// A box with text, at a place of a grid.
struct DiagramBox {
  std::vector<std::string> lines = {};
  std::size_t column = 0;
  std::size_t row = 0;  ///< from above
};

/// From one box to another, by their numbers.
struct DiagramArrow {
  std::size_t from = 0;
  std::size_t to = 0;
  std::string label = {};
};

/// What depends on what.
struct Diagram {
  std::string title = {};
  std::string description = {};
  std::vector<DiagramBox> boxes = {};
  std::vector<DiagramArrow> arrows = {};
  double width = 440;
  double height = 240;
};

/// Throws InvalidInput: no boxes, an arrow of a box that is not there, a size below 100.
[[nodiscard]] std::string diagram_svg(const Diagram& diagram);

}  // namespace limen::report
