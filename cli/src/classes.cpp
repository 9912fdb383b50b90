// SPDX-License-Identifier: MIT
#include "classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "certified.h"
#include "flags.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/table/append.h"
#include "limen/table/frames.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

/// "cat=0.9,dog=0.8": in this order. The flag is named in errors.
std::vector<std::pair<std::string, std::string>> parse_pairs(const std::string& text, const std::string& flag) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::string part : CLI::detail::split(text, ',')) {
    part = CLI::detail::trim(part);
    const std::size_t equals = part.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
      throw InvalidInput(fmt::format("{}: {} is not CLASS=VALUE", flag, limen::quoted(part)));
    }
    const std::string name = label_value(part.substr(0, equals));
    if (std::ranges::find(pairs, name, &std::pair<std::string, std::string>::first) != pairs.end()) {
      throw InvalidInput(fmt::format("{}: class {} is given twice", flag, limen::quoted(name)));
    }
    pairs.emplace_back(name, std::string(trimmed(part.substr(equals + 1))));
  }
  return pairs;
}

std::vector<ClassGoal> parse_goals(const std::string& text) {
  std::vector<ClassGoal> goals;
  for (const auto& [name, value] : parse_pairs(text, "--class-precision")) {
    const Rational bound = parse_bound(value, fmt::format("--class-precision {}", name));
    if (bound.num == 0)
      throw InvalidInput(fmt::format("--class-precision {}: 0 promises nothing; give a bound above it", name));
    goals.push_back({name, bound});
  }
  return goals;
}

/// The column of each class: the one that was given, or what `otherwise` says.
std::vector<std::string> columns_of_classes(const std::vector<ClassGoal>& goals, const std::string& text,
                                            const std::string& flag,
                                            const std::function<std::string(const std::string&)>& otherwise) {
  std::map<std::string, std::string> given;
  if (!text.empty()) {
    for (auto& [name, column] : parse_pairs(text, flag)) {
      if (std::ranges::find(goals, name, &ClassGoal::name) == goals.end()) {
        std::vector<std::string> names;
        for (const ClassGoal& goal : goals) names.push_back(goal.name);
        throw InvalidInput(fmt::format("{}: {} is not a class of --class-precision, which are {}{}", flag,
                                       limen::quoted(name), escaped(fmt::format("{}", fmt::join(names, ", ")), 60),
                                       did_you_mean(name, names)));
      }
      given[name] = column;
    }
  }
  std::vector<std::string> columns;
  for (const ClassGoal& goal : goals)
    columns.push_back(given.contains(goal.name) ? given[goal.name] : otherwise(goal.name));
  return columns;
}

/// Which columns hold what; those of uncertainty may be empty.
struct ClassColumns {
  std::vector<std::string> names;
  std::vector<std::string> score;
  std::vector<std::string> uncertainty;  ///< one for each class, or none at all
  std::string label;                     ///< empty: not read
  std::string weight;                    ///< empty: not read

  [[nodiscard]] std::vector<std::string> numbers() const {
    std::vector<std::string> columns;
    for (const auto* part : {&score, &uncertainty}) {
      for (const std::string& column : *part) {
        if (!contains(columns, column)) columns.push_back(column);
      }
    }
    return columns;
  }
};

/// Rows in memory.
struct ClassTable {
  std::vector<NumberValues> numbers;  ///< as ClassColumns::numbers
  std::vector<std::int32_t> label;
  NumberValues weight;
  std::uint64_t dropped = 0;
};

/// Views of the columns of each class.
struct ClassViews {
  std::vector<RealSpan> score;
  std::vector<RealSpan> uncertainty;

  [[nodiscard]] ClassScores rows() const { return {score, uncertainty}; }
};

ClassViews views_of(const ClassColumns& columns, const std::function<std::span<const double>(std::size_t)>& values) {
  const std::vector<std::string> numbers = columns.numbers();
  const auto view = [&](const std::string& name) {
    return RealSpan(values(static_cast<std::size_t>(std::ranges::find(numbers, name) - numbers.begin())));
  };
  ClassViews views;
  for (const std::string& name : columns.score) views.score.push_back(view(name));
  for (const std::string& name : columns.uncertainty) views.uncertainty.push_back(view(name));
  return views;
}

