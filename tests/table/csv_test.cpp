// SPDX-License-Identifier: MIT

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/table/predictions.h"
#include "numbers.h"
#include "read_limits.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

using test::numbers;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReadPredictions : public ::testing::Test {
 protected:
  Predictions read(const std::string& text, const PredictionOptions& options = {},
                   const std::string& name = "preds.csv") {
    return read_predictions(folder_.write(name, text), options);
  }

  std::string refusal(const std::string& text, const PredictionOptions& options = {},
                      const std::string& name = "preds.csv") {
    return folder_.without_folder(test::message_of<InvalidInput>([&] { (void)read(text, options, name); }));
  }

  // The message for a table of one row.
  std::string row_refusal(const std::string& row, const PredictionOptions& options = {}) {
    return refusal("score,uncertainty,label,weight\n" + row + "\n", options);
  }

  test::TemporaryFolder folder_;
};

TEST_F(ReadPredictions, ReadsTheNamedColumnsInAnyOrder) {
  const Predictions predictions = read("id,label,uncertainty,score\na,1,0.25,0.75\nb,0,1e-3,-2\n");
  EXPECT_THAT(numbers(predictions.score), ElementsAre(0.75, -2));
  EXPECT_THAT(numbers(predictions.uncertainty), ElementsAre(0.25, 0.001));
  EXPECT_THAT(predictions.label, ElementsAre(1, 0));
  EXPECT_THAT(predictions.weight, IsEmpty());
  EXPECT_EQ(predictions.rows_dropped, 0u);
  EXPECT_EQ(predictions.samples().size(), 2u);
}

TEST_F(ReadPredictions, TakesOtherColumnNames) {
  const PredictionOptions options = {
      .columns = {.score = "p", .uncertainty = "my, sigma", .label = "y", .weight = "w"}};
  const Predictions predictions = read("\"my, sigma\", p ,\"y\",w,score\n1,2,1,3,x\n", options);
  EXPECT_THAT(numbers(predictions.score), ElementsAre(2));
  EXPECT_THAT(numbers(predictions.uncertainty), ElementsAre(1));
  EXPECT_THAT(predictions.weight, ElementsAre(3));
}

TEST_F(ReadPredictions, ReadsWeightsWhenTheTableHasThem) {
  EXPECT_THAT(read("score,uncertainty,label,weight\n1,2,0,0\n1,2,0,2.5\n").weight, ElementsAre(0, 2.5));
}

TEST_F(ReadPredictions, OneColumnMayHaveTwoRoles) {
  const Predictions predictions = read("p,label\n0.5,1\n", {.columns = {.score = "p", .uncertainty = "p"}});
  EXPECT_THAT(numbers(predictions.score), ElementsAre(0.5));
  EXPECT_THAT(numbers(predictions.uncertainty), ElementsAre(0.5));
}

TEST_F(ReadPredictions, TakesTheFormatFromTheExtensionUnlessItIsGiven) {
  const std::string tsv = "score\tuncertainty\tlabel\n1\t\"2\"\t0\n";
  const std::string csv = "score,uncertainty,label\n1,2,0\n";
  for (const std::string name : {"t.tsv", "t.TSV"})
    EXPECT_THAT(numbers(read(tsv, {}, name).uncertainty), ElementsAre(2));
  for (const std::string name : {"t.csv", "t.CSV", "t", "t.txt"}) {
    EXPECT_THAT(numbers(read(csv, {}, name).uncertainty), ElementsAre(2));
  }
  EXPECT_THAT(numbers(read(tsv, {.read = {.format = Format::kTsv}}, "t.csv").uncertainty), ElementsAre(2));
  EXPECT_THAT(numbers(read(csv, {.read = {.format = Format::kCsv}}, "t.tsv").uncertainty), ElementsAre(2));
}

