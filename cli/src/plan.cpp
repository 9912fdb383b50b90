// SPDX-License-Identifier: MIT
#include "limen/promise/plan.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "flags.h"
#include "limen/base/error.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct PlanFlags {
  std::vector<std::string> inputs;
  std::string precision, recall, fpr;
  std::string expect_precision, expect_recall, expect_fpr, flag_rate, positive_rate;
  double confidence = PlanOptions{}.confidence;
  double power = PlanOptions{}.power;
  double learning_share = PlanOptions{}.learning_share;
  std::vector<std::string> more = {"10000"};
  std::vector<std::string> within = {"0.05", "0.02", "0.01"};
  int threads = 0;
  TableFlags table;
  bool json = false;
};

PlanOptions make_options(const PlanFlags& flags) {
  PlanOptions options;
  options.confidence = flags.confidence;
  options.power = flags.power;
  options.learning_share = flags.learning_share;
  options.num_threads = flags.threads;
  for (const auto& [flag, value] : {std::pair{"--confidence", flags.confidence}, std::pair{"--power", flags.power}}) {
    if (!(value > 0 && value < 1)) {
      throw InvalidInput(flag, fmt::format("{:g} is not between 0 and 1{}", value,
                                           value > 1 && value < 100 ? fmt::format("; {:g}% is {:g}", value, value / 100)
                                                                    : std::string()));
    }
  }
  return options;
}

Objective make_goal(const PlanFlags& flags) {
  const int given = !flags.precision.empty() + !flags.recall.empty() + !flags.fpr.empty();
  if (given != 1) throw InvalidInput("plan: give one promise: --precision, --recall or --fpr");
  if (!flags.precision.empty()) return max_recall_at_precision(parse_bound(flags.precision, "--precision"));
  if (!flags.recall.empty()) return max_precision_at_recall(parse_bound(flags.recall, "--recall"));
  return max_recall_at_false_positive_rate(parse_bound(flags.fpr, "--fpr"));
}

/// What the goal bounds, what its test counts, and what must be right of these.
struct Words {
  std::string figure;
  std::string trials;
  std::string successes;
  std::string value;  ///< what is made as large as possible
};
Words words_of(const Objective& objective) {
  if (objective.goal == Goal::kRecall) return {"recall", "positives", "true positives", "precision"};
  if (objective.goal == Goal::kPrecision) return {"precision", "flagged rows", "true positives", "recall"};
  return {"false-positive rate", "negatives", "true negatives", "recall"};
}

std::string promise_text(const Objective& objective, const PlanOptions& options) {
  return fmt::format("{} {} {:g} with confidence {:g}", words_of(objective).figure,
                     objective.goal == Goal::kFalsePositiveRate ? "<=" : ">=", objective.bound.to_double(),
                     options.confidence);
}

Json json_of(const PlannedTest& test) {
  return {{"trials", test.trials},
          {"successes", test.successes},
          {"power", test.power},
          {"rows", test.rows},
          {"interval", {test.interval.low, test.interval.high}}};
}

Json json_of(const std::optional<PlannedThreshold>& found) {
  if (!found) return nullptr;
  Json result = {{"threshold", found->threshold},
                 {"flag_rate", found->flag_rate},
                 {"precision", found->precision},
                 {"recall", found->recall},
                 {"false_positive_rate", found->false_positive_rate}};
  if (found->test) result["test"] = json_of(*found->test);
  return result;
}

Json head_json(const Objective& objective, const PlanOptions& options) {
  const Words words = words_of(objective);
  return {{"promise", promise_text(objective, options)},
          {"constraint", words.figure},
          {"bound", objective.bound.to_double()},
          {"confidence", options.confidence},
          {"power", options.power},
          {"learning_share", options.learning_share},
          {"trials_are", words.trials}};
}

int report_infeasible(const PlanFlags& flags, Json report, const std::string& name, const std::string& why) {
  report["status"] = "infeasible";
  report["why"] = why;
  if (flags.json) fmt::print("{}\n", report.dump(1));
  fmt::print(stderr, "limen: {}: infeasible: {}\n", name, why);
  return kInfeasible;
}

