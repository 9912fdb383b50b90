// SPDX-License-Identifier: MIT
#include "limen/fit/classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::random_unit;
using test::refusal_of;

/// Rows with scores of several classes, in memory of its own.
struct ClassTable {
  std::vector<std::vector<double>> score;  // by class
  std::vector<std::vector<double>> uncertainty;
  std::vector<std::int32_t> label;
  std::vector<RealSpan> scores;
  std::vector<RealSpan> uncertainties;

  [[nodiscard]] ClassScores rows() {
    scores.clear();
    uncertainties.clear();
    for (const auto& column : score) scores.emplace_back(std::span<const double>(column));
    for (const auto& column : uncertainty) uncertainties.emplace_back(std::span<const double>(column));
    return {scores, uncertainties};
  }
};

std::vector<ClassGoal> goals_of(const std::vector<std::string>& bounds) {
  std::vector<ClassGoal> goals;
  for (std::size_t at = 0; at < bounds.size(); ++at) {
    goals.push_back({"c" + std::to_string(at), bounds[at] == "2/3" ? Rational{2, 3} : parse_rational(bounds[at])});
  }
  return goals;
}

// Three classes of two rows each and one row of none. Highest scores: cat .9 .6 (row 4), dog .8, bird .7 .5 .4.
//
//   row      0    1    2    3    4    5    6
//   label    cat  cat  dog  dog  bird bird -
//   cat     .9*   .1   .1   .2   .6*  .1   .1
//   dog     .1    .1   .8*  .3   .1   .2   .2
//   bird    .0    .5*  .1   .7*  .3   .4*  .1          row 6: dog, .2
ClassTable animals() {
  ClassTable table;
  table.score = {{.9, .1, .1, .2, .6, .1, .1}, {.1, .1, .8, .3, .1, .2, .2}, {.0, .5, .1, .7, .3, .4, .1}};
  table.label = {0, 0, 1, 1, 2, 2, kNoClass};
  return table;
}

TEST(FitClasses, AHandWorkedCase) {
  ClassTable table = animals();
  const ClassScores rows = table.rows();
  EXPECT_EQ(eligible_classes(rows), (std::vector<std::int32_t>{0, 2, 1, 2, 0, 2, 1}));
  const std::vector<ClassGoal> goals = {
      {"cat", parse_rational("0.9")}, {"dog", parse_rational("0.5")}, {"bird", parse_rational("0.5")}};
  const ClassBoundaries found = fit_classes(rows, table.label, goals);
  // Cat: row 0 alone. Dog: rows 2 and 6, one of two is a dog. Bird: rows 3, 1, 5 by score; never one of two.
  EXPECT_EQ(found.num_decided(), 2U);
  EXPECT_EQ(decide_one_class(found, rows), (std::vector<std::int32_t>{0, -1, 1, -1, -1, -1, -1}));
  EXPECT_DOUBLE_EQ(found.classes[0].recall(), 0.5);
  EXPECT_EQ(found.classes[0].eligible, 2);
  EXPECT_EQ(found.classes[0].positives, 2);
  EXPECT_EQ(found.classes[0].eligible_positives, 1);
  EXPECT_FALSE(found.classes[2].boundary);
  EXPECT_NE(found.classes[2].why.find("no boundary reaches a precision of 0.5; the best attainable is 0.333333"),
            std::string::npos)
      << found.classes[2].why;
  const std::vector<Confusion> figures = evaluate_classes(found, rows, table.label);
  EXPECT_EQ(figures[0].flagged, 1);
  EXPECT_EQ(figures[0].true_positives, 1);
  EXPECT_EQ(figures[0].positives, 2);
  EXPECT_EQ(figures[0].rows, 7);
  EXPECT_EQ(figures[2].flagged, 0);

  // Several labels: cat flags row 0 alone, but bird may now have rows 3, 1, 5, 4: two of four.
  const ClassBoundaries several = fit_classes(rows, table.label, goals, {.claims = Claims::kSeveral});
  EXPECT_EQ(several.num_decided(), 3U);
  EXPECT_EQ(decide_classes(several, rows)[2], (std::vector<std::uint8_t>{0, 1, 0, 1, 1, 1, 0}));
  EXPECT_EQ(evaluate_classes(several, rows, table.label)[2].true_positives, 2);
  EXPECT_EQ(refusal_of([&] { (void)decide_one_class(several, rows); }),
            "fit_classes: these classes may claim a row together: each decides by itself");
}

