// SPDX-License-Identifier: MIT
#include "limen/judge/swaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "flags.h"
#include "frame_rows.h"
#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "limen/base/text.h"
#include "limen/table/frames.h"
#include "options.h"
#include "review.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct SwapsFlags {
  std::string first;
  std::string second;
  std::vector<std::string> inputs;
  std::vector<std::string> columns;
  std::vector<std::string> categorical;
  bool all_columns = false;
  int show = 3;
  SwapOptions options;
  double confidence = 0.95;
  bool ignore_weight = false;
  TableFlags table;
  bool json = false;
};

/// Rows of one batch that can be counted: views of the batch, or of what is left of it without dropped rows.
struct SwapRows {
  RealSpan score, uncertainty;
  std::vector<std::uint8_t> label;
  std::span<const limen::Column> columns;
  std::vector<limen::Column> kept = {};  ///< where rows were dropped: what the views look at
};

/// The rows of the table, gone through twice.
class SwapTable {
 public:
  SwapTable(const SwapsFlags& flags, const CLI::App& verb, const Boundary& first, const Boundary& second);

  void for_each(const std::function<void(const SwapRows&)>& visit);
  [[nodiscard]] bool has_label() const { return !label_.empty(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  void check_positive() const {
    if (has_label()) require_positive_seen(rule_, seen_, Where{.source = name_, .column = label_});
  }

 private:
  void find_columns(const std::vector<std::string>& there, const CLI::App& verb);
  [[nodiscard]] SwapRows rows_of(const Frame& frame, std::uint64_t first_row);

  const SwapsFlags& flags_;
  LabelRule rule_;
  LabelsSeen seen_;
  std::string score_, uncertainty_, label_;
  std::vector<std::string> columns_;
  table::TableFiles files_;
  std::string name_;
  table::FrameReadOptions read_;
  std::vector<Frame> frames_;  // of stdin, which can be read only once
  std::uint64_t rows_ = 0;     // of the last pass
  std::uint64_t dropped_ = 0;
};

/// The one column that both look at. A boundary of one level looks at no uncertainty.
std::string common_column(const char* what, const std::string& first, const std::string& second, const char* flag) {
  if (first == second) return first;
  throw InvalidInput(
      fmt::format("swaps: the first boundary looks at {} {}, the second at {}; name one for both with {}", what,
                  limen::quoted(first), limen::quoted(second), flag));
}

SwapTable::SwapTable(const SwapsFlags& flags, const CLI::App& verb, const Boundary& first, const Boundary& second)
    : flags_(flags),
      rule_(label_rule(flags.table.labels)),
      score_(flags.table.read.columns.score),
      uncertainty_(flags.table.read.columns.uncertainty),
      files_(flags.inputs),
      name_(shown(flags.inputs)) {
  if (verb.count("--score") == 0) score_ = common_column("score", first.score_column, second.score_column, "--score");
  if (verb.count("--uncertainty") == 0) {
    const bool first_has_one = first.rule.uncertainty_edges.empty();
    const bool second_has_one = second.rule.uncertainty_edges.empty();
    uncertainty_ = first_has_one    ? second.uncertainty_column
                   : second_has_one ? first.uncertainty_column
                                    : common_column("uncertainty", first.uncertainty_column, second.uncertainty_column,
                                                    "--uncertainty");
  }
  for (const std::string& column : flags.categorical) {
    if (column != score_ && column != uncertainty_) continue;
    throw InvalidInput("--categorical", limen::quoted(column) + " must be numbers");
  }
  read_.read = cli::read_options(flags.table.text, name_);
  read_.number_columns = {score_, uncertainty_};
  read_.text_columns = flags.categorical;
  std::vector<std::string> there;
  if (files_.has_stdin()) {
    (void)table::for_each_frame(files_, read_, [this](const Frame& frame) { frames_.push_back(frame); });
    for (const limen::Column& column : frames_.front().columns) there.push_back(column.name);
  } else {
    for (const table::ColumnInfo& column : table::describe_columns(files_, read_)) there.push_back(column.name);
  }
  find_columns(there, verb);
}

void SwapTable::find_columns(const std::vector<std::string>& there, const CLI::App& verb) {
  const table::PredictionColumns& given = flags_.table.read.columns;
  const auto require = [&](const std::string& column) {
    if (contains(there, column)) return;
    throw InvalidInput(name_, "has no column " + limen::quoted(column) + did_you_mean(column, there),
                       Cause::kNoSuchColumn);
  };
  require(score_);
  require(uncertainty_);
  if (verb.count("--label") > 0) require(given.label);
  if (contains(there, given.label)) label_ = given.label;
  if (given.weight_required) require(given.weight);
  if (contains(there, given.weight) && !flags_.ignore_weight) {
    throw InvalidInput(Where{.source = name_, .column = given.weight},
                       "rows have weights, but swap sets count rows; count each row once with --ignore-weight");
  }
  if (flags_.all_columns) {
    for (const std::string& column : there) {
      const bool is_known = column == score_ || column == uncertainty_ || column == label_ || column == given.weight;
      if (!is_known) columns_.push_back(column);
    }
  }
  for (const std::string& column : flags_.columns) {
    require(column);
    if (column == label_) throw InvalidInput("--columns", limen::quoted(column) + " is the label");
    if (std::ranges::count(flags_.columns, column) > 1) {
      throw InvalidInput("--columns", limen::quoted(column) + " is given twice");
    }
    columns_.push_back(column);
  }
  for (const std::string& column : flags_.categorical) {
    if (!contains(columns_, column)) {
      throw InvalidInput("--categorical", limen::quoted(column) + " is not among the columns looked at");
    }
  }
  read_.columns = {score_, uncertainty_};
  if (has_label()) read_.columns.push_back(label_);
  for (const std::string& column : columns_) {
    if (!contains(read_.columns, column)) read_.columns.push_back(column);
  }
}

SwapRows SwapTable::rows_of(const Frame& frame, std::uint64_t first_row) {
  const auto column = [&](const std::string& name) -> const limen::Column& {
    return *std::ranges::find(frame.columns, name, &limen::Column::name);
  };
  std::vector<std::uint8_t> is_bad(frame.num_rows, 0);
  bool any_bad = false;
  const auto refuse_or_drop = [&](const std::string& name, std::size_t row) {
    if (!flags_.table.text.drop_missing) {
      throw InvalidInput(Where{name_, fmt::format("row {}", first_row + row + 1), name}, "is missing",
                         Cause::kMissingValue);
    }
    is_bad[row] = 1;
    any_bad = true;
  };
  for (const std::string& name : {score_, uncertainty_}) {
    const auto& numbers = std::get<NumberValues>(column(name).values);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (!std::isfinite(numbers[row])) refuse_or_drop(name, row);
    }
  }
  SwapRows rows;
  if (has_label()) {
    rows.label = read_labels(column(label_), rule_, Where{.source = name_}, first_row, seen_);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (rows.label[row] == kMissingLabel) refuse_or_drop(label_, row);
    }
  }
  std::vector<std::size_t> good;
  if (any_bad) {
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (is_bad[row] == 0) good.push_back(row);
    }
    dropped_ += frame.num_rows - good.size();
    std::vector<std::uint8_t> labels;
    for (const std::size_t row : good) {
      if (has_label()) labels.push_back(rows.label[row]);
    }
    rows.label = std::move(labels);
  }
  // The columns to look at stand last; score and uncertainty may be among them.
  rows.columns = std::span(frame.columns).last(columns_.size());
  const bool in_place = std::ranges::equal(rows.columns, columns_, {}, &limen::Column::name);
  if (any_bad || !in_place) {
    std::vector<std::string> names = {score_, uncertainty_};
    names.insert(names.end(), columns_.begin(), columns_.end());
    for (const std::string& name : names) {
      rows.kept.push_back(any_bad ? taken_rows(column(name), good) : column(name));
    }
    rows.columns = std::span<const limen::Column>(rows.kept).subspan(2);
  }
  const auto numbers = [](const limen::Column& from) {
    return RealSpan(std::span<const double>(std::get<NumberValues>(from.values)));
  };
  rows.score = numbers(rows.kept.empty() ? column(score_) : rows.kept[0]);
  rows.uncertainty = numbers(rows.kept.empty() ? column(uncertainty_) : rows.kept[1]);
  rows_ += rows.score.size();
  return rows;
}

