// SPDX-License-Identifier: MIT
// A fit, pass by pass, through any SQL engine: every run of the verb takes the answer to one query and prints the next.
// The state file keeps the answers; a run goes through the fit from its beginning, with them, up to the first question
// that has none.
#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "certified.h"
#include "flags.h"
#include "limen/base/error.h"
#include "limen/base/json.h"
#include "limen/base/random.h"
#include "limen/base/text.h"
#include "limen/count/count_sql.h"
#include "limen/fit.h"
#include "limen/promise/certify.h"
#include "limen/table/frames.h"
#include "limen/table/output_file.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct SqlFlags {
  std::string what;
  std::string from;
  std::string dialect = "ansi";
  std::string score = "score";
  std::string uncertainty = "uncertainty";
  std::string label = "label";
  std::string labels = "number";
  std::string positive;
  bool drop_missing = false;
  std::string method = "auto";
  std::string levels;
  std::string levels_from = "top";
  ObjectiveFlags objective;
  std::vector<std::string> confidence;
  std::uint64_t seed = 0;
  std::string state;
  std::string answer;
  std::string output;
  bool json = false;
};

/// Thrown where the fit needs an answer that is not there yet.
struct Unanswered {
  std::string sql;
};

const std::vector<std::string> kOverviewColumns = {"all_rows",          "wrong_labels",        "complete_rows",
                                                   "positives",         "least_score",         "greatest_score",
                                                   "least_uncertainty", "greatest_uncertainty"};
const std::vector<std::string> kCellColumns = {"limen_group",     "limen_bucket", "limen_rows",
                                               "limen_positives", "limen_least",  "limen_greatest"};

/// The numbers of a table by row, in the order of these columns; engines may write their names in upper case.
std::vector<std::vector<double>> read_answer(const std::string& path, const std::vector<std::string>& names) {
  table::FrameReadOptions options;
  for (const std::string& name : names) {
    std::string upper = name;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    bool is_upper = false;
    for (const table::ColumnInfo& column : table::describe_columns(path, {})) is_upper |= column.name == upper;
    options.columns.push_back(is_upper ? upper : name);
  }
  options.number_columns = options.columns;
  std::vector<std::vector<double>> rows;
  table::for_each_frame(path, options, [&](const Frame& frame) {
    const std::size_t first = rows.size();
    rows.resize(first + frame.num_rows);
    for (const Column& column : frame.columns) {
      const auto& values = std::get<NumberValues>(column.values);
      for (std::size_t row = 0; row < frame.num_rows; ++row) rows[first + row].push_back(values[row]);
    }
  });
  return rows;
}

class State {
 public:
  State(const SqlFlags& flags, std::string settings) : flags_(flags) {
    state_["format"] = "limen-sql-counts";
    state_["version"] = 1;
    state_["settings"] = settings;
    state_["answers"] = Json::array();
    if (!std::filesystem::exists(flags.state)) return;
    const std::string name = shown(flags.state);
    const Json read = parse_json(read_json_text(flags.state, "state of sql counts"), name);
    const bool known = read.is_object() && read.value("format", "") == "limen-sql-counts" &&
                       read.value("version", 0) == 1 && read.contains("answers") && read["answers"].is_array();
    if (!known) throw InvalidInput(name, "is no state of limen sql counts");
    if (read.value("settings", "") != settings) {
      throw InvalidInput(name, "was begun with other flags; repeat those, or begin another one");
    }
    state_ = read;
  }

  /// The recorded answer to the next query, or the one given now.
  std::vector<std::vector<double>> answer(const std::string& sql, const std::vector<std::string>& columns) {
    const std::string id = fmt::format("{:016x}", text_hash(sql));
    Json& answers = state_["answers"];
    if (next_ == answers.size()) {
      if (flags_.answer.empty() || taken_) throw Unanswered{sql};
      taken_ = true;
      Json entry;
      entry["query"] = id;
      entry["rows"] = read_answer(flags_.answer, columns);
      answers.push_back(entry);
    }
    const Json& entry = answers[next_++];
    try {
      if (entry.at("query") != id) throw InvalidInput(shown(flags_.state), "has the answer to another query");
      std::vector<std::vector<double>> rows;
      for (const Json& row : entry.at("rows")) {
        std::vector<double> numbers;
        for (const Json& number : row) numbers.push_back(number.is_null() ? 0 : number.get<double>());
        if (numbers.size() != columns.size()) throw InvalidInput(shown(flags_.state), "is damaged");
        rows.push_back(std::move(numbers));
      }
      return rows;
    } catch (const nlohmann::json::exception&) {
      throw InvalidInput(shown(flags_.state), "is damaged");
    }
  }