/// Thresholds of a class by level: the most true positives, over all thresholds that keep the bound; by brute force
/// over all classes together, a row being claimed by a class when that is eligible and its threshold reached.
struct BruteForce {
  std::int64_t total = 0;                   // most true positives of all classes together
  std::vector<std::int64_t> best_of_class;  // most of each
};

BruteForce brute_force(ClassTable& table, const std::vector<ClassGoal>& goals, Claims claims) {
  const ClassScores rows = table.rows();
  const std::size_t num_classes = goals.size();
  const std::size_t num_rows = table.label.size();
  const std::vector<std::int32_t> eligible = eligible_classes(rows);
  // A slot for each class and level (uncertainty 0 or 1); its candidates are all scores, or nothing.
  std::vector<std::vector<double>> candidates(2 * num_classes);
  for (std::size_t at = 0; at < num_classes; ++at) {
    for (std::size_t level = 0; level < 2; ++level) {
      std::set<double> distinct;
      for (std::size_t row = 0; row < num_rows; ++row) {
        if (table.uncertainty[at][row] == static_cast<double>(level)) distinct.insert(table.score[at][row]);
      }
      candidates[2 * at + level].assign(distinct.begin(), distinct.end());
      candidates[2 * at + level].push_back(1e9);
    }
  }
  BruteForce best{0, std::vector<std::int64_t>(num_classes, 0)};
  std::vector<double> threshold(2 * num_classes);
  const std::function<void(std::size_t)> choose = [&](std::size_t slot) {
    if (slot < threshold.size()) {
      for (const double value : candidates[slot]) {
        threshold[slot] = value;
        choose(slot + 1);
      }
      return;
    }
    std::int64_t total = 0;
    bool all_keep = true;
    std::vector<std::int64_t> found(num_classes, 0);
    for (std::size_t at = 0; at < num_classes; ++at) {
      std::int64_t flagged = 0;
      for (std::size_t row = 0; row < num_rows; ++row) {
        if (claims == Claims::kOne && eligible[row] != static_cast<std::int32_t>(at)) continue;
        const auto level = static_cast<std::size_t>(table.uncertainty[at][row]);
        if (table.score[at][row] < threshold[2 * at + level]) continue;
        ++flagged;
        found[at] += table.label[row] == static_cast<std::int32_t>(at) ? 1 : 0;
      }
      const Rational bound = goals[at].min_precision;
      all_keep = all_keep && found[at] * bound.den >= bound.num * flagged;
      total += found[at];
    }
    if (!all_keep) return;
    best.total = std::max(best.total, total);
    for (std::size_t at = 0; at < num_classes; ++at)
      best.best_of_class[at] = std::max(best.best_of_class[at], found[at]);
  };
  choose(0);
  return best;
}

