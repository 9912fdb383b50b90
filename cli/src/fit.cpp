// SPDX-License-Identifier: MIT
#include "limen/fit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "certified.h"
#include "classes.h"
#include "flags.h"
#include "limen/base/error.h"
#include "limen/base/machine_memory.h"
#include "limen/fit_review.h"
#include "limen/judge/metrics.h"
#include "limen/promise/certify.h"
#include "limen/table/counts.h"
#include "options.h"
#include "report_page.h"
#include "review.h"
#include "segments.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct FitFlags {
  std::vector<std::string> inputs;
  std::string counts;
  std::string edges;
  std::string max_memory;
  std::string output;
  std::string report;
  std::string method;  // empty: see method_of
  ObjectiveFlags objective;
  BinningFlags binning;
  BootstrapFlags bootstrap;
  std::string levels_from = "top";
  std::string monotone;
  ReviewFlags review;
  CertifyFlags certify;
  ClassFlags classes;
  SegmentFlags segments;
  TableFlags table;
  bool names_uncertainty = false;  ///< whether --uncertainty was given
  bool json = false;
};

bool maximizes_recall(const Objective& objective) {
  return objective.goal == Goal::kPrecision || objective.goal == Goal::kFalsePositiveRate ||
         objective.goal == Goal::kFlagRate;
}

std::string bins_text(const Boundary& boundary) {
  return boundary.bins ? fmt::format("at most {} {} score bins", *boundary.bins, to_string(boundary.binning))
                       : std::string("every distinct score");
}

std::string certificate_text(const Boundary& boundary) {
  const HoldoutSummary& holdout = boundary.holdout;
  if (boundary.guarantee) return guarantee_text(boundary);
  if (boundary.review && boundary.review->cost) {
    return fmt::format(
        "proved optimal on this hold-out: no pair of flagging and review on these levels and bins costs "
        "less than {:.6g}",
        holdout.objective_value);
  }
  const bool recall = maximizes_recall(boundary.objective);
  const std::string bound =
      recall ? count_text(holdout.objective_bound) + " true positives" : fmt::format("{:.6g}", holdout.objective_bound);
  if (holdout.optimal) {
    return boundary.method == Method::kSt ? "proved optimal on this hold-out: no single threshold does better"
           : boundary.monotone
               ? fmt::format(
                     "proved optimal on this hold-out: no boundary on these levels and bins whose thresholds never "
                     "{} with uncertainty does better than {}",
                     *boundary.monotone == Direction::kUp ? "fall" : "rise", bound)
               : "proved optimal on this hold-out: no boundary on these levels and bins does better than " + bound;
  }
  if (boundary.method == Method::kSmooth) {
    return boundary.chosen_by ? "a smooth boundary, stopped where rows left out meet the bound"
                              : "the best of the smooth boundaries on this hold-out";
  }
  const double gap = std::abs(holdout.objective_bound - holdout.objective_value);
  return fmt::format("no boundary on these levels and bins does better than {}; gap {}", bound,
                     recall ? count_text(gap) : fmt::format("{:.3g}", gap));
}

/// review: unset where there is none.
std::string level_table(const Boundary& boundary, const std::vector<Confusion>& levels,
                        const std::optional<ReviewFit>& review) {
  std::vector<std::vector<std::string>> rows = {
      {"level", "uncertainty", "score", "rows", "flagged", "true pos.", "precision"}};
  if (review) rows[0].insert(rows[0].end(), {"review score", "review", "review pos."});
  const auto& edges = boundary.rule.uncertainty_edges;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    if (level == kMostLevelsShown) {
      rows.push_back({fmt::format("... and {} more", levels.size() - level)});
      break;
    }
    const Confusion& counts = levels[level];
    std::string range = "all";
    if (!edges.empty()) {
      range = level == 0              ? fmt::format("< {:.6g}", edges[0])
              : level == edges.size() ? fmt::format(">= {:.6g}", edges[level - 1])
                                      : fmt::format("{:.6g} .. {:.6g}", edges[level - 1], edges[level]);
    }
    const auto& threshold = boundary.rule.score_thresholds[level];
    rows.push_back({std::to_string(level), range, threshold ? fmt::format(">= {:.6g}", *threshold) : "never",
                    count_text(counts.rows), count_text(counts.flagged), count_text(counts.true_positives),
                    counts.flagged > 0 ? ratio_text(counts.precision()) : "-"});
    if (!review) continue;
    for (std::string& cell : review_cells(boundary, *review, level)) rows.back().push_back(std::move(cell));
  }
  return table_text(rows);
}