TEST_F(ReadPredictions, ReadsEachSpellingOfANumber) {
  const std::vector<std::pair<std::string, double>> cases = {
      {"0", 0},
      {"-0.5", -0.5},
      {"+0.5", 0.5},
      {".5", 0.5},
      {"5.", 5},
      {"  7 ", 7},
      {"\" 0.125 \"", 0.125},
      {"\t1.5\t", 1.5},
      {"1e3", 1000},
      {"1E+3", 1000},
      {"2.5e-1", 0.25},
      {"0.1", 0.1},
      {"0.30000000000000004", 0.1 + 0.2},
      {"123456789012345.", 123456789012345.0},
      {"00000000000000.1", 0.1},
      {"1.7976931348623157e308", 1.7976931348623157e308},
      {"5e-324", 5e-324},
      {"1e-400", 0},
      {"-0.0001e-99999999999999999999", 0},
      {"0." + std::string(400, '0') + "1", 0},
      {"0e999", 0},
  };
  for (const auto& [text, value] : cases) {
    SCOPED_TRACE(text);
    EXPECT_THAT(numbers(read("score,uncertainty,label\n" + text + ",1,0\n").score), ElementsAre(value));
  }
}

TEST_F(ReadPredictions, RoundsEveryDecimalCorrectly) {
  std::mt19937_64 random(7);
  std::array<char, 64> text = {};
  for (int trial = 0; trial < 20'000; ++trial) {
    const double value = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 80) - 90);
    const int precision = static_cast<int>(random() % 18);
    const auto format = trial % 4 == 0 ? std::chars_format::scientific : std::chars_format::fixed;
    const auto end = std::to_chars(text.begin(), text.end() - 1, value, format, precision).ptr;
    *end = '\0';
    const NumberField field = parse_number(std::string_view(text.data(), end));
    ASSERT_EQ(field.status, FieldStatus::kOk) << text.data();
    ASSERT_EQ(field.value, std::strtod(text.data(), nullptr)) << text.data();
  }
}

TEST_F(ReadPredictions, ReadsEachSpellingOfALabel) {
  for (const char* text : {"1", "1.0", "+1", "1.", " 1 ", "\"1\"", "true", "TRUE", "True", "1e0", "yes", "YES"}) {
    EXPECT_THAT(read("score,uncertainty,label\n1,1," + std::string(text) + "\n").label, ElementsAre(1)) << text;
  }
  for (const char* text : {"0", "0.0", "-0", " 0", "\"0\"", "false", "FALSE", "False", "0.000", "no"}) {
    EXPECT_THAT(read("score,uncertainty,label\n1,1," + std::string(text) + "\n").label, ElementsAre(0)) << text;
  }
}

TEST_F(ReadPredictions, NamesLineColumnAndValueOfABadNumber) {
  EXPECT_EQ(refusal("score,uncertainty,label\n1,1,0\n1,1,0\nabc,1,0\n"),
            "preds.csv: line 4: column \"score\": \"abc\" is not a number");
  for (const std::string text : {"1x", "1e", "+-1", "++1", "--1", "0x10", "1 2", "1_000", "-", ".", "+", "..", "1.2.3",
                                 "infinit", "nanx", "n/a/", "null."}) {
    EXPECT_EQ(row_refusal("1," + text + ",0,1"),
              "preds.csv: line 2: column \"uncertainty\": \"" + text + "\" is not a number");
  }
  EXPECT_EQ(row_refusal("1,\"0,5\",0,1"), "preds.csv: line 2: column \"uncertainty\": \"0,5\" is not a number");
}

TEST_F(ReadPredictions, NamesLineColumnAndValueOfABadLabel) {
  for (const std::string text : {"2", "y", "-1", "0.5", "inf", "01x", "truee"}) {
    EXPECT_EQ(row_refusal("1,1," + text + ",1"),
              "preds.csv: line 2: column \"label\": \"" + text + "\" is not 0/1, true/false or yes/no");
  }
}

TEST_F(ReadPredictions, RefusesAMissingValue) {
  const std::array<std::pair<std::string, std::string>, 4> rows = {{
      {"@,1,0,1", "score"},
      {"1,@,0,1", "uncertainty"},
      {"1,1,@,1", "label"},
      {"1,1,0,@", "weight"},
  }};
  for (const auto& [row, column] : rows) {
    const auto with = [&pattern = row](const std::string& value) {
      return std::string(pattern).replace(pattern.find('@'), 1, value);
    };
    const std::string start = "preds.csv: line 2: column \"" + column + "\": ";
    for (const std::string text : {"", "  ", "\"\"", "\" \""}) {
      EXPECT_EQ(row_refusal(with(text)), start + "the value is missing");
    }
    for (const std::string text : {"NA", "N/A", "null", "NULL", "None", "nan", "NaN", "na"}) {
      EXPECT_EQ(row_refusal(with(text)), start + "\"" + text + "\" is a missing value");
    }
  }
}

