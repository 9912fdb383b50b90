// SPDX-License-Identifier: MIT
//
// A segment is a level. 1. Plan: which values stand alone, which are pooled, and the uncertainty edges inside each. 2.
// Every row's cell takes the place of its uncertainty. 3. The fit, or the certification, of the cells is that of any
// levels; its rule on cells is told apart again.
#include "limen/fit/segments.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/choose/segments.h"
#include "limen/count/levels.h"
#include "limen/count/top_rows.h"
#include "limen/promise/walk.h"
#include "limen/solve/segments.h"

namespace limen {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw InvalidInput("fit_segments", what); }

/// Rows of a segment, copied.
struct Part {
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  std::vector<double> weight;
  std::vector<std::uint64_t> group;

  [[nodiscard]] Samples samples() const {
    return {std::span<const double>(score), std::span<const double>(uncertainty), label, weight};
  }
  [[nodiscard]] bool has_both_classes() const {
    bool positive = false;
    bool negative = false;
    for (std::size_t row = 0; row < label.size(); ++row) {
      if (!weight.empty() && weight[row] == 0) continue;
      (label[row] != 0 ? positive : negative) = true;
    }
    return positive && negative;
  }
};

/// The hold-out, checked.
struct Holdout {
  Samples samples;  ///< with an uncertainty for every row
  const TextValues& segment;
  std::span<const std::uint64_t> group;
  bool has_uncertainty = true;

  [[nodiscard]] std::size_t size() const { return samples.size(); }
  [[nodiscard]] std::uint64_t id(std::size_t row) const { return group.empty() ? row : group[row]; }

  [[nodiscard]] Part part(std::span<const std::size_t> rows) const {
    Part part;
    for (const std::size_t row : rows) {
      part.score.push_back(samples.score[row]);
      part.uncertainty.push_back(samples.uncertainty[row]);
      part.label.push_back(samples.label[row]);
      if (!samples.weight.empty()) part.weight.push_back(samples.weight[row]);
      if (!group.empty()) part.group.push_back(group[row]);
    }
    return part;
  }
};

void check_columns(const Samples& samples, const TextValues& segment, std::span<const std::uint64_t> group) {
  const std::size_t rows = samples.size();
  if (rows == 0) throw InvalidInput("fit_segments", "there are no rows", Cause::kNoRows);
  if (segment.code.size() != rows) {
    refuse("segment has " + std::to_string(segment.code.size()) + " rows, label has " + std::to_string(rows));
  }
  if (!group.empty() && group.size() != rows) {
    refuse("group has " + std::to_string(group.size()) + " entries for " + std::to_string(rows) + " rows");
  }
  if (segment.distinct.size() > kMostSegmentValues) {
    refuse("the segments have " + count_text(static_cast<double>(segment.distinct.size())) +
           " distinct values, must be at most " + count_text(static_cast<double>(kMostSegmentValues)) +
           "; put values together");
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t code = segment.code[row];
    if (code == TextValues::kMissing) {
      throw InvalidInput("fit_segments", "segment[" + std::to_string(row) + "] is missing; every row needs a segment",
                         Cause::kMissingValue);
    }
    if (code < 0 || static_cast<std::size_t>(code) >= segment.distinct.size()) {
      refuse("segment[" + std::to_string(row) + "] has the code " + std::to_string(code) + ", must be below " +
             std::to_string(segment.distinct.size()));
    }
  }
  bool positive = false;
  bool negative = false;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!samples.weight.empty() && samples.weight[row] == 0) continue;
    (samples.label[row] != 0 ? positive : negative) = true;
  }
  if (!positive) refuse("no row is positive; both classes are needed");
  if (!negative) refuse("every row is positive; both classes are needed");
}

/// Checks all and calls `fit(holdout)`.
template <typename Fit>
SegmentFit on_holdout(Samples samples, const TextValues& segment, std::span<const std::uint64_t> group,
                      const SegmentOptions& options, const Objective& objective, const Fit& fit) {
  validate(options);
  validate(objective);
  if (options.each && (objective.goal == Goal::kCost || objective.goal == Goal::kFBeta)) {
    refuse("the objective (" + describe(objective) + ") has no bound that each segment could keep");
  }
  const bool has_uncertainty = !samples.uncertainty.empty();
  std::vector<double> none;
  if (!has_uncertainty) {
    none.assign(samples.size(), 0);
    samples.uncertainty = std::span<const double>(none);
  }
  validate(samples);
  check_columns(samples, segment, group);
  return fit(Holdout{samples, segment, group, has_uncertainty});
}

