// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// At precision 0.75 on two levels .90* .80* .70* and .95 .85* are flagged. The rest, by falling score:
//   uncertainty 0.1:  .60   .50
//   uncertainty 0.9:  .75   .65   .55*
// Three rows of ten bring the last positive, fewer none.
class Review : public CliTest {
 protected:
  Review() { write_file("x.csv", kHandTable); }
  [[nodiscard]] static Words fit_with(const Words& more) {
    Words words = {"fit", "x.csv", "--precision", "0.75", "--levels", "2", "--bins", "all"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(Review, ARateFindsTheMostPositivesAndWritesThem) {
  const Json plain = json_of(fit_with({"--json"}));
  EXPECT_FALSE(plain.contains("review"));
  Json found = json_of(fit_with({"--review-rate", "0.3", "--json"}));
  const Json review = found["review"];
  EXPECT_EQ(review["score_thresholds"][0], nullptr);
  EXPECT_EQ(review["reviewed"], 3);
  EXPECT_EQ(review["positives"], 1);
  EXPECT_EQ(review["rate"], 0.3);
  EXPECT_EQ(review["max_rate"], 0.3);
  EXPECT_EQ(review["recall"], 1.0);
  EXPECT_EQ(review["optimal"], true);
  EXPECT_FALSE(review.contains("max_rate_fraction"));
  // What is flagged is that of the fit without a review.
  found.erase("review");
  EXPECT_EQ(found, plain);
  EXPECT_EQ(json_of(fit_with({"--review-rate", "0.2", "--json"}))["review"]["reviewed"], 0);
  EXPECT_EQ(json_of(fit_with({"--review-rate", "0", "--json"}))["review"]["reviewed"], 0);
  EXPECT_EQ(json_of(fit_with({"--review-rate", "1", "--json"}))["review"]["reviewed"], 3);
  EXPECT_EQ(json_of(fit_with({"--review-recall", "0.81", "--json"}))["review"]["reviewed"], 3);
  EXPECT_EQ(json_of(fit_with({"--review-recall", "0.8", "--json"}))["review"]["reviewed"], 0);
}

TEST_F(Review, SaysItInWords) {
  const std::string text = output_of(fit_with({"--review-rate", "0.3"}));
  EXPECT_THAT(text, HasSubstr("  flagged             5  50.00%          4     0.8000\n"));
  EXPECT_THAT(text, HasSubstr("  review              3  30.00%          1     0.3333\n"));
  EXPECT_THAT(text, HasSubstr("  pass                2  20.00%          0     0.0000\n"));
  EXPECT_THAT(text, HasSubstr("recall of flagged or reviewed 1.0000, of flagged alone 0.8000; proved"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "flagging is as without a review; figures about review are of this hold-out, and no guarantee covers them"));
  EXPECT_THAT(text, HasSubstr("review score  review  review pos."));
  EXPECT_THAT(output_of(fit_with({})), Not(HasSubstr("review")));
  EXPECT_THAT(output_of({"fit", "x.csv", "--flag-rate", "0.3", "--method", "smooth", "--review-rate", "0.3"}),
              AllOf(HasSubstr("recall of flagged or reviewed"), Not(HasSubstr("proved: no other review"))));
}

TEST_F(Review, SaysWhatIsAttainableWhereBothCannotBeMet) {
  const RunResult result = run(fit_with({"--review-rate", "0.2", "--review-recall", "0.9", "-o", "b.json", "--json"}));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.err,
            "limen: x.csv: infeasible: with 0.2 of the rows reviewed, recall of flagged or reviewed is at most 0.8, "
            "below 0.9; that takes a review rate of 0.3\n");
  const Json report = Json::parse(result.out);
  EXPECT_EQ(report["status"], "infeasible");
  EXPECT_EQ(report["best_attainable_recall"], 0.8);
  EXPECT_EQ(report["least_review_rate"], 0.3);
  EXPECT_FALSE(std::filesystem::exists("b.json"));
  EXPECT_EQ(run(fit_with({"--review-rate", "0.3", "--review-recall", "0.9"})).exit_code, 0);
  // The bound itself is met by nothing: as without a review.
  const RunResult inner = run({"fit", "x.csv", "--precision", "1", "--method", "st", "--review-rate", "0.5"});
  EXPECT_EQ(inner.exit_code, 3);
  EXPECT_THAT(inner.err, HasSubstr("best attainable precision"));
}

// A false positive costs 2, a false negative 5, a review 1. Level 0: flag three, pass two: 0. Level 1: to review all
// five costs 5, as does flagging two (2) and reviewing three: fewer are flagged.
TEST_F(Review, ACostDecidesBoth) {
  const Json found =
      json_of({"fit", "x.csv", "--levels", "2", "--cost-fp", "2", "--cost-fn", "5", "--review-cost", "1", "--json"});
  EXPECT_EQ(found["holdout"]["flagged"], 3);
  EXPECT_EQ(found["holdout"]["objective_value"], 5);
  EXPECT_EQ(found["holdout"]["optimal"], true);
  EXPECT_EQ(found["review"]["reviewed"], 5);
  EXPECT_EQ(found["review"]["cost"], 1.0);
  EXPECT_THAT(output_of({"fit", "x.csv", "--cost-fp", "2", "--cost-fn", "5", "--review-cost", "1"}),
              AllOf(HasSubstr("no pair of flagging and review on these levels and bins costs less than"),
                    HasSubstr("2 per false positive and 5 per false negative, 1 per review"),
                    HasSubstr("for reviews at 1 each")));
}

TEST_F(Review, ApplyAddsAColumnAndEvaluateJudgesIt) {
  (void)output_of(fit_with({"--review-rate", "0.3", "-o", "b.json"}));
  EXPECT_EQ(output_of({"apply", "b.json", "x.csv", "-o", "out.csv"}),
            "10 rows, 5 flagged (50.00%), 3 to review (30.00%), written to out.csv\n");
  EXPECT_EQ(file_text("out.csv"),
            "score,uncertainty,label,decision,level,review\n"
            "0.9,0.1,1,1,0,0\n0.8,0.1,1,1,0,0\n0.7,0.1,1,1,0,0\n0.6,0.1,0,0,0,0\n0.5,0.1,0,0,0,0\n"
            "0.95,0.9,0,1,1,0\n0.85,0.9,1,1,1,0\n0.75,0.9,0,0,1,1\n0.65,0.9,0,0,1,1\n0.55,0.9,1,0,1,1\n");
  EXPECT_EQ(json_of({"apply", "b.json", "x.csv", "-o", "out.csv", "--json"})["reviewed"], 3);
  const Json review = json_of({"evaluate", "b.json", "x.csv", "--json"})[0]["review"];
  EXPECT_EQ(review["reviewed"], 3);
  EXPECT_EQ(review["positives"], 1);
  EXPECT_EQ(review["rate"], 0.3);
  EXPECT_EQ(review["recall"], 1.0);
  // 3 of 10, from R: binom.test(3, 10); 5 of 5 is [0.025^(1/5), 1].
  EXPECT_NEAR(review["rate_interval"][0].get<double>(), 0.06673951, 1e-8);
  EXPECT_NEAR(review["rate_interval"][1].get<double>(), 0.6524529, 1e-7);
  EXPECT_NEAR(review["recall_interval"][0].get<double>(), std::pow(0.025, 0.2), 1e-9);
  EXPECT_THAT(output_of({"evaluate", "b.json", "x.csv"}), HasSubstr("recall of flagged or reviewed"));
  write_file("empty.csv", "score,uncertainty\n");
  EXPECT_EQ(output_of({"apply", "b.json", "empty.csv", "-o", "out.csv"}),
            "0 rows, 0 flagged (0.00%), 0 to review (0.00%), written to out.csv\n");
  EXPECT_EQ(file_text("out.csv"), "score,uncertainty,decision,level,review\n");
}

TEST_F(Review, CountsGiveTheSame) {
  write_file("counts.csv",
             "level,score,positives,rows,uncertainty\n"
             "0,0.9,1,1,0.1\n0,0.8,1,1,0.1\n0,0.7,1,1,0.1\n0,0.6,0,1,0.1\n0,0.5,0,1,0.1\n"
             "1,0.95,0,1,0.9\n1,0.85,1,1,0.9\n1,0.75,0,1,0.9\n1,0.65,0,1,0.9\n1,0.55,1,1,0.9\n");
  for (const char* rate : {"0", "0.2", "0.3", "1"}) {
    const Json counted = json_of(
        {"fit", "--counts", "counts.csv", "--precision", "0.75", "--method", "exact", "--review-rate", rate, "--json"});
    const Json rows = json_of(fit_with({"--review-rate", rate, "--json"}));
    EXPECT_EQ(counted["review"]["reviewed"], rows["review"]["reviewed"]);
    EXPECT_EQ(counted["review"]["recall"], rows["review"]["recall"]);
  }
}

TEST_F(Review, RefusesWhatCannotBe) {
  const auto refused = [&](const Words& more, const Words& named) { expect_refused(fit_with(more), named); };
  refused({"--review-rate", "5"}, {"--review-rate: 5 is not between 0 and 1; 5% is 0.05"});
  refused({"--review-rate", "-0.1"}, {"--review-rate", "-0.1"});
  refused({"--review-rate", "nan"}, {"--review-rate", "nan"});
  refused({"--review-recall", "1.5"}, {"--review-recall: 1.5 is not between 0 and 1"});
  refused({"--review-cost", "1"}, {"--review-cost goes with --cost-fp and --cost-fn"});
  refused({"--review-rate", "0.1", "--review-cost", "1"}, {"--review-cost", "leave out"});
  refused({"--review-rate", "0.1", "--monotone", "up"}, {"--monotone"});
  expect_refused({"fit", "x.csv", "--cost-fp", "1", "--cost-fn", "1", "--review-cost", "1", "--method", "mist"},
                 {"needs method auto, st, exact or joint, not mist"});
  // A file whose review begins above what is flagged.
  (void)output_of(fit_with({"--review-rate", "0.3", "-o", "b.json"}));
  Json bad = Json::parse(file_text("b.json"));
  bad["review"]["score_thresholds"][1] = 0.99;
  write_file("bad.json", bad.dump());
  expect_refused({"apply", "bad.json", "x.csv", "-o", "out.csv"}, {"bad.json", "from which the level is flagged"});
  bad["review"] = 1;
  write_file("bad.json", bad.dump());
  expect_refused({"evaluate", "bad.json", "x.csv"}, {"bad.json", "review"});
}

}  // namespace
}  // namespace limen::cli::test