// Every class at its own best is also the best of all together, under either claim rule: by brute force over all
// combinations of thresholds of all classes and levels.
TEST(FitClasses, EqualsBruteForceOverAllClassesTogether) {
  std::mt19937_64 random(3);
  int undecided = 0;
  int ties = 0;
  int all_positive = 0;
  for (int trial = 0; trial < 150; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const std::size_t num_classes = 2 + random() % 2;
    const std::size_t num_rows = num_classes + 2 + random() % (num_classes == 2 ? 7 : 3);
    const Claims claims = trial % 3 == 2 ? Claims::kSeveral : Claims::kOne;
    ClassTable table;
    table.score.resize(num_classes);
    table.uncertainty.resize(num_classes);
    for (std::size_t row = 0; row < num_rows; ++row) {
      // Every class has a row; some rows are of none.
      const bool of_none = row >= num_classes && random() % 5 == 0;
      table.label.push_back(of_none ? kNoClass
                                    : static_cast<std::int32_t>(row < num_classes ? row : random() % num_classes));
      for (std::size_t at = 0; at < num_classes; ++at) {
        const double hint = table.label.back() == static_cast<std::int32_t>(at) ? 0.25 : 0;
        table.score[at].push_back(std::floor(8 * (hint + 0.75 * random_unit(random))) / 8);
        table.uncertainty[at].push_back(static_cast<double>(random() % 2));
      }
      ties += num_classes == 2 && table.score[0].back() == table.score[1].back() ? 1 : 0;
    }
    const std::vector<std::string> bounds = {"0.5", "2/3", "0.75", "1", "0.3"};
    std::vector<std::string> chosen;
    for (std::size_t at = 0; at < num_classes; ++at) chosen.push_back(bounds[random() % bounds.size()]);
    const std::vector<ClassGoal> goals = goals_of(chosen);
    const ClassScores rows = table.rows();
    const ClassBoundaries found =
        fit_classes(rows, table.label, goals,
                    {.claims = claims, .method = Method::kExact, .levels = 2, .levels_from = LevelsFrom::kAll});
    const BruteForce best = brute_force(table, goals, claims);
    const auto claimed = decide_classes(found, table.rows());
    const std::vector<Confusion> figures = evaluate_classes(found, table.rows(), table.label);
    std::int64_t total = 0;
    for (std::size_t at = 0; at < num_classes; ++at) {
      std::int64_t flagged = 0;
      std::int64_t true_positives = 0;
      std::int64_t positives = 0;
      for (std::size_t row = 0; row < num_rows; ++row) {
        const bool own = table.label[row] == static_cast<std::int32_t>(at);
        flagged += claimed[at][row];
        true_positives += own && claimed[at][row] != 0 ? 1 : 0;
        positives += own ? 1 : 0;
      }
      EXPECT_EQ(true_positives, best.best_of_class[at]);
      EXPECT_GE(true_positives * goals[at].min_precision.den, goals[at].min_precision.num * flagged);
      EXPECT_EQ(figures[at].flagged, static_cast<double>(flagged));
      EXPECT_EQ(figures[at].true_positives, static_cast<double>(true_positives));
      EXPECT_EQ(figures[at].positives, static_cast<double>(positives));
      EXPECT_DOUBLE_EQ(found.classes[at].recall(),
                       static_cast<double>(true_positives) / static_cast<double>(positives));
      if (!found.classes[at].boundary) ++undecided;
      const ClassBoundary& entry = found.classes[at];
      all_positive += entry.eligible > 0 && entry.eligible_positives == static_cast<double>(entry.eligible) ? 1 : 0;
      total += true_positives;
    }
    EXPECT_EQ(total, best.total);
    if (claims == Claims::kOne) {
      for (std::size_t row = 0; row < num_rows; ++row) {
        int claims_of_row = 0;
        for (std::size_t at = 0; at < num_classes; ++at) claims_of_row += claimed[at][row];
        EXPECT_LE(claims_of_row, 1);
      }
    }
    EXPECT_EQ(classes_from_json(to_json(found)), found);
  }
  EXPECT_GT(undecided, 20);
  EXPECT_GT(ties, 20);
  EXPECT_GT(all_positive, 10);
}

/// Rows of three classes with a softmax of noisy scores.
ClassTable drawn_table(std::size_t num_rows, std::uint64_t seed, bool with_uncertainty) {
  std::mt19937_64 random(seed);
  ClassTable table;
  table.score.resize(3);
  if (with_uncertainty) table.uncertainty.resize(1);
  for (std::size_t row = 0; row < num_rows; ++row) {
    const auto label = static_cast<std::int32_t>(std::min(2.0, 3.4 * random_unit(random)));
    table.label.push_back(label);
    const double doubt = random_unit(random);
    std::vector<double> logit;
    double sum = 0;
    for (std::int32_t at = 0; at < 3; ++at) {
      logit.push_back(std::exp(3 * random_unit(random) + (at == label ? 2 - doubt : 0)));
      sum += logit.back();
    }
    for (std::size_t at = 0; at < 3; ++at) table.score[at].push_back(logit[at] / sum);
    if (with_uncertainty) table.uncertainty[0].push_back(doubt);
  }
  return table;
}

