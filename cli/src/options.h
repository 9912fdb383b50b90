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

#include "limen/base/error.h"
#include "limen/base/in_table.h"
#include "limen/base/labels.h"
#include "limen/fit.h"
#include "limen/promise/bootstrap.h"
#include "limen/report/section_json.h"
#include "limen/solve/boundary.h"
#include "limen/solve/objective.h"
#include "limen/table/output_file.h"
#include "limen/table/predictions.h"

namespace limen::cli {

using Json = nlohmann::ordered_json;

/// Flags that say how to read a table, the same in every verb that reads one.
struct ReadFlags {
  std::string format;
  std::string separator;
  bool no_header = false;
  std::vector<std::string> names;
  std::vector<std::string> missing;
  bool drop_missing = false;
};
void add_read_flags(CLI::App& verb, ReadFlags& flags);
/// The same for a table of raw columns, of which some are to be read as text.
void add_frame_flags(CLI::App& verb, ReadFlags& flags, std::vector<std::string>& categorical);
/// With the progress display under this name; none when it is empty.
[[nodiscard]] table::ReadOptions read_options(const ReadFlags& flags, const std::string& name);

/// "csv", "tsv", "parquet", "arrow"; unset for an empty text.
[[nodiscard]] std::optional<table::Format> parse_format(const std::string& text);
/// --output-format, for parse_format.
void add_output_format_flag(CLI::App& verb, std::string& format);
/// --threads, where the result does not depend on them.
void add_threads_flag(CLI::App& verb, int& threads);

/// Flags that say which labels are positive, the same in every verb that reads labels; at most one of them is given.
struct LabelFlags {
  std::string positive;
  std::string positive_if;
};
void add_label_flags(CLI::App& verb, LabelFlags& flags);
[[nodiscard]] LabelRule label_rule(const LabelFlags& flags);

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
/// can_sweep: levels and bins may be "auto".
void add_binning_flags(CLI::App& verb, BinningFlags& flags, const std::string& default_bins, bool can_sweep = false);
void add_levels_from_flag(CLI::App& verb, std::string& levels_from);
[[nodiscard]] FitOptions make_fit_options(const BinningFlags& flags, bool can_sweep = false);

/// Flags of resampling; 0 replicates: none.
struct BootstrapFlags {
  int replicates = 0;
  std::uint64_t seed = 0;
};
/// what: that the resamples give.
void add_bootstrap_flags(CLI::App& verb, BootstrapFlags& flags, const std::string& what);
[[nodiscard]] BootstrapOptions make_bootstrap_options(const BootstrapFlags& flags, int threads);

/// A whole number from low to high; the flag is named in errors, and what else may be given: ", or all".
[[nodiscard]] std::int64_t parse_integer(const std::string& text, const std::string& flag, std::int64_t low,
                                         std::int64_t high, const char* also = "");

/// "0.7,0.8" as exact fractions; the flag is named in errors.
[[nodiscard]] std::vector<Rational> parse_bounds(const std::string& text, const std::string& flag);

/// "st,exact" or "all", for --methods; each once.
[[nodiscard]] std::vector<Method> parse_methods(const std::string& text);

/// A number >= 0 as an exact fraction; the flag is named in errors.
[[nodiscard]] Rational parse_number(const std::string& text, const std::string& flag);

/// A bound as a number in [0, 1]; the flag is named in errors.
[[nodiscard]] Rational parse_bound(const std::string& text, const std::string& flag);

/// Throws InvalidInput when stdin is asked for more than once.
void check_stdin_once(const std::vector<std::string>& paths);

/// A path as messages show it: "<stdin>" for "-", "a.csv and 3 more" for several.
[[nodiscard]] std::string shown(const std::string& path);
[[nodiscard]] std::string shown(const std::vector<std::string>& paths);

/// Says on stderr how many rows of a table were left out and why, when there are any.
void say_left_out(const std::string& table, std::uint64_t rows, const char* why);

[[nodiscard]] bool contains(const std::vector<std::string>& names, const std::string& name);

/// Tables by level stop here.
inline constexpr std::size_t kMostLevelsShown = 20;

using report::count_json;

/// Opens an output before the work is done, so that a path that cannot be written is refused at once (IoError). Null
/// for no path. Refuses to write over one of the inputs.
[[nodiscard]] std::unique_ptr<table::OutputFile> open_output(const std::string& path,
                                                             const std::vector<std::string>& inputs);

/// The text of a small JSON file of limen's own, at most 64 MB; `kind` is what it should be, for errors: "boundary".
[[nodiscard]] std::string read_json_text(const std::string& path, const char* kind);
/// Reads a boundary file; errors name the path.
[[nodiscard]] Boundary read_boundary(const std::string& path);

}  // namespace limen::cli