TEST_F(ReadPredictions, RefusesAValueThatIsNotFinite) {
  for (const std::string text :
       {"inf", "-inf", "+inf", "INFINITY", "-nan", "1e309", "-1e999", "1e99999999999999999999"}) {
    for (const std::string column : {"score", "uncertainty", "weight"}) {
      const std::string row = column == "score"         ? text + ",1,0,1"
                              : column == "uncertainty" ? "1," + text + ",0,1"
                                                        : "1,1,0," + text;
      EXPECT_EQ(row_refusal(row), "preds.csv: line 2: column \"" + column + "\": \"" + text + "\" is not finite");
    }
  }
  EXPECT_EQ(row_refusal(std::string(310, '9') + ",1,0,1"),
            "preds.csv: line 2: column \"score\": \"" + std::string(37, '9') + "...\" is not finite");
}

TEST_F(ReadPredictions, RefusesANegativeWeight) {
  EXPECT_EQ(row_refusal("1,1,0,-0.5"),
            "preds.csv: line 2: column \"weight\": \"-0.5\" is negative, a weight is at least 0");
}

TEST_F(ReadPredictions, ShortensAndEscapesTheValueInAMessage) {
  const auto value_of = [&](const std::string& field) {
    const std::string message = row_refusal(field + ",1,0,1");
    const std::string start = "preds.csv: line 2: column \"score\": ";
    const std::string end = " is not a number";
    EXPECT_TRUE(message.starts_with(start) && message.ends_with(end)) << message;
    return message.substr(start.size(), message.size() - start.size() - end.size());
  };
  EXPECT_EQ(value_of(std::string(40, 'x')), '"' + std::string(40, 'x') + '"');
  EXPECT_EQ(value_of(std::string(41, 'x')), '"' + std::string(37, 'x') + "...\"");
  EXPECT_EQ(value_of("\"a\nb\rc\td\x1b[1m\x7f\""), "\"a\\nb\\rc\\td\\x1b[1m\\x7f\"");
  EXPECT_EQ(value_of("\xc3\xa9t\xc3\xa9 \xe2\x82\xac"), "\"\xc3\xa9t\xc3\xa9 \xe2\x82\xac\"");
  EXPECT_EQ(value_of("\xff \xc3 \xc0\x80 \xed\xa0\x80"), "\"\\xff \\xc3 \\xc0\\x80 \\xed\\xa0\\x80\"");
  EXPECT_EQ(value_of("a\xe2\x80\xa8z\xc2\x85"), "\"a\\xe2\\x80\\xa8z\\xc2\\x85\"");
  std::string accents;
  for (int count = 0; count < 50; ++count) accents += "\xc3\xa9";
  EXPECT_EQ(value_of(accents), '"' + accents.substr(0, 74) + "...\"");
  EXPECT_EQ(value_of(std::string(36, 'x') + "\x01yyyyy"), '"' + std::string(36, 'x') + "...\"");
}

TEST_F(ReadPredictions, GivesThePhysicalLineOfAFieldAfterLineEndsInQuotes) {
  EXPECT_EQ(refusal("note,score,uncertainty,label\n\"a\nb\",1,1,0\n\"c\r\n\nd\",x,1,0\n"),
            "preds.csv: line 6: column \"score\": \"x\" is not a number");
}

TEST_F(ReadPredictions, NamesTheColumnsWhenOneIsAbsent) {
  EXPECT_EQ(refusal("score,label\n1,1\n"),
            "preds.csv: column \"uncertainty\": there is no such column; the columns are: score, label");
  EXPECT_EQ(refusal("p,label\n1,1\n"),
            "preds.csv: column \"score\": there is no such column; the columns are: p, label");
  EXPECT_EQ(refusal("score,uncertainty,Label\n1,1,1\n"),
            "preds.csv: column \"label\": there is no such column; did you mean \"Label\"?");
  EXPECT_EQ(refusal("score,uncertainty,label\n1,1,1\n", {.columns = {.weight = "w", .weight_required = true}}),
            "preds.csv: column \"w\": there is no such column; the columns are: score, uncertainty, label");
  std::string header = "c0";
  std::string shown = "c0";
  for (int column = 1; column < 25; ++column) {
    header += ",c" + std::to_string(column);
    if (column < 20) shown += ", c" + std::to_string(column);
  }
  EXPECT_EQ(refusal(header + "\n"),
            "preds.csv: column \"score\": there is no such column; the columns are: " + shown + " and 5 more");
}

