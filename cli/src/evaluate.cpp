// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>

#include "certified.h"
#include "classes.h"
#include "flags.h"
#include "limen/base/error.h"
#include "limen/fit/classes.h"
#include "limen/judge/metrics.h"
#include "limen/judge/paired.h"
#include "options.h"
#include "review.h"
#include "segments.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct EvaluateFlags {
  std::vector<std::string> files;  ///< boundaries, then the table
  TableFlags table;
  double confidence = 0.95;
  bool json = false;
};

std::string interval_text(const Interval& interval) {
  return fmt::format("{:.4f} .. {:.4f}", interval.low, interval.high);
}

std::vector<std::string> text_row(const std::string& name, const Confusion& counts, double confidence) {
  const bool flagged = counts.flagged > 0;
  const bool positives = counts.positives > 0;
  return {name,
          count_text(counts.rows),
          count_text(counts.flagged),
          count_text(counts.true_positives),
          flagged ? ratio_text(counts.precision()) : "-",
          flagged ? interval_text(counts.precision_interval(confidence)) : "-",
          positives ? ratio_text(counts.recall()) : "-",
          positives ? interval_text(counts.recall_interval(confidence)) : "-"};
}

Json json_of(const Confusion& counts, double confidence) {
  const Interval precision = counts.precision_interval(confidence);
  const Interval recall = counts.recall_interval(confidence);
  const Json none = nullptr;
  const bool flagged = counts.flagged > 0;
  const bool positives = counts.positives > 0;
  return {{"rows", count_json(counts.rows)},
          {"positives", count_json(counts.positives)},
          {"flagged", count_json(counts.flagged)},
          {"true_positives", count_json(counts.true_positives)},
          {"precision", flagged ? Json(counts.precision()) : none},
          {"precision_interval", flagged ? Json({precision.low, precision.high}) : none},
          {"recall", positives ? Json(counts.recall()) : none},
          {"recall_interval", positives ? Json({recall.low, recall.high}) : none}};
}

Json json_of(const PairedDifference& figure) {
  return {{"first", figure.first},
          {"second", figure.second},
          {"difference", figure.difference},
          {"interval", {figure.interval.low, figure.interval.high}},
          {"p_value", figure.p_value}};
}

Json json_of(const PairedComparison& found) {
  const auto counts = [](const Counts& kind) { return Json{{"rows", kind.rows}, {"positives", kind.positives}}; };
  const auto figure = [](const std::optional<PairedDifference>& value) {
    return value ? json_of(*value) : Json(nullptr);
  };
  return {{"both", counts(found.counts.both)},
          {"first_only", counts(found.counts.first_only)},
          {"second_only", counts(found.counts.second_only)},
          {"neither", counts(found.counts.neither)},
          {"recall", figure(found.recall)},
          {"precision", figure(found.precision)},
          {"false_positive_rate", figure(found.false_positive_rate)}};
}

void print_pair(const PairedComparison& found, const std::string& first, const std::string& second) {
  const PairedCounts& counts = found.counts;
  std::vector<std::vector<std::string>> rows = {{"flagged by", "rows", "positives", "share"}};
  const auto add = [&](const std::string& name, const Counts& kind) {
    const auto size = static_cast<double>(kind.rows);
    const auto positives = static_cast<double>(kind.positives);
    rows.push_back({name, count_text(size), count_text(positives), kind.rows > 0 ? ratio_text(positives / size) : "-"});
  };
  add("both", counts.both);
  add(first + " only", counts.first_only);
  add(second + " only", counts.second_only);
  add("neither", counts.neither);
  fmt::print("\n{} against {} on the same rows\n{}", first, second, table_text(rows));
  std::vector<std::vector<std::string>> figures = {
      {"", first, second, "difference", fmt::format("{:g}% interval", 100 * found.confidence), "p"}};
  const auto figure = [&](const char* name, const std::optional<PairedDifference>& value) {
    if (!value) return;
    figures.push_back({name, ratio_text(value->first), ratio_text(value->second),
                       fmt::format("{:+.4f}", value->difference),
                       fmt::format("{:+.4f} .. {:+.4f}", value->interval.low, value->interval.high),
                       fmt::format("{:.2g}", value->p_value)});
  };
  figure("recall", found.recall);
  figure("precision", found.precision);
  figure("false-positive rate", found.false_positive_rate);
  fmt::print("{}  {}\n", table_text(figures), verdict(found, first, second));
}