/// The best single threshold for the same objective: what the second dimension brought, or did not. has_all: the fit
/// chose among all thresholds that the single one had.
std::string gain_over_st(const Boundary& boundary, const FitResult& st, bool has_all) {
  if (!st.boundary) return "no single threshold meets the objective";
  const HoldoutSummary& base = st.boundary->holdout;
  const HoldoutSummary& ours = boundary.holdout;
  if (boundary.objective.goal == Goal::kRecall) {
    return fmt::format("best single threshold on this hold-out: precision {}; the 2-D boundary: {} ({})",
                       ratio_text(base.precision()), ratio_text(ours.precision()),
                       gain_text(ours.precision(), base.precision()));
  }
  if (!maximizes_recall(boundary.objective)) {
    return fmt::format("best single threshold on this hold-out: {} {:.6g}; the 2-D boundary: {:.6g} ({})",
                       boundary.objective.goal == Goal::kCost ? "cost" : "F-beta", base.objective_value,
                       ours.objective_value, gain_text(ours.objective_value, base.objective_value));
  }
  std::string text =
      fmt::format("best single threshold on this hold-out: recall {}; the 2-D boundary: {} ({})",
                  ratio_text(base.recall()), ratio_text(ours.recall()), gain_text(ours.recall(), base.recall()));
  if (ours.true_positives <= base.true_positives && boundary.method != Method::kSmooth) {
    const bool exact = boundary.method == Method::kExact || boundary.method == Method::kJoint;
    text += boundary.monotone  ? ": such thresholds bring nothing here"
            : exact && has_all ? ": uncertainty brings nothing here"
            : has_all          ? "; --method exact is never below it"
                               : "; --method exact --bins all is never below it";
  }
  return text;
}

int report_infeasible(const FitFlags& flags, const Objective& objective, const FitOptions& options,
                      const FitResult& result) {
  const double best = result.solution.best_attainable.value_or(0);
  if (flags.json) {
    Json report = {{"status", "infeasible"}, {"objective", describe(objective)}, {"best_attainable_precision", best}};
    fmt::print("{}\n", report.dump(1));
  }
  const auto bins = bins_of(options).count;
  const bool counted = !flags.counts.empty();
  std::string hint;
  if (result.choice || options.method != Method::kExact || (bins && !counted)) {
    hint = counted ? " (--method exact may reach more)" : " (--method exact --bins all may reach more)";
  }
  fmt::print(stderr,
             "limen: {}: infeasible: {} cannot be met by {} on {} and {}; the best attainable precision is {:.6g}{}\n",
             shown(counted ? std::vector{flags.counts} : flags.inputs), describe(objective), to_string(options.method),
             plural_text(result.levels_used, "level"),
             counted ? std::string("the bins of the table")
             : bins  ? plural_text(static_cast<double>(*bins), "score bin")
                     : std::string("every distinct score"),
             best, hint);
  return kInfeasible;
}

/// Where the rows are: in memory, or in files that are gone through again for every pass.
struct Holdout {
  std::optional<table::Predictions> rows;
  SampleBatches batches;
  std::size_t most_rows_kept = FitOptions{}.most_rows_kept;  ///< of batches
};

std::uint64_t default_memory() { return machine_memory() / 2; }

Holdout open_holdout(const FitFlags& flags) {
  // Score, uncertainty, label and what the fit needs beside them; a review copies the rows that are not flagged.
  const std::uint64_t bytes_per_row = is_given(flags.review) ? 45 : 25;
  const std::uint64_t limit =
      flags.max_memory.empty() ? default_memory() : parse_bytes(flags.max_memory, "--max-memory");
  table::PredictionOptions options = read_options(shown(flags.inputs), flags.table);
  options.read.max_bytes = limit / 2;
  const table::TableFiles files(flags.inputs);
  std::optional<std::uint64_t> rows;
  try {
    rows = table::estimate_rows(files, options.read);
  } catch (const std::runtime_error&) {
    // What is wrong with the files, reading them will tell.
  } catch (const InvalidInput&) {
  }
  Holdout holdout;
  if (!rows || *rows <= limit / bytes_per_row) {
    holdout.rows = read_table(flags.inputs, flags.table);
    return holdout;
  }
  // Half for reading, half for the rows that the fit keeps.
  constexpr std::uint64_t kBytesPerRowKept = 30;
  holdout.most_rows_kept =
      static_cast<std::size_t>(std::clamp<std::uint64_t>(limit / 2 / kBytesPerRowKept, 1000, std::uint64_t{1} << 22));
  fmt::print(stderr, "{}: about {} do not fit into {} MB; going through them in batches\n", shown(flags.inputs),
             plural_text(static_cast<double>(*rows), "row"), limit / 1'000'000);
  holdout.batches = [files, options](const std::function<void(const Samples&)>& visit) {
    table::for_each_batch(files, options, [&](const table::Predictions& batch) {
      if (!batch.label.empty()) visit(batch.samples());
    });
  };
  return holdout;
}

/// The fit, where it is shown beside the best single threshold, and where asked for the rows to review.
struct Fitted {
  FitResult fit;
  std::optional<FitResult> single;
  std::optional<ReviewFit> review;
  std::optional<Certification> certification = std::nullopt;
};

/// Sends what was certified on the way of what was fitted.
FitResult fit_of(const Certification& found, const Holdout& holdout) {
  FitResult fit;
  fit.boundary = found.boundary;
  fit.choice = found.choice;
  fit.levels_used = static_cast<int>(found.walk.num_levels());
  if (!found.boundary) return fit;
  if (holdout.rows && !holdout.rows->weight.empty()) {
    fit.levels = evaluate(found.boundary->rule, holdout.rows->samples()).levels;
  } else {
    for (const Certification::Level& level : found.levels) {
      fit.levels.push_back(confusion_of_counts(level.all, level.flagged));
    }
  }
  return fit;
}

