// SPDX-License-Identifier: MIT
// What a section shows: tables and figures, made from the results of its cells alone.
#pragma once

#include <string>
#include <vector>

#include "experiment/groups.h"
#include "limen/report/table_text.h"

namespace limen::cli::experiment {

struct TableProduct {
  std::string name = {};  ///< of its files, without extension
  std::string caption = {};
  report::TextTable table = {};
  bool has_times = false;  ///< not the same in every run: kept apart
};

struct FigureProduct {
  std::string name = {};
  std::string caption = {};
  std::string svg = {};
};

/// groups: those of the section.
[[nodiscard]] std::vector<TableProduct> make_tables(const Section& section, const std::vector<SeedGroup>& groups);
[[nodiscard]] std::vector<FigureProduct> make_figures(const Section& section, const std::vector<SeedGroup>& groups);

}  // namespace limen::cli::experiment
