// SPDX-License-Identifier: MIT
#include "certified.h"

#include <fmt/format.h>

#include <cmath>

#include "flags.h"
#include "limen/promise/binomial.h"
#include "limen/report/decision.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
using report::promise_text;

void add_certify_flags(CLI::App& verb, CertifyFlags& flags, TableFlags& table) {
  FlagGroup group(verb, "Promise");
  group
      .add("--confidence", flags.confidence, "C",
           "Certify the bound for deployment with this probability, such as 0.95; two columns give up some rows to "
           "learn")
      ->expected(1)
      ->take_last();
  group.add("--seed", flags.seed, "SEED", "With --confidence: which rows learn and which are tested");
  group.add("--group", table.read.columns.group, "COLUMN",
            "With --confidence: rows of one value (a customer, a day) stay together, and the test is on groups");
}

std::optional<CertifyOptions> make_certify_options(const CertifyFlags& flags) {
  if (flags.confidence.empty()) return std::nullopt;
  CertifyOptions options;
  const std::string& text = flags.confidence.back();
  if (!CLI::detail::lexical_cast(text, options.confidence) || !(options.confidence > 0 && options.confidence < 1)) {
    throw InvalidInput(
        fmt::format("--confidence is \"{}\", must be a number between 0 and 1, such as 0.95", one_line(text)));
  }
  options.seed = flags.seed;
  return options;
}

std::string guarantee_text(const Boundary& boundary) {
  const Guarantee& guarantee = *boundary.guarantee;
  const std::string learnt =
      guarantee.learning_rows > 0 ? fmt::format("; {} learned", plural_text(guarantee.learning_rows, "other row")) : "";
  return fmt::format(
      "certified with {:g}% confidence: {}, for {}\n    tested on {}: flagged {}, true positives {} (p = {:.3g}, {} "
      "test){}",
      100 * guarantee.confidence, promise_text(boundary.objective), guarantee.valid_for,
      plural_text(guarantee.rows, "row"), count_text(static_cast<double>(guarantee.flagged)),
      count_text(static_cast<double>(guarantee.true_positives)), guarantee.p_value, guarantee.test, learnt);
}

std::string given_up_text(const Boundary& boundary, const FitResult& single) {
  if (!single.boundary) return "no single threshold meets the bound on this hold-out";
  const HoldoutSummary& base = single.boundary->holdout;
  const HoldoutSummary& ours = boundary.holdout;
  const bool recall = boundary.objective.goal != Goal::kRecall;
  const double before = recall ? base.recall() : base.precision();
  const double after = recall ? ours.recall() : ours.precision();
  return fmt::format("best single threshold without a promise, on this hold-out: {} {}; certified: {} ({})",
                     recall ? "recall" : "precision", ratio_text(before), ratio_text(after), gain_text(after, before));
}

int report_not_certifiable(const std::string& name, bool json, const Objective& objective,
                           const CertifyOptions& options, const Certification& found) {
  if (json) {
    const Json none = nullptr;
    const Json report = {{"status", "not certifiable"},
                         {"objective", describe(objective)},
                         {"confidence", options.confidence},
                         {"method", to_string(found.method)},
                         {"tested_rows", found.tested.rows},
                         {"nearest_bound", found.attainable ? Json(*found.attainable) : none},
                         {"rows_needed", found.rows_needed ? Json(*found.rows_needed) : none}};
    fmt::print("{}\n", report.dump(1));
  }
  std::string what = fmt::format("limen: {}: cannot be certified: {} with {:g}% confidence", name,
                                 promise_text(objective), 100 * options.confidence);
  if (const std::string why = report::why_not_certified(found); !why.empty()) what += "; " + why;
  fmt::print(stderr, "{}\n", what);
  return kInfeasible;
}

GuaranteeCheck check_guarantee(const Boundary& boundary, const Confusion& test) {
  const Objective& objective = boundary.objective;
  const double bound = objective.bound.to_double();
  const auto whole = [](double value) { return static_cast<std::int64_t>(std::llround(value)); };
  // With weights as many rows as they are worth.
  const double fraction = test.effective_fraction;
  const double false_positives = test.flagged - test.true_positives;
  const double negatives = test.rows - test.positives;
  GuaranteeCheck check;
  switch (objective.goal) {
    case Goal::kPrecision:
      check.p_value = binomial_lower_tail(whole(fraction * test.true_positives), whole(fraction * test.flagged), bound);
      break;
    case Goal::kRecall:
      check.p_value =
          binomial_lower_tail(whole(fraction * test.true_positives), whole(fraction * test.positives), bound);
      break;
    case Goal::kFalsePositiveRate:
      check.p_value = binomial_upper_tail(whole(fraction * false_positives), whole(fraction * negatives), bound);
      break;
    default:
      check.p_value = binomial_upper_tail(whole(fraction * test.flagged), whole(fraction * test.rows), bound);
  }
  const bool consistent = check.p_value >= 0.05;
  check.text =
      fmt::format("guarantee: {} with {:g}% confidence; these rows {} (p = {:.3g} for rows this bad if it is kept)",
                  promise_text(objective), 100 * boundary.guarantee->confidence,
                  consistent ? "are consistent with it"
                             : "are NOT consistent with it: they are not drawn like the hold-out, or it failed",
                  check.p_value);
  return check;
}

}  // namespace limen::cli