int run_assumed(const PlanFlags& flags, const Objective& objective, const PlanOptions& options) {
  const auto number = [](const std::string& text, const char* flag) -> std::optional<double> {
    if (text.empty()) return std::nullopt;
    return parse_bound(text, flag).to_double();
  };
  const auto precision = number(flags.expect_precision, "--expect-precision");
  const auto recall = number(flags.expect_recall, "--expect-recall");
  const auto fpr = number(flags.expect_fpr, "--expect-fpr");
  const auto flag_rate = number(flags.flag_rate, "--flag-rate");
  const auto positive_rate = number(flags.positive_rate, "--positive-rate");
  const auto need = [](const std::optional<double>& value, const char* goal, const char* flag) {
    if (!value) throw InvalidInput(fmt::format("plan: {} without a predictions file needs {}", goal, flag));
    return *value;
  };
  double expected = 0;
  double trial_rate = 0;
  if (objective.goal == Goal::kPrecision) {
    expected = need(precision, "--precision", "--expect-precision");
    if (flag_rate && recall) throw InvalidInput("plan: give either --flag-rate or --expect-recall, not both");
    if (flag_rate) {
      trial_rate = *flag_rate;
    } else {
      if (!recall || !positive_rate) {
        throw InvalidInput(
            "plan: --precision without a predictions file needs --flag-rate, or --expect-recall with --positive-rate");
      }
      trial_rate = expected > 0 ? *recall * *positive_rate / expected : 0;
      if (trial_rate > 1) throw InvalidInput("plan: this recall and precision would flag more rows than there are");
    }
    if (trial_rate == 0) throw InvalidInput("plan: no row would be flagged: nothing to test");
  } else {
    const bool on_positives = objective.goal == Goal::kRecall;
    const char* goal = on_positives ? "--recall" : "--fpr";
    expected = on_positives ? need(recall, goal, "--expect-recall") : need(fpr, goal, "--expect-fpr");
    const double positives = need(positive_rate, goal, "--positive-rate");
    trial_rate = on_positives ? positives : 1 - positives;
    if (trial_rate == 0) throw InvalidInput(fmt::format("plan: --positive-rate {:g} leaves no row to test", positives));
  }
  const Words words = words_of(objective);
  Json report = head_json(objective, options);
  report["expected"] = expected;
  report["trial_rate"] = trial_rate;
  const std::optional<PlannedTest> test = plan_test(objective, expected, trial_rate, options);
  if (!test) {
    const bool smaller = objective.goal == Goal::kFalsePositiveRate;
    const double bound = objective.bound.to_double();
    const bool worse = smaller ? expected >= bound : expected <= bound;
    return report_infeasible(
        flags, std::move(report), "plan",
        worse ? fmt::format("the expected {} {:g} is not {} the bound {:g}; no number of rows will do", words.figure,
                            expected, smaller ? "below" : "above", bound)
              : fmt::format("the expected {} {:.12g} is so near the bound {:g} that more than 10^12 {} are needed",
                            words.figure, expected, bound, words.trials));
  }
  if (flags.json) {
    report["status"] = "planned";
    report["test"] = json_of(*test);
    fmt::print("{}\n", report.dump(1));
    return kDone;
  }
  fmt::print("{}, if it will be {:g} and {:.4g}% of all rows are {}:\n", promise_text(objective, options), expected,
             100 * trial_rate, words.trials);
  const auto line = [](const std::string& value, const std::string& what) {
    fmt::print("  {:>12}  {}\n", value, what);
  };
  line(count_text(static_cast<double>(test->trials)), words.trials + " with a label for the test");
  line(count_text(static_cast<double>(test->rows)),
       "labelled rows in all" +
           (options.learning_share > 0
                ? fmt::format(", of which {:g}% learn the boundary and do not test", 100 * options.learning_share)
                : std::string()));
  line(count_text(static_cast<double>(test->successes)),
       fmt::format("{} or more among the {} certify the promise", words.successes, words.trials));
  line(fmt::format("{:.1f}%", 100 * test->power), "of such hold-outs will certify it (power)");
  line(fmt::format("+-{:.4f}", (test->interval.high - test->interval.low) / 2),
       fmt::format("{:g}% interval of the {} from such a test: {} to {}", 100 * options.confidence, words.figure,
                   ratio_text(test->interval.low), ratio_text(test->interval.high)));
  return kDone;
}

std::string lost_text(double value, double best) { return fmt::format("{:.1f}%", 100 * (1 - value / best)); }