void SwapTable::for_each(const std::function<void(const SwapRows&)>& visit) {
  rows_ = dropped_ = 0;
  std::uint64_t first_row = 0;
  const auto use = [&](const Frame& frame) {
    const SwapRows rows = rows_of(frame, first_row);
    first_row += frame.num_rows;
    in_table(name_, [&] { visit(rows); });
  };
  if (frames_.empty()) {
    (void)table::for_each_frame(files_, read_, use);
  } else {
    for (const Frame& frame : frames_) use(frame);
  }
}

Swaps count_swaps(SwapTable& table, const Boundary& first, const Boundary& second, const SwapOptions& options) {
  SwapSurvey survey(first.rule, second.rule, options);
  table.for_each([&](const SwapRows& rows) { survey.add(rows.score, rows.uncertainty, rows.columns); });
  SwapCounter counter(survey.plan());
  table.for_each([&](const SwapRows& rows) { counter.add(rows.score, rows.uncertainty, rows.label, rows.columns); });
  return counter.finish();
}

// ---- Report ----

std::string p_text(const std::optional<double>& p_value) {
  if (!p_value) return "-";
  if (*p_value < 1e-300) return "< 1e-300";
  return *p_value < 0.001 ? fmt::format("{:.0e}", *p_value) : fmt::format("{:.3f}", *p_value);
}

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "-";
}