// ---- Plan ----

/// Which values stand alone, by the rows for which `counts(row)`; without thresholds.
template <typename CountsRow>
Segments plan_values(const Holdout& holdout, const SegmentOptions& options, std::int64_t min_rows,
                     const CountsRow& counts) {
  struct Value {
    std::string text;
    std::int64_t rows = 0;
  };
  std::vector<Value> values;
  for (const std::string& text : holdout.segment.distinct) values.push_back({text});
  for (std::size_t row = 0; row < holdout.size(); ++row) {
    if (counts(row)) ++values[static_cast<std::size_t>(holdout.segment.code[row])].rows;
  }
  std::erase_if(values, [](const Value& value) { return value.rows == 0; });
  std::ranges::sort(values, {}, &Value::text);
  Segments plan;
  plan.column = options.column;
  plan.each = options.each;
  std::int64_t in_pool = 0;
  for (const Value& value : values) {
    if (value.rows < min_rows) {
      in_pool += value.rows;
      plan.pooled_values.push_back(value.text);
      continue;
    }
    plan.own.emplace_back();
    plan.own.back().value = value.text;
    plan.own.back().rule.score_thresholds.emplace_back();
  }
  plan.unseen_as_pooled = in_pool >= min_rows;
  if (in_pool > 0) {
    plan.pooled.emplace();
    plan.pooled->rule.score_thresholds.emplace_back();
  }
  const std::size_t size = plan.own.size() + (plan.pooled ? 1 : 0);
  if (size > kMostCells) {
    refuse(count_text(static_cast<double>(plan.own.size())) + " values have at least " + std::to_string(min_rows) +
           " rows, must be at most " + count_text(static_cast<double>(kMostCells)) + "; raise min_rows");
  }
  return plan;
}

std::vector<Segment*> all_of(Segments& segments) {
  std::vector<Segment*> all;
  for (Segment& segment : segments.own) all.push_back(&segment);
  if (segments.pooled) all.push_back(&*segments.pooled);
  return all;
}

/// Row numbers by segment, the pool (or values never seen) last.
std::vector<std::vector<std::size_t>> rows_by_segment(const Holdout& holdout, const Segments& plan) {
  Segments without_levels = plan;
  for (Segment* const segment : all_of(without_levels)) segment->rule = {{}, {std::nullopt}};
  const SegmentCells cells(without_levels);
  const std::vector<double> cell = cells.find(holdout.segment, {}).cell;
  std::vector<std::vector<std::size_t>> rows(cells.num_segments());
  for (std::size_t row = 0; row < cell.size(); ++row) rows[static_cast<std::size_t>(cell[row])].push_back(row);
  return rows;
}

/// Uncertainty edges inside every segment, from the rows for which `counts(row)`.
template <typename CountsRow>
void plan_levels(const Holdout& holdout, const Objective& objective, int levels, LevelsFrom from, Binning binning,
                 const CountsRow& counts, Segments& plan) {
  if (levels <= 1) return;
  if (!holdout.has_uncertainty) refuse(std::to_string(levels) + " levels need an uncertainty");
  const std::size_t size = plan.own.size() + (plan.pooled ? 1 : 0);
  if (size * static_cast<std::size_t>(levels) > kMostCells) {
    refuse(std::to_string(levels) + " levels in " + count_text(static_cast<double>(size)) + " segments are more than " +
           count_text(static_cast<double>(kMostCells)) + "; take fewer, or raise min_rows");
  }
  std::vector<std::vector<std::size_t>> rows = rows_by_segment(holdout, plan);
  std::vector<std::size_t> all;
  for (auto& part : rows) {
    std::erase_if(part, [&](std::size_t row) { return !counts(row); });
    all.insert(all.end(), part.begin(), part.end());
  }
  const bool top = from == LevelsFrom::kTop && binning == Binning::kEquiWeight;
  const double near = top ? near_score(holdout.part(all).samples(), objective) : 0;
  std::size_t at = 0;
  for (Segment* const segment : all_of(plan)) {
    const Part part = holdout.part(rows[at++]);
    if (part.label.empty()) continue;
    std::vector<double>& edges = segment->rule.uncertainty_edges;
    const auto reach = std::ranges::count_if(part.score, [&](double score) { return score >= near; });
    if (!top) {
      edges = uncertainty_edges(part.samples().uncertainty, levels, binning);
    } else if (reach >= levels) {
      edges = top_edges(part.samples(), near, levels);
    }
    segment->rule.score_thresholds.assign(edges.size() + 1, std::nullopt);
  }
}

