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

#include "limen/base/error.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "text.h"

namespace limen::cli {
namespace {

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

}  // namespace

void add_table_flags(CLI::App& verb, TableFlags& flags, bool with_label) {
  table::PredictionColumns& columns = flags.read.columns;
  verb.add_option("--score", columns.score, "Column of the score")
      ->type_name("COLUMN")
      ->capture_default_str()
      ->group("Table");
  verb.add_option("--uncertainty", columns.uncertainty, "Column of the uncertainty")
      ->type_name("COLUMN")
      ->capture_default_str()
      ->group("Table");
  if (with_label) {
    verb.add_option("--label", columns.label, "Column of the label: 0/1, true/false or yes/no")
        ->type_name("COLUMN")
        ->capture_default_str()
        ->group("Table");
    verb.add_option("--weight", columns.weight, "Column of row weights, used when the table has it")
        ->type_name("COLUMN")
        ->capture_default_str()
        ->group("Table")
        ->each([&columns](const std::string&) { columns.weight_required = true; });
  }
  if (with_label) add_label_flags(verb, flags.labels);
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
  if (predictions.rows_dropped > 0) {
    fmt::print(stderr, "{}: left out {} with missing or impossible values\n", name,
               plural_text(static_cast<double>(predictions.rows_dropped), "row"));
  }
  in_table(name, [&] { validate(predictions.samples()); });
  return predictions;
}

void add_objective_flags(CLI::App& verb, ObjectiveFlags& flags) {
  const auto add = [&](const char* name, std::string& value, const char* letter, const char* help) {
    verb.add_option(name, value, help)->type_name(letter)->group("Objective (exactly one)");
  };
  add("--precision", flags.precision, "P", "Most recall with at least this precision");
  add("--recall", flags.recall, "R", "Most precision with at least this recall");
  add("--fpr", flags.fpr, "A", "Most recall with at most this false-positive rate");
  add("--flag-rate", flags.flag_rate, "Q", "Most recall with at most this fraction of rows flagged");
  add("--cost-fp", flags.cost_fp, "X", "Least cost: cost of a false positive (with --cost-fn)");
  add("--cost-fn", flags.cost_fn, "Y", "Least cost: cost of a false negative (with --cost-fp)");
  add("--fbeta", flags.fbeta, "B", "Highest F-beta for this beta");
}

Rational parse_bound(const std::string& text, const std::string& flag) {
  const Rational bound = parse_number(text, flag);
  if (bound.num > bound.den) throw InvalidInput(fmt::format("{}: {} is not between 0 and 1", flag, text));
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

void add_binning_flags(CLI::App& verb, BinningFlags& flags, const std::string& default_bins) {
  verb.add_option("--levels", flags.levels, "Uncertainty levels, 1 to 1000 [32 for smooth, else 3]")
      ->type_name("K")
      ->group("Binning");
  verb.add_option("--bins", flags.bins, "Score bins per level, or all: every distinct score [" + default_bins + "]")
      ->type_name("L")
      ->group("Binning");
  verb.add_option("--binning", flags.binning, "equi-weight (quantiles) or equi-span (equal intervals)")
      ->type_name("KIND")
      ->capture_default_str()
      ->check(CLI::IsMember({"equi-weight", "equi-span"}).description(""))
      ->group("Binning");
  verb.add_option("--threads", flags.threads, "Threads, 0 = all cores; the result is the same")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0, 4096).description(""));
}

FitOptions make_fit_options(const BinningFlags& flags) {
  FitOptions options;
  if (!flags.levels.empty()) options.levels = static_cast<int>(parse_integer(flags.levels, "--levels", 1, 1000, ""));
  if (flags.bins == "all") {
    options.bins = BinCount::all();
  } else if (!flags.bins.empty()) {
    options.bins = BinCount::of(parse_integer(flags.bins, "--bins", 1, 1 << 30, ", or all"));
  }
  options.binning = parse_binning(flags.binning);
  options.num_threads = flags.threads;
  return options;
}

std::vector<Rational> parse_bounds(const std::string& text, const std::string& flag) {
  std::vector<Rational> bounds;
  for (std::string part : CLI::detail::split(text, ',')) bounds.push_back(parse_bound(CLI::detail::trim(part), flag));
  if (bounds.empty()) throw InvalidInput(flag + ": no bound given");
  return bounds;
}

void check_stdin_once(const std::vector<std::string>& paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) throw InvalidInput("only one input can be stdin (-)");
}

std::string shown(const std::string& path) { return shown_path(path, "<stdin>"); }

std::string shown(const std::vector<std::string>& paths) {
  if (paths.size() <= 1) return paths.empty() ? "" : shown(paths[0]);
  return fmt::format("{} and {} more", shown(paths[0]), paths.size() - 1);
}

Json count_json(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
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

Boundary read_boundary(const std::string& path) {
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
  if (text.size() > kMaxBytes) throw InvalidInput(shown(path), "is larger than 64 MB, which no boundary file is");
  return in_table(shown(path), [&] { return boundary_from_json(text); });
}

}  // namespace limen::cli