TEST_F(ReadPredictions, GuessesTheSeparatorOfATableThatSeemsToHaveOneColumn) {
  const std::string end = ": is the only column; its fields seem to have another separator than the comma";
  EXPECT_EQ(refusal("score\tuncertainty\tlabel\n"), "preds.csv: column \"score\\tuncertainty\\tlabel\"" + end);
  EXPECT_EQ(refusal("score;uncertainty;label\n"), "preds.csv: column \"score;uncertainty;label\"" + end);
  EXPECT_THAT(numbers(read("score;uncertainty;label\n1;2;0\n", {.read = {.separator = ';'}}).score), ElementsAre(1));
}

TEST_F(ReadPredictions, RefusesADoubledColumnOnlyWhenItIsNeeded) {
  EXPECT_EQ(refusal("score,label,score,uncertainty\n1,1,1,1\n"),
            "preds.csv: has 2 columns \"score\" (rename all but one)");
  EXPECT_EQ(refusal("weight,score,label,weight,uncertainty\n1,1,1,1,1\n"),
            "preds.csv: has 2 columns \"weight\" (rename all but one)");
  EXPECT_THAT(numbers(read("x,score,label,x,uncertainty\n1,2,1,1,1\n").score), ElementsAre(2));
}

TEST_F(ReadPredictions, RefusesUnequalRowLengths) {
  EXPECT_EQ(refusal("a,score,uncertainty,label\n1,1,1,0\n1,1,1,0\n1,1,0\n"),
            "preds.csv: line 4 has 3 fields, the header has 4");
  EXPECT_EQ(refusal("score,uncertainty,label\n1,1,0,\n"), "preds.csv: line 2 has 4 fields, the header has 3");
  EXPECT_EQ(refusal("score,uncertainty,label\n1\n", {.drop_missing = true}),
            "preds.csv: line 2 has 1 field, the header has 3");
}

// Fields are split before values are read; what comes first in the file is refused all the same.
TEST_F(ReadPredictions, RefusesTheFirstOfTwoTroubles) {
  const std::string header = "score,uncertainty,label\n";
  EXPECT_EQ(refusal(header + "1,1,0\nx,1,0\n1,1\n"), "preds.csv: line 3: column \"score\": \"x\" is not a number");
  EXPECT_EQ(refusal(header + "1,1,0\nx,1,0\n\"\n"), "preds.csv: line 3: column \"score\": \"x\" is not a number");
  EXPECT_EQ(refusal(header + "1,1,0\n1,1\nx,1,0\n"), "preds.csv: line 3 has 2 fields, the header has 3");
  EXPECT_EQ(refusal(header + "1,1,0\n\nx,1,0\n"), "preds.csv: line 3 is blank, but more rows follow");
  EXPECT_EQ(refusal(header + "1,1,2\nx,1,0\n"),
            "preds.csv: line 2: column \"label\": \"2\" is not 0/1, true/false or yes/no");
  std::string many = header;
  for (int row = 0; row < 5000; ++row) many += "\"0.5\",\"1\"\"\n\",0\n";
  EXPECT_EQ(refusal(many), "preds.csv: line 2: column \"uncertainty\": \"1\"\\n\" is not a number");
  many = header;
  for (int row = 0; row < 5000; ++row) many += "0.5,\"1\",0\n";
  EXPECT_EQ(refusal(many + "1,1,0,\n"), "preds.csv: line 5002 has 4 fields, the header has 3");
  EXPECT_EQ(refusal(many + "NA,1,0\n1,1,0,\n"), "preds.csv: line 5002: column \"score\": \"NA\" is a missing value");
}

