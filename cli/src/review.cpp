// SPDX-License-Identifier: MIT
#include "review.h"

#include <fmt/format.h>

#include "flags.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

std::string ends_text(const Interval& interval) { return fmt::format("{:.4f} .. {:.4f}", interval.low, interval.high); }

}  // namespace

void add_review_flags(CLI::App& verb, ReviewFlags& flags) {
  FlagGroup group(verb, "Review (rows that are not flagged but sent to a person)");
  // An empty value, of a variable that is not set, must not mean that no review was asked for.
  const auto not_empty = [](const std::string& value) { return value.empty() ? "is empty" : std::string(); };
  group
      .add("--review-rate", flags.rate, "R",
           "Review at most this fraction of all rows: the most positives among those not flagged")
      ->check(not_empty);
  group
      .add("--review-recall", flags.recall, "Q",
           "Review as few rows as possible so that at least this fraction of positives is flagged or reviewed; with "
           "--review-rate: what that must reach")
      ->check(not_empty);
  group
      .add("--review-cost", flags.cost, "Z",
           "With --cost-fp and --cost-fn: cost of one review; least cost of flagging, reviewing and passing together")
      ->check(not_empty);
}

bool is_given(const ReviewFlags& flags) { return !flags.rate.empty() || !flags.recall.empty() || !flags.cost.empty(); }

std::optional<ReviewGoal> make_review_goal(const ReviewFlags& flags) {
  if (!is_given(flags)) return std::nullopt;
  ReviewGoal goal;
  if (!flags.rate.empty()) goal.max_rate = parse_bound(flags.rate, "--review-rate");
  if (!flags.recall.empty()) goal.min_recall = parse_bound(flags.recall, "--review-recall");
  if (!flags.cost.empty()) goal.cost = parse_number(flags.cost, "--review-cost");
  if (goal.cost && (goal.max_rate || goal.min_recall)) {
    throw InvalidInput("--review-cost decides how much is reviewed: leave out --review-rate and --review-recall");
  }
  validate(goal);
  return goal;
}

std::string objective_text(const Boundary& boundary) {
  const bool costs = boundary.review && boundary.review->cost;
  return describe(boundary.objective) +
         (costs ? fmt::format(", {:g} per review", boundary.review->cost->to_double()) : "");
}

std::string review_text(const ReviewFit& fit) {
  const Confusion& flagged = fit.flagged.total;
  const Confusion& both = fit.flagged_or_reviewed.total;
  const Confusion review = reviewed_only(flagged, both);
  Confusion all = both;
  all.flagged = both.rows;
  all.true_positives = both.positives;
  const Confusion pass = reviewed_only(both, all);
  std::vector<std::vector<std::string>> rows = {{"on the hold-out", "rows", "of all", "positives", "precision"}};
  const auto add = [&](const char* name, const Confusion& part) {
    rows.push_back({name, count_text(part.flagged), fmt::format("{:.2f}%", 100 * flag_rate(part).rate),
                    count_text(part.true_positives), part.flagged > 0 ? ratio_text(part.precision()) : "-"});
  };
  add("flagged", flagged);
  add("review", review);
  add("pass", pass);
  std::string text = table_text(rows);
  text += fmt::format(
      "  recall of flagged or reviewed {}, of flagged alone {}{}\n", ratio_text(both.recall()),
      ratio_text(flagged.recall()),
      fit.boundary->review->optimal ? "; proved: no other review on these levels and bins does better" : "");
  const auto& cost = fit.boundary->review->cost;
  text +=
      cost ? fmt::format("  cost {:.6g}, {:.6g} of it for reviews at {:g} each\n",
                         fit.boundary->holdout.objective_value, review.flagged * cost->to_double(), cost->to_double())
           : "  flagging is as without a review; figures about review are of this hold-out, and no guarantee covers "
             "them\n";
  return text;
}

std::vector<std::string> review_cells(const Boundary& boundary, const ReviewFit& fit, std::size_t level) {
  const auto& threshold = boundary.review->score_thresholds[level];
  const Confusion part = reviewed_only(fit.flagged.levels[level], fit.flagged_or_reviewed.levels[level]);
  return {threshold ? fmt::format(">= {:.6g}", *threshold) : "never", count_text(part.flagged),
          count_text(part.true_positives)};
}

int report_infeasible_review(const std::string& table, bool json, const ReviewGoal& goal, const ReviewFit& fit) {
  if (json) {
    Json report = {{"status", "infeasible"},
                   {"review_rate", goal.max_rate->to_double()},
                   {"review_recall", goal.min_recall->to_double()},
                   {"best_attainable_recall", fit.best_recall},
                   {"least_review_rate", fit.least_rate ? Json(*fit.least_rate) : Json(nullptr)}};
    fmt::print("{}\n", report.dump(1));
  }
  fmt::print(stderr,
             "limen: {}: infeasible: with {:g} of the rows reviewed, recall of flagged or reviewed is at most {:.6g}, "
             "below {:g}{}\n",
             table, goal.max_rate->to_double(), fit.best_recall, goal.min_recall->to_double(),
             fit.least_rate ? fmt::format("; that takes a review rate of {:.6g}", *fit.least_rate) : "");
  return kInfeasible;
}

std::string evaluated_review_text(const Confusion& flagged, const Confusion& both, double confidence) {
  const Confusion review = reviewed_only(flagged, both);
  const FlagRate rate = flag_rate(review, confidence);
  const std::string interval = fmt::format("{:g}% interval", 100 * confidence);
  std::vector<std::vector<std::string>> rows = {{"", "rows", "positives", "", interval}};
  rows.push_back({"review: of all rows", count_text(review.flagged), count_text(review.true_positives),
                  review.rows > 0 ? ratio_text(rate.rate) : "-", review.rows > 0 ? ends_text(rate.interval) : "-"});
  rows.push_back({"  positives among them", "", "", review.flagged > 0 ? ratio_text(review.precision()) : "-",
                  review.flagged > 0 ? ends_text(review.precision_interval(confidence)) : "-"});
  rows.push_back({"recall of flagged or reviewed", count_text(both.flagged), count_text(both.true_positives),
                  both.positives > 0 ? ratio_text(both.recall()) : "-",
                  both.positives > 0 ? ends_text(both.recall_interval(confidence)) : "-"});
  return table_text(rows);
}

Json evaluated_review_json(const Confusion& flagged, const Confusion& both, double confidence) {
  const Confusion review = reviewed_only(flagged, both);
  const FlagRate rate = flag_rate(review, confidence);
  const auto list = [](bool defined, const Interval& interval) {
    return defined ? Json({interval.low, interval.high}) : Json(nullptr);
  };
  const auto value = [](bool defined, double number) { return defined ? Json(number) : Json(nullptr); };
  return {{"reviewed", count_json(review.flagged)},
          {"positives", count_json(review.true_positives)},
          {"rate", value(review.rows > 0, rate.rate)},
          {"rate_interval", list(review.rows > 0, rate.interval)},
          {"precision", value(review.flagged > 0, review.precision())},
          {"precision_interval", list(review.flagged > 0, review.precision_interval(confidence))},
          {"recall", value(both.positives > 0, both.recall())},
          {"recall_interval", list(both.positives > 0, both.recall_interval(confidence))}};
}

}  // namespace limen::cli
