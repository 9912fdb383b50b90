// SPDX-License-Identifier: MIT
#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>

#include "flags.h"
#include "limen/base/error.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "progress.h"
#include "text.h"

namespace limen::cli {
namespace {

constexpr const char* kTable = "Table";  // group of flags

void add_format_flag(FlagGroup group, const char* flag, std::string& format, const std::string& by) {
  group.choice(flag, format, "FORMAT", {"csv", "tsv", "parquet", "arrow"},
               "csv, tsv, parquet or arrow; default: by " + by);
}

}  // namespace

Rational parse_number(const std::string& text, const std::string& flag) {
  try {
    return parse_rational(text);
  } catch (const InvalidInput& error) {
    throw InvalidInput(flag, error.problem());
  }
}

std::int64_t parse_integer(const std::string& text, const std::string& flag, std::int64_t low, std::int64_t high,
                           const char* also) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    throw InvalidInput(fmt::format("{}: \"{}\" is not a whole number from {} to {}{}", flag, text, low, high, also));
  }
  return value;
}

void add_read_flags(CLI::App& verb, ReadFlags& flags) {
  FlagGroup group(verb, kTable);
  group.list("--missing", flags.missing, "More values that mean missing, such as ?");
  group.toggle("--drop-missing", flags.drop_missing,
               "Leave out rows with a missing or impossible value, and say how many");
  add_format_flag(group, "--format", flags.format, "the file's extension");
  group.add("--separator", flags.separator, "C", "Between the fields of CSV: one character, or tab");
  group.toggle("--no-header", flags.no_header, "The first line of CSV is data: columns are column1, column2 ...");
  group.list("--names", flags.names, "Names of the columns of CSV, in place of those of the header");
}

void add_frame_flags(CLI::App& verb, ReadFlags& flags, std::vector<std::string>& categorical) {
  FlagGroup(verb, kTable).list("--categorical", categorical, "Columns to read as text though they look like numbers");
  add_read_flags(verb, flags);
}

table::ReadOptions read_options(const ReadFlags& flags, const std::string& name) {
  table::ReadOptions options;
  options.format = parse_format(flags.format);
  if (flags.separator == "tab" || flags.separator == "\\t") {
    options.separator = '\t';
  } else if (flags.separator.size() == 1) {
    options.separator = flags.separator[0];
  } else if (!flags.separator.empty()) {
    throw InvalidInput("--separator", limen::quoted(flags.separator) + " is not one character, nor tab");
  }
  options.has_header = !flags.no_header;
  options.names = flags.names;
  options.missing = flags.missing;
  if (!name.empty()) options.progress = progress_line(name);
  return options;
}

std::optional<table::Format> parse_format(const std::string& text) {
  if (text == "csv") return table::Format::kCsv;
  if (text == "tsv") return table::Format::kTsv;
  if (text == "parquet") return table::Format::kParquet;
  if (text == "arrow") return table::Format::kArrow;
  return std::nullopt;
}

void add_output_format_flag(CLI::App& verb, std::string& format) {
  add_format_flag(FlagGroup(verb), "--output-format", format, "the extension of the output");
}

void add_threads_flag(CLI::App& verb, int& threads) {
  FlagGroup(verb)
      .add("--threads", threads, "N", "Threads, 0 = all cores; the result is the same")
      ->check(CLI::Range(0, 4096).description(""));
}

void add_label_flags(CLI::App& verb, LabelFlags& flags) {
  FlagGroup group(verb, kTable);
  CLI::Option* const value = group.add("--positive", flags.positive, "VALUE",
                                       "The label that is positive, such as yes; the others are negative");
  group
      .add("--positive-if", flags.positive_if, "COMPARISON",
           "Labels are numbers, positive where this holds, such as \">30\"")
      ->excludes(value);
}

LabelRule label_rule(const LabelFlags& flags) {
  if (!flags.positive.empty()) return positive_value(flags.positive);
  if (flags.positive_if.empty()) return {};
  try {
    return positive_if(flags.positive_if);
  } catch (const InvalidInput& error) {
    throw InvalidInput("--positive-if", error.problem());
  }
}

void add_table_flags(CLI::App& verb, TableFlags& flags, bool with_label) {
  FlagGroup group(verb, kTable);
  table::PredictionColumns& columns = flags.read.columns;
  group.add("--score", columns.score, "COLUMN", "Column of the score");
  group.add("--uncertainty", columns.uncertainty, "COLUMN", "Column of the uncertainty");
  if (with_label) {
    group.add("--label", columns.label, "COLUMN", "Column of the label: 0/1, true/false or yes/no");
    group.add("--weight", columns.weight, "COLUMN", "Column of row weights, used when the table has it")
        ->each([&columns](const std::string&) { columns.weight_required = true; });
    add_label_flags(verb, flags.labels);
  }
  add_read_flags(verb, flags.text);
}