TEST_F(ReadPredictions, RefusesATableWithoutRows) {
  EXPECT_EQ(refusal(""), "preds.csv: is empty");
  EXPECT_EQ(refusal("\n\r\n"), "preds.csv: is empty");
  EXPECT_EQ(refusal("\xef\xbb\xbf"), "preds.csv: is empty");
  EXPECT_EQ(refusal("score,uncertainty,label"), "preds.csv: has a header but no rows");
  EXPECT_EQ(refusal("score,uncertainty,label\r\n\r\n"), "preds.csv: has a header but no rows");
}

TEST_F(ReadPredictions, DropMissingLeavesOutAndCountsEachKindOfRow) {
  const Predictions predictions = read(
      "score,uncertainty,label,weight\n"
      ",1,0,1\n"       // missing
      "1,NaN,0,1\n"    // NaN
      "1,1,N/A,1\n"    // missing label
      "1,inf,0,1\n"    // infinite
      "1e999,1,0,1\n"  // beyond double
      "1,1,2,1\n"      // unknown label
      "1,1,maybe,1\n"  // unknown label
      "1,1,0,-1\n"     // negative weight
      "2,3,1,4\n",
      {.drop_missing = true});
  EXPECT_THAT(numbers(predictions.score), ElementsAre(2));
  EXPECT_THAT(numbers(predictions.uncertainty), ElementsAre(3));
  EXPECT_THAT(predictions.label, ElementsAre(1));
  EXPECT_THAT(predictions.weight, ElementsAre(4));
  EXPECT_EQ(predictions.rows_dropped, 8u);
}

TEST_F(ReadPredictions, DropMissingStillRefusesTextInANumberColumn) {
  EXPECT_EQ(row_refusal(",abc,NA,1", {.drop_missing = true}),
            "preds.csv: line 2: column \"uncertainty\": \"abc\" is not a number");
}

TEST_F(ReadPredictions, DropMissingRefusesATableOfWhichNoRowIsLeft) {
  EXPECT_EQ(refusal("score,uncertainty,label\nNA,1,0\n1,,0\n", {.drop_missing = true}),
            "preds.csv: no rows are left: all 2 have a missing or bad value");
}

TEST_F(ReadPredictions, NamesAFileThatCannotBeRead) {
  const auto io_error = [&](const std::string& path) {
    return folder_.without_folder(test::message_of<IoError>([&] { (void)read_predictions(path); }));
  };
  EXPECT_EQ(io_error(folder_.path("none.csv")), "none.csv: cannot be read: No such file or directory");
  EXPECT_EQ(io_error(""), "\"\": cannot be read: No such file or directory");
  std::filesystem::create_directory(folder_.path("folder"));
  EXPECT_EQ(io_error(folder_.path("folder")), "folder: cannot be read: Is a directory");
  if (::geteuid() != 0) {
    ::chmod(folder_.write("closed.csv", "score\n").c_str(), 0);
    EXPECT_EQ(io_error(folder_.path("closed.csv")), "closed.csv: cannot be read: Permission denied");
  }
}

TEST_F(ReadPredictions, DashIsStdinAndMessagesSaySo) {
  const std::string path = folder_.write("in", "score,uncertainty,label\n1,2,1\nx,2,1\n");
  const test::Redirect redirect(0, ::open(path.c_str(), O_RDONLY));
  EXPECT_EQ(test::message_of<InvalidInput>([] { (void)read_predictions("-"); }),
            "<stdin>: line 3: column \"score\": \"x\" is not a number");
}

