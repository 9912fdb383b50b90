// SPDX-License-Identifier: MIT
// Several files and formats together, through the public face. Files of other formats are made by append_decisions.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "limen/base/error.h"
#include "limen/table/append.h"
#include "limen/table/counts.h"
#include "limen/table/predictions.h"
#include "numbers.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

using test::numbers;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr std::array<const char*, 4> kExtensions = {"csv", "tsv", "parquet", "arrow"};

// Decision: whether the score is positive. Level: the uncertainty, rounded down.
void decide_by_sign(const DecisionBatch& batch) {
  for (std::size_t row = 0; row < batch.score.size(); ++row) {
    batch.decision[row] = batch.score[row] > 0 ? 1 : 0;
    batch.level[row] = static_cast<std::int32_t>(batch.uncertainty[row]);
  }
}

// A gzip file that holds the text as it is, in stored blocks (RFC 1951 3.2.4, RFC 1952).
std::string gzip(std::string_view text) {
  std::uint32_t checksum = 0xffffffff;
  for (const char c : text) {
    checksum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) checksum = (checksum >> 1) ^ ((checksum & 1) != 0 ? 0xedb88320u : 0);
  }
  checksum ^= 0xffffffff;
  const auto little_endian = [](std::uint32_t value, int bytes) {
    std::string out;
    for (int byte = 0; byte < bytes; ++byte) out += static_cast<char>((value >> (8 * byte)) & 0xff);
    return out;
  };
  std::string packed("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  std::size_t at = 0;
  do {
    const std::string_view piece = text.substr(at, 60'000);
    at += piece.size();
    packed += at == text.size() ? '\1' : '\0';
    const auto length = static_cast<std::uint32_t>(piece.size());
    packed.append(little_endian(length, 2)).append(little_endian(~length & 0xffff, 2)).append(piece);
  } while (at < text.size());
  return packed + little_endian(checksum, 4) + little_endian(static_cast<std::uint32_t>(text.size()), 4);
}

class Formats : public ::testing::Test {
 protected:
  // The table in another format, with decisions.
  std::string convert(const std::string& path, const std::string& name, const AppendDecisionsOptions& options = {}) {
    append_decisions({path}, folder_.path(name), options, decide_by_sign);
    return folder_.path(name);
  }

  std::string refusal(const std::vector<std::string>& paths, const PredictionOptions& options = {}) {
    return folder_.without_folder(test::message_of<InvalidInput>([&] { (void)read_predictions(paths, options); }));
  }

  test::TemporaryFolder folder_;
};

void expect_same(const Predictions& actual, const Predictions& expected) {
  EXPECT_EQ(numbers(actual.score), numbers(expected.score));
  EXPECT_EQ(numbers(actual.uncertainty), numbers(expected.uncertainty));
  EXPECT_EQ(actual.label, expected.label);
  EXPECT_EQ(actual.weight, expected.weight);
}

// A table with awkward text columns; rows are separated by commas.
std::string random_table(std::mt19937& random, std::size_t num_rows, bool has_weight) {
  constexpr std::array<std::string_view, 6> kNotes = {"plain", "", "\"a,\tb\"", "\"\"\"q\"\"\"", "007", "\xc3\xa9"};
  const auto below = [&random](std::size_t bound) { return random() % bound; };
  const auto number = [&] {
    std::array<char, 32> text = {};
    const double value = (static_cast<double>(random()) - 2e9) * 1e-9;
    return std::string(text.data(), std::to_chars(text.begin(), text.end(), value).ptr);
  };
  std::string text = std::string("id,score,note,label,uncertainty") + (has_weight ? ",weight\n" : "\n");
  for (std::size_t row = 0; row < num_rows; ++row) {
    text.append(std::to_string(random())).append(",").append(number()).append(",").append(kNotes[below(kNotes.size())]);
    text.append(below(2) == 0 ? ",1," : ",0,").append(number());
    if (has_weight) text.append(",").append(std::to_string(below(5)));
    text.append("\n");
  }
  return text;
}

TEST_F(Formats, RandomTablesAreTheSameInEveryFormat) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::string csv = folder_.write("t.csv", random_table(random, 1 + random() % 300, seed % 2 == 0));
    const Predictions expected = read_predictions(csv);
    for (const std::string name : {"u.parquet", "u.pq", "u.arrow", "u.feather", "u.ipc", "u.tsv", "u.csv"}) {
      SCOPED_TRACE(name);
      expect_same(read_predictions(convert(csv, name)), expected);
    }
  }
}