/// Rows, and where labels are known positives, their share and its interval.
std::vector<std::string> count_cells(const Counts& counts, const Swaps& swaps, double confidence) {
  const auto rows = static_cast<double>(counts.rows);
  const auto positives = static_cast<double>(counts.positives);
  std::vector<std::string> cells = {count_text(rows)};
  if (!swaps.labelled) return cells;
  cells.push_back(count_text(positives));
  if (counts.rows == 0) {
    cells.insert(cells.end(), {"-", "-"});
    return cells;
  }
  const Interval interval = proportion_interval(positives, rows, confidence);
  cells.push_back(ratio_text(positives / rows));
  cells.push_back(fmt::format("{:.4f} .. {:.4f}", interval.low, interval.high));
  return cells;
}

std::vector<std::string> header_cells(const Swaps& swaps, double confidence) {
  std::vector<std::string> cells = {"rows"};
  if (swaps.labelled)
    cells.insert(cells.end(), {"positives", "positivity", fmt::format("{:g}% interval", 100 * confidence)});
  return cells;
}

std::vector<std::string> joined(std::vector<std::string> cells, std::vector<std::string> more) {
  cells.insert(cells.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return cells;
}

std::string uncertainty_text(const Swaps& swaps, std::size_t level) {
  const auto& low = swaps.levels[level].lower_edge;
  if (swaps.levels.size() == 1) return "all";
  if (level + 1 == swaps.levels.size()) return fmt::format(">= {:.6g}", *low);
  const double high = *swaps.levels[level + 1].lower_edge;
  return low ? fmt::format("{:.6g} .. {:.6g}", *low, high) : fmt::format("< {:.6g}", high);
}

std::string bin_text(const Swaps& swaps, std::size_t bin) {
  const double low = bin == 0 ? swaps.score_low : swaps.score_edges[bin - 1];
  const std::optional<double> high =
      bin < swaps.score_edges.size() ? std::optional(swaps.score_edges[bin]) : swaps.score_high;
  return high ? fmt::format("{:.6g} .. {:.6g}", low, *high) : fmt::format(">= {:.6g}", low);
}

void print_sets(const Swaps& swaps, const std::string& first, const std::string& second, double confidence) {
  std::vector<std::vector<std::string>> rows = {joined({""}, header_cells(swaps, confidence))};
  const auto add = [&](const std::string& name, const Counts& counts) {
    rows.push_back(joined({name}, count_cells(counts, swaps, confidence)));
  };
  add("  " + first, swaps.first());
  add("- left out", swaps.left_out());
  add("+ taken in", swaps.taken_in());
  add("= " + second, swaps.second());
  fmt::print("{}", table_text(rows));
  if (!swaps.labelled) {
    fmt::print("  no labels: rows are counted, positives are not known\n");
    return;
  }
  fmt::print("  {}\n", verdict(compare_pairs(swaps.counts, confidence), first, second));
}

void print_levels(const Swaps& swaps, double confidence) {
  const auto score_text = [](const std::optional<double>& threshold) {
    return threshold ? fmt::format(">= {:.6g}", *threshold) : std::string("never");
  };
  std::vector<std::vector<std::string>> rows = {
      joined({"level", "uncertainty", "first score", "second score", "set"}, header_cells(swaps, confidence))};
  std::size_t more = 0;
  for (std::size_t at = 0; at < swaps.levels.size(); ++at) {
    const SwapLevel& level = swaps.levels[at];
    const bool taken_in = level.taken_in.rows > 0;
    if (!taken_in && level.left_out.rows == 0) continue;
    if (rows.size() > kMostLevelsShown) {
      ++more;
      continue;
    }
    rows.push_back(joined({std::to_string(at), uncertainty_text(swaps, at), score_text(level.first_threshold),
                           score_text(level.second_threshold), taken_in ? "taken in" : "left out"},
                          count_cells(taken_in ? level.taken_in : level.left_out, swaps, confidence)));
  }
  fmt::print("\nby level\n{}", table_text(rows));
  if (more > 0) fmt::print("  ... and {}\n", plural_text(more, "more level"));

  rows = {joined({"level", "score", "set"}, header_cells(swaps, confidence))};
  rows[0].push_back("of all in the bin");
  more = 0;
  for (const SwapCell& cell : swaps.cells) {
    if (rows.size() > kMostLevelsShown) {
      ++more;
      continue;
    }
    const bool taken_in = cell.taken_in.rows > 0;
    const Counts& counts = taken_in ? cell.taken_in : cell.left_out;
    rows.push_back(joined({std::to_string(cell.level), bin_text(swaps, cell.bin), taken_in ? "taken in" : "left out"},
                          count_cells(counts, swaps, confidence)));
    rows.back().push_back(share_text(static_cast<double>(counts.rows), static_cast<double>(cell.all.rows)));
  }
  fmt::print("\nby level and score bin\n{}", table_text(rows));
  if (more > 0) fmt::print("  ... and {}; --json has all\n", plural_text(more, "more bin"));
}

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) sum += count;
  return sum;
}