const limen::Column& column_at(const Frame& frame, const std::string& name, const std::string& table) {
  const auto found = std::ranges::find(frame.columns, name, &limen::Column::name);
  if (found != frame.columns.end()) return *found;
  std::vector<std::string> there;
  for (const limen::Column& column : frame.columns) there.push_back(column.name);
  throw InvalidInput(table, "has no column " + limen::quoted(name) + did_you_mean(name, there), Cause::kNoSuchColumn);
}

/// Appends the rows of a frame, or refuses or drops those with missing values.
void add_frame(ClassTable& table, const Frame& frame, const ClassColumns& columns, const std::string& name,
               std::uint64_t first_row, bool drop_missing) {
  const std::vector<std::string> numbers = columns.numbers();
  std::vector<const NumberValues*> values;
  for (const std::string& column : numbers) {
    values.push_back(&std::get<NumberValues>(column_at(frame, column, name).values));
  }
  const NumberValues* const weight =
      columns.weight.empty() ? nullptr : &std::get<NumberValues>(column_at(frame, columns.weight, name).values);
  const auto& labels = std::get<TextValues>(column_at(frame, columns.label, name).values);
  std::vector<std::int32_t> class_of_code;
  constexpr std::int32_t kMissing = -2;
  for (const std::string& text : labels.distinct) {
    const auto found = std::ranges::find(columns.names, label_value(text));
    const bool is_known = found != columns.names.end();
    class_of_code.push_back(is_known                    ? static_cast<std::int32_t>(found - columns.names.begin())
                            : is_missing(trimmed(text)) ? kMissing
                                                        : kNoClass);
  }
  table.numbers.resize(numbers.size());
  for (std::size_t row = 0; row < frame.num_rows; ++row) {
    const std::int32_t code = labels.code[row];
    const std::int32_t label = code == TextValues::kMissing ? kMissing : class_of_code[static_cast<std::size_t>(code)];
    const std::string* bad = label == kMissing ? &columns.label : nullptr;
    for (std::size_t at = 0; at < values.size(); ++at) {
      if (!std::isfinite((*values[at])[row])) bad = &numbers[at];
    }
    if (weight != nullptr && !((*weight)[row] >= 0)) bad = &columns.weight;
    if (bad != nullptr) {
      if (!drop_missing) {
        throw InvalidInput(Where{name, fmt::format("row {}", first_row + row + 1), *bad},
                           bad == &columns.weight ? "is missing or negative" : "is missing", Cause::kMissingValue);
      }
      ++table.dropped;
      continue;
    }
    for (std::size_t at = 0; at < values.size(); ++at) table.numbers[at].push_back((*values[at])[row]);
    table.label.push_back(label);
    if (weight != nullptr) table.weight.push_back((*weight)[row]);
  }
}

ClassTable read_class_table(const std::vector<std::string>& paths, const ClassColumns& columns,
                            const TableFlags& flags) {
  const std::string name = shown(paths);
  table::FrameReadOptions read;
  read.read = read_options(flags.text, name);
  read.columns = columns.numbers();
  read.number_columns = read.columns;
  read.text_columns = {columns.label};
  read.columns.push_back(columns.label);
  if (!columns.weight.empty()) {
    read.columns.push_back(columns.weight);
    read.number_columns.push_back(columns.weight);
  }
  if (contains(read.number_columns, columns.label)) {
    throw InvalidInput(fmt::format("column {} cannot be both label and score", limen::quoted(columns.label)));
  }
  ClassTable table;
  std::uint64_t first_row = 0;
  table::for_each_frame(paths, read, [&](const Frame& frame) {
    add_frame(table, frame, columns, name, first_row, flags.text.drop_missing);
    first_row += frame.num_rows;
  });
  say_left_out(name, table.dropped, "with missing or impossible values");
  if (table.label.empty()) throw InvalidInput(name, "has no rows that are not left out", Cause::kNoRows);
  return table;
}