Samples on_cells(const Holdout& holdout, const std::vector<double>& cell) {
  Samples samples = holdout.samples;
  samples.uncertainty = std::span<const double>(cell);
  return samples;
}

// ---- From cells to segments ----

/// The boundary on cells as one with segments, and what it does on the hold-out.
SegmentFit told_apart(Boundary boundary, const Segments& plan, std::vector<Confusion> cells) {
  Segments segments = with_thresholds(plan, boundary.rule);
  const SegmentCells numbered(segments);
  const std::vector<Segment*> all = all_of(segments);
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const std::size_t at = numbered.segment_of(cell);
    if (at >= all.size()) continue;
    all[at]->rows += cells[cell].rows;
    all[at]->positives += cells[cell].positives;
    all[at]->flagged += cells[cell].flagged;
    all[at]->true_positives += cells[cell].true_positives;
  }
  if (!uses_uncertainty(segments)) boundary.levels_from = LevelsFrom::kAll;
  boundary.rule = {};
  boundary.segments = std::move(segments);
  SegmentFit fit;
  fit.boundary = std::move(boundary);
  fit.cells = std::move(cells);
  return fit;
}

SegmentFit fit_together(const Holdout& holdout, const Segments& plan, const Objective& objective, FitOptions options) {
  const SegmentCells cells(plan);
  const std::vector<double> cell = cells.find(holdout.segment, holdout.samples.uncertainty).cell;
  options.method = Method::kExact;
  options.levels = std::nullopt;
  FitResult fit = fit_on_edges(on_cells(holdout, cell), cells.edges(), objective, options);
  if (!fit.boundary) {
    SegmentFit none;
    none.best_attainable = fit.solution.best_attainable;
    return none;
  }
  return told_apart(*std::move(fit.boundary), plan, std::move(fit.levels));
}

// ---- Each by itself ----

/// What each segment came to, put together.
struct EachSegment {
  Segments segments;
  Boundary boundary;  ///< of which objective, binning and so on are taken
  std::optional<double> best_attainable;
  bool any = false;
  bool optimal = true;  ///< each of them, where some could flag
  double bound = 0;     ///< true positives that all segments together have at most

  void set_nothing(Segment& segment, Method method, SegmentStatus status) const {
    segment.rule = {{}, {std::nullopt}};
    segment.method = method;
    segment.status = status;
  }

  [[nodiscard]] SegmentFit finish(const Holdout& holdout, const Objective& objective, Method asked) {
    SegmentFit fit;
    if (!any) {
      fit.best_attainable = best_attainable;
      return fit;
    }
    // Of several methods the first that is not one threshold stands for all; the segments name their own.
    boundary.method = asked == Method::kAuto ? Method::kSt : asked;
    for (const Segment* segment : all_of(segments)) {
      if (asked == Method::kAuto && segment->method != Method::kSt) {
        boundary.method = *segment->method;
        break;
      }
    }
    boundary.objective = objective;
    boundary.rule = cell_rule(segments);
    const SegmentCells cells(segments);
    const std::vector<double> cell = cells.find(holdout.segment, holdout.samples.uncertainty).cell;
    const Evaluation evaluation = evaluate(boundary.rule, on_cells(holdout, cell));
    HoldoutSummary& summary = boundary.holdout;
    summary.rows = static_cast<std::int64_t>(holdout.size());
    summary.weighted = !holdout.samples.weight.empty();
    summary.weight = evaluation.total.rows;
    summary.positives = evaluation.total.positives;
    summary.flagged = evaluation.total.flagged;
    summary.true_positives = evaluation.total.true_positives;
    const bool recall = objective.goal != Goal::kRecall;
    summary.objective_value = recall ? summary.true_positives : summary.precision();
    summary.objective_bound = recall ? (optimal ? summary.true_positives : std::max(bound, summary.true_positives)) : 1;
    summary.optimal = optimal && recall;
    return told_apart(std::move(boundary), segments, evaluation.levels);
  }
};

