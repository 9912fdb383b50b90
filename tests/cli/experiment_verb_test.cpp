// SPDX-License-Identifier: MIT
// The verb experiment: from a config to tables, broken off and gone on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "cli_fixture.h"
#include "limen/judge/compare.h"
#include "limen/theory/simulate.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Rows of a simulation with what the ideal model says of them.
struct Table {
  Table(const Simulation& simulation, const SimulatedRows& rows) : label(rows.label) {
    for (const std::int32_t region : rows.region) {
      score.push_back(simulation.regions[static_cast<std::size_t>(region)].score);
      uncertainty.push_back(simulation.regions[static_cast<std::size_t>(region)].uncertainty);
    }
  }
  [[nodiscard]] Samples samples() const {
    return {std::span<const double>(score), std::span<const double>(uncertainty), label, {}};
  }
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
};

class ExperimentVerb : public CliTest {
 protected:
  /// Two seeds, two tau, two bounds, three methods.
  static Json small_config() {
    return Json::parse(R"({"title": "tiny",
      "data": {"simulated": {"regions": 300, "evidence_limit": 200, "holdout_rows": 3000, "test_rows": 2000}},
      "grid": {"seeds": [1, 2], "tau": [1, 3]},
      "study": {"bounds": [0.4, 0.6], "methods": ["st", "mist", "ew-dpmt"], "levels": 3, "bins": 50}})");
  }
  static void write_config(const Json& config, const std::string& path = "c.json") { write_file(path, config.dump()); }

  /// Everything that has to be the same in every run: all but times and the lock.
  static std::map<std::string, std::string> stable_files(const std::string& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string name = std::filesystem::relative(entry.path(), folder).string();
      if (!entry.is_regular_file() || name.starts_with("times/") || name.ends_with(".times.json")) continue;
      all[name] = file_text(entry.path());
    }
    return all;
  }

  static std::size_t cells_in(const std::string& folder) {
    std::size_t cells = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/cells", error)) {
      const std::string name = entry.path().filename().string();
      cells += name.ends_with(".json") && !name.ends_with(".times.json") ? 1 : 0;
    }
    return cells;
  }

  void expect_config_refused(const std::string& config, const Words& named) const {
    SCOPED_TRACE(config);
    write_file("c.json", config);
    expect_refused({"experiment", "c.json", "-o", "out"}, named);
  }
};

/// A line of a CSV table whose first cells are these.
std::vector<std::string> row_of(const std::string& csv, const std::string& beginning) {
  const std::size_t at = csv.find("\n" + beginning);
  EXPECT_NE(at, std::string::npos) << beginning << "\n" << csv;
  std::vector<std::string> cells;
  if (at == std::string::npos) return cells;
  std::istringstream line(csv.substr(at + 1, csv.find('\n', at + 1) - at - 1));
  for (std::string cell; std::getline(line, cell, ',');) cells.push_back(cell);
  return cells;
}

