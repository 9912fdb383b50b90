// SPDX-License-Identifier: MIT
#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ExportTest : public CliTest {
 protected:
  void fit() const {
    write_file("h.csv", kHandTable);
    (void)output_of({"fit", "h.csv", "--precision", "0.75", "--method", "exact", "--levels", "2", "-o", "b.json"});
  }
};

TEST_F(ExportTest, WritesSqlToStdoutOrAFile) {
  fit();
  const std::string text = output_of({"export", "b.json", "--to", "sql"});
  EXPECT_THAT(text, StartsWith("CASE WHEN CAST(\"score\" AS DOUBLE PRECISION) BETWEEN "));
  EXPECT_THAT(text, EndsWith("END\n"));
  EXPECT_EQ(output_of({"export", "b.json", "--to", "sql", "-o", "b.sql"}), "");
  EXPECT_EQ(file_text("b.sql"), text);
  EXPECT_EQ(output_of({"export", "-", "--to", "sql"}, file_text("b.json")), text);
  const std::string query = output_of({"export", "b.json", "--to", "sql", "--dialect", "duckdb", "--what", "query",
                                       "--table", "main.rows", "--score", "p", "--uncertainty", "spread"});
  EXPECT_THAT(query, HasSubstr("CAST(\"p\" AS DOUBLE)"));
  EXPECT_THAT(query, HasSubstr("CAST(\"spread\" AS DOUBLE)"));
  EXPECT_THAT(query, EndsWith("\nFROM \"main\".\"rows\" AS limen_rows;\n"));
  EXPECT_EQ(output_of({"export", "b.json", "--to", "spark", "--what", "level"}),
            output_of({"export", "b.json", "--to", "sql", "--dialect", "spark", "--what", "level"}));
}

TEST_F(ExportTest, WritesCAndOnnx) {
  fit();
  EXPECT_THAT(output_of({"export", "b.json", "--to", "c", "--name", "is_fraud"}),
              HasSubstr("static inline int is_fraud(double score, double uncertainty) {"));
  EXPECT_EQ(output_of({"export", "b.json", "--to", "onnx", "--score", "p", "-o", "b.onnx"}), "");
  EXPECT_THAT(file_text("b.onnx"), HasSubstr("GreaterOrEqual"));
  EXPECT_EQ(output_of({"export", "b.json", "--to", "onnx", "--score", "p"}), file_text("b.onnx"));
}

TEST_F(ExportTest, RefusesOtherFilesAndFlagsThatDoNotBelong) {
  fit();
  expect_refused({"export", "b.json", "--to", "sql", "--what", "query"}, {"--what: query needs", "--table"});
  expect_refused({"export", "b.json", "--to", "sql", "--table", "t"}, {"--table: is for --what query"});
  expect_refused({"export", "b.json", "--to", "sql", "--what", "query", "--table", "a..b"}, {"name is empty"});
  expect_refused({"export", "b.json", "--to", "sql", "--what", "review"}, {"the boundary has no review"});
  expect_refused({"export", "b.json", "--to", "sql", "--segment", "m"}, {"the boundary has no segments"});
  expect_refused({"export", "b.json", "--to", "onnx", "--segment", "m"}, {"the boundary has no segments"});
  expect_refused({"export", "b.json", "--to", "c", "--dialect", "duckdb"}, {"--dialect: is not for --to c"});
  expect_refused({"export", "b.json", "--to", "spark", "--dialect", "ansi"}, {"--dialect: is not for --to spark"});
  expect_refused({"export", "b.json", "--to", "sql", "--name", "f"}, {"--name: is not for --to sql"});
  expect_refused({"export", "b.json", "--to", "sql", "--single"}, {"--single: is not for --to sql"});
  expect_refused({"export", "b.json", "--to", "c", "--name", "a b"}, {"the name is \"a b\", must be letters"});
  expect_refused({"export", "b.json", "--to", "onnx", "--opset", "9"}, {"opset is 9, must be 13 to 25"});
  expect_refused({"export", "b.json", "--to", "sql", "--score", "\xff"}, {"is not UTF-8"});
  expect_refused({"export", "b.json", "--to", "java"}, {"--to"});
  expect_refused({"export", "b.json"}, {"--to is required"});
  expect_refused({"export", "b.json", "--to", "sql", "-o", "b.json"}, {"b.json: is the input"});
  expect_refused({"export", "none.json", "--to", "sql"}, {"none.json"});

  // Damaged boundaries are refused as everywhere.
  const std::string text = file_text("b.json");
  write_file("cut.json", text.substr(0, text.size() / 2));
  expect_refused({"export", "cut.json", "--to", "sql"}, {"cut.json: "});
  write_file("later.json", replaced(text, "\"version\": 1", "\"version\": 3"));
  write_file("later.json", replaced(file_text("later.json"), "\"version\":1", "\"version\":3"));
  expect_refused({"export", "later.json", "--to", "c"}, {"later.json: ", "3"});
  write_file("mixed.json", replaced(text, "\"rule\"", "\"rules\""));
  expect_refused({"export", "mixed.json", "--to", "onnx"}, {"mixed.json: ", "rule"});

  (void)output_of({"calibrate", "h.csv", "-o", "c.json"});
  expect_refused({"export", "c.json", "--to", "sql"}, {"c.json: is a calibration file, which has no decision"});
  write_file("k.json", "{\"format\": \"limen-classes\", \"version\": 1}");
  expect_refused({"export", "k.json", "--to", "sql"}, {"k.json: is a file of several classes"});
}

}  // namespace
}  // namespace limen::cli::test
