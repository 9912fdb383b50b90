// SPDX-License-Identifier: MIT
#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::HasSubstr;

class SegmentsTest : public CliTest {};

// By falling score, label 1 marked *:
//   DE  .9*  .8*  .7   .6*        prefixes (flagged, true positives) 1,1  2,2  3,2  4,3
//   FR  .95  .85  .75* .65        prefixes 1,0  2,0  3,1  4,1
// With a precision of 3/4 together: DE from .6 on, nothing of FR.
constexpr std::string_view kMarkets =
    "market,score,label\n"
    "DE,0.9,1\nDE,0.8,1\nDE,0.7,0\nDE,0.6,1\n"
    "FR,0.95,0\nFR,0.85,0\nFR,0.75,1\nFR,0.65,0\n";

/// Many rows of three markets, each with its own law of the label.
std::string many_rows(std::size_t rows, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  std::string text = "market,score,uncertainty,label\n";
  for (std::size_t row = 0; row < rows; ++row) {
    const double at = unit(random);
    const char* const market = at < 0.5 ? "DE" : at < 0.9 ? "FR" : "IT";
    const double score = unit(random);
    const double rate = at < 0.5 ? 0.98 * score : at < 0.9 ? 0.7 * score : 0.3 + 0.65 * score;
    text += std::string(market) + "," + std::to_string(score) + "," + std::to_string(unit(random)) + "," +
            (unit(random) < rate ? "1" : "0") + "\n";
  }
  return text;
}