TEST_F(ExperimentVerb, TablesAreThoseOfTheLibrary) {
  write_config(small_config());
  const Json done = json_of({"experiment", "c.json", "-o", "out", "--json"});
  EXPECT_EQ(done["cells"], 4);
  EXPECT_EQ(done["computed"], 4);
  EXPECT_TRUE(done["failed"].empty());

  std::vector<Table> tables;
  tables.reserve(4);
  std::vector<SamplePair> pairs;
  for (const std::uint64_t seed : {1, 2}) {
    const Simulation simulation = simulate(
        {.tau = 3, .regions = 300, .evidence_limit = 200, .holdout_rows = 3000, .test_rows = 2000, .seed = seed});
    const Samples holdout = tables.emplace_back(simulation, simulation.holdout).samples();
    const Samples test = tables.emplace_back(simulation, simulation.test).samples();
    pairs.push_back({holdout, test});
  }
  CompareOptions options;
  options.methods = {Method::kSt, Method::kMist, Method::kEwDpmt};
  options.precision_bounds = {{2, 5}, {3, 5}};
  options.fit.levels = 3;
  options.fit.bins = BinCount::of(50);
  const std::string csv = file_text("out/tables/c-comparison.csv");
  int judged = 0;
  for (const MethodSummary& summary : compare_methods(pairs, options)) {
    char beginning[100];
    std::snprintf(beginning, sizeof beginning, "\"c, tau 3\",equi-weight,%g,%s,2,", summary.bound.to_double(),
                  std::string(to_string(summary.method)).c_str());
    SCOPED_TRACE(beginning);
    // The first cell has a comma of its own.
    const std::vector<std::string> row = row_of(csv, beginning);
    ASSERT_EQ(row.size(), 17U);
    const auto near = [&](std::size_t at, double value) { EXPECT_NEAR(std::stod(row[at]), value, 0.5001e-4); };
    near(6, summary.mean_holdout_precision);
    near(7, summary.mean_holdout_recall);
    near(8, summary.mean_test_precision);
    near(9, summary.mean_test_recall);
    near(10, summary.sd_test_recall);
    near(11, summary.mean_matched_recall);
    near(12, summary.sd_matched_recall);
    if (summary.p_value_matched) {
      EXPECT_NEAR(std::stod(row[15]), *summary.p_value_matched, 0.06 * *summary.p_value_matched);
    } else {
      EXPECT_EQ(row[15], "-");
    }
    EXPECT_EQ(row[16], std::to_string(summary.missed));
    ++judged;
  }
  EXPECT_EQ(judged, 6);
  // The figures, the index that lists everything, and the other two kinds of tables.
  const std::string index = file_text("out/index.md");
  for (const char* name : {"figures/c-c-tau-1-gain.svg", "figures/c-tau.svg", "tables/c-recall", "tables/c-p-values"}) {
    EXPECT_THAT(index, HasSubstr(name));
  }
  EXPECT_THAT(file_text("out/figures/c-tau.svg"), AllOf(HasSubstr("<svg"), HasSubstr(">ew-dpmt</text>")));
  EXPECT_THAT(file_text("out/tables/c-recall.md"), HasSubstr("| method | c, tau 1 @ 0.4 |"));
  EXPECT_THAT(file_text("out/tables/c-recall.tex"), HasSubstr("\\toprule"));
}

TEST_F(ExperimentVerb, EveryStudyLeavesItsTableAndFigure) {
  Json config = small_config();
  config["grid"]["seeds"] = 1;
  config["grid"]["tau"] = 3;
  config["study"].merge_patch(Json::parse(R"({"choose": true, "certify": {"confidence": 0.9}, "positivity": {"bins": 5},
    "sweep": {"levels": [1, 2], "bins": [20, 50], "repetitions": 1}, "calibrate": {"bins": 4},
    "swaps": {"columns": ["evidence"]}, "run_time": {"levels": [2], "bins": [20], "repetitions": 1}})"));
  config["parts"] = Json::parse(R"([{"name": "sim"}, {"name": "law", "data": {"theory": {"regions": 500}}},
                                    {"name": "way", "data": {"drawing": "pipeline"}}])");
  write_config(config);
  EXPECT_THAT(output_of({"experiment", "c.json", "-o", "out"}), HasSubstr("tiny: 2 cells computed, 0 found; "));
  const std::vector<std::string> names = file_names();
  for (const char* name :
       {"tables/c-choice.csv", "tables/c-certification.csv", "tables/c-calibration.csv", "tables/c-swaps.csv",
        "tables/c-models.csv", "times/c-run-time.csv", "figures/c-sim-positivity.svg", "figures/c-sim-map.svg",
        "figures/c-sim-bins.svg", "figures/c-sim-ece.svg", "figures/c-sim-cumulative-ece.svg",
        "figures/c-sim-swaps-evidence.svg", "figures/c-law-by-evidence.svg", "figures/c-law-by-tau.svg",
        "figures/c-way-drawing.svg"}) {
    EXPECT_THAT(names, ::testing::Contains("out/" + std::string(name)));
  }
  EXPECT_THAT(file_text("out/times/c-run-time.csv"), HasSubstr("\nsim,2,20,ew-dpmt,"));
}