/// The columns of a table; none of a stream, which can be read only once and is taken to have what is asked for.
std::vector<std::string> columns_there(const std::vector<std::string>& paths, const TableFlags& flags) {
  const table::TableFiles files(paths);
  std::vector<std::string> there;
  const auto is_stream = [](const std::string& path) {
    std::error_code none;
    return std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none);
  };
  if (files.has_stdin() || std::ranges::any_of(paths, is_stream)) return there;
  for (const table::ColumnInfo& column : table::describe_columns(files, {.read = read_options(flags.text, "")})) {
    there.push_back(column.name);
  }
  return there;
}

/// Refuses a table without a column that a class needs. there: empty for stdin. advice: what to do about it.
void require_columns(const ClassColumns& columns, const std::vector<std::string>& there, const std::string& name,
                     const std::string& advice) {
  if (there.empty()) return;
  const auto require = [&](const std::string& column, const std::string& what, const std::string& then) {
    if (contains(there, column)) return;
    throw InvalidInput(
        name, fmt::format("has no column {}, {}{}{}", limen::quoted(column), what, did_you_mean(column, there), then));
  };
  for (std::size_t at = 0; at < columns.names.size(); ++at) {
    const std::string of_class = "of class " + limen::quoted(columns.names[at]);
    require(columns.score[at], "the score " + of_class, advice);
    if (!columns.uncertainty.empty()) require(columns.uncertainty[at], "the uncertainty " + of_class, advice);
  }
  if (!columns.label.empty()) require(columns.label, "the label", " (name yours with --label)");
}

ClassColumns columns_of_file(const ClassBoundaries& classes) {
  ClassColumns columns;
  for (const ClassBoundary& entry : classes.classes) {
    columns.names.push_back(entry.name);
    columns.score.push_back(entry.score_column);
    if (!entry.uncertainty_column.empty()) columns.uncertainty.push_back(entry.uncertainty_column);
  }
  return columns;
}

void refuse_renaming(const CLI::App& verb) {
  for (const char* flag : {"--score", "--uncertainty"}) {
    if (verb.count(flag) > 0) {
      throw InvalidInput(fmt::format("{}: a file of several classes names its own columns", flag));
    }
  }
}

std::string claims_text(const ClassBoundaries& classes) {
  return classes.claims == Claims::kOne ? "a row is claimed by the class of its highest score, or by none (of equal "
                                          "scores: the class listed first)"
                                        : "every class decides every row by itself";
}

void print_fit(const ClassBoundaries& classes, const std::string& name) {
  std::vector<std::vector<std::string>> rows = {
      {"class", "asked for", "method", "levels", "eligible", "claimed", "true pos.", "precision", "of all", "recall"}};
  for (const ClassBoundary& entry : classes.classes) {
    std::vector<std::string> row = {escaped(entry.name, 30), fmt::format(">= {:g}", entry.min_precision.to_double())};
    if (entry.boundary) {
      const HoldoutSummary& holdout = entry.boundary->holdout;
      row.insert(row.end(), {std::string(to_string(entry.boundary->method)),
                             std::to_string(entry.boundary->rule.score_thresholds.size()),
                             count_text(static_cast<double>(entry.eligible)), count_text(holdout.flagged),
                             count_text(holdout.true_positives), ratio_text(holdout.precision()),
                             count_text(entry.positives), ratio_text(entry.recall())});
    } else {
      row.insert(row.end(), {"-", "-", count_text(static_cast<double>(entry.eligible)), "0", "0", "-",
                             count_text(entry.positives), ratio_text(0)});
    }
    rows.push_back(std::move(row));
  }
  fmt::print("{}, on {}: {}\n  {}\n{}", fmt::format("{} classes", classes.classes.size()), name,
             plural_text(classes.classes.front().rows, "row"), claims_text(classes), table_text(rows));
  for (const ClassBoundary& entry : classes.classes) {
    if (!entry.boundary) fmt::print("  {} claims nothing: {}\n", escaped(entry.name, 30), entry.why);
  }
  if (classes.confidence) {
    fmt::print("  certified with {:g}% confidence {}, for rows drawn like the hold-out, scored by the same model\n",
               100 * *classes.confidence,
               classes.joint ? "for all classes at once" : "for each class, not for all at once (--joint)");
  } else {
    fmt::print("  these are figures of the hold-out; --confidence certifies them for deployment\n");
  }
}

}  // namespace