Fitted fit_holdout(const Holdout& holdout, const Objective& objective, FitOptions options, bool with_single,
                   const std::optional<ReviewGoal>& review, const std::optional<CertifyOptions>& certifying) {
  options.most_rows_kept = holdout.most_rows_kept;
  const auto certified = [&](const auto& rows, const auto&... group) -> Fitted {
    Fitted fitted;
    fitted.certification = certify(rows, objective, *certifying, group...);
    fitted.fit = fit_of(*fitted.certification, holdout);
    if (with_single)
      fitted.single = fit_boundary(rows, objective, {.method = Method::kSt, .most_rows_kept = holdout.most_rows_kept});
    return fitted;
  };
  const auto fit = [&](const auto& rows) -> Fitted {
    if (!with_single) return {fit_boundary(rows, objective, options), std::nullopt, std::nullopt};
    FitBesideSingle both = fit_beside_single(rows, objective, options);
    return {std::move(both.fit), std::move(both.single), std::nullopt};
  };
  Fitted fitted =
      certifying
          ? (holdout.rows ? certified(holdout.rows->samples(), std::span<const std::uint64_t>(holdout.rows->group))
                          : certified(holdout.batches))
      : holdout.rows ? fit(holdout.rows->samples())
                     : fit(holdout.batches);
  if (review && fitted.fit.boundary) {
    const Boundary& boundary = *fitted.fit.boundary;
    fitted.review = holdout.rows
                        ? fit_review(boundary, holdout.rows->samples(), *review, options.num_threads)
                        : fit_review(boundary, holdout.batches, *review, options.most_rows_kept, options.num_threads);
  }
  return fitted;
}

/// The grid of a counted table: the level's lower edges from the table or from --edges.
Grid read_counted_grid(const FitFlags& flags) {
  const table::PredictionOptions options = read_options(flags.counts, flags.table);
  const std::vector<table::CountedBin> bins = table::read_counts(
      flags.counts, {.read = options.read, .score = options.columns.score, .uncertainty = options.columns.uncertainty});
  std::int64_t last_level = 0;
  for (const table::CountedBin& bin : bins) last_level = std::max(last_level, bin.level);
  if (last_level > 999) throw InvalidInput(fmt::format("{}: level {} is above 999", shown(flags.counts), last_level));
  std::vector<std::vector<Bin>> levels(static_cast<std::size_t>(last_level) + 1);
  std::vector<std::optional<double>> edges(levels.size());
  for (const table::CountedBin& bin : bins) {
    const auto level = static_cast<std::size_t>(bin.level);
    levels[level].push_back({bin.score, {bin.rows, bin.positives}});
    if (!bin.uncertainty) continue;
    if (edges[level] && *edges[level] != *bin.uncertainty) {
      throw InvalidInput(fmt::format("{}: level {} has two lower edges, {:g} and {:g}", shown(flags.counts), level,
                                     *edges[level], *bin.uncertainty));
    }
    edges[level] = bin.uncertainty;
  }
  if (!flags.edges.empty()) {
    const auto parts = CLI::detail::split(flags.edges, ',');
    if (parts.size() + 1 != levels.size()) {
      throw InvalidInput(fmt::format("--edges: {} numbers do not fit {}", parts.size(),
                                     plural_text(static_cast<double>(levels.size()), "level")));
    }
    for (std::size_t at = 0; at < parts.size(); ++at) {
      double edge = 0;
      if (!CLI::detail::lexical_cast(parts[at], edge))
        throw InvalidInput("--edges: \"" + parts[at] + "\" is not a number");
      edges[at + 1] = edge;
    }
  }
  std::vector<double> lower_edges;
  for (std::size_t level = 1; level < levels.size(); ++level) {
    if (!edges[level]) {
      throw InvalidInput(fmt::format("{}: level {} has no lower edge; add a column uncertainty, or give --edges",
                                     shown(flags.counts), level));
    }
    lower_edges.push_back(*edges[level]);
  }
  return in_table(shown(flags.counts), [&] {
    Grid grid = grid_from_bins(std::move(lower_edges), std::move(levels));
    assume_full_bins(grid);  // the table says where bins begin, not where their last row is
    return grid;
  });
}

/// What the figures of the hold-out rest on, where that is little. Smooth boundaries share five numbers, whatever their
/// levels.
std::string caution_text(const Boundary& boundary, int levels_used) {
  const HoldoutSummary& holdout = boundary.holdout;
  constexpr double kFewRows = 200;
  constexpr double kFewRowsPerLevel = 50;
  if (holdout.flagged < kFewRows && holdout.flagged > 0) {
    const Interval interval = proportion_interval(holdout.true_positives, holdout.flagged);
    return fmt::format("caution: this rests on {} flagged; by chance alone precision may be {} to {}",
                       plural_text(holdout.flagged, "row"), ratio_text(interval.low), ratio_text(interval.high));
  }
  if (boundary.method != Method::kSmooth && levels_used > 1 && holdout.flagged < kFewRowsPerLevel * levels_used) {
    return fmt::format(
        "caution: {} for {} flagged follow the noise of this hold-out; --method auto finds out what helps",
        plural_text(levels_used, "level"), plural_text(holdout.flagged, "row"));
  }
  return "";
}