SegmentFit fit_each(const Holdout& holdout, Segments plan, const Objective& objective, FitOptions options) {
  if (!holdout.has_uncertainty) {
    if (options.levels.value_or(1) > 1) refuse(std::to_string(*options.levels) + " levels need an uncertainty");
    if (options.method == Method::kAuto) options.method = Method::kSt;
  }
  const std::vector<std::vector<std::size_t>> rows = rows_by_segment(holdout, plan);
  EachSegment each;
  const Method asked = options.method;
  std::size_t at = 0;
  for (Segment* const segment : all_of(plan)) {
    const Part part = holdout.part(rows[at++]);
    FitOptions how = options;
    const bool both = part.has_both_classes();
    if (!both) how = {.method = Method::kSt, .num_threads = options.num_threads};
    const FitResult fit =
        both ? fit_boundary(part.samples(), objective, how) : fit_on_edges(part.samples(), {}, objective, how);
    if (!fit.boundary) {
      const double best = fit.solution.best_attainable.value_or(0);
      each.best_attainable = std::max(each.best_attainable.value_or(0), best);
      const Method tried = fit.choice ? fit.choice->best().method : how.method;
      each.optimal &= tried == Method::kSt || tried == Method::kExact;  // others do not prove that nothing is feasible
      each.set_nothing(*segment, how.method == Method::kAuto ? Method::kSt : how.method, SegmentStatus::kInfeasible);
      continue;
    }
    each.any = true;
    const HoldoutSummary& holdout_of = fit.boundary->holdout;
    segment->rule = fit.boundary->rule;
    segment->method = fit.boundary->method;
    segment->status = holdout_of.optimal ? SegmentStatus::kOptimal : SegmentStatus::kFeasible;
    each.optimal &= holdout_of.optimal;
    each.bound += holdout_of.objective_bound;
    each.boundary.binning = fit.boundary->binning;
    each.boundary.monotone = fit.boundary->monotone;
    each.boundary.bins = fit.boundary->bins;
    if (fit.levels_used > 1) each.boundary.levels_from = fit.boundary->levels_from;
  }
  each.segments = std::move(plan);
  return each.finish(holdout, objective, asked);
}

// ---- Certified ----

/// min_rows of as many rows as learn.
std::int64_t scaled_min_rows(const SegmentOptions& options, double share) {
  return std::max<std::int64_t>(1, std::llround(std::ceil(static_cast<double>(options.min_rows) * share)));
}

SegmentFit certify_together(const Holdout& holdout, const Segments& plan, const Objective& objective,
                            CertifyOptions options) {
  const SegmentCells cells(plan);
  const std::vector<double> cell = cells.find(holdout.segment, holdout.samples.uncertainty).cell;
  options.method = Method::kExact;
  options.levels = std::nullopt;
  options.edges = cells.edges();
  const Samples samples = on_cells(holdout, cell);
  Certification found = certify(samples, objective, options, holdout.group);
  SegmentFit fit;
  if (found.boundary) {
    fit = told_apart(*found.boundary, plan, evaluate(found.boundary->rule, samples).levels);
  }
  fit.certification = std::move(found);
  return fit;
}

