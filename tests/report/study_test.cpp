// SPDX-License-Identifier: MIT
#include "limen/report/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "limen/base/error.h"
#include "limen/judge/compare.h"
#include "limen/report/decision.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen::report {
namespace {

using Json = nlohmann::json;
using test::make_random_samples;
using test::SampleTable;

SampleTable table_of(const std::string& shape, std::size_t rows, unsigned seed) {
  std::mt19937_64 random(seed);
  return make_random_samples(shape, rows, random);
}

const std::vector<Method> kAll = {Method::kAuto, Method::kSt,  Method::kExact, Method::kSmooth, Method::kJoint,
                                  Method::kHr,   Method::kGmt, Method::kMist,  Method::kEwDpmt, Method::kVwDpmt};
const std::vector<Method> kAllButVariable(kAll.begin(), kAll.end() - 1);

/// Without what takes long and is not looked at.
StudyOptions quick(double bound) {
  StudyOptions options;
  options.objective = max_recall_at_precision(decimal_rational(bound));
  options.with_sweep = false;
  options.with_calibration = false;
  return options;
}

void expect_equal(const Confusion& a, const Confusion& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.positives, b.positives);
  EXPECT_EQ(a.flagged, b.flagged);
  EXPECT_EQ(a.true_positives, b.true_positives);
}

/// Every cell is what fit_boundary gives for its bound, counted by evaluate. Returns how many were feasible and
/// infeasible.
std::pair<int, int> check_cells(const Study& study, const Samples& holdout, const Samples* test,
                                const StudyOptions& options) {
  std::pair<int, int> seen;
  for (const StudyMethod& method : study.methods) {
    EXPECT_EQ(method.at.size(), study.bounds.size());
    for (std::size_t bound = 0; bound < study.bounds.size(); ++bound) {
      SCOPED_TRACE(std::string(to_string(method.method)) + " at " + to_string(study.bounds[bound]));
      const FitResult fit = fit_boundary(holdout, objective_at(study, bound), fit_options_of(method.method, options));
      const StudyCell& cell = method.at[bound];
      EXPECT_EQ(cell.rule.has_value(), fit.boundary.has_value());
      if (!cell.rule || !fit.boundary) {
        EXPECT_EQ(cell.status, CellStatus::kInfeasible);
        EXPECT_EQ(cell.holdout.flagged, 0);
        EXPECT_EQ(cell.best, fit.solution.best_attainable);
        ++seen.second;
        continue;
      }
      ++seen.first;
      EXPECT_EQ(study.rules[*cell.rule], fit.boundary->rule);
      EXPECT_EQ(cell.chosen, fit.boundary->method);
      EXPECT_EQ(cell.status == CellStatus::kOptimal, fit.boundary->holdout.optimal);
      EXPECT_EQ(cell.expected, fit.boundary->expected);
      expect_equal(cell.holdout, evaluate(fit.boundary->rule, holdout).total);
      EXPECT_DOUBLE_EQ(cell.holdout.true_positives, fit.boundary->holdout.true_positives);
      EXPECT_EQ(cell.test.has_value(), test != nullptr);
      if (test != nullptr && cell.test) expect_equal(*cell.test, evaluate(fit.boundary->rule, *test).total);
      if (study.objective.goal != Goal::kRecall) {
        // Sums of weights and their quotient: a few roundings.
        EXPECT_NEAR(*cell.value_bound * cell.holdout.positives, fit.boundary->holdout.objective_bound,
                    1e-12 * cell.holdout.positives);
      }
    }
  }
  return seen;
}

TEST(ComputeStudy, EveryCellIsWhatAFitGives) {
  int feasible = 0;
  int infeasible = 0;
  for (const char* shape : {"continuous", "heavy_ties", "single_precision", "mostly_zero_uncertainty", "margins",
                            "weighted", "weighted_integers"}) {
    for (const LevelsFrom from : {LevelsFrom::kTop, LevelsFrom::kAll}) {
      SCOPED_TRACE(shape);
      if (from == LevelsFrom::kAll && std::string(shape) != "continuous" && std::string(shape) != "weighted") continue;
      const SampleTable holdout = table_of(shape, 400, 1);
      const SampleTable test = table_of(shape, 300, 2);
      StudyOptions options = quick(0.7);
      for (int percent = 45; percent <= 100; percent += 5) options.bounds.push_back(decimal_rational(percent / 100.0));
      options.methods = holdout.weight.empty() ? kAll : kAllButVariable;
      options.fit.levels = 4;
      options.fit.levels_from = from;
      const Samples rows = holdout.samples();
      const Samples test_rows = test.samples();
      const Study study = compute_study(rows, &test_rows, options);
      EXPECT_EQ(study.bounds.size(), 12U);
      EXPECT_EQ(study.bounds[study.start], decimal_rational(0.7));
      const auto [met, missed] = check_cells(study, rows, &test_rows, options);
      feasible += met;
      infeasible += missed;
    }
  }
  EXPECT_GT(feasible, 700);
  EXPECT_GT(infeasible, 20);
}