void print_plan(const std::string& name, const Plan& plan, const Objective& objective, const PlanOptions& options) {
  const Words words = words_of(objective);
  const PlannedThreshold& best = *plan.uncertified;
  fmt::print("{}: {}, {}; one threshold on the score, power {:g}{}\n", name, plural_text(plan.rows, "row"),
             plural_text(plan.positives, "positive"), options.power,
             options.learning_share > 0 ? fmt::format(", {:g}% of the rows learn", 100 * options.learning_share)
                                        : std::string());
  fmt::print("promise: {}\n", promise_text(objective, options));
  fmt::print(
      "without a certificate: score >= {:.6g}, precision {}, recall {}; kept in deployment about half of the time\n\n",
      best.threshold, ratio_text(best.precision), ratio_text(best.recall));
  std::vector<std::vector<std::string>> rows = {{"labelled rows", "certified " + words.value, "given up", "score",
                                                 words.trials + " tested", "interval of " + words.figure}};
  for (const PlannedReach& reach : plan.reach) {
    const std::int64_t more = reach.rows - plan.rows;
    std::vector<std::string> row = {
        count_text(static_cast<double>(reach.rows)) +
        (more == 0 ? " (these)" : fmt::format(" (+{})", count_text(static_cast<double>(more))))};
    if (reach.threshold) {
      const PlannedTest& test = *reach.threshold->test;
      row.insert(row.end(),
                 {ratio_text(reach.threshold->value), lost_text(reach.threshold->value, best.value),
                  fmt::format(">= {:.6g}", reach.threshold->threshold), count_text(static_cast<double>(test.trials)),
                  fmt::format("{:.4f} .. {:.4f}", test.interval.low, test.interval.high)});
    } else {
      row.insert(row.end(), {"none", "-", "-", "-", "-"});
    }
    rows.push_back(std::move(row));
  }
  fmt::print("{}", table_text(rows));
  for (std::size_t at = 1; at < plan.reach.size(); ++at) {
    const auto& now = plan.reach[0].threshold;
    const auto& then = plan.reach[at].threshold;
    const std::string more = count_text(static_cast<double>(plan.reach[at].rows - plan.rows));
    if (!then) {
      fmt::print("  {} labels more certify nothing either\n", more);
    } else if (!now) {
      fmt::print("  {} labels more buy {} {}, where these rows certify nothing\n", more, words.value,
                 ratio_text(then->value));
    } else {
      fmt::print("  {} labels more buy {} points of {} ({})\n", more,
                 fmt::format("{:.2f}", 100 * (then->value - now->value)), words.value,
                 gain_text(then->value, now->value));
    }
  }
  fmt::print("\n");
  if (!plan.reach[0].threshold) {
    fmt::print("  to certify anything, {} {}: {}\n", words.value, ratio_text(plan.cheapest->value),
               plural_text(static_cast<double>(plan.cheapest->test->rows), "labelled row"));
  }
  for (const PlannedLoss& loss : plan.losses) {
    fmt::print("  to give up at most {:g}% of the {}: {}\n", 100 * loss.loss, words.value,
               loss.threshold ? plural_text(static_cast<double>(loss.threshold->test->rows), "labelled row")
                              : std::string("no number of rows will do with these scores"));
  }
}