TEST_F(ExperimentVerb, AKilledRunGoesOnToTheSameBytes) {
  Json config = small_config();
  config["grid"]["seeds"] = {1, 2, 3, 4, 5, 6};
  config["data"]["simulated"]["holdout_rows"] = 20000;
  config["study"]["sweep"] = Json::parse(R"({"levels": [1, 3], "bins": [50, 100], "repetitions": 1})");
  write_config(config);
  (void)output_of({"experiment", "c.json", "-o", "whole"});
  const auto whole = stable_files("whole");
  ASSERT_GT(whole.size(), 20U);
  std::size_t broken = 0;
  const Words again = {"experiment", "c.json", "-o", "broken", "--json"};
  for (const std::size_t cells : {0U, 1U, 2U, 5U, 9U, 11U}) {
    const RunningProgram program = start_limen(again, "/dev/null", streams() / "out", streams() / "err");
    for (int step = 0; step < 20000 && cells_in("broken") < cells; ++step) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    ::kill(program.id(), SIGKILL);
    broken += program.wait() == -SIGKILL ? 1 : 0;
    EXPECT_GE(cells_in("broken"), cells);
  }
  EXPECT_GE(broken, 4U);  // a run that had ended before the signal shows nothing
  const std::size_t before = cells_in("broken");
  const Json done = json_of(again);
  EXPECT_EQ(done["found"], before);
  EXPECT_EQ(stable_files("broken"), whole);
}

TEST_F(ExperimentVerb, ResultsDoNotDependOnThreads) {
  write_config(small_config());
  (void)output_of({"experiment", "c.json", "-o", "one", "--threads", "1"});
  (void)output_of({"experiment", "c.json", "-o", "two", "--threads", "4"});
  EXPECT_EQ(stable_files("one"), stable_files("two"));
}

TEST_F(ExperimentVerb, ADamagedCellIsComputedAgain) {
  write_config(small_config());
  (void)output_of({"experiment", "c.json", "-o", "out"});
  const auto whole = stable_files("out");
  for (const auto& entry : std::filesystem::directory_iterator("out/cells")) {
    if (entry.path().extension() == ".json") write_file(entry.path(), file_text(entry.path()).substr(0, 40));
  }
  EXPECT_EQ(json_of({"experiment", "c.json", "-o", "out", "--json"})["computed"], 4);
  EXPECT_EQ(stable_files("out"), whole);
}

TEST_F(ExperimentVerb, ACellThatFailsIsNamedAndTheOthersAreKept) {
  Json config = small_config();
  config["grid"]["uncertainty"] = {"entropy", "variance"};
  config["grid"]["seeds"] = 1;
  write_config(config);
  const RunResult first = run({"experiment", "c.json", "-o", "out"});
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_THAT(first.err, HasSubstr("limen: 2 cells failed; the same command tries again:\n"
                                   "  c: seed 1, tau 1, ideal, variance: the ideal model has entropy and evidence"));
  const std::string table = file_text("out/tables/c-comparison.csv");
  EXPECT_THAT(table, AllOf(HasSubstr("\"c, tau 3, entropy\""), Not(HasSubstr("variance"))));
  EXPECT_THAT(file_text("out/index.md"), HasSubstr("- c: seed 1, tau 3, ideal, variance: the ideal model"));
  const RunResult second = run({"experiment", "c.json", "-o", "out", "--json"});
  EXPECT_EQ(second.exit_code, 1);
  const Json done = Json::parse(second.out);
  EXPECT_EQ(done["found"], 2);
  EXPECT_EQ(done["computed"], 0);
  EXPECT_EQ(done["failed"].size(), 2U);
  EXPECT_EQ(file_text("out/tables/c-comparison.csv"), table);
}