  [[nodiscard]] bool took_answer() const { return taken_; }
  [[nodiscard]] std::size_t passes() const { return state_["answers"].size(); }
  void save() const {
    const auto output = open_output(flags_.state, {});
    output->write(state_.dump() + "\n");
    output->commit();
  }

 private:
  const SqlFlags& flags_;
  Json state_;
  std::size_t next_ = 0;
  bool taken_ = false;
};

/// Asks a state, and checks that what should be whole is.
CountedRows rows_of(State& state, const SqlRows& source, bool drop_missing) {
  const auto whole = [](double value) {
    if (!(value >= 0 && value <= 9e15 && value == std::floor(value))) {
      throw InvalidInput("sql counts", "the answer has " + number_text(value) + " where a count should be");
    }
    return static_cast<std::int64_t>(value);
  };
  const auto table = state.answer(sql_overview(source), kOverviewColumns);
  if (table.size() != 1) throw InvalidInput("sql counts", "the first answer must have one row");
  const std::vector<double>& first = table.front();
  if (const std::int64_t wrong = whole(first[1]); wrong > 0) {
    throw InvalidInput("sql counts", plural_text(static_cast<double>(wrong), "label") +
                                         " are neither 0 nor 1 (nor true, false, yes, no): name the positive one with "
                                         "--positive, or say what labels are with --labels");
  }
  const std::int64_t missing = whole(first[0]) - whole(first[2]);
  if (missing > 0 && !drop_missing) {
    throw InvalidInput("sql counts", plural_text(static_cast<double>(missing), "row") +
                                         " have a missing or infinite score or uncertainty, or no label; leave them "
                                         "out with --drop-missing");
  }
  CountedRows rows;
  rows.total.rows = whole(first[2]);
  rows.total.positives = rows.total.rows > 0 ? whole(first[3]) : 0;
  rows.score = {first[4], first[5]};
  rows.uncertainty = {first[6], first[7]};
  rows.count = [&state, source, whole](const CountQuery& query) {
    std::vector<CountCell> cells;
    for (const std::vector<double>& row : state.answer(sql_of(query, source), kCellColumns)) {
      cells.push_back({static_cast<std::size_t>(whole(row[0])),
                       static_cast<std::size_t>(whole(row[1])),
                       {whole(row[2]), whole(row[3])},
                       row[4],
                       row[5]});
    }
    return cells;
  };
  return rows;
}

int run_sql(const SqlFlags& flags) {
  if (flags.what != "counts") throw InvalidInput("sql", "\"" + flags.what + "\" is not known; there is: counts");
  if (flags.state.empty() || flags.state == "-") throw InvalidInput("--state", "is needed: a file between the passes");
  const Objective objective = make_objective(flags.objective);
  SqlRows source{.from = flags.from,
                 .score = flags.score,
                 .uncertainty = flags.uncertainty,
                 .label = flags.label,
                 .label_kind = parse_sql_label(flags.labels),
                 .drop_missing = flags.drop_missing,
                 .dialect = parse_sql_dialect(flags.dialect)};
  if (!flags.positive.empty()) source.positive = flags.positive;
  FitOptions options{.method = parse_method(flags.method), .levels_from = parse_levels_from(flags.levels_from)};
  if (!flags.levels.empty()) {
    options.levels = static_cast<int>(parse_integer(flags.levels, "--levels", 1, 1000));
    if (options.method == Method::kAuto) options.method = Method::kExact;
  }
  std::optional<CertifyOptions> certifying = make_certify_options({flags.confidence, flags.seed});
  if (certifying) {
    certifying->method = options.method;
    certifying->levels = options.levels;
    certifying->levels_from = options.levels_from;
  }
  const std::string settings =
      fmt::format("{} | {} | {} | {} | {} | {} | {}", sql_overview(source), describe(objective), flags.method,
                  flags.levels, flags.levels_from, fmt::join(flags.confidence, ","), certifying ? flags.seed : 0);
  State state(flags, settings);
  std::optional<Boundary> boundary;
  try {
    const CountedRows rows = rows_of(state, source, flags.drop_missing);
    if (certifying) {
      const Certification found = certify(rows, objective, *certifying);
      if (!found.boundary) {
        return report_not_certifiable(flags.from, flags.json, objective, *certifying, found);
      }
      boundary = found.boundary;
    } else {
      const FitResult result = fit_boundary(rows, objective, options);
      if (!result.boundary) {
        fmt::print(stderr, "limen: {}: infeasible: {} cannot be met by {} on {}; a precision of {:.6g} is attained\n",
                   flags.from, describe(objective), to_string(options.method), plural_text(result.levels_used, "level"),
                   result.solution.best_attainable.value_or(0));
        return kInfeasible;
      }
      boundary = result.boundary;
    }
  } catch (const Unanswered& unanswered) {
    if (!flags.answer.empty() && !state.took_answer()) {
      throw InvalidInput("--answer", "is given, but the last query has its answer already");
    }
    state.save();
    fmt::print("{}\n", unanswered.sql);
    fmt::print(stderr, "pass {}: run this query, then: the same command with --answer FILE (CSV with a header)\n",
               state.passes() + 1);
    return kDone;
  }
  boundary->score_column = flags.score;
  boundary->uncertainty_column = flags.uncertainty;
  if (state.took_answer()) state.save();
  const std::string json = to_json(*boundary);
  if (const auto output = open_output(flags.output, {flags.state})) {
    output->write(json);
    output->commit();
  }
  if (flags.json || flags.output == "-") {
    if (flags.output != "-") fmt::print("{}", json);
    return kDone;
  }
  const HoldoutSummary& holdout = boundary->holdout;
  fmt::print("{}: {} on {}; precision {:.4g}, recall {:.4g} on the hold-out of {}, {} passes\n", describe(objective),
             to_string(boundary->method),
             plural_text(static_cast<double>(boundary->rule.score_thresholds.size()), "level"), holdout.precision(),
             holdout.recall(), plural_text(static_cast<double>(holdout.rows), "row"), state.passes());
  if (boundary->guarantee) fmt::print("{}\n", guarantee_text(*boundary));
  if (!flags.output.empty()) fmt::print("written to {}\n", shown(flags.output));
  return kDone;
}

}  // namespace