void print_summary(const Boundary& boundary, int levels_used) {
  const HoldoutSummary& holdout = boundary.holdout;
  fmt::print("{}: {}\n", to_string(boundary.method), objective_text(boundary));
  fmt::print("  hold-out: {}, {}{}; {}, {}\n", plural_text(static_cast<double>(holdout.rows), "row"),
             plural_text(holdout.positives, "positive"), holdout.weighted ? " (by weight)" : "",
             plural_text(levels_used, "level"), bins_text(boundary));
  fmt::print("  flagged {}, true positives {}: precision {}, recall {}\n", count_text(holdout.flagged),
             count_text(holdout.true_positives), ratio_text(holdout.precision()), ratio_text(holdout.recall()));
  fmt::print("  {}\n", certificate_text(boundary));
  if (const std::string caution = caution_text(boundary, levels_used); !caution.empty()) fmt::print("  {}\n", caution);
}

/// What was chosen and why, and what to expect of it.
void print_choice(const Boundary& boundary) {
  fmt::print("auto: {}\n", boundary.chosen_by->why);
  if (!boundary.expected) return;
  const Expected& expected = *boundary.expected;
  const bool tested = expected.by == Expected::By::kTestedRows;
  fmt::print("  expected in deployment: precision {} to {}, recall {} to {} ({})\n", ratio_text(expected.precision_low),
             ratio_text(expected.precision_high), ratio_text(expected.recall_low), ratio_text(expected.recall_high),
             tested ? "on the tested rows" : "on rows left out, cross-validation");
}

Json json_of(const BootstrapFit& found) {
  const auto ends = [](const std::optional<Interval>& interval) {
    return interval ? Json({interval->low, interval->high}) : Json(nullptr);
  };
  const auto threshold = [](const ThresholdInterval& interval) {
    const auto end = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
    return Json{{"interval", {end(interval.low), end(interval.high)}}, {"never", interval.never}};
  };
  Json thresholds = Json::array();
  for (const ThresholdInterval& level : found.thresholds) thresholds.push_back(threshold(level));
  return {{"replicates", found.replicates},
          {"infeasible", found.infeasible},
          {"precision", ends(found.precision)},
          {"recall", ends(found.recall)},
          {"flag_rate", ends(found.flag_rate)},
          {"gain_over_single", ends(found.gain)},
          {"gain_over_single_left_out", ends(found.gain_left_out)},
          {"single_threshold", threshold(found.single)},
          {"score_thresholds", std::move(thresholds)}};
}

/// How far the fit moves when the hold-out is drawn again.
void print_bootstrap(const BootstrapFit& found) {
  const auto range = [](const std::optional<Interval>& interval) {
    return interval ? fmt::format("{} to {}", ratio_text(interval->low), ratio_text(interval->high)) : std::string("-");
  };
  const auto threshold = [](const ThresholdInterval& interval) {
    const auto end = [](const std::optional<double>& value) { return value ? fmt::format("{:.6g}", *value) : "never"; };
    return fmt::format("{} .. {}", end(interval.low), end(interval.high));
  };
  fmt::print("\nfitted again on {} of the hold-out, 95% of them{}:\n", plural_text(found.replicates, "resample"),
             found.infeasible > 0 ? fmt::format(" that can meet the objective ({} cannot)", found.infeasible) : "");
  if (found.thresholds.empty()) return;
  fmt::print("  precision {}, recall {}\n", range(found.precision), range(found.recall));
  if (found.gain) {
    fmt::print("  gain over one threshold {} where fitted{}\n", percent_range_text(*found.gain),
               found.gain_left_out
                   ? fmt::format(", {} on the rows left out of the resample", percent_range_text(*found.gain_left_out))
                   : std::string());
  }
  std::vector<std::vector<std::string>> rows = {{"level", "score threshold", "never flagged in"}};
  const auto add = [&](const std::string& name, const ThresholdInterval& interval) {
    rows.push_back({name, threshold(interval), fmt::format("{:.1f}%", 100 * interval.never)});
  };
  for (std::size_t level = 0; level < found.thresholds.size() && level < kMostLevelsShown; ++level) {
    add(std::to_string(level), found.thresholds[level]);
  }
  if (found.thresholds.size() > 1) add("one for all", found.single);
  fmt::print("{}", table_text(rows));
}

/// Levels and bins say how to use the uncertainty: then nothing is left to choose.
Method method_of(const FitFlags& flags) {
  if (!flags.method.empty()) return parse_method(flags.method);
  const bool decided = !flags.binning.levels.empty() || !flags.binning.bins.empty() || !flags.monotone.empty();
  return decided ? Method::kExact : Method::kAuto;
}