int run_rows(const PlanFlags& flags, const Objective& objective, const PlanOptions& options) {
  for (const auto& [flag, value] :
       {std::pair{"--expect-precision", &flags.expect_precision}, std::pair{"--expect-recall", &flags.expect_recall},
        std::pair{"--expect-fpr", &flags.expect_fpr}, std::pair{"--flag-rate", &flags.flag_rate},
        std::pair{"--positive-rate", &flags.positive_rate}}) {
    if (!value->empty()) throw InvalidInput(fmt::format("plan: {} is for plans without a predictions file", flag));
  }
  std::vector<std::int64_t> more;
  for (const std::string& text : flags.more) more.push_back(parse_integer(text, "--more", 0, std::int64_t{1} << 50));
  std::vector<double> losses;
  for (const std::string& text : flags.within) {
    losses.push_back(parse_bound(text, "--within").to_double());
    if (losses.back() <= 0 || losses.back() >= 1) {
      throw InvalidInput(fmt::format("--within: {} is not between 0 and 1", text));
    }
  }
  check_stdin_once(flags.inputs);
  const std::string name = shown(flags.inputs);
  const table::Predictions rows = read_table(flags.inputs, flags.table);
  const Plan plan = in_table(name, [&] { return plan_rows(rows.samples(), objective, more, losses, options); });
  Json report = head_json(objective, options);
  report["rows"] = plan.rows;
  report["positives"] = plan.positives;
  report["best_attainable"] = plan.best_attainable;
  const Words words = words_of(objective);
  if (!plan.uncertified) {
    return report_infeasible(
        flags, std::move(report), name,
        fmt::format("no threshold has {}; the best {} is {:.6g}",
                    fmt::format("a {} {} {:g}", words.figure,
                                objective.goal == Goal::kFalsePositiveRate ? "<=" : ">=", objective.bound.to_double()),
                    words.figure, plan.best_attainable));
  }
  if (!plan.cheapest) {
    return report_infeasible(
        flags, std::move(report), name,
        fmt::format("no threshold is better than the bound {:g} on these rows; no number of rows like them will do",
                    objective.bound.to_double()));
  }
  if (flags.json) {
    report["status"] = "planned";
    report["uncertified"] = json_of(plan.uncertified);
    report["cheapest"] = json_of(plan.cheapest);
    report["reach"] = Json::array();
    for (const PlannedReach& reach : plan.reach) {
      report["reach"].push_back({{"rows", reach.rows}, {"certified", json_of(reach.threshold)}});
    }
    report["within"] = Json::array();
    for (const PlannedLoss& loss : plan.losses) {
      report["within"].push_back({{"loss", loss.loss}, {"certified", json_of(loss.threshold)}});
    }
    fmt::print("{}\n", report.dump(1));
  } else {
    print_plan(name, plan, objective, options);
  }
  return kDone;
}

int run(const PlanFlags& flags) {
  const Objective objective = make_goal(flags);
  const PlanOptions options = make_options(flags);
  return flags.inputs.empty() ? run_assumed(flags, objective, options) : run_rows(flags, objective, options);
}

}  // namespace

void add_plan(CLI::App& program, Action& action) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* verb = program.add_subcommand("plan", "How many labelled rows a promise needs");
  verb->add_option("PRED", flags->inputs,
                   "Predictions with label, one or more files; without them the figures below are assumed");
  FlagGroup goal(*verb, "Promise (exactly one)");
  goal.add("--precision", flags->precision, "P", "At least this precision, tested on flagged rows");
  goal.add("--recall", flags->recall, "R", "At least this recall, tested on positives");
  goal.add("--fpr", flags->fpr, "A", "At most this false-positive rate, tested on negatives");
  FlagGroup assumed(*verb, "Assumed, without PRED");
  assumed.add("--expect-precision", flags->expect_precision, "P", "The precision that the boundary will have");
  assumed.add("--expect-recall", flags->expect_recall, "R", "The recall that it will have");
  assumed.add("--expect-fpr", flags->expect_fpr, "A", "The false-positive rate that it will have");
  assumed.add("--flag-rate", flags->flag_rate, "Q", "The fraction of rows that it will flag");
  assumed.add("--positive-rate", flags->positive_rate, "Q", "The fraction of rows that are positive");
  FlagGroup group(*verb);
  group.add("--confidence", flags->confidence, "C", "Of the promise");
  group.add("--power", flags->power, "Q", "The chance of a certificate that is asked for");
  group.add("--learning-share", flags->learning_share, "Q", "Of the labelled rows, those that learn and do not test")
      ->check(CLI::Range(0.0, 0.99).description(""));
  group.list("--more", flags->more, "With PRED: labelled rows in addition to these")
      ->type_name("N,N")
      ->default_str("10000");
  group.list("--within", flags->within, "With PRED: parts of the recall to give up, for which rows are counted")
      ->default_str("0.05,0.02,0.01");
  add_threads_flag(*verb, flags->threads);
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer(
      "Example: limen plan --precision 0.9 --expect-precision 0.93 --flag-rate 0.05\n"
      "         limen plan holdout.csv --precision 0.9 --confidence 0.95 --more 10000,100000\n"
      "Exit code 3: the figure expected, or any on these rows, is not better than the bound: no number of rows will "
      "do.");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace limen::cli
