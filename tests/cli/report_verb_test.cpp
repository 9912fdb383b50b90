// SPDX-License-Identifier: MIT
#include <csignal>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Report : public CliTest {
 protected:
  Report() {
    write_file("h.csv", tied_table(1, 1500));
    write_file("t.csv", tied_table(2, 800));
  }

  /// The study inside a page.
  static Json study_in(const std::string& path) {
    const std::string page = file_text(path);
    const std::string open = "id=\"study\">";
    const std::size_t begin = page.find(open) + open.size();
    return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  }
};

TEST_F(Report, WritesAPageOfTheStudyThatJsonPrints) {
  const Words verb = {"report", "h.csv", "--test", "t.csv", "--precision", "0.6", "--bounds", "0.5,0.7"};
  Words page = verb;
  page.insert(page.end(), {"-o", "r.html"});
  EXPECT_THAT(output_of(page), ::testing::AllOf(StartsWith("At precision 0.6 or more, "),
                                                HasSubstr("3 bounds, 4 methods; written to r.html")));
  Words json = verb;
  json.push_back("--json");
  const Json study = json_of(json);
  EXPECT_EQ(study_in("r.html"), study);
  EXPECT_EQ(study["format"], "limen-study");
  EXPECT_EQ(study["bounds"], Json({0.5, 0.6, 0.7}));
  EXPECT_EQ(study["start"], 1);
  EXPECT_EQ(study["title"], "h.csv");
  EXPECT_EQ(study["data"]["test"]["rows"], 800);
  EXPECT_EQ(study["command"], "limen report h.csv --test t.csv --precision 0.6 --bounds 0.5,0.7");

  // Each of its cells is what fit and evaluate say.
  for (const Json& method : study["methods"]) {
    const std::string name = method["name"];
    SCOPED_TRACE(name);
    const Json fitted = json_of({"fit", "h.csv", "--precision", "0.7", "--method", name, "-o", "b.json", "--json"});
    const Json& cell = method["at"][2];
    EXPECT_EQ(cell["holdout"]["flagged"], fitted["holdout"]["flagged"]);
    EXPECT_EQ(cell["holdout"]["true_positives"], fitted["holdout"]["true_positives"]);
    EXPECT_EQ(study["rules"][cell["rule"].get<std::size_t>()]["thresholds"], fitted["rule"]["score_thresholds"]);
    const Json judged = json_of({"evaluate", "b.json", "t.csv", "--json"});
    EXPECT_EQ(cell["test"]["true_positives"], judged[0]["true_positives"]);
    EXPECT_EQ(cell["test"]["precision_interval"], judged[0]["precision_interval"]);
  }
  // And its sections what the verbs print.
  EXPECT_EQ(study["sweep"], json_of({"sweep", "h.csv", "--precision", "0.6", "--json"}));
  EXPECT_EQ(study["calibration"], json_of({"calibrate", "h.csv", "--test", "t.csv", "--json"}));
}

TEST_F(Report, SwapsAreWhatTheVerbPrints) {
  (void)output_of({"fit", "h.csv", "--precision", "0.6", "--method", "st", "-o", "st"});
  (void)output_of({"fit", "h.csv", "--precision", "0.6", "--method", "exact", "-o", "exact"});
  const Json study =
      json_of({"report", "h.csv", "--precision", "0.6", "--bounds", "0.7", "--methods", "exact", "--json"});
  Json swaps = json_of({"swaps", "st", "exact", "h.csv", "--json"});
  swaps.erase("columns");
  EXPECT_EQ(study["swaps"][0], swaps);
  EXPECT_EQ(study["swaps"][1]["cells"], Json::array());
}