TEST_F(Formats, SeveralFilesAreReadInTheGivenOrderAndPatternsInThatOfTheNames) {
  const auto file = [&](const std::string& name, int score) {
    return folder_.write(name, "score,uncertainty,label\n" + std::to_string(score) + ",1,0\n");
  };
  const std::string b = file("part-b.csv", 2);
  const std::string a = file("part-a.csv", 1);
  const std::string c = file("other[1].csv", 3);
  EXPECT_THAT(numbers(read_predictions({b, a}).score), ElementsAre(2, 1));
  EXPECT_THAT(numbers(read_predictions({c, folder_.path("part-*.csv"), b}).score), ElementsAre(3, 1, 2, 2));
  EXPECT_THAT(numbers(read_predictions(folder_.path("*.csv")).score), ElementsAre(3, 1, 2));
  EXPECT_THAT(numbers(read_predictions({folder_.path("part-[ab].csv")}).score), ElementsAre(1, 2));
  EXPECT_EQ(folder_.without_folder(test::message_of<IoError>([&] {
    (void)read_predictions({a, folder_.path("no-*.csv")});
  })),
            "no-*.csv: matches no file");
  EXPECT_EQ(refusal({}), "no input file is given");
  EXPECT_EQ(estimate_rows({a, b, c}), 3u);
}

TEST_F(Formats, SeveralFilesMayBeEmptyButNotAll) {
  const std::string none = folder_.write("none.csv", "score,uncertainty,label\n");
  const std::string also_none = folder_.write("also.csv", "uncertainty,score,label\n");
  const std::string one = folder_.write("one.csv", "label,score,uncertainty\n1,2,3\n");
  EXPECT_THAT(numbers(read_predictions({none, one, also_none}).score), ElementsAre(2));
  EXPECT_EQ(refusal({none}), "none.csv: has a header but no rows");
  EXPECT_EQ(refusal({none, also_none}), "none.csv and 1 more file: no rows");
  EXPECT_EQ(refusal({none, one, folder_.write("bad.csv", "score,uncertainty,label\n1,1,1\n1,x,1\n")}),
            "bad.csv: line 3: column \"uncertainty\": \"x\" is not a number");
}

TEST_F(Formats, AllOrNoneOfSeveralFilesHaveWeights) {
  const std::string with = folder_.write("with.csv", "score,uncertainty,label,weight\n1,1,1,1\n");
  const std::string without = folder_.write("without.csv", "score,uncertainty,label\n1,1,1\n");
  EXPECT_EQ(refusal({with, without}), "without.csv: has no column \"weight\", unlike with.csv");
  EXPECT_EQ(refusal({without, with}), "with.csv: has a column \"weight\", unlike without.csv");
}

