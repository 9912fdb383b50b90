// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "frame_flags.h"
#include "limen/base/error.h"
#include "limen/fit.h"
#include "limen/solve/boundary.h"
#include "limen/solve/objective.h"
#include "limen/table/output_file.h"
#include "limen/table/predictions.h"

namespace limen::cli {

using Json = nlohmann::ordered_json;

/// Flags that say which columns a table has and how to read it.
struct TableFlags {
  table::PredictionOptions read;
  ReadFlags text;
  LabelFlags labels;
};
/// with_label: also --label, --weight and which labels are positive, for verbs that need them.
void add_table_flags(CLI::App& verb, TableFlags& flags, bool with_label);

/// Reads a labelled table as the flags say, with progress on a terminal; says on stderr how many rows were dropped.
[[nodiscard]] table::Predictions read_table(const std::vector<std::string>& paths, const TableFlags& flags);

/// Calls the library, which knows rows and columns but not files: its errors get the table's name, unless they have
/// one.
template <typename Call>
auto in_table(const std::string& table, const Call& call) {
  try {
    return call();
  } catch (const InvalidInput& error) {
    if (!error.where().source.empty()) throw;
    throw InvalidInput(Where{.source = table, .place = error.where().place, .column = error.where().column},
                       error.problem(), error.cause());
  }
}

/// The table flags' read options with the progress display.
[[nodiscard]] table::PredictionOptions read_options(const std::string& name, const TableFlags& flags);

/// "500MB", "2GB", "100000" as bytes; the flag is named in errors.
[[nodiscard]] std::uint64_t parse_bytes(const std::string& text, const std::string& flag);

/// Flags of the objective; exactly one objective must be given.
struct ObjectiveFlags {
  std::string precision, recall, fpr, flag_rate, cost_fp, cost_fn, fbeta;
};
void add_objective_flags(CLI::App& verb, ObjectiveFlags& flags);
[[nodiscard]] Objective make_objective(const ObjectiveFlags& flags);

/// Flags of the hold-out's binning.
struct BinningFlags {
  std::string levels;  // empty: as many as suit the method
  std::string bins;
  std::string binning = "equi-weight";
  int threads = 0;
};
void add_binning_flags(CLI::App& verb, BinningFlags& flags, const std::string& default_bins);
[[nodiscard]] FitOptions make_fit_options(const BinningFlags& flags);

/// "0.7,0.8" as exact fractions; the flag is named in errors.
[[nodiscard]] std::vector<Rational> parse_bounds(const std::string& text, const std::string& flag);

/// A bound as a number in [0, 1]; the flag is named in errors.
[[nodiscard]] Rational parse_bound(const std::string& text, const std::string& flag);

/// Throws InvalidInput when stdin is asked for more than once.
void check_stdin_once(const std::vector<std::string>& paths);

/// A path as messages show it: "<stdin>" for "-", "a.csv and 3 more" for several.
[[nodiscard]] std::string shown(const std::string& path);
[[nodiscard]] std::string shown(const std::vector<std::string>& paths);

/// Tables by level stop here.
inline constexpr std::size_t kMostLevelsShown = 20;

/// A count as a JSON integer when it is whole.
[[nodiscard]] Json count_json(double value);

/// Opens an output before the work is done, so that a path that cannot be written is refused at once (IoError). Null
/// for no path. Refuses to write over one of the inputs.
[[nodiscard]] std::unique_ptr<table::OutputFile> open_output(const std::string& path,
                                                             const std::vector<std::string>& inputs);

/// Reads a boundary file; errors name the path.
[[nodiscard]] Boundary read_boundary(const std::string& path);

}  // namespace limen::cli