/// What has no meaning where every class has its own promise.
void check_class_flags(const FitFlags& flags) {
  const ObjectiveFlags& goal = flags.objective;
  const auto refuse_given = [](bool given, const char* flag) {
    if (given) throw InvalidInput(fmt::format("{} does not go with --class-precision", flag));
  };
  refuse_given(
      !(goal.precision + goal.recall + goal.fpr + goal.flag_rate + goal.cost_fp + goal.cost_fn + goal.fbeta).empty(),
      "another objective");
  refuse_given(!flags.counts.empty(), "--counts");
  refuse_given(!flags.edges.empty(), "--edges");
  refuse_given(!flags.max_memory.empty(), "--max-memory");
  refuse_given(is_given(flags.review), "a review");
  refuse_given(flags.bootstrap.replicates > 0, "--bootstrap");
  refuse_given(!flags.monotone.empty(), "--monotone");
  refuse_given(!flags.binning.bins.empty(), "--bins");
  refuse_given(flags.binning.binning != BinningFlags{}.binning, "--binning");
  refuse_given(flags.binning.levels == "auto", "--levels auto");
  refuse_given(!flags.table.read.columns.group.empty(), "--group");
  refuse_given(!flags.segments.column.empty(), "--segment");
  refuse_given(!flags.table.labels.positive.empty() || !flags.table.labels.positive_if.empty(),
               "which label is positive");
  if (flags.inputs.empty()) throw InvalidInput("fit: give PRED, one or more prediction files");
}

int run_classes(const FitFlags& flags, const CLI::App& verb) {
  check_class_flags(flags);
  ClassFitOptions options;
  const FitOptions binning = make_fit_options(flags.binning);
  options.method = method_of(flags);
  options.levels = binning.levels;
  options.levels_from = parse_levels_from(flags.levels_from);
  options.num_threads = binning.num_threads;
  if (const std::optional<CertifyOptions> certifying = make_certify_options(flags.certify)) {
    options.confidence = certifying->confidence;
    options.seed = certifying->seed;
  }
  return fit_class_table({flags.inputs, flags.output, flags.json}, flags.classes, flags.table, options, verb);
}

// ---- Segments ----

/// Which columns a fit of segments reads: an uncertainty only where it may be looked at.
TableFlags segment_table_flags(const FitFlags& flags, const FitOptions& options) {
  TableFlags table = flags.table;
  table::PredictionColumns& columns = table.read.columns;
  columns.segment = flags.segments.column;
  const bool has_levels = options.levels.value_or(1) > 1;
  const bool looks = has_levels || options.method == Method::kAuto || flags.segments.each;
  columns.uncertainty_required = has_levels || flags.names_uncertainty;
  if (!looks && !flags.names_uncertainty) columns.uncertainty.clear();
  return table;
}

/// What does not go with segments, by its flag.
void check_segment_flags(const FitFlags& flags, const FitOptions& options, bool certified) {
  const auto refuse = [](const char* flag, const char* what) { throw InvalidInput(flag, what); };
  if (!flags.counts.empty()) refuse("--segment", "needs the rows, not --counts");
  if (is_given(flags.review))
    refuse("--segment", "does not go with a review yet: leave out --review-rate, --review-recall, --review-cost");
  if (flags.bootstrap.replicates > 0) refuse("--segment", "does not go with --bootstrap yet");
  if (flags.segments.each) return;
  if (options.method == Method::kAuto || options.method == Method::kExact) {
    if (!flags.monotone.empty())
      refuse("--monotone", "does not go with --segment, unless each segment is fitted alone: --each");
    if (options.sweep_levels || options.sweep_bins) {
      refuse("--segment", "takes a number of --levels and --bins, unless each segment is fitted alone: --each");
    }
    return;
  }
  throw InvalidInput("--method",
                     fmt::format("is {}, with --segment it is auto or exact; with --each also {}",
                                 to_string(options.method), certified ? "st, smooth and joint" : "any other"));
}

/// The best single threshold of the same rows, beside which segments are shown.
std::string gain_of_segments(const Boundary& boundary, const FitResult& single) {
  if (!single.boundary) return "no single threshold meets the bound on this hold-out";
  const HoldoutSummary& base = single.boundary->holdout;
  const HoldoutSummary& ours = boundary.holdout;
  const auto text = [&](const char* name, double before, double after) {
    return fmt::format("best single threshold{}, on this hold-out: {} {:.4g}; with segments: {:.4g} ({})",
                       boundary.segments->each ? " for all rows together" : "", name, before, after,
                       gain_text(after, before));
  };
  if (boundary.objective.goal == Goal::kRecall) return text("precision", base.precision(), ours.precision());
  if (maximizes_recall(boundary.objective)) return text("recall", base.recall(), ours.recall());
  return text(boundary.objective.goal == Goal::kCost ? "cost" : "F-beta", base.objective_value, ours.objective_value);
}

void print_segment_fit(const Boundary& boundary, const SegmentFit& fit) {
  const HoldoutSummary& holdout = boundary.holdout;
  const Segments& segments = *boundary.segments;
  fmt::print("{}: {}{}\n", to_string(boundary.method), objective_text(boundary),
             segments.each ? ", in each segment" : ", all segments together");
  fmt::print("  hold-out: {}, {}{}; {}, {}\n", plural_text(static_cast<double>(holdout.rows), "row"),
             plural_text(holdout.positives, "positive"), holdout.weighted ? " (by weight)" : "",
             segments_text(segments), bins_text(boundary));
  fmt::print("  flagged {}, true positives {}: precision {}, recall {}\n", count_text(holdout.flagged),
             count_text(holdout.true_positives), ratio_text(holdout.precision()), ratio_text(holdout.recall()));
  if (!segments.each) {
    fmt::print("  {}\n", certificate_text(boundary));
  } else if (holdout.optimal) {
    fmt::print("  proved optimal on this hold-out: no thresholds that keep the bound in each segment do better\n");
  }
  fmt::print("{}", each_text(boundary));
  const auto cells = static_cast<int>(fit.cells.size());
  if (!boundary.guarantee && !segments.each) {
    if (const std::string caution = caution_text(boundary, cells); !caution.empty()) fmt::print("  {}\n", caution);
  }
}