TEST_F(Formats, BatchesAreTheWholeInPieces) {
  std::mt19937 random(3);
  std::string rows;
  const std::string header = "score,uncertainty,label,note\n";
  for (int row = 0; row < 20'000; ++row)
    rows.append(std::to_string(random() % 1000)).append(",0.5,1,twenty letters here\n");
  std::string text = header;
  for (int copy = 0; copy < 70; ++copy) text += rows;
  const std::string large = folder_.write("a.csv", text + "NA,1,1,\n");
  const std::string small = folder_.write("b.csv", header + rows);
  const PredictionOptions options = {.drop_missing = true};
  const Predictions whole = read_predictions({large, small}, options);
  ASSERT_EQ(whole.label.size(), 1'420'000u);
  EXPECT_EQ(whole.rows_dropped, 1u);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<double> scores;
    std::vector<std::size_t> sizes;
    std::size_t rows_dropped = 0;
    for_each_batch({large, small}, options, [&](const Predictions& batch) {
      test::add_numbers(scores, batch.score);
      sizes.push_back(batch.label.size());
      rows_dropped += batch.rows_dropped;
    });
    EXPECT_TRUE(scores == numbers(whole.score));
    EXPECT_EQ(rows_dropped, 1u);
    EXPECT_GE(sizes.size(), 2u);
    for (std::size_t batch = 0; batch + 1 < sizes.size(); ++batch) EXPECT_GE(sizes[batch], 1'000'000u);
  }
  const auto estimate = estimate_rows({large, small});
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(static_cast<double>(*estimate), 1'420'001, 15'000);
}

TEST_F(Formats, BatchesCarryErrorsOfTheFileAndOfTheVisitor) {
  const std::string bad = folder_.write("bad.csv", "score,uncertainty,label\n1,1,1\n1,x,1\n");
  EXPECT_EQ(folder_.without_folder(
                test::message_of<InvalidInput>([&] { for_each_batch({bad}, {}, [](const Predictions&) {}); })),
            "bad.csv: line 3: column \"uncertainty\": \"x\" is not a number");
  const std::string good = folder_.write("good.csv", "score,uncertainty,label\n1,1,1\n");
  EXPECT_EQ(test::message_of<std::runtime_error>(
                [&] { for_each_batch({good}, {}, [](const Predictions&) { throw std::runtime_error("stop"); }); }),
            "stop");
  const std::string none = folder_.write("none.csv", "score,uncertainty,label\n");
  EXPECT_THROW(for_each_batch({none}, {}, [](const Predictions&) { FAIL(); }), InvalidInput);
}

// A bad line, a blank line or a quoted line end in any of many blocks: the message is that of a small file.
TEST_F(Formats, LinesAreCountedAcrossBlocks) {
  std::string rows;
  for (int row = 0; row < 200'000; ++row) rows += row % 1000 == 7 ? "\"a\nb\",0.125,1,1\n" : "plain text,0.125,1,1\n";
  const std::string header = "note,score,uncertainty,label\n";
  const std::string line = std::to_string(200'000 + 200 + 2);
  EXPECT_EQ(refusal({folder_.write("t.csv", header + rows + "n,1,x,1\n" + rows + "n,y,1,1\n")}),
            "t.csv: line " + line + ": column \"uncertainty\": \"x\" is not a number");
  EXPECT_EQ(refusal({folder_.write("t.csv", header + rows + "\n" + rows)}),
            "t.csv: line " + line + " is blank, but more rows follow");
  EXPECT_EQ(refusal({folder_.write("t.csv", header + rows + "n,1,1\n" + rows)}),
            "t.csv: line " + line + " has 3 fields, the header has 4");
  EXPECT_EQ(
      refusal({folder_.write("t.csv", header + rows + "\"n,1,1\n" + rows + rows)}).substr(0, 60),
      ("t.csv: line " + std::to_string(200'200 + 2 + 8) + ", field 1 has text after its closing quote").substr(0, 60));
  EXPECT_EQ(read_predictions({folder_.write("t.csv", header + rows + rows + "\n \n\n")}).label.size(), 400'000u);
}

TEST_F(Formats, GzipIsKnownByItsContent) {
  const std::string text = "score,uncertainty,label\n1,2,1\n3,4,0\n";
  const std::string path = folder_.write("t.csv.gz", gzip(text));
  EXPECT_THAT(numbers(read_predictions(path).score), ElementsAre(1, 3));
  EXPECT_THAT(numbers(read_predictions(folder_.write("plain.csv", gzip(text))).score), ElementsAre(1, 3));
  EXPECT_THAT(numbers(read_predictions(folder_.write("t.tsv.gz", gzip("score\tuncertainty\tlabel\n5\t6\t1\n"))).score),
              ElementsAre(5));
  const std::string two = gzip(text) + gzip("7,8,1\n");
  EXPECT_THAT(numbers(read_predictions(folder_.write("two.csv.gz", two)).score), ElementsAre(1, 3, 7));
  std::string large = text;
  for (int row = 0; row < 300'000; ++row) large += "0.5,1,0\n";
  EXPECT_EQ(read_predictions(folder_.write("large.csv.gz", gzip(large))).label.size(), 300'002u);
  const auto estimate = estimate_rows({folder_.path("large.csv.gz")});
  EXPECT_NEAR(static_cast<double>(estimate.value_or(0)), 300'002, 80'000);
  EXPECT_EQ(refusal({folder_.write("cut.csv.gz", gzip(text).substr(0, 30))}),
            "cut.csv.gz: cannot be read as gzip: Truncated compressed stream");
  std::string damaged = gzip(text);
  damaged[10] = '\x07';
  EXPECT_TRUE(refusal({folder_.write("bad.csv.gz", damaged)}).starts_with("bad.csv.gz: cannot be read as gzip: "));
}

TEST_F(Formats, StdinMayHaveEachFormat) {
  const std::string csv = folder_.write("t.csv", "score,uncertainty,label\n1,2,1\n");
  const auto read_stdin = [&](const std::string& path, const PredictionOptions& options) {
    const test::Redirect redirect(0, ::open(path.c_str(), O_RDONLY));
    EXPECT_EQ(estimate_rows("-", options.read), std::nullopt);
    return numbers(read_predictions("-", options).score);
  };
  EXPECT_THAT(read_stdin(csv, {}), ElementsAre(1));
  EXPECT_THAT(read_stdin(convert(csv, "t.parquet"), {.read = {.format = Format::kParquet}}), ElementsAre(1));
  EXPECT_THAT(read_stdin(convert(csv, "t.arrow"), {.read = {.format = Format::kArrow}}), ElementsAre(1));
}

TEST_F(Formats, SeveralTablesAreDecidedIntoOne) {
  const std::string a = folder_.write("a.csv", "id,score,uncertainty\nx,1,2\n");
  const std::string b = folder_.write("b.csv", "id,score,uncertainty\r\ny,-1,3\r\n");
  const RowCounts result = append_decisions({a, b}, folder_.path("out.csv"), {}, decide_by_sign);
  EXPECT_EQ(result.rows, 2u);
  EXPECT_EQ(folder_.read("out.csv"), "id,score,uncertainty,decision,level\nx,1,2,1,2\ny,-1,3,0,3\n");
  const std::string c = folder_.write("c.csv", "id,uncertainty,score\nx,1,2\n");
  const auto refused = [&](const std::vector<std::string>& inputs) {
    return folder_.without_folder(
        test::message_of<InvalidInput>([&] { append_decisions(inputs, folder_.path("out.csv"), {}, decide_by_sign); }));
  };
  EXPECT_EQ(refused({a, c}),
            "c.csv: column 2 is \"uncertainty\", in a.csv it is \"score\" (several inputs must have the same columns)");
  EXPECT_EQ(refused({a, folder_.write("d.csv", "score,uncertainty\n1,1\n")}),
            "d.csv: has 2 columns, a.csv has 3 (several inputs must have the same columns)");
  append_decisions({a, b}, folder_.path("out.parquet"), {}, decide_by_sign);
  EXPECT_THAT(read_predictions(folder_.path("out.parquet"), {.columns = {.label = "decision"}}).label,
              ElementsAre(1, 0));
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("a.csv", "b.csv", "c.csv", "d.csv", "out.csv", "out.parquet"));
}

TEST_F(Formats, DropsRowsInEveryFormat) {
  const std::string csv = folder_.write("t.csv", "label,score,uncertainty\n1,1,2\n,NA,2\n0,1,inf\n1,3,4\n");
  const AppendDecisionsOptions drop = {.drop_missing = true};
  for (const std::string extension : kExtensions) {
    const RowCounts result = append_decisions({csv}, folder_.path("out." + extension), drop, decide_by_sign);
    EXPECT_EQ(result.rows, 2u) << extension;
    EXPECT_EQ(result.rows_dropped, 2u) << extension;
    EXPECT_THAT(numbers(read_predictions(folder_.path("out." + extension)).score), ElementsAre(1, 3)) << extension;
  }
}

TEST_F(Formats, OutputFormatMayBeGiven) {
  const std::string csv = folder_.write("t.csv", "label,score,uncertainty\n1,1,2\n");
  append_decisions({csv}, folder_.path("out.dat"), {.output_format = Format::kParquet}, decide_by_sign);
  EXPECT_TRUE(folder_.read("out.dat").starts_with("PAR1"));
  EXPECT_THAT(numbers(read_predictions({folder_.path("out.dat")}, {.read = {.format = Format::kParquet}}).score),
              ElementsAre(1));
}

class ReadCounts : public Formats {
 protected:
  std::string count_refusal(const std::string& text, const std::string& name = "c.csv") {
    const std::string path = folder_.write(name, text);
    return folder_.without_folder(test::message_of<InvalidInput>([&] { (void)read_counts(path); }));
  }
};

TEST_F(ReadCounts, ReadsBinsInAnyOrderOfColumns) {
  const std::vector<CountedBin> bins =
      read_counts(folder_.write("c.csv", "rows,positives,score,level\n10,3,0.5,0\n9007199254740992,0,-1,2\n"));
  ASSERT_EQ(bins.size(), 2u);
  EXPECT_EQ(bins[0].level, 0);
  EXPECT_EQ(bins[0].score, 0.5);
  EXPECT_EQ(bins[0].positives, 3);
  EXPECT_EQ(bins[0].rows, 10);
  EXPECT_EQ(bins[0].uncertainty, std::nullopt);
  EXPECT_EQ(bins[1].rows, 9007199254740992);
  EXPECT_EQ(
      read_counts(folder_.write("u.csv", "level,score,positives,rows,uncertainty\n1,0.5,1,1,0.25\n"))[0].uncertainty,
      0.25);
}

TEST_F(ReadCounts, RefusesBadBins) {
  const std::string header = "level,score,positives,rows\n";
  EXPECT_EQ(count_refusal(header + "0,0.5,1,2\n0,0.5,3,2\n"),
            "c.csv: line 3: column \"positives\": there are 3 positives in 2 rows");
  EXPECT_EQ(count_refusal(header + "-1,0.5,1,2\n"),
            "c.csv: line 2: column \"level\": \"-1\" is not a whole number from 0 to 2^53");
  EXPECT_EQ(count_refusal(header + "0,0.5,1,2.5\n"),
            "c.csv: line 2: column \"rows\": \"2.5\" is not a whole number from 0 to 2^53");
  EXPECT_EQ(count_refusal(header + "0,NA,1,2\n"),
            "c.csv: line 2: column \"score\": the value is missing or not finite");
  EXPECT_EQ(count_refusal(header), "c.csv: has a header but no rows");
  EXPECT_EQ(count_refusal("level,score,rows\n0,1,1\n"),
            "c.csv: column \"positives\": there is no such column; the columns are: level, score, rows");
}

}  // namespace
}  // namespace limen::table