/// What a boundary said of the rows, to be compared with others.
struct Decided {
  std::vector<std::uint8_t> decision;
  std::vector<std::uint8_t> label;
  std::vector<std::string> columns;  ///< that the boundary looks at
  bool weighted = false;
  bool some_left_out = false;
};

Decided decide_rows(const Boundary& boundary, const table::Predictions& rows, const table::PredictionColumns& columns) {
  const Samples samples = rows.samples();
  std::vector<std::uint8_t> decision(samples.size());
  if (boundary.segments) {
    (void)decide(*boundary.segments, samples.score, samples.uncertainty, rows.segment, decision);
  } else {
    decide(boundary.rule, samples.score, samples.uncertainty, decision);
  }
  return {std::move(decision),
          {samples.label.begin(), samples.label.end()},
          {columns.score, columns.uncertainty, columns.segment},
          !samples.weight.empty(),
          rows.rows_dropped > 0};
}

/// Why the paired tests do not apply; empty: they do.
std::string no_pair_text(const Decided& first, const Decided& second) {
  if (first.weighted || second.weighted) return "rows have weights, but the paired tests count rows";
  if (first.columns != second.columns && (first.some_left_out || second.some_left_out)) {
    return "they look at different columns, whose missing values leave out different rows";
  }
  return "";
}

Json json_entry(const std::string& file, const Boundary& boundary, const Evaluation& evaluation, double confidence) {
  Json levels = Json::array();
  for (const Confusion& level : evaluation.levels) levels.push_back(json_of(level, confidence));
  Json entry = {{"boundary", file}, {"method", to_string(boundary.method)}};
  entry.update(json_of(evaluation.total, confidence));
  entry["confidence"] = confidence;
  if (boundary.guarantee) {
    const double p_value = check_guarantee(boundary, evaluation.total).p_value;
    entry["guarantee"] = {
        {"confidence", boundary.guarantee->confidence}, {"p_value", p_value}, {"consistent", p_value >= 0.05}};
  }
  entry["levels"] = std::move(levels);
  return entry;
}

void print_bound(double bound, const Confusion& counts) {
  if (counts.flagged == 0) return;
  const double precision = counts.precision();
  fmt::print("  precision is {} the bound {:g}: {:+.4f}\n", precision >= bound ? "at or above" : "BELOW", bound,
             precision - bound);
}

/// A segment as a boundary of its own, with its own guarantee.
Boundary alone(const Boundary& boundary, std::size_t at) {
  const Segments& segments = *boundary.segments;
  Boundary segment = boundary;
  segment.guarantee = at < segments.own.size() ? segments.own[at].guarantee : segments.pooled->guarantee;
  return segment;
}

/// By segment, each with its verdict where each keeps the bound by itself.
Json segments_json(const Boundary& boundary, const SegmentEvaluation& evaluation, double confidence) {
  const Segments& segments = *boundary.segments;
  Json json = Json::array();
  std::size_t cell = 0;
  for (std::size_t at = 0; at < evaluation.segments.size(); ++at) {
    const bool own = at < segments.own.size();
    const Segment& segment = own ? segments.own[at] : *segments.pooled;
    Json entry = {{"segment", own ? Json(segment.value) : Json(nullptr)}, {"pooled", !own}};
    entry.update(json_of(evaluation.segments[at], confidence));
    if (segments.each && boundary.objective.goal == Goal::kPrecision) {
      const Confusion& counts = evaluation.segments[at];
      entry["keeps_bound"] =
          counts.flagged > 0 ? Json(counts.precision() >= boundary.objective.bound.to_double()) : Json(nullptr);
    }
    if (segment.guarantee) {
      const double p_value = check_guarantee(alone(boundary, at), evaluation.segments[at]).p_value;
      entry["guarantee"] = {
          {"confidence", segment.guarantee->confidence}, {"p_value", p_value}, {"consistent", p_value >= 0.05}};
    }
    Json levels = Json::array();
    for (std::size_t level = 0; level < segment.rule.score_thresholds.size(); ++level, ++cell) {
      levels.push_back(json_of(evaluation.cells.levels[cell], confidence));
    }
    entry["levels"] = std::move(levels);
    json.push_back(std::move(entry));
  }
  return json;
}