// Twenty rows of a rare class: some seeds have none on the hold-out.
TEST_F(ExperimentVerb, OneSeedThatFailsLeavesTheOthers) {
  Json config = small_config();
  config["data"]["simulated"].merge_patch(
      Json::parse(R"({"prior": {"positive": 0.5, "negative": 9.5}, "holdout_rows": 40, "test_rows": 400})"));
  config["grid"] = Json::parse(R"({"seeds": [1, 2, 3, 4, 5, 6, 7, 8], "tau": 3})");
  config["study"] = Json::parse(R"({"bounds": [0.1], "methods": ["st"]})");
  write_config(config);
  const RunResult result = run({"experiment", "c.json", "-o", "out", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const Json done = Json::parse(result.out);
  ASSERT_GT(done["failed"].size(), 0U);
  ASSERT_LT(done["failed"].size(), 8U);
  EXPECT_THAT(done["failed"][0]["why"].get<std::string>(), HasSubstr("class"));
  const std::size_t good = 8 - done["failed"].size();
  EXPECT_THAT(file_text("out/tables/c-comparison.csv"), HasSubstr(",st," + std::to_string(good) + ","));
}

TEST_F(ExperimentVerb, AnotherConfigInTheSameFolderIsRefusedOrUpdated) {
  Json config = small_config();
  write_config(config);
  (void)output_of({"experiment", "c.json", "-o", "out"});
  config["grid"]["seeds"] = {1, 3};
  write_config(config);
  expect_refused({"experiment", "c.json", "-o", "out"},
                 {"out: its results are of another version of this config", "--update"});
  const Json done = json_of({"experiment", "c.json", "-o", "out", "--update", "--json"});
  EXPECT_EQ(done["found"], 2);
  EXPECT_EQ(done["computed"], 2);
  EXPECT_EQ(cells_in("out"), 4U);
  (void)output_of({"experiment", "c.json", "-o", "fresh"});
  EXPECT_EQ(stable_files("out"), stable_files("fresh"));
  config["title"] = "other";
  write_config(config);
  expect_refused({"experiment", "c.json", "-o", "out"}, {"out: holds another experiment: \"tiny\""});
}

TEST_F(ExperimentVerb, TwoRunsInOneFolderAreRefused) {
  write_config(small_config());
  std::filesystem::create_directory("out");
  const int lock = ::open("out/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  expect_not_written({"experiment", "c.json", "-o", "out"}, {"out: another limen experiment is at work"});
  ::close(lock);
  // The file is still there, as after a kill.
  EXPECT_EQ(run({"experiment", "c.json", "-o", "out"}).exit_code, 0);
}

TEST_F(ExperimentVerb, SmallIsWhatTheConfigSays) {
  Json config = small_config();
  write_config(config);
  expect_refused({"experiment", "c.json", "-o", "out", "--small"}, {"c.json: has no member \"small\""});
  config["small"] = Json::parse(R"({"grid": {"seeds": [7], "tau": 3}})");
  write_config(config);
  EXPECT_EQ(output_of({"experiment", "c.json", "--list", "--small"}), "c: seed 7, tau 3, ideal, auto\n");
  EXPECT_THAT(output_of({"experiment", "c.json", "-o", "out", "--small"}), HasSubstr("tiny (small): 1 cell computed"));
  EXPECT_THAT(file_text("out/index.md"), HasSubstr("This is the small version"));
  expect_refused({"experiment", "c.json", "-o", "out"}, {"holds another experiment: \"tiny\" (--small)"});
}

TEST_F(ExperimentVerb, IncludedConfigsShareCells) {
  Json config = small_config();
  write_config(config, "a.json");
  config["title"] = "second";
  write_config(config, "b.json");
  write_file("all.json", R"({"title": "both", "include": ["a.json", "b.json"]})");
  const Json done = json_of({"experiment", "all.json", "-o", "out", "--json"});
  EXPECT_EQ(done["cells"], 8);
  EXPECT_EQ(done["computed"], 4);
  EXPECT_EQ(replaced(file_text("out/tables/a-recall.csv"), "a, tau", "b, tau"), file_text("out/tables/b-recall.csv"));
  write_file("twice.json", R"({"include": ["all.json"]})");
  expect_refused({"experiment", "twice.json", "-o", "o"}, {"all.json: is included and includes others"});
}

TEST_F(ExperimentVerb, BadConfigsAreRefusedByKeyValueAndRange) {
  expect_config_refused("[1]", {"c.json: must hold one JSON object"});
  expect_config_refused("{\"grid\": {}", {"c.json: is not a JSON file, or a damaged one"});
  expect_config_refused(R"({"gird": {}})", {"c.json: \"gird\" is not a key; did you mean \"grid\"?"});
  expect_config_refused(R"({"grid": {"seed": [1]}})", {"\"grid.seed\" is not a key; did you mean \"seeds\"?"});
  expect_config_refused(R"({"grid": {"seeds": [1, -2]}})",
                        {"\"grid.seeds[1]\" is -2, must be a whole number from 0 to"});
  expect_config_refused(R"({"grid": {"seeds": []}})", {"\"grid.seeds\" is [], must be a list that is not empty"});
  expect_config_refused(R"({"grid": {"seeds": [1, 1]}})", {"\"grid.seeds[1]\" is 1, must be a value that is not"});
  expect_config_refused(R"({"grid": {"tau": 0}})", {"\"grid.tau[0]\" is 0, must be a number from 1e-09 to 1e+09"});
  expect_config_refused(
      R"({"grid": {"model": ["postnt"]}})",
      {"\"grid.model[0]\" is \"postnt\", must be one of ideal, postnet", "did you mean \"postnet\"?"});
  expect_config_refused(R"({"grid": {"encoder": "sm"}})", {"\"grid.encoder[0]\"", "mlp, sam, ft-transformer"});
  expect_config_refused(R"({"grid": {"uncertainty": 3}})", {"\"grid.uncertainty[0]\" is 3, must be one of auto,"});
  expect_config_refused(R"({"study": {"bounds": [0.5, 1.5]}})",
                        {"\"study.bounds[1]\" is 1.5, must be a number from 0 to 1"});
  expect_config_refused(R"({"study": {"bounds": [0.5], "bound": 0.6}})", {"\"study.bound\" is 0.6, must be one of"});
  expect_config_refused(R"({"study": {"methods": ["ewdpmt"]}})", {"\"study.methods[0]\"", "did you mean \"ew-dpmt\"?"});
  expect_config_refused(R"({"study": {"bins": "some"}})", {"\"study.bins[0]\" is \"some\"", "or \"all\""});
  expect_config_refused(R"({"study": {"sweep": {"level": 2}}})", {"\"study.sweep.level\" is not a key"});
  expect_config_refused(R"({"study": {"choose": "yes"}})", {"\"study.choose\" is \"yes\", must be true or false"});
  expect_config_refused(R"({"study": {"certify": {"confidence": 1}}})", {"\"study.certify.confidence\" is 1"});
  expect_config_refused(R"({"study": {"swaps": {"columns": ["age"]}}})", {"evidence and true_positivity"});
  expect_config_refused(R"({"train": {"epochs": 2.5}})", {"\"train.epochs\" is 2.5, must be a whole number from 1"});
  expect_config_refused(R"({"data": {"simulated": {"regions": 0}}})", {"\"data.simulated.regions\" is 0, must be"});
  expect_config_refused(R"({"data": {"simulated": {}, "theory": {}}})", {"both \"simulated\" and \"theory\""});
  expect_config_refused(R"({"data": {"files": {"label": "y"}}})", {"\"data.files\" needs \"table\", which is split"});
  expect_config_refused(R"({"data": {"files": {"table": "x.csv"}}})", {"\"data.files.label\" is missing"});
  expect_config_refused(R"({"data": {"files": {"table": "x.csv", "label": "y", "split": "0.5,0.5"}}})",
                        {"\"data.files.split\" is \"0.5,0.5\""});
  expect_config_refused(R"({"data": {"files": {"table": "x.csv", "label": "y"}}})", {"x.csv: cannot be read"});
  expect_config_refused(R"({"parts": [{"name": "a/b"}]})", {"\"name\" is \"a/b\", must be letters"});
  expect_config_refused(R"({"parts": [{"name": "a"}, {"name": "a"}]})", {"two parts have the name \"a\""});
}

TEST_F(ExperimentVerb, EveryShippedConfigIsSound) {
  write_file("data.csv", "x\n1\n");
  int judged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LIMEN_EXPERIMENTS)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path());
    const std::string text = file_text(entry.path());
    Words arguments = {"experiment", entry.path().string(), "--list"};
    for (const char* name : {"DATA", "TRAIN", "HOLDOUT", "TEST"}) {
      if (text.find("${" + std::string(name) + "}") == std::string::npos) continue;
      arguments.insert(arguments.end(), {"--set", std::string(name) + "=data.csv"});
    }
    const std::string all = output_of(arguments);
    arguments.emplace_back("--small");
    const std::string few = output_of(arguments);
    EXPECT_LE(std::ranges::count(few, '\n'), std::ranges::count(all, '\n'));
    EXPECT_EQ(few.empty(), text.find("drawing") != std::string::npos);
    ++judged;
  }
  EXPECT_GE(judged, 22);
}

