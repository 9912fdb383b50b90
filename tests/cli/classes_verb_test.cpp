// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The hand-worked table of classes_test.cpp: cat claims row 1, dog row 3, and no threshold gives bird one of two.
constexpr std::string_view kAnimals =
    "kind,score_cat,score_dog,p_bird\n"
    "cat,0.9,0.1,0.0\ncat,0.1,0.1,0.5\ndog,0.1,0.8,0.1\ndog,0.2,0.3,0.7\nbird,0.6,0.1,0.3\nbird,0.1,0.2,0.4\n"
    "fish,0.1,0.2,0.1\n";

class ClassesVerb : public CliTest {
 protected:
  ClassesVerb() { write_file("a.csv", kAnimals); }

  static Words fit_words(const Words& more = {}) {
    Words words = {"fit",           "a.csv",       "--class-precision", "cat=0.9,dog=0.5,bird=0.5",
                   "--class-score", "bird=p_bird", "--label",           "kind"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(ClassesVerb, FitsAppliesAndEvaluates) {
  const std::string text = output_of(fit_words({"-o", "c.json"}));
  EXPECT_THAT(text, AllOf(HasSubstr("3 classes"), HasSubstr("highest score"),
                          HasSubstr("bird claims nothing: no boundary"), HasSubstr("written to c.json")));
  const Json file = Json::parse(file_text("c.json"));
  EXPECT_EQ(file["format"], "limen-classes");
  EXPECT_EQ(file["claims"], "one");
  EXPECT_EQ(file["label"], "kind");
  ASSERT_EQ(file["classes"].size(), 3U);
  EXPECT_EQ(file["classes"][2]["score"], "p_bird");
  EXPECT_EQ(file["classes"][2]["boundary"], nullptr);
  EXPECT_EQ(file["classes"][0]["positives"], 2);
  EXPECT_EQ(json_of(fit_words({"--json"})), file);

  EXPECT_THAT(output_of({"apply", "c.json", "a.csv", "-o", "d.csv"}),
              AllOf(HasSubstr("7 rows"), HasSubstr("1 cat, 1 dog, 0 bird")));
  EXPECT_EQ(file_text("d.csv"),
            "kind,score_cat,score_dog,p_bird,decision\n"
            "cat,0.9,0.1,0.0,cat\ncat,0.1,0.1,0.5,\ndog,0.1,0.8,0.1,dog\ndog,0.2,0.3,0.7,\nbird,0.6,0.1,0.3,\n"
            "bird,0.1,0.2,0.4,\nfish,0.1,0.2,0.1,\n");
  EXPECT_EQ(output_of({"apply", "c.json", "a.csv", "-o", "d.parquet"}).empty(), false);
  EXPECT_EQ(json_of({"apply", "c.json", "a.csv", "-o", "e.csv", "--json"})["claimed"]["cat"], 1);

  const Json judged = json_of({"evaluate", "c.json", "a.csv", "--json"});
  EXPECT_EQ(judged["rows"], 7);
  EXPECT_EQ(judged["classes"][0]["precision"], 1.0);
  EXPECT_EQ(judged["classes"][0]["recall"], 0.5);
  EXPECT_EQ(judged["classes"][0]["kept"], true);
  EXPECT_EQ(judged["classes"][2]["precision"], nullptr);
  EXPECT_EQ(judged["classes"][2]["recall"], 0.0);
  EXPECT_THAT(output_of({"evaluate", "c.json", "a.csv"}),
              AllOf(HasSubstr("at or above 0.9"), HasSubstr("95% interval")));
  // On rows with other labels the promise of cat is broken.
  write_file("b.csv", replaced(kAnimals, "cat,0.9", "dog,0.9"));
  EXPECT_THAT(output_of({"evaluate", "c.json", "b.csv"}), HasSubstr("BELOW 0.9"));
}

TEST_F(ClassesVerb, SeveralClassesMayClaimARow) {
  EXPECT_THAT(output_of(fit_words({"-o", "c.json", "--claims", "several"})), HasSubstr("by itself"));
  EXPECT_THAT(output_of({"apply", "c.json", "a.csv", "-o", "-"}),
              AllOf(HasSubstr("p_bird,decision_cat,decision_dog,decision_bird\n"), HasSubstr("0.9,0.1,0.0,1,0,0\n"),
                    HasSubstr("0.6,0.1,0.3,0,0,1\n")));
}

/// Rows of three classes, scores a softmax.
std::string drawn_rows(int rows, unsigned seed) {
  std::mt19937 generator(seed);
  const auto unit = [&] { return static_cast<double>(generator()) / 4294967296.0; };
  std::string text = "label,score_a,score_b,score_c,uncertainty,u_a\n";
  for (int row = 0; row < rows; ++row) {
    const auto label = generator() % 3;
    double odds[3];
    double sum = 0;
    const double doubt = unit();
    for (unsigned at = 0; at < 3; ++at) {
      odds[at] = 0.2 + unit() + (at == label ? 3 * (1 - doubt) : 0);
      sum += odds[at];
    }
    text += std::string(1, static_cast<char>('a' + label));
    for (const double value : odds) text += "," + std::to_string(value / sum);
    text += "," + std::to_string(doubt) + "," + std::to_string(1 - doubt) + "\n";
  }
  return text;
}

TEST_F(ClassesVerb, CertifiesEachClassAndSaysWhoIsNot) {
  write_file("h.csv", drawn_rows(4000, 1));
  const Words fit = {"fit", "h.csv", "--class-precision", "a=0.8,b=0.8,c=0.99999", "--confidence", "0.9"};
  const auto with = [&](const Words& more) {
    Words words = fit;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_THAT(output_of(with({"-o", "c.json"})),
              AllOf(HasSubstr("certified with 90% confidence for each class, not for all at once"),
                    HasSubstr("c claims nothing: a precision of 0.99999 cannot be certified")));
  const Json file = Json::parse(file_text("c.json"));
  EXPECT_EQ(file["classes"][0]["boundary"]["guarantee"]["confidence"], 0.9);
  EXPECT_EQ(file["classes"][0]["uncertainty"], "uncertainty");
  // All at once: each of three classes at 1 - 0.1 / 3.
  EXPECT_NEAR(json_of(with({"--joint", "--json"}))["classes"][0]["boundary"]["guarantee"]["confidence"].get<double>(),
              1 - 0.1 / 3, 1e-12);
  const Json several = json_of(with({"--json", "--class-uncertainty", "a=u_a", "--method", "exact", "--levels", "2"}));
  EXPECT_EQ(several["classes"][0]["uncertainty"], "u_a");
  EXPECT_EQ(several["classes"][1]["uncertainty"], "uncertainty");
  EXPECT_EQ(several["classes"][0]["boundary"]["binning"]["levels"], 2);
  EXPECT_EQ(json_of(with({"--json", "--class-uncertainty", "none"}))["classes"][0]["uncertainty"], nullptr);
  write_file("t.csv", drawn_rows(4000, 2));
  const Json judged = json_of({"evaluate", "c.json", "t.csv", "--json"});
  EXPECT_EQ(judged["classes"][0]["guarantee"]["consistent"], true);
  EXPECT_THAT(output_of({"evaluate", "c.json", "t.csv"}), HasSubstr("are consistent with it"));
  // None can keep its promise: exit code 3, and nothing is written.
  expect_refused({"fit", "h.csv", "--class-precision", "a=1,b=1", "--confidence", "0.9", "-o", "none.json"},
                 {"no class can keep its promise", "a: ", "b: "}, {}, 3);
}

TEST_F(ClassesVerb, RefusesByNameAndValue) {
  const auto refused = [&](const std::string& classes, const Words& named, const Words& more = {}) {
    Words words = {"fit", "a.csv", "--label", "kind", "--class-precision", classes};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(words, named);
  };
  refused("cat=0.9,dog=0", {"--class-precision dog", "0"});
  refused("cat=1.5", {"--class-precision cat", "1.5", "between 0 and 1"});
  refused("cat=0.9,cat=0.8", {"\"cat\" is given twice"});
  refused("cat", {"\"cat\" is not CLASS=VALUE"});
  refused("cat=high", {"--class-precision cat", "high"});
  refused("cat=0.9,bird=0.5", {"a.csv", "\"score_bird\", the score of class \"bird\"", "--class-score"});
  refused("cat=0.9,cow=0.5", {"no row is of class \"cow\""}, {"--class-score", "cow=score_dog"});
  refused("cat=0.9", {"--class-score", "\"dgo\"", "not a class"}, {"--class-score", "dgo=score_dog"});
  refused("cat=0.9,dog=0.9", {"another objective"}, {"--precision", "0.9"});
  refused("cat=0.9,dog=0.9", {"--joint", "--confidence"}, {"--joint"});
  refused("cat=0.9,dog=0.9", {"needs uncertainty"}, {"--method", "exact"});
  refused("cat=0.9,dog=0.9", {"--class-score"}, {"--score", "p"});
  expect_refused({"fit", "a.csv", "--precision", "0.9", "--claims", "several"}, {"--class-precision"});
  write_file("bad.csv", replaced(kAnimals, "dog,0.1,0.8", "dog,nan,0.8"));
  expect_refused({"fit", "bad.csv", "--label", "kind", "--class-precision", "cat=0.9,dog=0.9"},
                 {"bad.csv", "row 3", "\"score_cat\"", "--drop-missing"});
  EXPECT_THAT(run({"fit", "bad.csv", "--label", "kind", "--class-precision", "cat=0.9,dog=0.9", "--drop-missing"}).err,
              HasSubstr("left out 1 row"));
  EXPECT_EQ(run(fit_words({"-o", "c.json"})).exit_code, 0);
  expect_refused({"apply", "c.json", "a.csv", "-o", "d.csv", "--score", "x"}, {"--score", "its own columns"});
  expect_refused({"evaluate", "c.json", "c.json", "a.csv"}, {"c.json", "alone"});
  write_file("broken.json",
             replaced(file_text("c.json"), "\"version\": 1,\n \"claims\"", "\"version\": 7,\n \"claims\""));
  expect_refused({"apply", "broken.json", "a.csv", "-o", "d.csv"}, {"broken.json", "version 7"});
}

}  // namespace
}  // namespace limen::cli::test