void add_class_flags(CLI::App& verb, ClassFlags& flags) {
  FlagGroup group(verb, "Several classes");
  group.add("--class-precision", flags.precision, "A=P,B=Q",
            "Classes by their labels, each with the precision that is promised of it; other labels are of no class");
  group.add("--class-score", flags.score, "A=COLUMN,...", "Score columns of classes [score_A]");
  group.add(
      "--class-uncertainty", flags.uncertainty, "A=COLUMN,...",
      "Uncertainty columns of classes, or none: one threshold each [the column of --uncertainty, if there is one]");
  group.choice(
      "--claims", flags.claims, "WHO", {"one", "several"},
      "one: a row belongs to the class of its highest score or to none; several: each class decides by itself");
  group.toggle("--joint", flags.joint, "With --confidence: all promises hold at once, not each by itself");
}

bool is_given(const ClassFlags& flags) {
  const ClassFlags defaults;
  if (!flags.precision.empty()) return true;
  if (!flags.score.empty() || !flags.uncertainty.empty() || flags.claims != defaults.claims || flags.joint) {
    throw InvalidInput("--class-score, --class-uncertainty, --claims and --joint go with --class-precision");
  }
  return false;
}

int fit_class_table(const ClassFiles& files, const ClassFlags& flags, const TableFlags& table,
                    const ClassFitOptions& given, const CLI::App& verb) {
  check_stdin_once(files.inputs);
  const std::vector<ClassGoal> goals = parse_goals(flags.precision);
  if (verb.count("--score") > 0) {
    throw InvalidInput("--score: every class has a score of its own; name them with --class-score");
  }
  ClassFitOptions options = given;
  options.claims = parse_claims(flags.claims);
  options.joint = flags.joint;
  if (options.joint && !options.confidence)
    throw InvalidInput("--joint is about certified promises: give --confidence too");
  const auto output = open_output(files.output, files.inputs);
  const std::string name = shown(files.inputs);
  const std::vector<std::string> there = columns_there(files.inputs, table);

  ClassColumns columns;
  for (const ClassGoal& goal : goals) columns.names.push_back(goal.name);
  columns.score =
      columns_of_classes(goals, flags.score, "--class-score", [](const std::string& at) { return "score_" + at; });
  columns.label = table.read.columns.label;
  const std::string& shared = table.read.columns.uncertainty;
  const bool has_shared = contains(there, shared) || verb.count("--uncertainty") > 0;
  if (flags.uncertainty != "none" && (has_shared || !flags.uncertainty.empty())) {
    columns.uncertainty =
        columns_of_classes(goals, flags.uncertainty, "--class-uncertainty", [&](const std::string&) { return shared; });
  }
  if (table.read.columns.weight_required || contains(there, table.read.columns.weight)) {
    columns.weight = table.read.columns.weight;
  }
  require_columns(columns, there, name, " (name yours with --class-score and --class-uncertainty)");
  const ClassTable rows = read_class_table(files.inputs, columns, table);
  const ClassViews views = views_of(columns, [&](std::size_t at) { return std::span<const double>(rows.numbers[at]); });
  ClassBoundaries classes =
      in_table(name, [&] { return fit_classes(views.rows(), rows.label, goals, options, rows.weight); });
  classes.label_column = columns.label;
  for (std::size_t at = 0; at < goals.size(); ++at) {
    classes.classes[at].score_column = columns.score[at];
    classes.classes[at].uncertainty_column = columns.uncertainty.empty() ? "" : columns.uncertainty[at];
    if (!classes.classes[at].boundary) continue;
    classes.classes[at].boundary->score_column = columns.score[at];
    if (!columns.uncertainty.empty()) classes.classes[at].boundary->uncertainty_column = columns.uncertainty[at];
  }
  if (classes.num_decided() == 0) {
    if (files.json) fmt::print("{}", to_json(classes));
    std::vector<std::string> why;
    for (const ClassBoundary& entry : classes.classes) why.push_back(escaped(entry.name, 30) + ": " + entry.why);
    fmt::print(stderr, "limen: {}: no class can keep its promise: {}\n", name, fmt::join(why, "; "));
    return kInfeasible;
  }
  if (output) {
    output->write(to_json(classes));
    output->commit();
  }
  if (files.output == "-") return kDone;
  if (files.json) {
    fmt::print("{}", to_json(classes));
    return kDone;
  }
  print_fit(classes, name);
  if (!files.output.empty()) fmt::print("\nwritten to {}\n", files.output);
  return kDone;
}