TEST_F(ReadPredictions, ReadsAPipeThatHandsOverSmallPieces) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::thread writer([end = ends[1]] {
    for (const std::string_view piece : {"score,uncer", "tainty,label\n1", ",2,1\n", "3,4,", "0"}) {
      EXPECT_EQ(::write(end, piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
      ::usleep(1000);
    }
    ::close(end);
  });
  const test::Redirect redirect(0, ends[0]);
  const Predictions predictions = read_predictions("-");
  writer.join();
  EXPECT_THAT(numbers(predictions.score), ElementsAre(1, 3));
  EXPECT_THAT(predictions.label, ElementsAre(1, 0));
}

TEST_F(ReadPredictions, ReportsProgressUpToTheWholeFile) {
  std::string text = "score,uncertainty,label\n";
  for (int row = 0; row < 500'000; ++row) text += "0.5,1,0\n";
  std::vector<std::uint64_t> read_so_far;
  (void)read(text, {.read = {.progress = [&](std::uint64_t bytes, std::uint64_t total) {
                      EXPECT_EQ(total, text.size());
                      read_so_far.push_back(bytes);
                    }}});
  EXPECT_GE(read_so_far.size(), 3u);
  EXPECT_TRUE(std::is_sorted(read_so_far.begin(), read_so_far.end()));
  EXPECT_EQ(read_so_far.back(), text.size());
}

// Tables with quoted and unquoted numbers among text columns that are full of syntax, read through chunks of a few
// bytes: the values come back bit for bit, and exactly the rows made bad are dropped.
TEST_F(ReadPredictions, ReadsBackRandomTablesForAnyChunkSize) {
  std::size_t rows_dropped_in_all = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t bound) { return random() % bound; };
    const char separator = below(2) == 0 ? ',' : '\t';
    const std::string line_end = below(2) == 0 ? "\n" : "\r\n";
    const bool has_weight = below(2) == 0;
    const auto note = [&] {
      constexpr std::array<std::string_view, 6> kNotes = {
          "", "plain", "\"\"", "\"a,\tb\"", "\"\"\"q\"\"\n\r\n\"", "\"\r\n\""};
      return std::string(kNotes[below(kNotes.size())]);
    };
    const auto number = [&](double value) {
      std::array<char, 32> text = {};
      const std::string digits(text.data(), std::to_chars(text.begin(), text.end(), value).ptr);
      return below(3) == 0 ? "\" " + digits + "\"" : digits;
    };
    std::string text = below(2) == 0 ? "\xef\xbb\xbf" : "";
    text += std::string("score") + separator + "note" + separator + "label" + separator + "\"uncertainty\"";
    text += (has_weight ? separator + std::string("weight") : "") + line_end;
    std::vector<double> scores;
    std::vector<double> uncertainties;
    Predictions expected;
    const auto add_row = [&](bool bad) {
      const double score = std::ldexp(static_cast<double>(random()), static_cast<int>(below(60)) - 40);
      const double uncertainty = static_cast<double>(random()) * 1e-10;
      const auto label = static_cast<std::uint8_t>(below(2));
      const double weight = static_cast<double>(below(5));
      text += number(score) + separator + note() + separator + (label != 0 ? "1" : "False") + separator;
      text += bad ? "nan" : number(uncertainty);
      if (has_weight) text += separator + number(weight);
      if (bad) {
        ++expected.rows_dropped;
        return;
      }
      scores.push_back(score);
      uncertainties.push_back(uncertainty);
      expected.label.push_back(label);
      if (has_weight) expected.weight.push_back(weight);
    };
    add_row(false);
    for (std::size_t rows = below(30); rows > 0; --rows) {
      text += line_end;
      add_row(below(5) == 0);
    }
    if (below(2) == 0) text += line_end;
    rows_dropped_in_all += expected.rows_dropped;

    const PredictionOptions options = {.read = {.format = separator == ',' ? Format::kCsv : Format::kTsv},
                                       .drop_missing = true};
    const detail::Limits limits = {
        .chunk_bytes = 1 + below(100), .chunks_per_run = 1 + below(9), .batch_rows = 1 + below(10)};
    Predictions actual;
    std::vector<double> actual_scores;
    std::vector<double> actual_uncertainties;
    detail::for_each_batch(folder_.write("t", text), options, limits, [&](const Predictions& batch) {
      test::add_numbers(actual_scores, batch.score);
      test::add_numbers(actual_uncertainties, batch.uncertainty);
      actual.label.insert(actual.label.end(), batch.label.begin(), batch.label.end());
      actual.weight.insert(actual.weight.end(), batch.weight.begin(), batch.weight.end());
      actual.rows_dropped += batch.rows_dropped;
    });
    SCOPED_TRACE("seed " + std::to_string(seed));
    EXPECT_EQ(actual_scores, scores);
    EXPECT_EQ(actual_uncertainties, uncertainties);
    EXPECT_EQ(actual.label, expected.label);
    EXPECT_EQ(actual.weight, expected.weight);
    EXPECT_EQ(actual.rows_dropped, expected.rows_dropped);
  }
  EXPECT_GT(rows_dropped_in_all, 300u);
}

}  // namespace
}  // namespace limen::table