TEST_F(Report, IsTheSameBytesForAnyThreads) {
  for (const char* threads : {"1", "4"}) {
    (void)output_of({"report", "h.csv", "--precision", "0.6", "--confidence", "0.9", "--threads", threads, "-o",
                     std::string("r") + threads + ".html"});
  }
  EXPECT_EQ(file_text("r1.html"), file_text("r4.html"));
  EXPECT_EQ(study_in("r1.html")["methods"][0]["at"][0]["seconds"], nullptr);
  const Json timed = json_of({"report", "h.csv", "--precision", "0.6", "--bounds", "0.7", "--timings", "--json"});
  EXPECT_GT(timed["methods"][0]["at"][0]["seconds"], 0);
}

TEST_F(Report, StartsFromWhatOtherVerbsWrote) {
  (void)output_of({"fit", "h.csv", "--precision", "0.6", "--levels", "5", "-o", "b.json"});
  const Json boundary = Json::parse(file_text("b.json"));
  const Json study = json_of({"report", "h.csv", "--boundary", "b.json", "--bounds", "0.5", "--json"});
  EXPECT_EQ(study["bounds"], Json({0.5, 0.6}));
  EXPECT_EQ(study["methods"][0]["name"], "exact");
  EXPECT_EQ(study["methods"][0]["levels"], boundary["rule"]["score_thresholds"].size());
  const std::size_t rule = study["methods"][0]["at"][1]["rule"];
  EXPECT_EQ(study["rules"][rule]["edges"], boundary["rule"]["uncertainty_edges"]);
  expect_refused({"report", "h.csv", "--boundary", "b.json", "--precision", "0.7", "-o", "r.html"},
                 {"b.json", "was fitted for most recall with precision >= 0.6"});

  const std::string compared = output_of({"compare", "--holdout", "h.csv", "--test", "t.csv", "--precision", "0.5,0.6",
                                          "--methods", "st,mist", "--timings", "--json"});
  write_file("c.json", compared);
  const Json again = json_of({"report", "h.csv", "--compare", "c.json", "--json"});
  EXPECT_EQ(again["bounds"], Json({0.5, 0.6}));
  EXPECT_EQ(again["start"], 0);
  EXPECT_EQ(again["methods"].size(), 2U);
  EXPECT_EQ(again["methods"][1]["at"][0]["seconds"], Json::parse(compared)[1]["trials"][0]["seconds"]);
  write_file("c.json", "{\"a\": 1}");
  expect_refused({"report", "h.csv", "--compare", "c.json", "-o", "r.html"}, {"c.json", "limen compare --json"});
  expect_refused({"report", "h.csv", "--precision", "0.6", "--model", "none", "-o", "r.html"}, {"none"});
}

TEST_F(Report, ShowsTheTheorysBias) {
  const Json study = json_of({"report", "h.csv", "--precision", "0.6", "--bounds", "0.7", "--methods", "st", "--tau",
                              "3,5", "--xi", "0.2", "--json"});
  EXPECT_EQ(study["bias"], json_of({"bias", "--tau", "3,5", "--xi", "0.2", "--json"}));
}