void add_sql(CLI::App& program, Action& action) {
  auto flags = std::make_shared<SqlFlags>();
  CLI::App* verb = program.add_subcommand("sql", "Fit a boundary on rows that stay in a database, pass by pass");
  verb->add_option("WHAT", flags->what, "counts: print the next counting query, or the boundary after the last")
      ->required();
  FlagGroup rows(*verb, "Rows");
  rows.add("--from", flags->from, "SQL", "The name of a table, or a query")->required();
  rows.add("--dialect", flags->dialect, "NAME", "ansi, spark, duckdb, postgres, bigquery, snowflake or trino");
  rows.add("--score", flags->score, "COLUMN", "Column of the score");
  rows.add("--uncertainty", flags->uncertainty, "COLUMN", "Column of the uncertainty");
  rows.add("--label", flags->label, "COLUMN", "Column of the label");
  rows.choice("--labels", flags->labels, "KIND", {"number", "boolean", "text"},
              "What labels are: 0 and 1, truth values, or texts such as yes and no");
  rows.add("--positive", flags->positive, "VALUE", "The label that is positive, as text");
  rows.toggle("--drop-missing", flags->drop_missing, "Leave out rows with a missing value");
  verb->add_option("--state", flags->state, "The answers so far; made by the first pass")->type_name("FILE");
  verb->add_option("--answer", flags->answer, "What the engine answered to the query printed last: CSV, Parquet, ...")
      ->type_name("FILE");
  verb->add_option("-o,--output", flags->output, "Write the boundary here (JSON), - for stdout");
  FlagGroup how(*verb, "Fit");
  how.choice("--method", flags->method, "METHOD", {"auto", "st", "exact", "smooth", "joint"},
             "smooth and joint with --confidence only");
  how.add("--levels", flags->levels, "K", "Uncertainty levels; then auto is exact");
  how.choice("--levels-from", flags->levels_from, "ROWS", {"top", "all"},
             "Levels are quantiles of the rows near the decision, or of all");
  how.add("--confidence", flags->confidence, "C", "Certify for deployment with this confidence")->expected(1);
  how.add("--seed", flags->seed, "N", "With --confidence: of the draw of rows that learn");
  add_objective_flags(*verb, flags->objective);
  verb->add_flag("--json", flags->json, "Print the boundary as JSON");
  verb->footer(
      "Example: limen sql counts --from scored.holdout --dialect postgres --precision 0.9 --state s.json -o b.json > "
      "q.sql\n"
      "psql --csv -f q.sql > a.csv; then the same command with --answer a.csv, until b.json is written.\n"
      "Only counts leave the database; the boundary is the one that limen fit gives on the same rows.");
  verb->callback([flags, &action] { action = [flags] { return run_sql(*flags); }; });
}

}  // namespace limen::cli