SegmentFit certify_each(const Holdout& holdout, Segments plan, const LearningSplit& split, const Objective& objective,
                        CertifyOptions options) {
  if (!holdout.has_uncertainty) {
    if (options.levels.value_or(1) > 1) refuse(std::to_string(*options.levels) + " levels need an uncertainty");
    if (options.method == Method::kAuto) options.method = Method::kSt;
  }
  std::vector<std::vector<std::size_t>> rows = rows_by_segment(holdout, plan);
  EachSegment each;
  each.optimal = false;
  std::size_t at = 0;
  for (Segment* const segment : all_of(plan)) {
    std::vector<std::size_t>& own = rows[at];
    const bool is_pool = at++ == plan.own.size();
    const std::size_t before = own.size();
    if (is_pool) std::erase_if(own, [&](std::size_t row) { return split.learns(holdout.id(row)); });
    const auto counted = static_cast<std::int64_t>(before - own.size());
    const Part part = holdout.part(own);
    const Method method = options.method == Method::kAuto ? Method::kSt : options.method;
    if (!part.has_both_classes()) {
      each.set_nothing(*segment, method, SegmentStatus::kNotCertified);
      continue;
    }
    const Certification found = certify(part.samples(), objective, options, part.group);
    if (!found.boundary) {
      each.set_nothing(*segment, found.method, SegmentStatus::kNotCertified);
      each.best_attainable = std::max(each.best_attainable.value_or(0), found.attainable.value_or(0));
      continue;
    }
    each.any = true;
    segment->rule = found.boundary->rule;
    segment->method = found.boundary->method;
    segment->status = SegmentStatus::kCertified;
    segment->guarantee = found.boundary->guarantee;
    segment->guarantee->learning_rows += counted;
    segment->guarantee->valid_for += "; of this segment alone, not of all segments at once";
    if (found.walk.num_levels() > 1) each.boundary.levels_from = found.boundary->levels_from;
  }
  each.segments = std::move(plan);
  for (std::size_t row = 0; row < holdout.size(); ++row) {
    if (holdout.samples.label[row] != 0) each.bound += holdout.samples.weight.empty() ? 1 : holdout.samples.weight[row];
  }
  return each.finish(holdout, objective, options.method);
}

}  // namespace

void validate(const SegmentOptions& options) {
  if (options.column.empty()) refuse("column is empty, must be the name of a column");
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  if (options.min_rows < 1 || options.min_rows > kMost) {
    refuse("min_rows is " + std::to_string(options.min_rows) + ", must be 1 to 2^53");
  }
}