TEST_F(ExperimentVerb, ParametersAreGivenOnTheCommandLine) {
  write_file("c.json", R"({"title": "${WHO} ${WHO}", "data": {"files": {"table": "${DATA}", "label": "y"}}})");
  expect_refused({"experiment", "c.json", "-o", "out"}, {"asks for the parameter", "--set DATA=VALUE"});
  expect_refused({"experiment", "c.json", "-o", "out", "--set", "DATA=none.csv", "--set", "WHO=x"},
                 {"none.csv: cannot be read"});
  expect_refused({"experiment", "c.json", "-o", "out", "--set", "DATA=a", "--set", "WHO=x", "--set", "DAT=b"},
                 {"asks for no parameter \"DAT\"", "did you mean \"DATA\"?"});
  expect_refused({"experiment", "c.json", "-o", "out", "--set", "DATA"}, {"--set: \"DATA\" is not NAME=VALUE"});
  expect_refused({"experiment", "c.json", "-o", "out", "--set", "A=1", "--set", "A=2"}, {"\"A\" is given twice"});
  Json config = small_config();
  config["title"] = "of ${WHO}";
  write_config(config);
  EXPECT_THAT(output_of({"experiment", "c.json", "-o", "out", "--set", "WHO=mine"}), HasSubstr("of mine: 4 cells"));
}