int report_no_segment(const FitFlags& flags, const std::string& name, const Objective& objective, bool certified,
                      const SegmentFit& fit) {
  const double best = fit.best_attainable.value_or(0);
  const char* const status = certified ? "not certifiable" : "infeasible";
  if (flags.json) {
    const Json report = {{"status", status},
                         {"objective", describe(objective)},
                         {"each", flags.segments.each},
                         {certified ? "nearest_bound" : "best_attainable_precision", best}};
    fmt::print("{}\n", report.dump(1));
  }
  fmt::print(stderr, "limen: {}: {}: {} cannot be {} {}; the best {} {:.6g}\n", name, status, describe(objective),
             certified ? "certified" : "met", flags.segments.each ? "in any segment" : "by thresholds on segments",
             certified ? "is certified for a bound of about" : "attainable precision is", best);
  return kInfeasible;
}

int run_segments(const FitFlags& flags, const Objective& objective, const FitOptions& options,
                 const std::optional<CertifyOptions>& certifying) {
  check_segment_flags(flags, options, certifying.has_value());
  const SegmentOptions segment_options = make_segment_options(flags.segments);
  check_stdin_once(flags.inputs);
  const auto output = open_output(flags.output, flags.inputs);
  const std::string name = shown(flags.inputs);
  FitFlags reading = flags;
  reading.table = segment_table_flags(flags, options);
  const Holdout holdout = open_holdout(reading);
  if (!holdout.rows) throw InvalidInput("--segment", "needs the rows in memory; give a larger --max-memory");
  const Samples samples = holdout.rows->samples();
  const SegmentFit fit = in_table(name, [&] {
    return certifying ? certify_segments(samples, holdout.rows->segment, objective, segment_options, *certifying,
                                         holdout.rows->group)
                      : fit_segments(samples, holdout.rows->segment, objective, segment_options, options);
  });
  if (!fit.boundary) {
    if (fit.certification) {
      return report_not_certifiable(name, flags.json, objective, *certifying, *fit.certification);
    }
    return report_no_segment(flags, name, objective, certifying.has_value(), fit);
  }
  Boundary boundary = *fit.boundary;
  boundary.score_column = flags.table.read.columns.score;
  boundary.uncertainty_column = flags.table.read.columns.uncertainty;
  const std::string json = in_table(name, [&] { return to_json(boundary); });
  if (output) {
    output->write(json);
    output->commit();
  }
  if (flags.json && flags.output != "-") fmt::print("{}", json);
  if (flags.json || flags.output == "-") return kDone;
  Samples all = samples;
  if (all.uncertainty.empty()) all.uncertainty = all.score;  // one threshold does not look at it
  const FitResult single = in_table(name, [&] { return fit_boundary(all, objective, {.method = Method::kSt}); });
  if (boundary.chosen_by) print_choice(boundary);
  if (boundary.segments) {
    print_segment_fit(boundary, fit);
    fmt::print("  {}\n", gain_of_segments(boundary, single));
    fmt::print("\n{}", segment_table(*boundary.segments, fit.cells));
  } else {
    print_summary(boundary, static_cast<int>(fit.cells.size()));
    fmt::print("\n{}", level_table(boundary, fit.cells, std::nullopt));
  }
  if (!flags.output.empty()) fmt::print("\nwritten to {}\n", flags.output);
  return kDone;
}

/// The study whose decision, at the bound of the fit, is the boundary that was fitted.
report::StudyOptions report_options(const FitFlags& flags, const CLI::App& verb, const Objective& objective,
                                    const FitOptions& options, const std::optional<CertifyOptions>& certifying) {
  report::StudyOptions study = study_options(verb, flags.table);
  study.objective = objective;
  study.fit = options;
  study.num_threads = options.num_threads;
  study.methods.insert(study.methods.begin(), options.method);
  study.holdout.name = shown(flags.inputs);
  if (certifying) {
    study.certified_confidence = certifying->confidence;
    study.seed = certifying->seed;
  }
  return study;
}

/// What a report cannot show, before anything is read.
void check_report_flags(const FitFlags& flags, const report::StudyOptions& study) {
  if (!flags.counts.empty()) throw InvalidInput("--report", "needs the rows, not --counts");
  if (!flags.segments.column.empty()) throw InvalidInput("--report", "does not go with --segment yet");
  if (!flags.table.read.columns.group.empty()) throw InvalidInput("--report", "does not go with --group yet");
  report::StudyOptions checked = study;
  checked.fit.sweep_levels = checked.fit.sweep_bins = false;  // the numbers are those of the fit
  validate(checked);
}