Words fit_words(const Words& more) {
  Words words = {"fit", "h.csv", "--segment", "market"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(SegmentsTest, FitApplyAndEvaluateTogetherWithoutAnUncertainty) {
  write_file("h.csv", kMarkets);
  const std::string text =
      output_of(fit_words({"--precision", "0.75", "--method", "exact", "--segment-min-rows", "1", "-o", "b.json"}));
  EXPECT_THAT(text, HasSubstr("exact: most recall with precision >= 0.75, all segments together"));
  EXPECT_THAT(text, HasSubstr("2 segments of market, every distinct score"));
  EXPECT_THAT(text, HasSubstr("flagged 4, true positives 3: precision 0.7500, recall 0.7500"));
  EXPECT_THAT(text, HasSubstr("proved optimal on this hold-out"));
  EXPECT_THAT(text, HasSubstr("no single threshold meets the bound"));
  const Json boundary = Json::parse(file_text("b.json"));
  EXPECT_EQ(boundary["version"], 2);
  const Json& rule = boundary["rule"]["segment"];
  EXPECT_EQ(rule["column"], "market");
  EXPECT_EQ(rule["unseen"], "never flagged");
  EXPECT_EQ(rule["values"][0]["score_thresholds"], Json({0.6}));
  EXPECT_EQ(rule["values"][1]["score_thresholds"], Json({nullptr}));

  // Another name of the column, a value that was never seen, and a column `segment` that rides along.
  write_file("t.csv", "land,score,segment\nDE,0.6,x\nDE,0.59,y\nFR,0.99,z\nPL,0.99,w\n");
  const RunResult applied = run({"apply", "b.json", "t.csv", "-o", "d.csv", "--segment", "land"});
  EXPECT_EQ(applied.exit_code, 0) << applied.err;
  EXPECT_THAT(applied.err, HasSubstr("1 row had values of market that the hold-out did not have: never flagged"));
  EXPECT_EQ(file_text("d.csv"),
            "land,score,segment,decision,level\nDE,0.6,x,1,0\nDE,0.59,y,0,0\nFR,0.99,z,0,0\nPL,0.99,w,0,-1\n");

  const Json judged = json_of({"evaluate", "b.json", "h.csv", "--json"})[0];
  EXPECT_EQ(judged["true_positives"], 3);
  EXPECT_EQ(judged["unseen_segment_rows"], 0);
  EXPECT_EQ(judged["segments"][0]["segment"], "DE");
  EXPECT_EQ(judged["segments"][0]["flagged"], 4);
  EXPECT_EQ(judged["segments"][1]["flagged"], 0);
  EXPECT_THAT(output_of({"evaluate", "b.json", "h.csv"}), HasSubstr("precision is at or above the bound 0.75"));
}

TEST_F(SegmentsTest, WithEachEverySegmentKeepsTheBoundOrIsNamed) {
  write_file("h.csv", kMarkets);
  const Words each = {"--precision", "0.75", "--each", "--segment-min-rows", "1"};
  Words words = fit_words(each);
  words.insert(words.end(), {"-o", "b.json"});
  EXPECT_THAT(output_of(words), HasSubstr("1 of 2 segments cannot keep the bound and flags nothing: FR"));
  const Json judged = json_of({"evaluate", "b.json", "h.csv", "--json"})[0];
  EXPECT_EQ(judged["each"], true);
  EXPECT_EQ(judged["segments"][0]["keeps_bound"], true);
  EXPECT_TRUE(judged["segments"][1]["keeps_bound"].is_null());
  EXPECT_THAT(output_of({"evaluate", "b.json", "h.csv"}),
              HasSubstr("at or above the bound 0.75 in 1 of 1 segment that flag"));
  // Nowhere: exit code 3, nothing written.
  const RunResult none =
      run(fit_words({"--precision", "1", "--each", "--method", "st", "--segment-min-rows", "9", "-o", "none.json"}));
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("cannot be met in any segment"));
  EXPECT_FALSE(std::filesystem::exists("none.json"));
}

TEST_F(SegmentsTest, CertifiesAllTogetherAndEachByItself) {
  write_file("h.csv", many_rows(6000, 1));
  const std::string each =
      output_of(fit_words({"--precision", "0.7", "--each", "--method", "st", "--confidence", "0.9", "-o", "e.json"}));
  EXPECT_THAT(each, HasSubstr("certified with 90% confidence in each of 2 segments"));
  EXPECT_THAT(each, HasSubstr("not for all at once: for 90% of all at once fit with --confidence 0.96"));
  EXPECT_THAT(each, HasSubstr("1 of 3 segments cannot be certified to keep the bound and flags nothing: FR"));
  const Json segments = Json::parse(file_text("e.json"))["rule"]["segment"]["values"];
  EXPECT_EQ(segments[0]["status"], "certified");
  EXPECT_EQ(segments[0]["guarantee"]["confidence"], 0.9);
  EXPECT_THAT(segments[0]["guarantee"]["valid_for"], HasSubstr("of this segment alone"));
  EXPECT_EQ(segments[1]["status"], "not certified");
  const std::string together =
      output_of(fit_words({"--precision", "0.7", "--method", "exact", "--confidence", "0.9", "-o", "b.json"}));
  EXPECT_THAT(together, HasSubstr("certified with 90% confidence: precision >= 0.7"));
  write_file("t.csv", many_rows(20000, 2));
  EXPECT_THAT(output_of({"evaluate", "b.json", "t.csv"}), HasSubstr("these rows are consistent with it"));
  EXPECT_THAT(output_of({"evaluate", "e.json", "t.csv"}), HasSubstr("in 2 of 2 segments that flag\n"));
}

TEST_F(SegmentsTest, AutoTakesSegmentsThatTellAndLeavesThoseThatDoNot) {
  write_file("h.csv", many_rows(6000, 3));
  const Json found = json_of(fit_words({"--precision", "0.7", "--json"}));
  EXPECT_EQ(found["version"], 2);
  EXPECT_THAT(found["chosen_by"]["why"], HasSubstr("segments inform"));
  EXPECT_LT(found["chosen_by"]["segment_p"], 0.01);
  // The same rows with markets drawn anew.
  std::mt19937 random(9);
  std::string noise;
  for (std::string rest = many_rows(6000, 3); !rest.empty();) {
    std::string line = rest.substr(0, rest.find('\n') + 1);
    rest.erase(0, line.size());
    noise += line.starts_with("market") ? line : std::string(random() % 2 == 0 ? "DE" : "FR") + line.substr(2);
  }
  write_file("h.csv", noise);
  const Json left = json_of(fit_words({"--precision", "0.7", "--json"}));
  EXPECT_EQ(left["version"], 1);
  EXPECT_EQ(left["method"], "st");
  EXPECT_THAT(left["chosen_by"]["why"], HasSubstr("segments tell nothing"));
}

TEST_F(SegmentsTest, RefusesByName) {
  write_file("h.csv", kMarkets);
  const auto refused = [&](const Words& more, const Words& named) {
    Words words = {"fit", "h.csv", "--precision", "0.75"};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(words, named);
  };
  refused({"--each"}, {"--each", "--segment"});
  refused({"--segment-min-rows", "5"}, {"--segment-min-rows", "--segment"});
  refused({"--segment", "market", "--segment-min-rows", "0"}, {"--segment-min-rows", "\"0\""});
  refused({"--segment", "mraket", "--method", "exact"}, {"\"mraket\"", "did you mean \"market\"?"});
  refused({"--segment", "market", "--method", "hr"}, {"--method", "hr", "auto or exact"});
  refused({"--segment", "market", "--review-rate", "0.1"}, {"--segment", "review"});
  refused({"--segment", "market", "--bootstrap", "10"}, {"--segment", "--bootstrap"});
  refused({"--segment", "market", "--monotone", "up"}, {"--monotone", "--each"});
  refused({"--segment", "market", "--levels", "3"}, {"\"uncertainty\"", "no such column"});
  refused({"--segment", "market", "--uncertainty", "u"}, {"\"u\"", "no such column"});
  expect_refused({"fit", "--counts", "h.csv", "--precision", "0.75", "--segment", "market"}, {"--segment", "--counts"});
  expect_refused({"fit", "h.csv", "--cost-fp", "1", "--cost-fn", "2", "--segment", "market", "--each"}, {"no bound"});

  (void)output_of({"fit", "h.csv", "--precision", "0.75", "--segment", "market", "--method", "exact",
                   "--segment-min-rows", "1", "-o", "b.json"});
  write_file("t.csv", "market,score,uncertainty,label\n,0.5,0.1,1\nDE,0.9,0.1,1\n");
  expect_refused({"apply", "b.json", "t.csv", "-o", "d.csv"}, {"line 2", "\"market\"", "missing"});
  expect_refused({"evaluate", "b.json", "t.csv"}, {"line 2", "\"market\"", "missing"});
  EXPECT_EQ(json_of({"evaluate", "b.json", "t.csv", "--drop-missing", "--json"})[0]["rows"], 1);
  expect_refused({"monitor", "b.json", "t.csv"}, {"b.json", "segments", "\"market\""});
  write_file("plain.csv", kHandTable);
  (void)output_of({"fit", "plain.csv", "--precision", "0.5", "--method", "st", "-o", "plain.json"});
  expect_refused({"apply", "plain.json", "plain.csv", "-o", "d.csv", "--segment", "market"},
                 {"--segment", "no segments"});
}

}  // namespace
}  // namespace limen::cli::test