std::uint64_t parse_bytes(const std::string& text, const std::string& flag) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const std::uint64_t factor = unit.empty()   ? 1
                               : unit == "KB" ? 1'000
                               : unit == "MB" ? 1'000'000
                               : unit == "GB" ? 1'000'000'000
                                              : 0;
  if (error != std::errc() || factor == 0 || value > UINT64_MAX / factor) {
    throw InvalidInput(fmt::format("{}: \"{}\" is not a size such as 500MB or 2GB", flag, text));
  }
  return value * factor;
}

table::PredictionOptions read_options(const std::string& name, const TableFlags& flags) {
  table::PredictionOptions options = flags.read;
  options.read = read_options(flags.text, name);
  options.labels = label_rule(flags.labels);
  options.drop_missing = flags.text.drop_missing;
  return options;
}

table::Predictions read_table(const std::vector<std::string>& paths, const TableFlags& flags) {
  const std::string name = shown(paths);
  table::Predictions predictions = table::read_predictions(paths, read_options(name, flags));
  say_left_out(name, predictions.rows_dropped, "with missing or impossible values");
  in_table(name, [&] {
    Samples samples = predictions.samples();
    if (samples.uncertainty.empty()) samples.uncertainty = samples.score;  // there is none to check
    validate(samples);
  });
  return predictions;
}

void add_objective_flags(CLI::App& verb, ObjectiveFlags& flags) {
  FlagGroup group(verb, "Objective (exactly one)");
  group.add("--precision", flags.precision, "P", "Most recall with at least this precision");
  group.add("--recall", flags.recall, "R", "Most precision with at least this recall");
  group.add("--fpr", flags.fpr, "A", "Most recall with at most this false-positive rate");
  group.add("--flag-rate", flags.flag_rate, "Q", "Most recall with at most this fraction of rows flagged");
  group.add("--cost-fp", flags.cost_fp, "X", "Least cost: cost of a false positive (with --cost-fn)");
  group.add("--cost-fn", flags.cost_fn, "Y", "Least cost: cost of a false negative (with --cost-fp)");
  group.add("--fbeta", flags.fbeta, "B", "Highest F-beta for this beta");
}

Rational parse_bound(const std::string& text, const std::string& flag) {
  const Rational bound = parse_number(text, flag);
  if (bound.num > bound.den) {
    const double percent = bound.to_double();
    throw InvalidInput(fmt::format("{}: {} is not between 0 and 1{}", flag, text,
                                   percent <= 100 ? fmt::format("; {:g}% is {:g}", percent, percent / 100) : ""));
  }
  return bound;
}

Objective make_objective(const ObjectiveFlags& flags) {
  std::vector<Objective> given;
  if (!flags.precision.empty()) given.push_back(max_recall_at_precision(parse_bound(flags.precision, "--precision")));
  if (!flags.recall.empty()) given.push_back(max_precision_at_recall(parse_bound(flags.recall, "--recall")));
  if (!flags.fpr.empty()) given.push_back(max_recall_at_false_positive_rate(parse_bound(flags.fpr, "--fpr")));
  if (!flags.flag_rate.empty()) given.push_back(max_recall_at_flag_rate(parse_bound(flags.flag_rate, "--flag-rate")));
  if (flags.cost_fp.empty() != flags.cost_fn.empty()) {
    throw InvalidInput("--cost-fp and --cost-fn go together: give both");
  }
  if (!flags.cost_fp.empty()) {
    given.push_back(min_cost(parse_number(flags.cost_fp, "--cost-fp"), parse_number(flags.cost_fn, "--cost-fn")));
  }
  if (!flags.fbeta.empty()) given.push_back(max_f_beta(parse_number(flags.fbeta, "--fbeta")));
  const char* all = "--precision, --recall, --fpr, --flag-rate, --cost-fp with --cost-fn, or --fbeta";
  if (given.empty()) throw InvalidInput(fmt::format("no objective: give one of {}", all));
  if (given.size() > 1) throw InvalidInput(fmt::format("{} objectives: give only one of {}", given.size(), all));
  validate(given[0]);
  return given[0];
}

void add_binning_flags(CLI::App& verb, BinningFlags& flags, const std::string& default_bins, bool can_sweep) {
  const std::string found = can_sweep ? "; auto: by cross-validation" : "";
  FlagGroup group(verb, "Binning");
  group.add("--levels", flags.levels, "K",
            "Uncertainty levels, 1 to 1000 [32 for smooth, 4 for joint, else 3]" + found);
  group.add("--bins", flags.bins, "L",
            "Score bins per level, or all: every distinct score [" + default_bins + "]" + found);
  group.choice("--binning", flags.binning, "KIND", {"equi-weight", "equi-span"},
               "equi-weight (quantiles) or equi-span (equal intervals)");
  add_threads_flag(verb, flags.threads);
}