report::Study study_of_fit(report::StudyOptions study, const table::Predictions& rows, const Boundary& boundary) {
  if (study.fit.sweep_levels || study.fit.sweep_bins) {
    study.fit.sweep_levels = study.fit.sweep_bins = false;
    study.fit.levels = static_cast<int>(boundary.rule.score_thresholds.size());
    study.fit.bins = BinCount{boundary.bins};
  }
  study.boundary = boundary;
  study.holdout.rows_dropped = rows.rows_dropped;
  return in_table(study.holdout.name, [&] { return compute_study(rows.samples(), nullptr, study); });
}

int run(const FitFlags& flags, const CLI::App& verb) {
  if (is_given(flags.classes)) {
    if (!flags.report.empty()) throw InvalidInput("--report", "does not go with several classes yet");
    return run_classes(flags, verb);
  }
  const bool counted = !flags.counts.empty();
  if (counted == !flags.inputs.empty())
    throw InvalidInput("fit: give either PRED, one or more prediction files, or --counts");
  const Objective objective = make_objective(flags.objective);
  const std::optional<ReviewGoal> review = make_review_goal(flags.review);
  std::optional<CertifyOptions> certifying = make_certify_options(flags.certify);
  if (review && review->cost && objective.goal != Goal::kCost) {
    throw InvalidInput("--review-cost goes with --cost-fp and --cost-fn; else give --review-rate or --review-recall");
  }
  if (review && !flags.monotone.empty()) {
    throw InvalidInput("--monotone: review thresholds cannot be made monotone; leave out one of the two");
  }
  FitOptions options = make_fit_options(flags.binning, true);
  options.levels_from = parse_levels_from(flags.levels_from);
  if (!flags.monotone.empty()) options.monotone = parse_direction(flags.monotone);
  options.method = method_of(flags);
  const bool is_auto = options.method == Method::kAuto;
  if (is_auto && !(flags.binning.levels.empty() && flags.binning.bins.empty())) {
    throw InvalidInput("--method auto chooses levels and bins itself; with --levels or --bins give another --method");
  }
  if (!certifying && !flags.table.read.columns.group.empty()) {
    throw InvalidInput("--group is for certified boundaries: give --confidence too");
  }
  if (certifying) {
    certifying->method = options.method;
    certifying->levels = options.levels;
    certifying->levels_from = options.levels_from;
    if (counted)
      throw InvalidInput(
          "--confidence needs rows: counts cannot be split into rows that learn and rows that are tested");
    if (!flags.binning.bins.empty() || !flags.monotone.empty() || options.sweep_levels ||
        options.binning != Binning::kEquiWeight) {
      throw InvalidInput(
          "--confidence goes over every distinct score: leave out --bins, --binning, --monotone and --levels auto");
    }
    if (flags.bootstrap.replicates > 0) {
      throw InvalidInput(
          "--bootstrap shows how a fit moves, a certified boundary is not one: leave out --bootstrap or --confidence");
    }
    validate(*certifying);
  }
  const report::StudyOptions study = report_options(flags, verb, objective, options, certifying);
  if (!flags.report.empty()) check_report_flags(flags, study);
  (void)make_segment_options(flags.segments);
  if (!flags.segments.column.empty()) return run_segments(flags, objective, options, certifying);
  const std::vector<std::string> inputs = counted ? std::vector{flags.counts} : flags.inputs;
  check_stdin_once(inputs);
  const auto output = open_output(flags.output, inputs);
  const auto page = open_report(flags.report, inputs, flags.output);
  const std::string name = shown(inputs);

  const bool shows_table = !flags.json && flags.output != "-";
  const bool with_single = shows_table && (options.method != Method::kSt || certifying);
  Fitted fitted;
  Holdout holdout;
  std::optional<BootstrapFit> bootstrap;
  const bool resamples = flags.bootstrap.replicates > 0;
  if (resamples && counted) throw InvalidInput("--bootstrap", "needs the rows, not --counts");
  if (counted) {
    const Grid grid = read_counted_grid(flags);
    in_table(name, [&] {
      fitted.fit = fit_boundary(grid, objective, options);
      if (with_single) fitted.single = fit_boundary(grid, objective, {.method = Method::kSt});
      if (review && fitted.fit.boundary) fitted.review = fit_review(*fitted.fit.boundary, grid, *review);
    });
  } else {
    holdout = open_holdout(flags);
    if (page && !holdout.rows) {
      throw InvalidInput("--report", "needs the rows in memory; give a larger --max-memory");
    }
    fitted = in_table(name, [&] { return fit_holdout(holdout, objective, options, with_single, review, certifying); });
    if (resamples && fitted.fit.boundary) {
      if (!holdout.rows) throw InvalidInput("--bootstrap", "needs the rows in memory; give a larger --max-memory");
      bootstrap = in_table(name, [&] {
        return bootstrap_fit(holdout.rows->samples(), *fitted.fit.boundary,
                             make_bootstrap_options(flags.bootstrap, options.num_threads));
      });
    }
  }
  FitResult& result = fitted.fit;
  if (!result.boundary && fitted.certification) {
    return report_not_certifiable(name, flags.json, objective, *certifying, *fitted.certification);
  }
  if (!result.boundary) return report_infeasible(flags, objective, options, result);
  if (fitted.review) {
    if (!fitted.review->boundary) return report_infeasible_review(name, flags.json, *review, *fitted.review);
    result.boundary = *fitted.review->boundary;
    result.levels = fitted.review->flagged.levels;
    result.levels_used = static_cast<int>(result.levels.size());
  }
  Boundary& boundary = *result.boundary;
  options.method = boundary.method;
  boundary.score_column = flags.table.read.columns.score;
  boundary.uncertainty_column = flags.table.read.columns.uncertainty;

  const bool levels_given = !is_auto && !options.sweep_levels && options.method != Method::kJoint;
  if (!counted && options.method != Method::kSt && result.levels_used < levels_of(options) && levels_given) {
    fmt::print(stderr, "{}: uncertainty has too many equal values for {} levels; {} used\n", name, levels_of(options),
               result.levels_used);
  }
  const std::string json = to_json(boundary);
  // Written before the boundary: whoever finds that has the report too.
  if (page) write_report(*page, study_of_fit(study, *holdout.rows, boundary));
  if (output) {
    output->write(json);
    output->commit();
  }
  if (flags.json && flags.output != "-") {
    if (bootstrap) {
      Json with_bootstrap = Json::parse(json);
      with_bootstrap["bootstrap"] = json_of(*bootstrap);
      fmt::print("{}\n", with_bootstrap.dump(1));
    } else {
      fmt::print("{}", json);
    }
  }
  if (!shows_table) return kDone;
  if (boundary.chosen_by) print_choice(boundary);
  print_summary(boundary, result.levels_used);
  if (fitted.single && boundary.guarantee) {
    fmt::print("  {}\n", given_up_text(boundary, *fitted.single));
  } else if (fitted.single && boundary.method != Method::kSt && !(review && review->cost))
    fmt::print("  {}\n", gain_over_st(boundary, *fitted.single, counted || !boundary.bins));
  if (fitted.review) fmt::print("\n{}", review_text(*fitted.review));
  fmt::print("\n{}", level_table(boundary, result.levels, fitted.review));
  if (bootstrap) print_bootstrap(*bootstrap);
  if (!flags.output.empty()) fmt::print("\nwritten to {}\n", flags.output);
  return kDone;
}

}  // namespace