#ifdef LIMEN_HAS_NETWORK

/// Customers of a shop, about a third of whom bought.
std::string shop(int rows, unsigned seed = 5) {
  std::mt19937 random(seed);
  std::string text = "age,city,bought\n";
  for (int row = 0; row < rows; ++row) {
    const auto age = 18 + random() % 60;
    const auto city = random() % 6;
    const bool bought = random() % 150 < age + (city < 2 ? 30 : 0);
    text += std::to_string(age) + ",c" + std::to_string(city) + "," + (bought ? "yes" : "no") + "\n";
  }
  return text;
}

constexpr const char* kShopConfig = R"({"data": {"files": {"table": "${DATA}", "label": "bought",
    "split": "0.5,0.3,0.2"}},
  "grid": {"seeds": [3], "tau": 2, "model": ["natpn", "mc-dropout"], "uncertainty": ["entropy", "evidence"]},
  "train": {"epochs": 1, "hidden": [8], "law": false},
  "study": {"bounds": [0.4], "methods": ["st", "mist"], "swaps": {"second": "mist", "columns": ["city"]}}})";

// What the verbs train, predict and compare say of the same table, options and seed.
TEST_F(ExperimentVerb, ATrainedCellIsThatOfTheVerbs) {
  write_file("shop.csv", shop(3000));
  write_file("c.json", kShopConfig);
  const RunResult result = run({"experiment", "c.json", "--set", "DATA=shop.csv", "-o", "out", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const Json done = Json::parse(result.out);
  EXPECT_EQ(done["computed"], 3);
  ASSERT_EQ(done["failed"].size(), 1U);
  EXPECT_EQ(done["failed"][0]["cell"], "c: seed 3, tau 2, mc-dropout, mlp, evidence");
  EXPECT_THAT(done["failed"][0]["why"].get<std::string>(), HasSubstr("evidence is of postnet and natpn models"));

  (void)output_of({"train", "shop.csv", "--label", "bought", "--split", "0.5,0.3,0.2", "--tau", "2", "--seed", "3",
                   "--model", "natpn", "--epochs", "1", "--hidden", "8", "--no-law", "-o", "model"});
  for (const char* part : {"holdout", "test"}) {
    (void)output_of({"predict", "model", "shop.csv", "--part", part, "--uncertainty", "evidence", "-o",
                     std::string(part) + ".csv"});
  }
  const Json wanted =
      json_of({"compare", "--holdout", "holdout.csv", "--test", "test.csv", "--precision", "0.4", "--methods",
               "st,mist", "--levels", "3", "--bins", "500", "--levels-from", "all", "--json"});
  int judged = 0;
  for (const auto& entry : std::filesystem::directory_iterator("out/cells")) {
    if (entry.path().extension() != ".json" || entry.path().string().ends_with(".times.json")) continue;
    const Json cell = Json::parse(file_text(entry.path()));
    if (cell["determined_by"]["uncertainty"] != "evidence") continue;
    for (std::size_t method = 0; method < 2; ++method) {
      const Json& trial = cell["figures"]["comparison"][method]["trial"];
      EXPECT_EQ(trial["test"]["flagged"], wanted[method]["trials"][0]["test_flagged"]);
      EXPECT_EQ(trial["test"]["true_positives"], wanted[method]["trials"][0]["test_true_positives"]);
      EXPECT_EQ(trial["matched_recall"], wanted[method]["trials"][0]["matched_recall"]);
      ++judged;
    }
    EXPECT_EQ(cell["figures"]["swaps"]["columns"][0]["name"], "city");
  }
  EXPECT_EQ(judged, 2);
}

TEST_F(ExperimentVerb, ChangedDataAreNoticedAndMovedDataAreNot) {
  write_file("shop.csv", shop(1500));
  Json config = Json::parse(kShopConfig);
  config["grid"]["model"] = "natpn";
  config["grid"]["uncertainty"] = "entropy";
  write_config(config);
  (void)output_of({"experiment", "c.json", "--set", "DATA=shop.csv", "-o", "out"});
  std::filesystem::rename("shop.csv", "moved.csv");
  const Words again = {"experiment", "c.json", "--set", "DATA=moved.csv", "-o", "out", "--json"};
  EXPECT_EQ(json_of(again)["found"], 1);
  write_file("moved.csv", shop(1500) + "20,c1,yes\n");
  expect_refused(again, {"out: its results are of other data", "--update"});
  Words update = again;
  update.push_back("--update");
  EXPECT_EQ(json_of(update)["computed"], 1);
  EXPECT_EQ(cells_in("out"), 1U);
}

TEST_F(ExperimentVerb, SharesOfRowsAndNegativeLabels) {
  write_file("shop.csv", replaced(shop(3000), ",yes\n", ",2020-01-02\n"));
  Json config = Json::parse(kShopConfig);
  config["grid"]["model"] = "natpn";
  config["grid"]["uncertainty"] = "entropy";
  config["data"]["files"]["negative"] = "no";
  config["data"]["files"]["share"] = 0.5;
  config["study"]["choose"] = true;
  write_config(config);
  (void)output_of({"experiment", "c.json", "--set", "DATA=shop.csv", "-o", "out"});
  for (const auto& entry : std::filesystem::directory_iterator("out/cells")) {
    if (entry.path().extension() != ".json" || entry.path().string().ends_with(".times.json")) continue;
    const Json figures = Json::parse(file_text(entry.path()))["figures"];
    // Half of 3,000 rows, of which 0.3 are for the hold-out; about a third are positive.
    EXPECT_NEAR(figures["model"]["rows"].get<double>(), 1500, 120);
    EXPECT_NEAR(figures["inspection"]["rows"].get<double>(), 450, 80);
    EXPECT_NEAR(figures["inspection"]["positives"].get<double>() / figures["inspection"]["rows"].get<double>(), 0.38,
                0.08);
  }
}

// A training that is broken inside goes on from its checkpoint, and ends with the same figures.
TEST_F(ExperimentVerb, AKilledTrainingGoesOnToTheSameBytes) {
  write_file("shop.csv", shop(20000));
  Json config = Json::parse(kShopConfig);
  config["grid"]["model"] = "postnet";
  config["grid"]["uncertainty"] = {"entropy", "evidence"};
  config["train"]["epochs"] = 6;
  config["train"]["hidden"] = 32;
  write_config(config);
  (void)output_of({"experiment", "c.json", "--set", "DATA=shop.csv", "-o", "whole"});
  const Words again = {"experiment", "c.json", "--set", "DATA=shop.csv", "-o", "broken"};
  const RunningProgram program = start_limen(again, "/dev/null", streams() / "out", streams() / "err");
  const auto has_checkpoint = [] {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("broken/cells", error)) {
      if (entry.path().extension() == ".checkpoint") return true;
    }
    return false;
  };
  for (int step = 0; step < 30000 && !has_checkpoint(); ++step) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  ::kill(program.id(), SIGKILL);
  EXPECT_EQ(program.wait(), -SIGKILL);
  EXPECT_TRUE(has_checkpoint());
  EXPECT_EQ(cells_in("broken"), 0U);
  (void)output_of(again);
  EXPECT_EQ(stable_files("broken"), stable_files("whole"));
}

#endif

}  // namespace
}  // namespace limen::cli::test