void add_levels_from_flag(CLI::App& verb, std::string& levels_from) {
  FlagGroup(verb, "Binning")
      .choice("--levels-from", levels_from, "ROWS", {"top", "all"},
              "top: levels are quantiles of the rows near the decision; all: of all rows, as in the paper");
}

FitOptions make_fit_options(const BinningFlags& flags, bool can_sweep) {
  FitOptions options;
  options.sweep_levels = can_sweep && flags.levels == "auto";
  options.sweep_bins = can_sweep && flags.bins == "auto";
  if (!flags.levels.empty() && !options.sweep_levels) {
    options.levels = static_cast<int>(parse_integer(flags.levels, "--levels", 1, 1000, can_sweep ? ", or auto" : ""));
  }
  if (flags.bins == "all") {
    options.bins = BinCount::all();
  } else if (!flags.bins.empty() && !options.sweep_bins) {
    options.bins =
        BinCount::of(parse_integer(flags.bins, "--bins", 1, 1 << 30, can_sweep ? ", all or auto" : ", or all"));
  }
  options.binning = parse_binning(flags.binning);
  options.num_threads = flags.threads;
  return options;
}

void add_bootstrap_flags(CLI::App& verb, BootstrapFlags& flags, const std::string& what) {
  FlagGroup group(verb, "Bootstrap");
  group.add("--bootstrap", flags.replicates, "B", "Resamples of the rows, by class, for " + what + "; 0: none")
      ->check(CLI::Validator(
          [](std::string& text) {
            return text == "1" ? std::string("1 resample tells nothing; give 2 or more, such as 200") : std::string();
          },
          ""))
      ->check(CLI::Range(0, 1'000'000).description(""));
  group.add("--bootstrap-seed", flags.seed, "N", "Of the resamples");
}

BootstrapOptions make_bootstrap_options(const BootstrapFlags& flags, int threads) {
  BootstrapOptions options;
  options.replicates = flags.replicates;
  options.seed = flags.seed;
  options.num_threads = threads;
  return options;
}

std::vector<Rational> parse_bounds(const std::string& text, const std::string& flag) {
  std::vector<Rational> bounds;
  for (std::string part : CLI::detail::split(text, ',')) bounds.push_back(parse_bound(CLI::detail::trim(part), flag));
  if (bounds.empty()) throw InvalidInput(flag + ": no bound given");
  return bounds;
}

std::vector<Method> parse_methods(const std::string& text) {
  if (text == "all") return all_methods();
  std::vector<Method> methods;
  for (std::string name : CLI::detail::split(text, ',')) {
    try {
      const Method method = parse_method(CLI::detail::trim(name));
      if (std::find(methods.begin(), methods.end(), method) == methods.end()) methods.push_back(method);
    } catch (const InvalidInput& error) {
      throw InvalidInput("--methods", error.problem() + ", or all");
    }
  }
  return methods;
}

void check_stdin_once(const std::vector<std::string>& paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) throw InvalidInput("only one input can be stdin (-)");
}

std::string shown(const std::string& path) { return shown_path(path, "<stdin>"); }

std::string shown(const std::vector<std::string>& paths) {
  if (paths.size() <= 1) return paths.empty() ? "" : shown(paths[0]);
  return fmt::format("{} and {} more", shown(paths[0]), paths.size() - 1);
}

void say_left_out(const std::string& table, std::uint64_t rows, const char* why) {
  if (rows > 0) fmt::print(stderr, "{}: left out {} {}\n", table, plural_text(rows, "row"), why);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::unique_ptr<table::OutputFile> open_output(const std::string& path, const std::vector<std::string>& inputs) {
  if (path.empty()) return nullptr;
  for (const std::string& input : inputs) {
    std::error_code none;  // paths that do not exist are not the same
    if (path != "-" && std::filesystem::equivalent(path, input, none)) {
      throw InvalidInput(shown(path), "is the input; choose another output");
    }
  }
  return std::make_unique<table::OutputFile>(path);
}

std::string read_json_text(const std::string& path, const char* kind) {
  constexpr std::size_t kMaxBytes = 64 << 20;
  std::string text;
  if (path == "-") {
    std::array<char, 1 << 16> chunk{};
    while (text.size() <= kMaxBytes && (std::cin.read(chunk.data(), chunk.size()) || std::cin.gcount() > 0)) {
      text.append(chunk.data(), static_cast<std::size_t>(std::cin.gcount()));
    }
  } else {
    text = read_regular_file(path, kMaxBytes);
  }
  if (text.empty()) throw InvalidInput(shown(path), "is empty or cannot be read");
  if (text.size() > kMaxBytes) {
    throw InvalidInput(shown(path), fmt::format("is larger than 64 MB, which no {} file is", kind));
  }
  return text;
}

Boundary read_boundary(const std::string& path) {
  const std::string text = read_json_text(path, "boundary");
  return in_table(shown(path), [&] { return boundary_from_json(text); });
}

}  // namespace limen::cli
