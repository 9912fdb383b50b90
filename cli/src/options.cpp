// SPDX-License-Identifier: MIT
#include "options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "limen/error.h"
#include "text.h"

namespace limen::cli {
namespace {

/// "1.2 GB of 3.4 GB, 250 MB/s, 9 s left" on one line of the terminal, a few times a second.
class ProgressLine {
 public:
  explicit ProgressLine(std::string name) : name_(std::move(name)), start_(Clock::now()) {}
  ~ProgressLine() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(std::uint64_t done, std::uint64_t all) {
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(250)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
    std::string line = fmt::format("{}: {:.0f} MB", name_, static_cast<double>(done) / 1e6);
    if (all > 0) line += fmt::format(" of {:.0f} MB", static_cast<double>(all) / 1e6);
    line += fmt::format(", {:.0f} MB/s", rate / 1e6);
    if (all > done) line += fmt::format(", {:.0f} s left", static_cast<double>(all - done) / rate);
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  Clock::time_point start_;
  Clock::time_point last_;
  bool shown_ = false;
};

Rational parse_number(const std::string& text, const std::string& flag) {
  try {
    return parse_rational(text);
  } catch (const InvalidInput&) {
    throw InvalidInput(fmt::format("{}: \"{}\" is not a non-negative decimal number such as 0.9", flag, text));
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
  verb.add_option("--score", columns.score, "Column of the score")->capture_default_str()->group("Table");
  verb.add_option("--uncertainty", columns.uncertainty, "Column of the uncertainty")
      ->capture_default_str()
      ->group("Table");
  if (with_label) {
    verb.add_option("--label", columns.label, "Column of the label: 0/1 or true/false")
        ->capture_default_str()
        ->group("Table");
    verb.add_option("--weight", columns.weight, "Column of row weights, used when the table has it")
        ->capture_default_str()
        ->group("Table")
        ->each([&columns](const std::string&) { columns.weight_required = true; });
  }
  verb.add_option("--format", flags.format, "csv or tsv; default: by the file's extension")
      ->check(CLI::IsMember({"csv", "tsv"}))
      ->group("Table");
  verb.add_flag("--drop-missing", flags.read.drop_missing, "Leave out rows with missing or impossible values")
      ->group("Table");
}

table::ReadOptions read_options(const std::string& path, const TableFlags& flags) {
  table::ReadOptions options = flags.read;
  if (flags.format == "csv") options.format = table::Format::kCsv;
  if (flags.format == "tsv") options.format = table::Format::kTsv;
  if (isatty(STDERR_FILENO) != 0) {
    auto line = std::make_shared<ProgressLine>(path);
    options.progress = [line](std::uint64_t done, std::uint64_t all) { line->update(done, all); };
  }
  return options;
}

table::Predictions read_table(const std::string& path, const TableFlags& flags) {
  try {
    table::Predictions predictions = table::read_predictions(path, read_options(path, flags));
    if (predictions.rows_dropped > 0) {
      fmt::print(stderr, "{}: left out {} rows with missing or impossible values\n", path,
                 count_text(static_cast<double>(predictions.rows_dropped)));
    }
    return predictions;
  } catch (const IoError& error) {
    throw InvalidInput(error.what());
  }
}

void add_objective_flags(CLI::App& verb, ObjectiveFlags& flags) {
  const char* group = "Objective (exactly one)";
  verb.add_option("--precision", flags.precision, "Most recall with at least this precision")->group(group);
  verb.add_option("--recall", flags.recall, "Most precision with at least this recall")->group(group);
  verb.add_option("--fpr", flags.fpr, "Most recall with at most this false-positive rate")->group(group);
  verb.add_option("--flag-rate", flags.flag_rate, "Most recall with at most this fraction of rows flagged")
      ->group(group);
  verb.add_option("--cost-fp", flags.cost_fp, "Least cost: cost of a false positive (with --cost-fn)")->group(group);
  verb.add_option("--cost-fn", flags.cost_fn, "Least cost: cost of a false negative (with --cost-fp)")->group(group);
  verb.add_option("--fbeta", flags.fbeta, "Highest F-beta for this beta")->group(group);
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

void add_binning_flags(CLI::App& verb, BinningFlags& flags) {
  verb.add_option("--levels", flags.levels, "Uncertainty levels, 1 to 1000")->capture_default_str()->group("Binning");
  verb.add_option("--bins", flags.bins, "Score bins per level, or all: every distinct score [500; all for st]")
      ->group("Binning");
  verb.add_option("--binning", flags.binning, "equi-weight (quantiles) or equi-span (equal intervals)")
      ->capture_default_str()
      ->check(CLI::IsMember({"equi-weight", "equi-span"}))
      ->group("Binning");
  verb.add_option("--threads", flags.threads, "Threads, 0 = all cores; the result is the same")
      ->capture_default_str()
      ->check(CLI::Range(0, 4096));
}

FitOptions make_fit_options(const BinningFlags& flags) {
  FitOptions options;
  options.levels = static_cast<int>(parse_integer(flags.levels, "--levels", 1, 1000, ""));
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
  for (const std::string& part : CLI::detail::split(text, ',')) bounds.push_back(parse_bound(part, flag));
  if (bounds.empty()) throw InvalidInput(flag + ": no bound given");
  return bounds;
}

std::unique_ptr<table::OutputFile> open_output(const std::string& path) {
  if (path.empty()) return nullptr;
  try {
    return std::make_unique<table::OutputFile>(path);
  } catch (const IoError& error) {
    throw InvalidInput(error.what());
  }
}

Boundary read_boundary(const std::string& path) {
  constexpr std::size_t kMaxBytes = 64 << 20;
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw InvalidInput(path + ": cannot be opened");
    text.resize(kMaxBytes + 1);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  }
  if (text.empty()) throw InvalidInput(path + ": is empty or cannot be read");
  if (text.size() > kMaxBytes) throw InvalidInput(path + ": is larger than 64 MB, which no boundary file is");
  try {
    return boundary_from_json(text);
  } catch (const InvalidInput& error) {
    throw InvalidInput(path + ": " + error.what());
  }
}

}  // namespace limen::cli