// Hold-outs of more than 2^17 rows are fitted on the rows near the optimum alone; a study counts all of them once.
TEST(ComputeStudy, ManyRowsAreFittedAsAlone) {
  const SampleTable holdout = table_of("continuous", 140'000, 3);
  StudyOptions options = quick(0.8);
  options.bounds = {decimal_rational(0.6), decimal_rational(0.9)};
  const Samples rows = holdout.samples();
  const Study study = compute_study(rows, nullptr, options);
  EXPECT_EQ(check_cells(study, rows, nullptr, options).first, 12);
}

TEST(ComputeStudy, TakesBoundsOnOtherFigures) {
  const SampleTable holdout = table_of("continuous", 600, 4);
  const Samples rows = holdout.samples();
  const Rational bound{1, 5};
  for (const Objective& objective :
       {max_precision_at_recall(bound), max_recall_at_false_positive_rate(bound), max_recall_at_flag_rate(bound)}) {
    SCOPED_TRACE(describe(objective));
    StudyOptions options = quick(0.5);
    options.objective = objective;
    options.bounds = {{1, 10}, {1, 2}, {9, 10}};
    options.methods = kAll;
    const Study study = compute_study(rows, nullptr, options);
    EXPECT_GT(check_cells(study, rows, nullptr, options).first, 30);
    const Json json = Json::parse(study_json(study));
    EXPECT_EQ(json["goal"]["maximize"], objective.goal == Goal::kRecall ? "precision" : "recall");
  }
}

TEST(ComputeStudy, CertifiesAsCertifyDoes) {
  for (const char* shape : {"continuous", "weighted"}) {
    SCOPED_TRACE(shape);
    const SampleTable holdout = table_of(shape, 3000, 5);
    const Samples rows = holdout.samples();
    StudyOptions options = quick(0.6);
    options.bounds = {decimal_rational(0.7), decimal_rational(0.8), decimal_rational(0.999)};
    options.certified_confidence = 0.9;
    options.seed = 7;
    const Study study = compute_study(rows, nullptr, options);
    ASSERT_EQ(study.certification.size(), 4U);
    int certified = 0;
    for (std::size_t bound = 0; bound < 4; ++bound) {
      const Certification found =
          certify(rows, objective_at(study, bound),
                  {.confidence = 0.9, .method = Method::kAuto, .levels_from = LevelsFrom::kTop, .seed = 7});
      const StudyCertification& shown = study.certification[bound];
      ASSERT_EQ(shown.certified, found.boundary.has_value());
      EXPECT_EQ(shown.num_steps, found.steps.size());
      EXPECT_LE(shown.steps.size(), 30U);
      for (const WalkStep& step : shown.steps) {
        EXPECT_EQ(step.flagged, found.steps[step.step].flagged);
        EXPECT_EQ(step.p_value, found.steps[step.step].p_value);
        EXPECT_EQ(step.accepted, found.steps[step.step].accepted);
      }
      if (!shown.certified) {
        EXPECT_NE(shown.why, "");
        EXPECT_FALSE(shown.last);
        EXPECT_THAT(study.decision[bound].guarantee, ::testing::StartsWith("None: "));
        continue;
      }
      ++certified;
      EXPECT_EQ(study.rules[*shown.rule], found.boundary->rule);
      EXPECT_EQ(shown.guarantee, found.boundary->guarantee);
      EXPECT_EQ(shown.steps[*shown.last].step, *found.accepted);
      expect_equal(shown.holdout, evaluate(found.boundary->rule, rows).total);
      EXPECT_THAT(study.decision[bound].guarantee, ::testing::HasSubstr("Certified with 90% confidence"));
    }
    EXPECT_GT(certified, 0);
    EXPECT_LT(certified, 4);
  }
}

TEST(ComputeStudy, IsTheSameForAnyThreadCountAndRun) {
  const SampleTable holdout = table_of("continuous", 2000, 6);
  const SampleTable test = table_of("continuous", 1000, 7);
  const Samples test_rows = test.samples();
  StudyOptions options = quick(0.7);
  options.methods = kAll;
  options.with_sweep = options.with_calibration = true;
  options.certified_confidence = 0.9;
  options.bounds = {decimal_rational(0.6), decimal_rational(0.65), decimal_rational(0.8)};
  std::vector<std::string> texts;
  for (const int threads : {1, 4, 4}) {
    options.num_threads = threads;
    texts.push_back(study_json(compute_study(holdout.samples(), &test_rows, options)));
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[1], texts[2]);
  EXPECT_EQ(texts[0].find("seconds\":0"), std::string::npos);
}

TEST(ComputeStudy, ChoosesRoundBoundsAroundTheOneAskedFor) {
  const SampleTable holdout = table_of("continuous", 2000, 8);
  StudyOptions options = quick(0.777);
  options.methods = {Method::kSt};
  const Study study = compute_study(holdout.samples(), nullptr, options);
  EXPECT_GE(study.bounds.size(), 20U);
  EXPECT_LE(study.bounds.size(), 62U);
  EXPECT_TRUE(std::ranges::is_sorted(study.bounds, {}, &Rational::to_double));
  EXPECT_EQ(study.bounds[study.start], decimal_rational(0.777));
  const double share = study.holdout.positives / static_cast<double>(study.holdout.rows);
  EXPECT_GE(study.bounds.front().to_double(), share);
  EXPECT_LT(study.bounds.front().to_double(), share + 0.05);
  EXPECT_LE(study.bounds.front().den, 10'000);
}

TEST(ComputeStudy, CountsAddUp) {
  for (const char* shape : {"continuous", "heavy_ties", "weighted_integers"}) {
    SCOPED_TRACE(shape);
    const SampleTable holdout = table_of(shape, 3000, 9);
    const Samples rows = holdout.samples();
    StudyOptions options = quick(0.7);
    options.bounds = {decimal_rational(0.6)};
    const Json json = Json::parse(study_json(compute_study(rows, nullptr, options)));
    const Json& map = json["positivity"];
    EXPECT_LE(map["score_edges"].size(), 59U);
    EXPECT_LE(map["uncertainty_edges"].size(), 10U);
    double sum = 0;
    double positives = 0;
    for (std::size_t level = 0; level < map["rows"].size(); ++level) {
      EXPECT_EQ(map["rows"][level].size(), map["score_edges"].size() + 1);
      for (std::size_t bin = 0; bin < map["rows"][level].size(); ++bin) {
        sum += map["rows"][level][bin].get<double>();
        positives += map["positives"][level][bin].get<double>();
        if (map["rate"][level][bin].is_null()) continue;
        EXPECT_LE(map["low"][level][bin], map["rate"][level][bin]);
        EXPECT_GE(map["high"][level][bin], map["rate"][level][bin]);
      }
    }
    const Confusion all = evaluate(Rule{{}, {std::nullopt}}, rows).total;
    EXPECT_EQ(sum, all.rows);
    EXPECT_EQ(positives, all.positives);
    EXPECT_EQ(json["data"]["holdout"]["positives"], all.positives);
    for (const char* curve : {"st", "surface"}) {
      const Json& points = json["frontier"][curve];
      EXPECT_LE(points["recall"].size(), 200U);
      EXPECT_EQ(points["recall"].size(), points["low"].size());
      EXPECT_TRUE(std::ranges::is_sorted(points["recall"].get<std::vector<double>>()));
    }
    // Every rule of a cell is there, and every rule is that of a cell.
    std::vector<int> used(json["rules"].size());
    for (const Json& method : json["methods"]) {
      for (const Json& cell : method["at"]) {
        if (!cell["rule"].is_null()) ++used.at(cell["rule"].get<std::size_t>());
      }
    }
    EXPECT_EQ(std::ranges::count(used, 0), 0);
  }
}

TEST(ComputeStudy, TakesASetBoundaryAsItsDecision) {
  const SampleTable holdout = table_of("continuous", 2000, 10);
  const Samples rows = holdout.samples();
  StudyOptions options = quick(0.8);
  Boundary boundary = *fit_boundary(rows, options.objective, {.method = Method::kExact, .levels = 5}).boundary;
  options.boundary = boundary;
  options.methods = {Method::kExact, Method::kSt};
  options.fit.levels = 5;
  options.bounds = {decimal_rational(0.6)};
  const Study study = compute_study(rows, nullptr, options);
  const StudyCell& cell = study.methods.front().at[study.start];
  EXPECT_EQ(study.rules[*cell.rule], boundary.rule);
  EXPECT_EQ(cell.holdout.true_positives, boundary.holdout.true_positives);
  EXPECT_FALSE(cell.value_bound);
  boundary.objective.bound = {1, 2};
  options.boundary = boundary;
  EXPECT_THROW((void)compute_study(rows, nullptr, options), InvalidInput);
}

TEST(ComputeStudy, LooksAtDegenerateHoldouts) {
  struct Case {
    const char* name;
    std::vector<double> score;
    std::vector<double> uncertainty;
    std::vector<std::uint8_t> label;
  };
  const std::vector<Case> cases = {
      {"equal scores",
       std::vector<double>(12, 0.5),
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
       {1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0}},
      {"constant uncertainty",
       {.1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .96, .97},
       std::vector<double>(12, 1),
       {0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1}},
      {"two rows", {.1, .9}, {1, 2}, {0, 1}},
  };
  for (const Case& shape : cases) {
    SCOPED_TRACE(shape.name);
    const Samples rows{
        std::span<const double>(shape.score), std::span<const double>(shape.uncertainty), shape.label, {}};
    StudyOptions options;
    options.objective = max_recall_at_precision(decimal_rational(0.9));
    options.methods = kAll;
    options.certified_confidence = 0.9;
    const Study study = compute_study(rows, &rows, options);
    check_cells(study, rows, &rows, options);
    const Json json = Json::parse(study_json(study));
    EXPECT_EQ(json["methods"].size(), 10U);
    EXPECT_EQ(json["decision"].size(), json["bounds"].size());
  }
}

TEST(ComputeStudy, SaysThatABoundCannotBeMet) {
  // Equal scores: half of the rows are positive, and nothing tells them apart.
  const std::vector<double> score(40, 0.5);
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  for (int row = 0; row < 40; ++row) {
    uncertainty.push_back(1);
    label.push_back(row % 2 == 0 ? 1 : 0);
  }
  const Samples rows{std::span<const double>(score), std::span<const double>(uncertainty), label, {}};
  const Study study = compute_study(rows, nullptr, quick(0.9));
  const StudyDecision& decision = study.decision[study.start];
  EXPECT_EQ(decision.sentence,
            "Precision 0.9 or more cannot be met by auto on this hold-out; the best attainable precision is 0.5000.");
  EXPECT_EQ(decision.gains, Gains::kNo);
  const Json json = Json::parse(study_json(study));
  const Json& cell = json["methods"][0]["at"][study.start];
  EXPECT_EQ(cell["status"], "infeasible");
  EXPECT_EQ(cell["best"], 0.5);
  EXPECT_TRUE(cell["rule"].is_null());
  EXPECT_TRUE(cell["holdout"]["precision"].is_null());
  EXPECT_EQ(cell["holdout"]["flagged"], 0);
}

TEST(ComputeStudy, KeepsHostileNamesOutOfTheJson) {
  const SampleTable holdout = table_of("continuous", 200, 11);
  StudyOptions options = quick(0.6);
  options.methods = {Method::kSt};
  options.title = "</script><b>\xff\n";
  options.columns.score = "a\"b\\\x01";
  options.settings = {{"--title", "\xc3\x28"}};
  const Json json = Json::parse(study_json(compute_study(holdout.samples(), nullptr, options)));
  EXPECT_EQ(json["title"], "</script><b>\\xff\\n");
  EXPECT_EQ(json["data"]["columns"]["score"], "a\"b\\\\x01");
}

TEST(ComputeStudy, RefusesWhatItCannotShow) {
  const SampleTable holdout = table_of("continuous", 200, 12);
  const Samples rows = holdout.samples();
  const auto refusal = [&](const StudyOptions& options, const Samples& samples) {
    return test::refusal_of([&] { (void)compute_study(samples, nullptr, options); });
  };
  StudyOptions options = quick(0.6);
  options.objective = max_f_beta({1, 1});
  EXPECT_THAT(refusal(options, rows), ::testing::HasSubstr("has no bound to look along"));
  options = quick(0.6);
  options.methods.clear();
  EXPECT_EQ(refusal(options, rows), "report: methods are none, must be at least one");
  options = quick(0.6);
  options.methods = {Method::kMist};
  options.certified_confidence = 0.9;
  EXPECT_THAT(refusal(options, rows), ::testing::HasSubstr("cannot be certified: take auto"));
  options = quick(0.6);
  options.bounds = {{3, 2}};
  EXPECT_THAT(refusal(options, rows), ::testing::HasSubstr("bound is 1.5, must be between 0 and 1"));
  options = quick(0.6);
  std::vector<std::uint8_t> negatives(rows.size(), 0);
  Samples one_class = rows;
  one_class.label = negatives;
  EXPECT_EQ(refusal(options, one_class), "report: the hold-out has rows of one class only; both are needed");
  EXPECT_EQ(refusal(options, Samples{}), "report: there are no rows");
  const SampleTable weighted = table_of("weighted", 200, 13);
  options.methods = {Method::kVwDpmt};
  EXPECT_THAT(refusal(options, weighted.samples()), ::testing::HasSubstr("vw-dpmt takes no weights"));
}

TEST(ComputeStudy, StaysSmall) {
  const SampleTable holdout = table_of("continuous", 8'000, 14);
  const SampleTable test = table_of("continuous", 5'000, 15);
  const Samples test_rows = test.samples();
  StudyOptions options = quick(0.8);
  options.methods = {Method::kExact, Method::kSt,   Method::kSmooth, Method::kHr,
                     Method::kGmt,   Method::kMist, Method::kEwDpmt, Method::kVwDpmt};
  options.fit.levels = 11;
  options.fit.bins = BinCount::of(1000);
  options.certified_confidence = 0.9;
  for (int bound = 41; bound <= 100; ++bound) options.bounds.push_back(decimal_rational(bound / 100.0));
  EXPECT_LT(study_json(compute_study(holdout.samples(), &test_rows, options)).size(), 1'300'000U);
}

DecisionFacts facts_of(double recall, double single, std::optional<ExpectedGain> expected) {
  DecisionFacts facts;
  facts.objective = max_recall_at_precision(decimal_rational(0.3));
  facts.cell.status = CellStatus::kOptimal;
  facts.cell.chosen = Method::kExact;
  facts.cell.levels = 3;
  facts.cell.holdout = {1000, 100, 150, 100 * recall};
  facts.single.status = CellStatus::kOptimal;
  facts.single.holdout = {1000, 100, 150, 100 * single};
  facts.cell.holdout_gain = recall / single - 1;
  facts.expected = expected;
  return facts;
}

TEST(DecisionInWords, SaysWhatIsGainedAndWhatIsNot) {
  DecisionFacts facts = facts_of(0.55, 0.5, ExpectedGain{0.08, 0.02, 0.14});
  StudyDecision decision = decision_in_words(facts);
  EXPECT_EQ(decision.gains, Gains::kYes);
  EXPECT_EQ(decision.sentence,
            "At precision 0.3 or more, exact on 3 levels (chosen by auto) has recall 0.5500 on the hold-out, flagging "
            "150 of 1,000 rows. One threshold has recall 0.5000 there: a gain of 10.0% on the hold-out, expected on "
            "other rows 8.0% (2.0% to 14.0%). Nothing is certified.");
  EXPECT_EQ(decision.guarantee, "None: nothing was certified. Figures of the hold-out are no promise for other rows.");

  decision = decision_in_words(facts_of(0.55, 0.5, ExpectedGain{0.08, -0.02, 0.18}));
  EXPECT_EQ(decision.gains, Gains::kUnsure);
  EXPECT_THAT(decision.sentence, ::testing::HasSubstr("(-2.0% to 18.0%): unsure."));

  // The range of the gain holds 0, but the rows it flags are surely better ones than one threshold's.
  decision = decision_in_words(facts_of(0.55, 0.5, ExpectedGain{0.08, -0.02, 0.18, 0.012}));
  EXPECT_EQ(decision.gains, Gains::kYes);
  EXPECT_THAT(decision.sentence,
              ::testing::HasSubstr("(-2.0% to 18.0%); surely more positives among as many rows (1.2% or more)."));
  decision = decision_in_words(facts_of(0.55, 0.5, ExpectedGain{0.08, -0.02, 0.18, -0.001}));
  EXPECT_EQ(decision.gains, Gains::kUnsure);

  decision = decision_in_words(facts_of(0.5, 0.5, std::nullopt));
  EXPECT_EQ(decision.gains, Gains::kNo);
  EXPECT_THAT(decision.sentence, ::testing::HasSubstr("no gain on the hold-out: no gain."));

  facts = facts_of(0.5, 0.5, ExpectedGain{});
  facts.cell.chosen = Method::kSt;
  facts.cell.levels = 1;
  decision = decision_in_words(facts);
  EXPECT_EQ(decision.gains, Gains::kNo);
  EXPECT_THAT(decision.sentence, ::testing::HasSubstr("one threshold (chosen by auto) has recall 0.5000"));
  EXPECT_THAT(decision.sentence, ::testing::HasSubstr("Uncertainty brings no gain here."));
}

TEST(DecisionInWords, SaysWhatIsPromisedAndForWhom) {
  DecisionFacts facts = facts_of(0.55, 0.5, ExpectedGain{0.08, 0.02, 0.14});
  StudyCertification certification;
  certification.why = "there are too few rows to learn from";
  facts.certification = &certification;
  EXPECT_EQ(decision_in_words(facts).guarantee,
            "None: precision >= 0.3 cannot be certified: there are too few rows to learn from.");
  certification.certified = true;
  certification.guarantee = Guarantee{.confidence = 0.9, .valid_for = "rows drawn like the hold-out"};
  certification.holdout = {1000, 100, 120, 52};
  const StudyDecision decision = decision_in_words(facts);
  EXPECT_EQ(decision.guarantee,
            "Certified with 90% confidence: precision >= 0.3, for rows drawn like the hold-out, of the certified "
            "boundary, whose recall on the hold-out is 0.5200.");
  EXPECT_THAT(decision.sentence, ::testing::EndsWith("A boundary with recall 0.5200 is certified with 90% confidence "
                                                     "for rows drawn like the hold-out."));
}

TEST(MonitorPath, DependsOnRowsAloneNotOnBatches) {
  const SampleTable table = table_of("continuous", 60'000, 16);
  const Samples rows = table.samples();
  const Boundary boundary = *fit_boundary(rows, max_recall_at_precision({7, 10}), {.method = Method::kSt}).boundary;
  Column id{.name = "id", .values = TextValues{}};
  auto& texts = std::get<TextValues>(id.values);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    texts.distinct.push_back(std::to_string(row));
    texts.code.push_back(static_cast<std::int32_t>(row));
  }
  std::vector<MonitorStudy> studies;
  for (const std::size_t batch : {rows.size(), std::size_t{777}}) {
    Monitor monitor(boundary);
    MonitorPath path;
    for (std::size_t begin = 0; begin < rows.size(); begin += batch) {
      const std::size_t size = std::min(batch, rows.size() - begin);
      Column part{.name = "id", .values = TextValues{}};
      auto& values = std::get<TextValues>(part.values);
      for (std::size_t row = begin; row < begin + size; ++row) {
        values.distinct.push_back(texts.distinct[row]);
        values.code.push_back(static_cast<std::int32_t>(row - begin));
      }
      path.update(monitor, {.score = std::span<const double>(table.score).subspan(begin, size),
                            .uncertainty = std::span<const double>(table.uncertainty).subspan(begin, size),
                            .label = std::span<const std::uint8_t>(table.label).subspan(begin, size),
                            .id = &part});
    }
    studies.push_back(path.finish(monitor));
  }
  Monitor whole(boundary);
  whole.update({.score = rows.score, .uncertainty = rows.uncertainty, .label = rows.label, .id = &id});
  EXPECT_EQ(to_json(studies[0].report), to_json(whole.report()));
  ASSERT_EQ(studies[0].path.size(), studies[1].path.size());
  EXPECT_LE(studies[0].path.size(), 401U);
  EXPECT_GE(studies[0].path.size(), 200U);
  for (std::size_t at = 0; at < studies[0].path.size(); ++at) {
    EXPECT_EQ(studies[0].path[at].rows, studies[1].path[at].rows);
    EXPECT_EQ(studies[0].path[at].e_value, studies[1].path[at].e_value);
    EXPECT_EQ(studies[0].path[at].figure, studies[1].path[at].figure);
  }
  EXPECT_EQ(studies[0].path.back().rows, 60'000);
  StudyOptions options;
  options.objective = boundary.objective;
  const Json json = Json::parse(study_json(monitor_study(boundary, studies[0], options)));
  EXPECT_EQ(json["monitor"]["path"].size(), studies[0].path.size());
  EXPECT_THAT(json["decision"][0]["sentence"].get<std::string>(), ::testing::HasSubstr("in deployment: "));
}

}  // namespace
}  // namespace limen::report