// The promise of each class, over many hold-outs: at 80% confidence at most 20% of the certified classes miss the bound
// on fresh rows; and with joint, of the hold-outs at most 20% have any class that does.
TEST(FitClasses, EachClassKeepsItsCertifiedPromise) {
  ClassTable fresh = drawn_table(60000, 999, false);
  const std::vector<ClassGoal> goals = goals_of({"0.8", "0.75", "0.7"});
  int missed = 0;
  int certified = 0;
  int missed_together = 0;
  const int trials = 120;
  for (int trial = 0; trial < trials; ++trial) {
    ClassTable table = drawn_table(1500, static_cast<std::uint64_t>(trial), false);
    for (const bool joint : {false, true}) {
      const ClassBoundaries found = fit_classes(table.rows(), table.label, goals, {.confidence = 0.8, .joint = joint});
      const std::vector<Confusion> truth = evaluate_classes(found, fresh.rows(), fresh.label);
      bool any = false;
      for (std::size_t at = 0; at < 3; ++at) {
        if (!found.classes[at].boundary) continue;
        EXPECT_TRUE(found.classes[at].boundary->guarantee);
        const bool is_missed = truth[at].precision() < goals[at].min_precision.to_double();
        any = any || is_missed;
        if (joint) continue;
        ++certified;
        missed += is_missed ? 1 : 0;
      }
      if (joint) missed_together += any ? 1 : 0;
    }
  }
  EXPECT_GT(certified, trials);
  // Three standard errors of a share of 20% of the trials.
  EXPECT_LE(missed, 0.2 * certified + 3 * std::sqrt(0.16 * certified));
  EXPECT_LE(missed_together, 0.2 * trials + 3 * std::sqrt(0.16 * trials));
}

TEST(FitClasses, ClassesWhoseEligibleRowsAreAllTheirsAreCertifiedToo) {
  // Scores that separate perfectly: 400 rows each.
  ClassTable table;
  table.score.resize(2);
  std::mt19937_64 random(1);
  for (int row = 0; row < 800; ++row) {
    const double high = 0.6 + 0.4 * random_unit(random);
    table.label.push_back(row % 2);
    table.score[0].push_back(row % 2 == 0 ? high : 1 - high);
    table.score[1].push_back(row % 2 == 0 ? 1 - high : high);
  }
  const ClassBoundaries found = fit_classes(table.rows(), table.label, goals_of({"0.9", "0.9"}), {.confidence = 0.95});
  ASSERT_EQ(found.num_decided(), 2U);
  EXPECT_EQ(found.classes[0].recall(), 1);
  EXPECT_EQ(found.classes[1].boundary->guarantee->flagged, 400);
  // Four rows cannot certify it: 0.9^4 > 0.05.
  ClassTable few;
  few.score = {{.9, .8, .7, .6, .1}, {.1, .2, .3, .4, .9}};
  few.label = {0, 0, 0, 0, 1};
  const ClassBoundaries none = fit_classes(few.rows(), few.label, goals_of({"0.9", "0.9"}), {.confidence = 0.95});
  EXPECT_EQ(none.num_decided(), 0U);
  EXPECT_NE(none.classes[0].why.find("cannot be certified with confidence 0.95 on 4 rows"), std::string::npos)
      << none.classes[0].why;
}

TEST(FitClasses, TakesWeightsAndSharedUncertaintyAndEveryMethod) {
  ClassTable table = drawn_table(3000, 4, true);
  const std::vector<ClassGoal> goals = goals_of({"0.7", "0.7", "0.7"});
  for (const Method method : {Method::kAuto, Method::kSt, Method::kSmooth, Method::kExact}) {
    const ClassBoundaries found = fit_classes(table.rows(), table.label, goals, {.method = method});
    EXPECT_EQ(found.num_decided(), 3U) << to_string(method);
    EXPECT_EQ(classes_from_json(to_json(found)), found);
  }
  // Weights of 2 change nothing but the sums.
  const std::vector<double> twice(table.label.size(), 2);
  const ClassBoundaries plain = fit_classes(table.rows(), table.label, goals, {.method = Method::kExact});
  const ClassBoundaries weighted = fit_classes(table.rows(), table.label, goals, {.method = Method::kExact}, twice);
  EXPECT_EQ(weighted.classes[1].boundary->rule, plain.classes[1].boundary->rule);
  EXPECT_EQ(weighted.classes[1].positives, 2 * plain.classes[1].positives);
  EXPECT_DOUBLE_EQ(weighted.classes[1].recall(), plain.classes[1].recall());
  EXPECT_EQ(evaluate_classes(weighted, table.rows(), table.label, twice)[1].flagged,
            2 * evaluate_classes(plain, table.rows(), table.label)[1].flagged);
}