void add_fit(CLI::App& program, Action& action) {
  auto flags = std::make_shared<FitFlags>();
  CLI::App* verb = program.add_subcommand("fit", "Find the best boundary on a labelled hold-out");
  verb->add_option("PRED", flags->inputs,
                   "Predictions with label, one or more files: CSV, TSV, Parquet or Arrow; - for stdin");
  verb->add_option("--counts", flags->counts,
                   "Instead of PRED: a table of counts made elsewhere, columns level, score, positives, rows and "
                   "uncertainty (lower edge of the level)")
      ->type_name("FILE");
  verb->add_option("--edges", flags->edges, "With --counts: the uncertainty edges, such as 0.1,0.3")
      ->type_name("E,E,...");
  verb->add_option("--max-memory", flags->max_memory,
                   "Files that need more are gone through in batches [half of the machine's memory]")
      ->type_name("SIZE");
  verb->add_option("-o,--output", flags->output, "Write the boundary here (JSON), - for stdout");
  add_report_flag(*verb, flags->report, "of this hold-out, with this boundary as its decision");
  std::vector<std::string> methods;
  for (const MethodInfo& info : method_table()) methods.emplace_back(info.name);
  verb->add_option("--method", flags->method,
                   fmt::format("{} [auto; exact when levels, bins or --monotone are given]", method_names()))
      ->type_name("METHOD")
      ->check(CLI::IsMember(methods).description(""));
  add_objective_flags(*verb, flags->objective);
  add_certify_flags(*verb, flags->certify, flags->table);
  add_class_flags(*verb, flags->classes);
  add_segment_flags(*verb, flags->segments);
  add_review_flags(*verb, flags->review);
  add_binning_flags(*verb, flags->binning, "500 for the paper's methods, else all", true);
  add_levels_from_flag(*verb, flags->levels_from);
  FlagGroup(*verb, "Binning")
      .choice("--monotone", flags->monotone, "WAY", {"up", "down"},
              "Thresholds never fall (up), or never rise (down), with uncertainty; methods exact and joint");
  add_bootstrap_flags(*verb, flags->bootstrap, "intervals of the thresholds and of the gain over one threshold");
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print the boundary as JSON");
  verb->footer(
      "Example: limen fit holdout.csv --precision 0.9 -o b.json\n"
      "auto finds out whether uncertainty helps near the decision, and how much of it to use.\n"
      "limen fit holdout.csv --precision 0.9 --confidence 0.95 -o b.json certifies it for deployment.\n"
      "limen fit holdout.csv --precision 0.9 --segment market -o b.json gives each market its threshold; with --each "
      "the\n"
      "bound is kept in every market.\n"
      "limen fit holdout.csv --class-precision cat=0.9,dog=0.8 -o c.json: several classes, each with its own promise.\n"
      "Exit code 3: no boundary meets the bound, or none can be certified; what can be is printed.");
  verb->callback([flags, verb, &action] {
    flags->names_uncertainty = verb->count("--uncertainty") > 0;
    action = [flags, verb] { return run(*flags, *verb); };
  });
}

}  // namespace limen::cli