namespace {

// ---- Auto ----

/// Uncertainty levels of a segment that the choice looks at.
constexpr std::size_t kInnerLevels = 8;

/// How to use segments and uncertainty, by the rows of a part of the hold-out, and what that means for every segment.
struct Chosen {
  Choice choice;
  Segments plan;  ///< with the levels of the choice, where it has segments
};

/// by_uncertainty: what was chosen of the same rows without segments.
Chosen choose_plan(const Holdout& part, Segments plan, Choice by_uncertainty, const Objective& objective) {
  if (!part.has_uncertainty) by_uncertainty.why = "one threshold";
  // Thresholds on segments may flag many more rows than one for all does.
  const SegmentFit alone = fit_together(part, plan, objective, {});
  const double flagged = alone.boundary ? alone.boundary->holdout.flagged / alone.boundary->holdout.weight : 0;
  const double reached = std::min(3 * flagged + 0.001, 1.0) * static_cast<double>(part.size());
  const double near =
      std::min(near_score(part.samples, objective), top_score(part.samples, std::llround(std::ceil(reached))));
  const std::size_t size = plan.own.size() + (plan.pooled ? 1 : 0);
  std::vector<double> narrow;
  if (part.has_uncertainty && size * kInnerLevels <= kMostCells) {
    narrow = top_edges(part.samples, near, static_cast<int>(kInnerLevels));
  }
  const auto set_edges = [](Segments& segments, const std::vector<double>& edges) {
    for (Segment* const segment : all_of(segments)) {
      segment->rule = {edges, std::vector<std::optional<double>>(edges.size() + 1)};
    }
  };
  // Rows of values that are in no segment are never flagged: they are a segment of their own here, with as many levels.
  const SegmentCells numbered(plan);
  const std::size_t inner = narrow.size() + 1;
  std::vector<double> cell = numbered.find(part.segment, {}).cell;
  for (std::size_t row = 0; row < cell.size(); ++row) {
    const auto level = static_cast<double>(level_of(narrow, part.samples.uncertainty[row]));
    cell[row] = cell[row] * static_cast<double>(inner) + level;
  }
  std::vector<double> edges;
  for (std::size_t at = 1; at < numbered.num_segments() * inner; ++at) edges.push_back(static_cast<double>(at) - 0.5);
  const Samples cells = on_cells(part, cell);
  const Grid grid = cells.weight.empty()
                        ? count_top(cells, validate(cells), edges, near)
                        : count_distinct(cells, edges, weight_units(cells, positive_rounding(objective)));
  Chosen chosen{choose_segments(grid, inner, by_uncertainty, objective), std::move(plan)};
  const Candidate& best = chosen.choice.best();
  if (best.segments && best.levels > 1) set_edges(chosen.plan, coarser_edges(narrow, best.levels));
  return chosen;
}

/// `auto` on rows in memory: what is chosen without segments must be beaten by segments.
SegmentFit fit_chosen(const Holdout& holdout, Segments plan, const Objective& objective, const FitOptions& options) {
  const FitResult without = fit_boundary(holdout.samples, objective, options);
  const Chosen chosen = choose_plan(holdout, std::move(plan), *without.choice, objective);
  SegmentFit fit;
  if (chosen.choice.best().segments) {
    FitOptions exact;
    exact.num_threads = options.num_threads;
    exact.levels_from = LevelsFrom::kTop;
    fit = fit_together(holdout, chosen.plan, objective, exact);
  } else if (without.boundary) {
    fit.boundary = without.boundary;
    fit.cells = without.levels;
  } else {
    fit.best_attainable = without.solution.best_attainable;
  }
  if (fit.boundary) {
    const Choice& choice = chosen.choice;
    fit.boundary->chosen_by = chosen_by(choice);
    fit.boundary->expected =
        Expected{choice.precision.low, choice.precision.high, choice.recall.low, choice.recall.high};
  }
  return fit;
}

/// The rows that learn tell how to use segments and uncertainty; the others test that.
SegmentFit certify_chosen(const Holdout& holdout, const SegmentOptions& segments, const Objective& objective,
                          const CertifyOptions& options) {
  const auto learns_of = [&](double share) {
    return [&holdout, split = LearningSplit{options.seed, share}](std::size_t row) {
      return split.learns(holdout.id(row));
    };
  };
  const auto choose_by = [&](double share) -> std::optional<Chosen> {
    const auto learns = learns_of(share);
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < holdout.size(); ++row) {
      if (learns(row)) rows.push_back(row);
    }
    const Part part = holdout.part(rows);
    if (!part.has_both_classes()) return std::nullopt;
    TextValues texts{holdout.segment.distinct, {}};
    for (const std::size_t row : rows) texts.code.push_back(holdout.segment.code[row]);
    const Holdout learning{part.samples(), texts, {}, holdout.has_uncertainty};
    Segments plan = plan_values(learning, segments, scaled_min_rows(segments, share), [](std::size_t) { return true; });
    const FitResult without = fit_boundary(part.samples(), objective, {.method = Method::kAuto});
    return choose_plan(learning, std::move(plan), *without.choice, objective);
  };
  CertifyOptions how = options;
  const auto one_threshold = [&](double share, std::optional<Choice> choice) {
    how.method = Method::kSt;
    how.levels = std::nullopt;
    how.learning_share = share;
    SegmentFit fit;
    Certification found = certify(holdout.samples, objective, how, holdout.group);
    found.choice = std::move(choice);
    fit.boundary = found.boundary;
    if (fit.boundary) {
      if (found.choice) fit.boundary->chosen_by = chosen_by(*found.choice);
      fit.cells = evaluate(fit.boundary->rule, holdout.samples).levels;
    }
    fit.certification = std::move(found);
    return fit;
  };
  // A few rows tell whether segments or uncertainty may inform at all; only then more of them are given up. Whoever was
  // looked at is never tested.
  constexpr double kMayInform = 0.002;
  const double share = options.learning_share.value_or(learning_share_of(holdout.size()));
  const double gate = std::min(share, gate_share_of(holdout.size()));
  const std::optional<Chosen> first = choose_by(gate);
  const auto may_inform = [&](const Information& information) {
    return information.testable && information.p() < kMayInform;
  };
  if (!first || (!may_inform(*first->choice.segment_information) && !may_inform(first->choice.information))) {
    std::optional<Choice> choice;
    if (first) {
      choice = first->choice;
      choice->candidates.resize(1);
      choice->chosen = 0;
      choice->why = "segments and uncertainty tell too little about the label beyond the score: one threshold";
    }
    return one_threshold(gate, std::move(choice));
  }
  std::optional<Chosen> chosen = choose_by(share);
  if (!chosen) return one_threshold(share, std::nullopt);
  Choice& choice = chosen->choice;
  constexpr double kWorthLearning = 0.03;  // what is given up by testing fewer rows must come back
  if (choice.chosen != 0 && choice.best().gain < kWorthLearning) {
    choice.why += ", which is not worth the rows it takes to learn it: one threshold";
    choice.chosen = 0;
  }
  const Candidate best = choice.best();
  if (best.method == Method::kSt) return one_threshold(share, std::move(choice));
  how.learning_share = share;
  SegmentFit fit;
  if (best.segments) {
    fit = certify_together(holdout, chosen->plan, objective, how);
  } else {
    how.method = best.method;
    how.levels = best.levels;
    Certification found = certify(holdout.samples, objective, how, holdout.group);
    fit.boundary = found.boundary;
    if (fit.boundary) fit.cells = evaluate(fit.boundary->rule, holdout.samples).levels;
    fit.certification = std::move(found);
  }
  if (fit.boundary) fit.boundary->chosen_by = chosen_by(choice);
  fit.certification->choice = std::move(choice);
  return fit;
}

}  // namespace

