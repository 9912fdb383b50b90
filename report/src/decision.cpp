// SPDX-License-Identifier: MIT
#include "limen/report/decision.h"

#include <cstdio>
#include <utility>

#include "limen/base/text.h"
#include "study_text.h"

namespace limen::report {
namespace {

double reached(const Objective& objective, const Confusion& counts) {
  return objective.goal == Goal::kRecall ? counts.precision() : counts.recall();
}

/// The gain itself is uncertain, but more positives among as many rows are not.
bool has_sure_lift(const ExpectedGain& expected) { return expected.value > 0 && expected.lift_low.value_or(0) > 0; }

Gains gains_of(const DecisionFacts& facts) {
  const StudyCell& cell = facts.cell;
  if (cell.status == CellStatus::kInfeasible || cell.chosen == Method::kSt) return Gains::kNo;
  if (facts.expected) {
    if (facts.expected->low > 0 || has_sure_lift(*facts.expected)) return Gains::kYes;
    return facts.expected->high <= 0 ? Gains::kNo : Gains::kUnsure;
  }
  return cell.holdout_gain && *cell.holdout_gain <= 0 ? Gains::kNo : Gains::kUnsure;
}

std::string rule_text(const DecisionFacts& facts) {
  std::string text = facts.cell.chosen == Method::kSt ? "one threshold" : std::string(to_string(facts.cell.chosen));
  if (facts.cell.levels > 1) text += " on " + std::to_string(facts.cell.levels) + " levels";
  if (facts.method == Method::kAuto) text += " (chosen by auto)";
  return text;
}

std::string gain_text(const DecisionFacts& facts, Gains gains) {
  const StudyCell& cell = facts.cell;
  if (cell.chosen == Method::kSt) {
    return facts.method == Method::kAuto ? "Uncertainty brings no gain here." : "";
  }
  if (facts.single.status == CellStatus::kInfeasible) {
    return "No single threshold meets the bound on the hold-out" +
           std::string(gains == Gains::kYes ? "." : "; whether that holds on other rows is unsure.");
  }
  std::string text = "One threshold has " + maximized_name(facts.objective) + " " +
                     ratio_text(reached(facts.objective, facts.single.holdout)) + " there";
  const double gain = cell.holdout_gain.value_or(0);
  text += !cell.holdout_gain ? std::string()
          : gain > 0         ? ": a gain of " + percent_text(gain) + " on the hold-out"
          : gain == 0        ? ": no gain on the hold-out"
                             : ": " + percent_text(-gain) + " less on the hold-out";
  if (facts.expected) {
    text += ", expected on other rows " + percent_text(facts.expected->value) + " (" +
            percent_text(facts.expected->low) + " to " + percent_text(facts.expected->high) + ")";
  }
  switch (gains) {
    case Gains::kYes:
      return facts.expected && facts.expected->low <= 0 ? text + "; surely more positives among as many rows (" +
                                                              percent_text(*facts.expected->lift_low) + " or more)."
                                                        : text + ".";
    case Gains::kNo:
      return text + ": no gain.";
    default:
      return text + (facts.expected ? ": unsure." : "; what to expect on other rows is not known.");
  }
}

std::string guarantee_text(const Objective& objective, const Guarantee& guarantee) {
  return "Certified with " + number_text(100 * guarantee.confidence) + "% confidence: " + promise_text(objective) +
         ", for " + guarantee.valid_for;
}

/// What is promised of other rows, and whether anything is.
std::pair<std::string, bool> promise_of(const DecisionFacts& facts) {
  if (facts.guarantee) return {guarantee_text(facts.objective, *facts.guarantee) + ".", true};
  if (facts.certification == nullptr) {
    return {"None: nothing was certified. Figures of the hold-out are no promise for other rows.", false};
  }
  const StudyCertification& found = *facts.certification;
  if (!found.guarantee)
    return {"None: " + promise_text(facts.objective) + " cannot be certified: " + found.why + ".", false};
  return {guarantee_text(facts.objective, *found.guarantee) + ", of the certified boundary, whose " +
              maximized_name(facts.objective) + " on the hold-out is " +
              ratio_text(reached(facts.objective, found.holdout)) + ".",
          true};
}

/// The same in the decision's sentence.
std::string short_promise(const DecisionFacts& facts) {
  const auto certified = [](const Guarantee& guarantee) {
    return "with " + number_text(100 * guarantee.confidence) + "% confidence for " + guarantee.valid_for + ".";
  };
  if (facts.guarantee) return "Certified " + certified(*facts.guarantee);
  if (facts.certification == nullptr) return "Nothing is certified.";
  if (!facts.certification->guarantee) return "The bound cannot be certified on these rows.";
  return "A boundary with " + maximized_name(facts.objective) + " " +
         ratio_text(reached(facts.objective, facts.certification->holdout)) + " is certified " +
         certified(*facts.certification->guarantee);
}

std::string upper_first(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace

std::string promise_text(const Objective& objective) {
  const std::string bound = number_text(objective.bound.to_double());
  switch (objective.goal) {
    case Goal::kPrecision:
      return "precision >= " + bound;
    case Goal::kRecall:
      return "recall >= " + bound;
    case Goal::kFalsePositiveRate:
      return "false-positive rate <= " + bound;
    default:
      return "flagged fraction <= " + bound;
  }
}

std::string why_not_certified(const Certification& found) {
  std::string what;
  const auto add = [&](const std::string& more) { what += (what.empty() ? "" : "; ") + more; };
  if (found.steps.empty()) {
    add("there are too few rows to learn from");
  } else if (found.attainable) {
    char nearest[32];
    std::snprintf(nearest, sizeof nearest, "%.3g", *found.attainable);
    add(std::string("these rows come nearest to a bound of ") + nearest);
  }
  const std::int64_t rows = found.tested.rows + found.learning.rows;
  if (found.rows_needed) {
    add("about " + count_text(static_cast<double>(*found.rows_needed)) + " labelled rows would be needed, there are " +
        count_text(static_cast<double>(rows)) + " (limen plan tells more)");
  } else if (!found.steps.empty()) {
    add("no boundary that was tested does better than the bound on these rows, so more of them would not help");
  }
  return what;
}

StudyDecision decision_in_words(const DecisionFacts& facts) {
  StudyDecision decision;
  decision.gains = gains_of(facts);
  const StudyCell& cell = facts.cell;
  auto [guarantee, is_promised] = promise_of(facts);
  decision.guarantee = std::move(guarantee);
  if (cell.status == CellStatus::kInfeasible) {
    decision.sentence = upper_first(bound_text(facts.objective)) + " cannot be met by " +
                        std::string(to_string(facts.method)) + " on this hold-out";
    if (cell.best) {
      decision.sentence +=
          "; the best attainable " + constraint_name(facts.objective) + " is " + ratio_text(*cell.best);
    }
    decision.sentence += ".";
    if (facts.single.status != CellStatus::kInfeasible && facts.method != Method::kSt) {
      decision.sentence += " One threshold meets it, with " + maximized_name(facts.objective) + " " +
                           ratio_text(reached(facts.objective, facts.single.holdout)) + ".";
    }
    if (!is_promised) return decision;
  } else {
    decision.sentence = "At " + bound_text(facts.objective) + ", " + rule_text(facts) + " has " +
                        maximized_name(facts.objective) + " " + ratio_text(reached(facts.objective, cell.holdout)) +
                        " on the hold-out, flagging " + count_text(cell.holdout.flagged) + " of " +
                        count_text(cell.holdout.rows) + " rows.";
    const std::string gain = gain_text(facts, decision.gains);
    if (!gain.empty()) decision.sentence += " " + gain;
  }
  decision.sentence += " " + short_promise(facts);
  return decision;
}

StudyDecision monitored_in_words(const DecisionFacts& facts, const MonitorReport& report) {
  StudyDecision decision;
  decision.gains = facts.cell.chosen == Method::kSt ? Gains::kNo : Gains::kUnsure;
  decision.guarantee = promise_of(facts).first;
  std::string& text = decision.sentence;
  text = upper_first(bound_text(facts.objective)) + " in deployment: " + std::string(to_string(report.verdict));
  if (report.verdict == Verdict::kHolds) text += ", to within " + number_text(report.tolerance);
  text += ". ";
  if (report.figure) {
    text += "In " + count_text(static_cast<double>(report.tested)) + " " + report.unit + " the " + report.constraint +
            " is " + ratio_text(*report.figure) + ", " + ratio_text(report.figure_low) + " to " +
            ratio_text(report.figure_high) + " at all times with " + number_text(100 * (1 - report.alpha)) +
            "% confidence.";
  } else {
    text += "There are no " + report.unit + " yet.";
  }
  if (report.broken) {
    text += " Broken since row " + count_text(static_cast<double>(report.broken->since.row)) +
            ", most likely; noticed at row " + count_text(static_cast<double>(report.broken->noticed.row)) + ".";
  }
  return decision;
}

}  // namespace limen::report