int apply_classes(const ClassBoundaries& classes, const ClassFiles& files, std::optional<table::Format> output_format,
                  const TableFlags& flags, const CLI::App& verb) {
  refuse_renaming(verb);
  (void)table::output_format(files.output, output_format);
  (void)open_output(files.output, {});  // refuses a path that cannot be written before any work is done
  const ClassColumns columns = columns_of_file(classes);
  require_columns(columns, columns_there(files.inputs, flags), shown(files.inputs), "");
  table::AppendColumnsOptions options;
  options.read.read = read_options(flags.text, shown(files.inputs));
  options.read.columns = columns.numbers();
  options.read.number_columns = options.read.columns;
  options.read.missing_rule = flags.text.drop_missing ? table::MissingRule::kDrop : table::MissingRule::kRefuse;
  options.output_format = output_format;
  const bool one = classes.claims == Claims::kOne;
  std::vector<table::AddedColumn> added;
  if (one) {
    added.push_back({"decision", table::AddedType::kText});
  } else {
    for (const std::string& name : columns.names) added.push_back({"decision_" + name, table::AddedType::kUint8});
  }
  std::vector<std::size_t> claimed(columns.names.size(), 0);
  const auto fill = [&](const Frame& frame, std::span<table::AddedValues> values, std::span<std::uint8_t>) {
    const ClassViews views = views_of(columns, [&](std::size_t at) {
      return std::span<const double>(std::get<NumberValues>(frame.columns[at].values));
    });
    const std::vector<std::vector<std::uint8_t>> decisions = decide_classes(classes, views.rows());
    for (std::size_t at = 0; at < decisions.size(); ++at) {
      for (std::size_t row = 0; row < frame.num_rows; ++row) {
        claimed[at] += decisions[at][row];
        if (one && decisions[at][row] != 0) std::get<std::vector<std::string>>(values[0])[row] = columns.names[at];
      }
      if (!one) std::get<std::vector<std::uint8_t>>(values[at]) = decisions[at];
    }
  };
  const table::RowCounts result = table::append_columns(files.inputs, files.output, options, added, fill);
  say_left_out(shown(files.inputs), result.rows_dropped, "with missing or impossible values");
  if (files.output == "-") return kDone;
  if (files.json) {
    Json counts;
    for (std::size_t at = 0; at < claimed.size(); ++at) counts[columns.names[at]] = claimed[at];
    const Json report = {{"rows", result.rows}, {"claimed", counts}, {"rows_dropped", result.rows_dropped}};
    fmt::print("{}\n", report.dump(1));
    return kDone;
  }
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < claimed.size(); ++at) {
    parts.push_back(fmt::format("{} {}", count_text(static_cast<double>(claimed[at])), escaped(columns.names[at], 30)));
  }
  fmt::print("{}, claimed: {}; written to {}\n", plural_text(result.rows, "row"), fmt::join(parts, ", "),
             shown(files.output));
  return kDone;
}