TEST_F(Report, SaysWhatCannotBeMetAndEndsWithThree) {
  write_file("flat.csv", "score,uncertainty,label\n0.5,1,1\n0.5,2,0\n0.5,1,0\n0.5,2,1\n");
  const RunResult result = run({"report", "flat.csv", "--precision", "0.9", "-o", "r.html"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("Precision 0.9 or more cannot be met by auto on this hold-out; the best attainable "
                                    "precision is 0.5000."));
  EXPECT_EQ(study_in("r.html")["methods"][0]["at"].back()["status"], "infeasible");
}

TEST_F(Report, ReadsTablesAsEveryVerb) {
  write_file("odd.tsv", "p\"<b>\tu\ty\n0.9\t1\tyes\n0.8\t2\tno\n0.7\t1\tyes\nNA\t2\tno\n0.2\t2\tno\n");
  const Json study = json_of({"report", "odd.tsv", "--score", "p\"<b>", "--uncertainty", "u", "--label", "y",
                              "--drop-missing", "--precision", "0.5", "--methods", "st", "--json"});
  EXPECT_EQ(study["data"]["holdout"]["rows"], 4);
  EXPECT_EQ(study["data"]["holdout"]["rows_dropped"], 1);
  EXPECT_EQ(study["data"]["columns"]["score"], "p\"<b>");
  (void)output_of({"report", "odd.tsv", "--score", "p\"<b>", "--uncertainty", "u", "--label", "y", "--drop-missing",
                   "--precision", "0.5", "--methods", "st", "--title", "</script><script>alert(1)", "-o", "r.html"});
  EXPECT_EQ(file_text("r.html").find("<script>alert"), std::string::npos);
  EXPECT_EQ(study_in("r.html")["title"], "</script><script>alert(1)");
}

TEST_F(Report, TakesWeights) {
  write_file("w.csv", tied_table(3, 900, true));
  const RunResult result =
      run({"report", "w.csv", "--precision", "0.6", "--bounds", "0.5", "--methods", "all", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "vw-dpmt takes no weights and is left out\n");
  const Json study = Json::parse(result.out);
  EXPECT_EQ(study["methods"].size(), 9U);
  EXPECT_EQ(study["methods"][0]["name"], "auto");
  EXPECT_EQ(study["data"]["columns"]["weight"], "weight");
  EXPECT_EQ(study["swaps"], nullptr);
}

TEST_F(Report, RefusesBadUse) {
  write_file("one.csv", "score,uncertainty,label\n0.5,1,1\n");
  expect_refused({"report", "h.csv", "--precision", "0.6"}, {"-o", "--json"});
  expect_refused({"report", "h.csv", "-o", "r.html"}, {"--precision"});
  expect_refused({"report", "h.csv", "--fbeta", "1", "-o", "r.html"}, {"F-beta", "no bound to look along"});
  expect_refused({"report", "one.csv", "--precision", "0.6", "-o", "r.html"}, {"one.csv", "one class only"});
  expect_refused({"report", "h.csv", "--precision", "0.6", "--methods", "best", "-o", "r.html"}, {"--methods", "best"});
  expect_refused({"report", "h.csv", "--precision", "0.6", "--bounds", "70", "-o", "r.html"},
                 {"--bounds", "70% is 0.7"});
  expect_refused({"report", "h.csv", "--precision", "0.6", "--confidence", "2", "-o", "r.html"}, {"--confidence", "2"});
  expect_refused({"report", "h.csv", "--precision", "0.6", "-o", "h.csv"}, {"h.csv", "is the input"});
  expect_refused({"report", "none.csv", "--precision", "0.6", "-o", "r.html"}, {"none.csv"});
  expect_refused({"report", "h.csv", "--precision", "0.6", "--xi", "0.2", "-o", "r.html"}, {"--tau"});
  expect_refused({"report", "h.csv", "--precision", "0.6", "-o", "-", "--json"}, {"stdout"});
  expect_refused({"fit", "h.csv", "--precision", "0.6", "-o", "b.json", "--report", "b.json"}, {"--report"});
  expect_refused({"fit", "h.csv", "--precision", "0.6", "--report", "-"}, {"--report", "stdout"});
  expect_not_written({"report", "h.csv", "--precision", "0.6", "-o", "no/such/r.html"}, {"no/such/r.html"});
}

TEST_F(Report, AKilledRunLeavesTheOldPage) {
  write_file("r.html", "an older page");
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const RunningProgram program = start_limen({"report", "-", "--precision", "0.5", "-o", "r.html"}, "",
                                             streams() / "out", streams() / "err", ends[0]);
  ::close(ends[0]);
  for (int step = 0; step < 100 && file_names().size() < 4; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::kill(program.id(), SIGTERM);
  ::close(ends[1]);
  EXPECT_THAT(program.wait(), ::testing::AnyOf(-SIGTERM, 128 + SIGTERM));
  EXPECT_EQ(file_text("r.html"), "an older page");
  EXPECT_THAT(file_names(), ::testing::UnorderedElementsAre("h.csv", "r.html", "t.csv"));
}

TEST_F(Report, OfAFitHasItsBoundaryAsDecision) {
  for (const Words& how : {Words{"--method", "exact", "--levels", "4"}, Words{"--confidence", "0.8"}, Words{},
                           Words{"--levels", "auto", "--method", "mist"}}) {
    SCOPED_TRACE(command(how));
    Words arguments = {"fit", "h.csv", "--precision", "0.6", "-o", "b.json", "--report", "r.html"};
    arguments.insert(arguments.end(), how.begin(), how.end());
    (void)output_of(arguments);
    const Json boundary = Json::parse(file_text("b.json"));
    const Json study = study_in("r.html");
    const std::size_t start = study["start"];
    EXPECT_EQ(study["bounds"][start], 0.6);
    const Json& cell = study["methods"][0]["at"][start];
    const Json& rule = study["rules"][cell["rule"].get<std::size_t>()];
    EXPECT_EQ(rule["edges"], boundary["rule"]["uncertainty_edges"]);
    EXPECT_EQ(rule["thresholds"], boundary["rule"]["score_thresholds"]);
    EXPECT_EQ(cell["holdout"]["true_positives"], boundary["holdout"]["true_positives"]);
    if (boundary["guarantee"].is_null()) continue;
    EXPECT_EQ(study["certification"][start]["guarantee"], boundary["guarantee"]);
    EXPECT_THAT(study["decision"][start]["guarantee"].get<std::string>(), StartsWith("Certified with 80%"));
  }
  expect_refused({"fit", "h.csv", "--cost-fp", "1", "--cost-fn", "2", "--report", "x.html"},
                 {"no bound to look along"});
  expect_refused({"fit", "h.csv", "--precision", "0.6", "--segment", "label", "--report", "x.html"}, {"--report"});
}

TEST_F(Report, OfAComparisonIsOfItsFirstPair) {
  (void)output_of({"compare", "--holdout", "h.csv", "--test", "t.csv", "--holdout", "t.csv", "--test", "h.csv",
                   "--precision", "0.6,0.5", "--methods", "st,mist,auto", "--report", "r.html"});
  const Json compared = json_of({"compare", "--holdout", "h.csv", "--test", "t.csv", "--precision", "0.6,0.5",
                                 "--methods", "st,mist,auto", "--json"});
  const Json study = study_in("r.html");
  EXPECT_EQ(study["bounds"], Json({0.5, 0.6}));
  EXPECT_EQ(study["start"], 1);
  EXPECT_EQ(study["methods"][0]["name"], "auto");
  for (const Json& method : study["methods"]) {
    for (const Json& entry : compared) {
      if (entry["method"] != method["name"] || entry["bound"] != 0.6) continue;
      EXPECT_EQ(method["at"][1]["test"]["true_positives"], entry["trials"][0]["test_true_positives"]);
      EXPECT_EQ(method["at"][1]["holdout"]["flagged"], entry["trials"][0]["holdout_flagged"]);
    }
  }
}

TEST_F(Report, OfAMonitorHasItsWay) {
  (void)output_of({"fit", "h.csv", "--precision", "0.6", "-o", "b.json"});
  const RunResult result = run({"monitor", "b.json", "t.csv", "--json", "--report", "r.html"});
  const Json study = study_in("r.html");
  EXPECT_EQ(study["monitor"]["result"], Json::parse(result.out));
  EXPECT_EQ(study["monitor"]["result"], json_of({"monitor", "b.json", "t.csv", "--json"}));
  EXPECT_GT(study["monitor"]["path"].size(), 10U);
  EXPECT_EQ(study["monitor"]["path"].back()["rows"], 800);
  EXPECT_EQ(study["bounds"], Json({0.6}));
  EXPECT_THAT(study["decision"][0]["sentence"].get<std::string>(), StartsWith("Precision 0.6 or more in deployment: "));
}

}  // namespace
}  // namespace limen::cli::test
