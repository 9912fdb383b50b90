// SPDX-License-Identifier: MIT
// The cells of an experiment's grids, and the files that hold what came out of them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/config.h"
#include "experiment/scored.h"
#include "experiment/study.h"

namespace limen::cli::experiment {

struct Cell {
  std::size_t section = 0;
  std::size_t part = 0;
  std::int64_t seed = 0;
  double tau = 1;
  std::string model = {};        ///< empty for theory
  std::string encoder = {};      ///< empty for the ideal model
  std::string uncertainty = {};  ///< empty for theory
  std::string key = {};          ///< hash of all that determines the result; names its file
  std::string model_key = {};    ///< hash of what determines the model: cells of one model are made together
  nlohmann::json determined_by = {};

  /// "table-1/criteo-like: seed 1, tau 3, ideal, entropy".
  [[nodiscard]] std::string name(const Experiment& experiment) const;
};

/// All cells, section by section, part by part, in the order of the lists; drawings have none.
/// fingerprints: of the data of each part, by section and part.
[[nodiscard]] std::vector<Cell> make_cells(const Experiment& experiment,
                                           const std::vector<std::vector<std::uint64_t>>& fingerprints);

/// The folder DIR/cells: a file for each cell, whole or absent.
class CellStore {
 public:
  /// Makes the folder.
  explicit CellStore(std::string folder);

  /// What a cell's file holds; unset where there is none, or one that is damaged or of something else.
  [[nodiscard]] std::optional<Json> load(const Cell& cell) const;
  /// Times go first: a cell that is there has its times.
  void save(const Cell& cell, const CellResult& result) const;
  [[nodiscard]] Json load_times(const Cell& cell) const;
  [[nodiscard]] std::string checkpoint(const Cell& cell) const;
  /// Removes files of cells that are not among these. Returns how many cells that were.
  std::size_t prune(const std::vector<Cell>& cells) const;

 private:
  [[nodiscard]] std::string path(const std::string& key, const char* kind) const;
  std::string folder_;
};

/// Puts a text in its place, whole or not at all.
void write_text(const std::string& path, const std::string& text);

}  // namespace limen::cli::experiment