/// Where a set differs most from the rows of equal score: "DE 34.1%, in the same score bins 20.0%".
std::string largest_text(const SwapColumn& column, const std::vector<std::int64_t>& set,
                         const std::vector<double>& bins) {
  const auto rows = static_cast<double>(sum_of(set));
  if (rows == 0) return "";
  std::size_t at = 0;
  double largest = -1;
  for (std::size_t value = 0; value < set.size(); ++value) {
    const double difference = std::abs(static_cast<double>(set[value]) / rows - bins[value]);
    if (difference > largest) {
      largest = difference;
      at = value;
    }
  }
  return fmt::format("{}: {}, rows of equal score {}", escaped(to_string(column.values[at]), 30),
                     share_text(static_cast<double>(set[at]), rows), share_text(bins[at], 1));
}

void print_distribution(const SwapColumn& column, const std::string& second) {
  std::vector<std::vector<std::string>> rows = {
      {escaped(column.name, 30), "all rows", second, "taken in", "equal score", "left out", "equal score"}};
  const auto share = [](const std::vector<std::int64_t>& counts, std::size_t value) {
    return share_text(static_cast<double>(counts[value]), static_cast<double>(sum_of(counts)));
  };
  for (std::size_t value = 0; value < column.values.size(); ++value) {
    rows.push_back({escaped(to_string(column.values[value]), 30), share(column.population, value),
                    share(column.flagged, value), share(column.taken_in, value),
                    sum_of(column.taken_in) > 0 ? share_text(column.taken_in_bins[value], 1) : "-",
                    share(column.left_out, value),
                    sum_of(column.left_out) > 0 ? share_text(column.left_out_bins[value], 1) : "-"});
  }
  fmt::print("\n{}", table_text(rows));
  if (column.rows_overlooked > 0) {
    fmt::print("  too many values to keep all: one of up to {} near the decision may be among (other)\n",
               plural_text(column.rows_overlooked, "row"));
  }
}

void print_columns(const Swaps& swaps, const std::string& second, int show) {
  std::size_t tests = 0;
  std::vector<std::vector<std::string>> rows = {{"column", "set", "divergence", "p", "corrected", "most different"}};
  for (const SwapColumn& column : swaps.columns) {
    const auto add = [&](const char* set, const SwapTest& test, const std::string& largest) {
      if (test.p_value) ++tests;
      rows.push_back({escaped(column.name, 30), set, ratio_text(test.divergence), p_text(test.p_value),
                      p_text(test.adjusted_p), largest});
    };
    add("taken in", column.taken_in_test, largest_text(column, column.taken_in, column.taken_in_bins));
    add("left out", column.left_out_test, largest_text(column, column.left_out, column.left_out_bins));
  }
  fmt::print("\n{}, each set against rows of equal score at all levels; {}, p corrected for all of them (Holm)\n{}",
             plural_text(swaps.columns.size(), "column"), plural_text(tests, "test"), table_text(rows));
  for (std::size_t at = 0; at < swaps.columns.size() && at < static_cast<std::size_t>(show); ++at) {
    print_distribution(swaps.columns[at], second);
  }
}