int evaluate_class_table(const ClassBoundaries& classes, const std::string& path, const std::string& test,
                         const TableFlags& flags, double confidence, bool json, const CLI::App& verb) {
  refuse_renaming(verb);
  ClassColumns columns = columns_of_file(classes);
  columns.label = verb.count("--label") > 0 ? flags.read.columns.label : classes.label_column;
  const std::vector<std::string> there = columns_there({test}, flags);
  if (flags.read.columns.weight_required || contains(there, flags.read.columns.weight)) {
    columns.weight = flags.read.columns.weight;
  }
  require_columns(columns, there, shown(test), "");
  const ClassTable rows = read_class_table({test}, columns, flags);
  const ClassViews views = views_of(columns, [&](std::size_t at) { return std::span<const double>(rows.numbers[at]); });
  const std::vector<Confusion> figures =
      in_table(shown(test), [&] { return evaluate_classes(classes, views.rows(), rows.label, rows.weight); });

  const std::string interval = fmt::format("{:g}% interval", 100 * confidence);
  std::vector<std::vector<std::string>> lines = {
      {"class", "rows", "claimed", "true pos.", "precision", interval, "recall", interval, "promise"}};
  std::vector<std::string> notes;
  Json report = Json::array();
  const Json none = nullptr;
  const auto pair = [](const Interval& of) { return Json({of.low, of.high}); };
  const auto pair_text = [](const Interval& of) { return fmt::format("{:.4f} .. {:.4f}", of.low, of.high); };
  for (std::size_t at = 0; at < figures.size(); ++at) {
    const Confusion& counts = figures[at];
    const ClassBoundary& entry = classes.classes[at];
    const double bound = entry.min_precision.to_double();
    const bool claims = counts.flagged > 0;
    const bool has_rows = counts.positives > 0;
    const bool kept = counts.precision() >= bound;
    lines.push_back({escaped(entry.name, 30), count_text(counts.positives), count_text(counts.flagged),
                     count_text(counts.true_positives), claims ? ratio_text(counts.precision()) : "-",
                     claims ? pair_text(counts.precision_interval(confidence)) : "-",
                     has_rows ? ratio_text(counts.recall()) : "-",
                     has_rows ? pair_text(counts.recall_interval(confidence)) : "-",
                     !claims ? "-" : fmt::format("{} {:g}", kept ? "at or above" : "BELOW", bound)});
    Json line = {{"class", entry.name},
                 {"min_precision", bound},
                 {"positives", count_json(counts.positives)},
                 {"flagged", count_json(counts.flagged)},
                 {"true_positives", count_json(counts.true_positives)},
                 {"precision", claims ? Json(counts.precision()) : none},
                 {"precision_interval", claims ? pair(counts.precision_interval(confidence)) : none},
                 {"recall", has_rows ? Json(counts.recall()) : none},
                 {"recall_interval", has_rows ? pair(counts.recall_interval(confidence)) : none},
                 {"kept", claims ? Json(kept) : none}};
    if (!entry.boundary) {
      notes.push_back(fmt::format("{} claims nothing: {}", escaped(entry.name, 30), entry.why));
      line["why"] = entry.why;
    } else if (entry.boundary->guarantee) {
      const GuaranteeCheck check = check_guarantee(*entry.boundary, counts);
      notes.push_back(fmt::format("{}: {}", escaped(entry.name, 30), check.text));
      line["guarantee"] = {{"confidence", entry.boundary->guarantee->confidence},
                           {"p_value", check.p_value},
                           {"consistent", check.p_value >= 0.05}};
    }
    report.push_back(std::move(line));
  }
  if (json) {
    const Json all = {{"classes_file", path},
                      {"claims", to_string(classes.claims)},
                      {"rows", rows.label.size()},
                      {"confidence", confidence},
                      {"classes", report}};
    fmt::print("{}\n", all.dump(1));
    return kDone;
  }
  fmt::print("{} on {}: {}\n  {}\n{}", shown(path), shown(test), plural_text(rows.label.size(), "row"),
             claims_text(classes), table_text(lines));
  for (const std::string& note : notes) fmt::print("  {}\n", note);
  return kDone;
}

}  // namespace limen::cli