void print_segments(const std::string& file, const std::string& test, const Boundary& boundary,
                    const SegmentEvaluation& evaluation, double confidence) {
  const Segments& segments = *boundary.segments;
  const std::string interval = fmt::format("{:g}% interval", 100 * confidence);
  std::vector<std::vector<std::string>> rows = {
      {"", "rows", "flagged", "true pos.", "precision", interval, "recall", interval}};
  rows.push_back(text_row("all", evaluation.cells.total, confidence));
  for (std::size_t at = 0; at < evaluation.segments.size(); ++at) {
    if (at == 2 * kMostLevelsShown) {
      rows.push_back({fmt::format("... and {} more segments", evaluation.segments.size() - at)});
      break;
    }
    rows.push_back(text_row(segment_name(segments, at), evaluation.segments[at], confidence));
  }
  fmt::print("{} ({}; {}{}) on {}\n{}", file, to_string(boundary.method), objective_text(boundary),
             segments.each ? ", in each segment" : "", test, table_text(rows));
  if (boundary.guarantee) fmt::print("  {}\n", check_guarantee(boundary, evaluation.cells.total).text);
  if (evaluation.unseen > 0) fmt::print("  {}\n", unseen_text(segments, evaluation.unseen));
  if (boundary.objective.goal != Goal::kPrecision) return;
  const double bound = boundary.objective.bound.to_double();
  if (!segments.each) {
    print_bound(bound, evaluation.cells.total);
    return;
  }
  std::vector<std::string> below;
  std::vector<std::string> inconsistent;
  std::size_t flagging = 0;
  for (std::size_t at = 0; at < evaluation.segments.size(); ++at) {
    const Confusion& counts = evaluation.segments[at];
    if (counts.flagged == 0) continue;
    ++flagging;
    if (counts.precision() < bound) below.push_back(segment_name(segments, at));
    const Boundary segment = alone(boundary, at);
    if (segment.guarantee && check_guarantee(segment, counts).p_value < 0.05) {
      inconsistent.push_back(segment_name(segments, at));
    }
  }
  fmt::print("  precision is at or above the bound {:g} in {} of {} that flag{}\n", bound, flagging - below.size(),
             plural_text(flagging, "segment"),
             below.empty() ? std::string() : fmt::format("; BELOW in {}", fmt::join(below, ", ")));
  if (!inconsistent.empty()) {
    fmt::print("  these rows are NOT consistent with the guarantee of {}\n", fmt::join(inconsistent, ", "));
  }
}

void print_evaluation(const std::string& file, const std::string& test, const Boundary& boundary,
                      const Evaluation& evaluation, double confidence) {
  const std::string interval = fmt::format("{:g}% interval", 100 * confidence);
  std::vector<std::vector<std::string>> rows = {
      {"", "rows", "flagged", "true pos.", "precision", interval, "recall", interval}};
  rows.push_back(text_row("all", evaluation.total, confidence));
  if (evaluation.levels.size() > 1) {
    for (std::size_t level = 0; level < evaluation.levels.size(); ++level) {
      if (level == kMostLevelsShown) {
        rows.push_back({fmt::format("... and {} more levels", evaluation.levels.size() - level)});
        break;
      }
      rows.push_back(text_row("level " + std::to_string(level), evaluation.levels[level], confidence));
    }
  }
  fmt::print("{} ({}; {}) on {}\n{}", file, to_string(boundary.method), objective_text(boundary), test,
             table_text(rows));
  if (boundary.guarantee) fmt::print("  {}\n", check_guarantee(boundary, evaluation.total).text);
  if (boundary.objective.goal == Goal::kPrecision) print_bound(boundary.objective.bound.to_double(), evaluation.total);
}