TEST(FitClasses, RefusesWhatDoesNotFit) {
  ClassTable table = animals();
  const std::vector<ClassGoal> goals = goals_of({"0.9", "0.5", "0.5"});
  const auto refused = [&](const std::vector<ClassGoal>& given, const ClassFitOptions& options = {}) {
    return refusal_of([&] { (void)fit_classes(table.rows(), table.label, given, options); });
  };
  EXPECT_EQ(refused(goals_of({"0.9"})), "fit_classes: 1 classes, but scores of 3");
  EXPECT_EQ(refused(goals_of({"0.9", "0", "0.5"})),
            "fit_classes: min_precision of class \"c1\" is 0, must be above 0 and at most 1");
  EXPECT_EQ(refused(goals_of({"0.9", "0.5", "1.5"})),
            "fit_classes: min_precision of class \"c2\" is 1.5, must be above 0 and at most 1");
  EXPECT_EQ(refused({goals[0], goals[0], goals[2]}), "fit_classes: class \"c0\" is there twice");
  EXPECT_EQ(refused({goals[0], {"", goals[1].min_precision}, goals[2]}), "fit_classes: a class has no name");
  EXPECT_EQ(refused(goals, {.confidence = 1}), "fit_classes: confidence is 1, must be between 0 and 1");
  EXPECT_EQ(refused(goals, {.joint = true}), "fit_classes: joint is about certified promises: give a confidence too");
  EXPECT_EQ(refused(goals, {.method = Method::kExact}),
            "fit_classes: method exact needs uncertainty, and there is none");
  table.score[1][3] = std::nan("");
  EXPECT_NE(refused(goals).find("score of class 1[3] is"), std::string::npos) << refused(goals);
  table = animals();
  table.label[6] = 3;
  EXPECT_EQ(refused(goals), "fit_classes: label[6] is 3, must be the index of a class, 0 to 2, or -1");
  table = animals();
  table.label = {0, 0, 1, 1, 1, 1, 1};
  EXPECT_EQ(refused(goals), "fit_classes: no row is of class \"c2\"");
  table = animals();
  table.score[2].pop_back();
  EXPECT_EQ(refused(goals), "fit_classes: score of class 2 has 6 rows, the first score has 7");
}

TEST(ClassesFromJson, ReadsBackAndRefusesWhatContradictsItself) {
  ClassTable table = drawn_table(3000, 4, true);
  const std::vector<ClassGoal> goals = goals_of({"2/3", "0.7", "0.999"});
  ClassBoundaries found = fit_classes(table.rows(), table.label, goals, {.method = Method::kExact, .confidence = 0.9});
  found.label_column = "kind";
  const std::string text = to_json(found);
  EXPECT_EQ(classes_from_json(text), found);
  EXPECT_TRUE(is_classes_json(text));
  EXPECT_FALSE(is_classes_json("{}"));
  EXPECT_FALSE(is_classes_json("score,label"));
  EXPECT_FALSE(is_classes_json(to_json(*found.classes[0].boundary)));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return refusal_of([&] { (void)classes_from_json(changed); });
  };
  EXPECT_EQ(refused("\"limen-classes\"", "\"limen-boundary\""),
            "classes: is not a file of several classes (its \"format\" is not \"limen-classes\")");
  EXPECT_EQ(refused("\"version\": 1", "\"version\": 2"), "classes: has version 2, this program reads version 1");
  EXPECT_EQ(refused("\"claims\": \"one\"", "\"claims\": \"all\""),
            "classes: claims \"all\" is not one of one, several");
  EXPECT_EQ(refused("\"name\": \"c1\"", "\"name\": \"c0\""), "classes: class \"c0\" is there twice");
  EXPECT_EQ(refused("\"name\": \"c0\"", "\"name\": \"\""), "classes: \"classes[0]\" has no name");
  EXPECT_NE(refused("\"score_thresholds\"", "\"score_threshold\"").find("classes: \"classes[0]\" has a bad boundary: "),
            std::string::npos);
  EXPECT_NE(refused("\"confidence\": 0.9", "\"confidence\": null").find("has a guarantee without a confidence"),
            std::string::npos);
  EXPECT_EQ(refused("\"joint\": false", "\"joint\": 3").substr(0, 8), "classes:");
  EXPECT_EQ(refused("\"eligible\": ", "\"eligible\": 9"), "classes: \"classes[0]\" has more eligible rows than rows");
  EXPECT_NE(refusal_of([] { (void)classes_from_json("[1"); }).find("JSON"), std::string::npos);
}

}  // namespace
}  // namespace limen