SegmentFit fit_segments(const Samples& samples, const TextValues& segment, const Objective& objective,
                        const SegmentOptions& segments, const FitOptions& options) {
  validate(options);
  const auto all_rows = [](std::size_t) { return true; };
  return on_holdout(samples, segment, {}, segments, objective, [&](const Holdout& holdout) {
    Segments plan = plan_values(holdout, segments, segments.min_rows, all_rows);
    if (segments.each) return fit_each(holdout, std::move(plan), objective, options);
    if (options.method == Method::kAuto) return fit_chosen(holdout, std::move(plan), objective, options);
    if (options.method != Method::kExact) {
      refuse("segments need method auto or exact, not " + std::string(to_string(options.method)) +
             "; any method fits each of them by itself");
    }
    if (options.monotone || options.sweep_levels || options.sweep_bins) {
      refuse("monotone thresholds, and levels or bins by cross-validation, are not for segments together");
    }
    plan_levels(holdout, objective, options.levels.value_or(1), options.levels_from, options.binning, all_rows, plan);
    return fit_together(holdout, plan, objective, options);
  });
}

SegmentFit certify_segments(const Samples& samples, const TextValues& segment, const Objective& objective,
                            const SegmentOptions& segments, const CertifyOptions& options,
                            std::span<const std::uint64_t> group) {
  validate(options);
  if (options.edges) refuse("edges are given, but segments have their own");
  return on_holdout(samples, segment, group, segments, objective, [&](const Holdout& holdout) {
    if (options.method == Method::kAuto && !segments.each) {
      return certify_chosen(holdout, segments, objective, options);
    }
    const double share = options.learning_share.value_or(learning_share_of(holdout.size()));
    const LearningSplit split{options.seed, share};
    const auto learns = [&](std::size_t row) { return split.learns(holdout.id(row)); };
    Segments plan = plan_values(holdout, segments, scaled_min_rows(segments, share), learns);
    if (plan.own.empty() && !plan.pooled) return SegmentFit{};  // no row learns
    if (segments.each) return certify_each(holdout, std::move(plan), split, objective, options);
    if (options.method != Method::kExact) {
      refuse("segments need method auto or exact, not " + std::string(to_string(options.method)) +
             "; each of them by itself may be certified by st, smooth and joint too");
    }
    plan_levels(holdout, objective, options.levels.value_or(1), options.levels_from, Binning::kEquiWeight, learns,
                plan);
    CertifyOptions how = options;
    how.learning_share = share;
    return certify_together(holdout, plan, objective, how);
  });
}

}  // namespace limen