int run(EvaluateFlags flags, const CLI::App& verb) {
  if (flags.files.size() < 2) throw InvalidInput("evaluate: give one or more boundary files and then a table");
  const std::string test = flags.files.back();
  flags.files.pop_back();
  std::vector<std::string> inputs = flags.files;
  inputs.push_back(test);
  check_stdin_once(inputs);
  const auto with_order = [](const auto& read) {
    try {
      return read();
    } catch (const InvalidInput& error) {
      throw InvalidInput(error.where(), error.problem() + " (boundary files come first, the table last)",
                         error.cause());
    }
  };
  std::vector<Boundary> boundaries;
  for (const std::string& path : flags.files) {
    const std::string text = with_order([&] { return read_json_text(path, "boundary"); });
    if (is_classes_json(text)) {
      if (flags.files.size() > 1) throw InvalidInput(shown(path), "has several classes and is evaluated alone");
      const ClassBoundaries classes = in_table(shown(path), [&] { return classes_from_json(text); });
      return evaluate_class_table(classes, path, test, flags.table, flags.confidence, flags.json, verb);
    }
    boundaries.push_back(with_order([&] { return in_table(shown(path), [&] { return boundary_from_json(text); }); }));
  }

  Json report = Json::array();
  std::optional<table::Predictions> predictions;
  std::optional<Decided> first;
  const table::PredictionColumns asked = flags.table.read.columns;
  for (std::size_t at = 0; at < boundaries.size(); ++at) {
    const Boundary& boundary = boundaries[at];
    table::PredictionColumns& columns = flags.table.read.columns;
    const table::PredictionColumns before = columns;
    columns = asked;
    name_columns(verb, boundary, columns);
    const bool same =
        columns.score == before.score && columns.uncertainty == before.uncertainty && columns.segment == before.segment;
    if (!predictions || !same) predictions = read_table({test}, flags.table);
    std::optional<SegmentEvaluation> by_segment;
    if (boundary.segments) {
      by_segment = in_table(shown(test),
                            [&] { return evaluate(*boundary.segments, predictions->samples(), predictions->segment); });
    }
    const Evaluation evaluation = by_segment ? by_segment->cells : evaluate(boundary.rule, predictions->samples());
    std::optional<Confusion> with_review;
    if (boundary.review) with_review = evaluate(flag_or_review_rule(boundary), predictions->samples()).total;
    std::optional<PairedComparison> pair;  // with the first boundary
    std::string no_pair;
    if (boundaries.size() > 1) {
      Decided decided = decide_rows(boundary, *predictions, columns);
      if (at == 0) {
        first = std::move(decided);
      } else if (no_pair = no_pair_text(*first, decided); no_pair.empty()) {
        pair = compare_pairs(count_pairs(first->decision, decided.decision, decided.label), flags.confidence);
      }
    }
    if (flags.json) {
      report.push_back(json_entry(flags.files[at], boundary, evaluation, flags.confidence));
      if (by_segment) {
        report.back().erase("levels");
        report.back()["each"] = boundary.segments->each;
        report.back()["unseen_segment_rows"] = by_segment->unseen;
        report.back()["segments"] = segments_json(boundary, *by_segment, flags.confidence);
      }
      if (with_review) {
        report.back()["review"] = evaluated_review_json(evaluation.total, *with_review, flags.confidence);
      }
      if (pair) {
        report.back()["against_first"] = json_of(*pair);
        report.back()["against_first"]["verdict"] = verdict(*pair, flags.files[0], flags.files[at]);
      }
      continue;
    }
    if (by_segment) {
      print_segments(shown(flags.files[at]), shown(test), boundary, *by_segment, flags.confidence);
    } else {
      print_evaluation(shown(flags.files[at]), shown(test), boundary, evaluation, flags.confidence);
    }
    if (pair) print_pair(*pair, shown(flags.files[0]), shown(flags.files[at]));
    if (!no_pair.empty()) {
      fmt::print("\n{} against {}: {}\n", shown(flags.files[0]), shown(flags.files[at]), no_pair);
    }
    if (with_review) fmt::print("\n{}", evaluated_review_text(evaluation.total, *with_review, flags.confidence));
    if (at + 1 < boundaries.size()) fmt::print("\n");
  }
  if (flags.json) fmt::print("{}\n", report.dump(1));
  return kDone;
}

}  // namespace

void add_evaluate(CLI::App& program, Action& action) {
  auto flags = std::make_shared<EvaluateFlags>();
  CLI::App* verb = program.add_subcommand("evaluate", "Judge boundaries on a labelled test table");
  verb->add_option("FILES", flags->files,
                   "One or more boundary files, then the labelled test table; one of them may be - (stdin)")
      ->required();
  FlagGroup(*verb)
      .add("--interval", flags->confidence, "C", "Confidence of the exact (Clopper-Pearson) intervals")
      ->check(CLI::Range(0.5, 0.999999).description(""));
  add_segment_column_flag(*verb, flags->table.read.columns);
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer(
      "Example: limen evaluate b.json test.csv\n"
      "Several boundaries: each after the first is compared with the first on the same rows (exact McNemar test for\n"
      "recall, score test of paired rows for precision).");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