Json json_of(const Swaps& swaps, const SwapTable& table, const SwapsFlags& flags) {
  Json report = report::swaps_json(swaps, {.first = flags.first,
                                           .second = flags.second,
                                           .table_rows = table.rows(),
                                           .rows_dropped = table.dropped(),
                                           .confidence = flags.confidence});
  report["columns"] = Json::array();
  for (const SwapColumn& column : swaps.columns) report["columns"].push_back(report::swap_column_json(column));
  return report;
}

int run(const SwapsFlags& flags, const CLI::App& verb) {
  std::vector<std::string> all = flags.inputs;
  all.insert(all.end(), {flags.first, flags.second});
  check_stdin_once(all);
  if (flags.all_columns && !flags.columns.empty()) {
    throw InvalidInput("--all-columns and --columns: give one of the two");
  }
  validate(flags.options);
  const Boundary first = read_boundary(flags.first);
  const Boundary second = read_boundary(flags.second);
  for (const Boundary* boundary : {&first, &second}) refuse_segments(*boundary, "swaps");
  SwapTable table(flags, verb, first, second);
  const Swaps swaps = count_swaps(table, first, second, flags.options);
  table.check_positive();
  say_left_out(table.name(), table.dropped(), "with missing or impossible values");
  if (flags.json) {
    fmt::print("{}\n", json_of(swaps, table, flags).dump(1));
    return kDone;
  }
  const std::string old_name = shown(flags.first);
  const std::string new_name = shown(flags.second);
  fmt::print("from {} ({}) to {} ({}), on {}: {}\n", old_name, objective_text(first), new_name, objective_text(second),
             table.name(), plural_text(table.rows(), "row"));
  print_sets(swaps, old_name, new_name, flags.confidence);
  if (!swaps.cells.empty()) {
    print_levels(swaps, flags.confidence);
    if (!swaps.columns.empty()) print_columns(swaps, new_name, flags.show);
  } else {
    fmt::print("  both flag the same rows: nothing is swapped\n");
  }
  return kDone;
}

}  // namespace

void add_swaps(CLI::App& program, Action& action) {
  auto flags = std::make_shared<SwapsFlags>();
  CLI::App* verb = program.add_subcommand("swaps", "What a new boundary takes in and leaves out against an old one");
  verb->add_option("FIRST", flags->first, "The old boundary, such as one threshold; - for stdin")->required();
  verb->add_option("SECOND", flags->second, "The new boundary; - for stdin")->required();
  verb->add_option("PRED", flags->inputs, "Predictions, with labels if there are any, one or more files")->required();
  FlagGroup group(*verb);
  group.list("--columns", flags->columns, "Columns in which to hold the swapped rows against rows of equal score");
  group.toggle("--all-columns", flags->all_columns, "All columns beside score, uncertainty, label and weight");
  group.add("--show", flags->show, "N", "Print the distributions of the N columns that differ most")
      ->check(CLI::Range(0, 1000).description(""));
  group.add("--score-bins", flags->options.score_bins, "N", "Score bins, of about equally many swapped rows, 1 to 100");
  group.add("--values", flags->options.values, "N", "Values of a column, or ranges of numbers, that are told apart");
  group.add("--candidates", flags->options.candidates, "N",
            "Values of a text column kept while the most common ones are found");
  group.add("--interval", flags->confidence, "C", "Confidence of the exact (Clopper-Pearson) intervals")
      ->check(CLI::Range(0.5, 0.999999).description(""));
  group.toggle("--ignore-weight", flags->ignore_weight, "Rows count once each, whatever their weights");
  add_table_flags(*verb, flags->table, true);
  FlagGroup(*verb, "Table")
      .list("--categorical", flags->categorical, "Columns to read as text though they look like numbers");
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer(
      "Example: limen swaps st.json exact.json test.parquet --all-columns\n"
      "second = first - left out + taken in, for rows and positives. Columns are ranked by how much a set differs "
      "from\n"
      "rows of the same score bins at all levels; p-values know how many columns were looked at.");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
