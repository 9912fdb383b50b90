// SPDX-License-Identifier: MIT

#include "limen/table/append.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "limen/base/error.h"
#include "read_limits.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Decision: whether the score is positive. Level: the uncertainty, rounded down.
void decide_by_sign(const DecisionBatch& batch) {
  for (std::size_t row = 0; row < batch.score.size(); ++row) {
    batch.decision[row] = batch.score[row] > 0 ? 1 : 0;
    batch.level[row] = static_cast<std::int32_t>(batch.uncertainty[row]);
  }
}

class AppendDecisions : public ::testing::Test {
 protected:
  std::string append(const std::string& text, const AppendDecisionsOptions& options = {},
                     const std::string& name = "in.csv") {
    append_decisions(folder_.write(name, text), folder_.path(output(name)), options, decide_by_sign);
    return folder_.read(output(name));
  }

  static std::string output(const std::string& name) { return name.ends_with("tsv") ? "out.tsv" : "out.csv"; }

  std::string refusal(const std::string& text, const AppendDecisionsOptions& options = {}) {
    return folder_.without_folder(test::message_of<InvalidInput>([&] { append(text, options); }));
  }

  test::TemporaryFolder folder_;
};

TEST_F(AppendDecisions, AddsTwoColumnsAndKeepsTheOthersByteForByte) {
  EXPECT_EQ(append("id,score,uncertainty\n a ,+0.50,1\n\"b,\"\"\n\",-1, 2.0 \n\"\",\"3\",-7\n"),
            "id,score,uncertainty,decision,level\n"
            " a ,+0.50,1,1,1\n"
            "\"b,\"\"\n\",-1, 2.0 ,0,2\n"
            "\"\",\"3\",-7,1,-7\n");
}

TEST_F(AppendDecisions, NeedsNeitherLabelNorWeightAndDoesNotCheckThem) {
  EXPECT_EQ(append("score,uncertainty,label,weight\n1,2,maybe,-3\n"),
            "score,uncertainty,label,weight,decision,level\n1,2,maybe,-3,1,2\n");
}

TEST_F(AppendDecisions, KeepsTheSeparatorOfTheInput) {
  EXPECT_EQ(append("score\tuncertainty\n1\t2\n", {}, "in.tsv"), "score\tuncertainty\tdecision\tlevel\n1\t2\t1\t2\n");
}

TEST_F(AppendDecisions, EndsEveryLineLikeTheHeader) {
  EXPECT_EQ(append("score,uncertainty\r\n1,2\n3,4"), "score,uncertainty,decision,level\r\n1,2,1,2\r\n3,4,1,4\r\n");
  EXPECT_EQ(append("score,uncertainty\n1,2\r\n\r\n"), "score,uncertainty,decision,level\n1,2,1,2\n");
}

TEST_F(AppendDecisions, KeepsAByteOrderMark) {
  EXPECT_EQ(append("\xef\xbb\xbfscore,uncertainty\n1,2\n"), "\xef\xbb\xbfscore,uncertainty,decision,level\n1,2,1,2\n");
}

TEST_F(AppendDecisions, LeavesOutAndCountsDroppedRows) {
  const std::string path = folder_.write("in.csv", "score,uncertainty\n1,2\nNA,2\n1,inf\n3,4\n");
  const RowCounts result = append_decisions(path, folder_.path("out.csv"), {.drop_missing = true}, decide_by_sign);
  EXPECT_EQ(result.rows, 2u);
  EXPECT_EQ(result.rows_dropped, 2u);
  EXPECT_EQ(folder_.read("out.csv"), "score,uncertainty,decision,level\n1,2,1,2\n3,4,1,4\n");
}

TEST_F(AppendDecisions, MayReplaceItsInput) {
  const std::string path = folder_.write("t.csv", "score,uncertainty\n1,2\n");
  append_decisions(path, path, {}, decide_by_sign);
  EXPECT_EQ(folder_.read("t.csv"), "score,uncertainty,decision,level\n1,2,1,2\n");
}

TEST_F(AppendDecisions, DashIsStdinAndStdout) {
  {
    const test::Redirect input(0, ::open(folder_.write("in", "score,uncertainty\n1,2\n").c_str(), O_RDONLY));
    std::fflush(stdout);
    const test::Redirect output(1, ::open(folder_.path("out.csv").c_str(), O_WRONLY | O_CREAT, 0666));
    append_decisions("-", "-", {}, decide_by_sign);
  }
  EXPECT_EQ(folder_.read("out.csv"), "score,uncertainty,decision,level\n1,2,1,2\n");
}

TEST_F(AppendDecisions, HandsOverBatchesOfBoundedLength) {
  std::string text = "score,uncertainty\n";
  for (int row = 0; row < 150'000; ++row) text += "1,2\n";
  std::vector<std::size_t> sizes;
  const RowCounts result =
      append_decisions(folder_.write("in.csv", text), folder_.path("out.csv"), {}, [&](const DecisionBatch& batch) {
        sizes.push_back(batch.score.size());
        decide_by_sign(batch);
      });
  EXPECT_EQ(result.rows, 150'000u);
  EXPECT_LE(*std::ranges::max_element(sizes), 5u << 20 >> 2);  // 16 chunks of 256 KiB, 4 bytes a row, and the rest
}

TEST_F(AppendDecisions, RefusesATableThatAlreadyHasItsColumns) {
  EXPECT_EQ(refusal("score,decision,uncertainty\n1,1,2\n"), "in.csv: already has a column \"decision\"");
  EXPECT_EQ(refusal("score,uncertainty,\"level\",level\n1,1,2,2\n"), "in.csv: already has a column \"level\"");
}

TEST_F(AppendDecisions, RefusesBadTablesLikeTheReader) {
  EXPECT_EQ(refusal(""), "in.csv: is empty");
  EXPECT_EQ(refusal("score\n1\n"), "in.csv: column \"uncertainty\": there is no such column; the columns are: score");
  EXPECT_EQ(refusal("score,uncertainty\n1,2\n1\n"), "in.csv: line 3 has 1 field, the header has 2");
  EXPECT_EQ(refusal("score,uncertainty\n1,x\n"), "in.csv: line 2: column \"uncertainty\": \"x\" is not a number");
  EXPECT_EQ(refusal("score,uncertainty\n1,NA\n", {.drop_missing = true}),
            "in.csv: no rows are left: all 1 have a missing or bad value");
}

TEST_F(AppendDecisions, KeepsTheOldOutputWhenAnythingFails) {
  folder_.write("out.csv", "old");
  std::string text = "score,uncertainty\n";
  for (int row = 0; row < 100'000; ++row) text += "1,2\n";
  EXPECT_EQ(refusal(text + "x,2\n"), "in.csv: line 100002: column \"score\": \"x\" is not a number");
  EXPECT_THROW(append_decisions(folder_.write("in.csv", text), folder_.path("out.csv"), {},
                                [](const DecisionBatch&) { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(folder_.read("out.csv"), "old");
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("in.csv", "out.csv"));
}

TEST_F(AppendDecisions, NamesAnOutputThatCannotBeWritten) {
  const std::string path = folder_.write("in.csv", "score,uncertainty\n1,2\n");
  EXPECT_EQ(folder_.without_folder(test::message_of<IoError>(
                [&] { append_decisions(path, folder_.path("none/out.csv"), {}, decide_by_sign); })),
            "none/out.csv: cannot be written: No such file or directory");
}

// The private entry takes the sizes: batches end, by rows or by bytes, at every place of the table.
TEST_F(AppendDecisions, DoesNotDependOnChunkAndBatchSizes) {
  constexpr std::array<std::string_view, 5> kNotes = {"", "x", "\"a,b\"", "\"\n\"", "\"\"\"\r\n\""};
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t bound) { return random() % bound; };
    const std::string line_end = below(2) == 0 ? "\n" : "\r\n";
    std::string text = "note,score,uncertainty" + line_end;
    std::string expected = "note,score,uncertainty,decision,level" + line_end;
    for (std::size_t rows = 1 + below(40); rows > 0; --rows) {
      const bool positive = below(2) == 0;
      const std::string level = std::to_string(below(12));
      const std::string record = std::string(kNotes[below(kNotes.size())]) + (positive ? ",0.5," : ",-3e1,") + level;
      text += record + line_end;
      expected += record + (positive ? ",1," : ",0,") + level + line_end;
    }
    const detail::Limits limits = {.chunk_bytes = 1 + below(80), .chunks_per_run = 1 + below(9)};
    const AppendColumnsOptions options = {.read = {.columns = {"score", "uncertainty"}}};
    const auto fill = [](const Frame& frame, std::span<AddedValues> added, std::span<std::uint8_t>) {
      decide_by_sign({.score = std::span(std::get<NumberValues>(frame.columns[0].values)),
                      .uncertainty = std::span(std::get<NumberValues>(frame.columns[1].values)),
                      .decision = std::get<std::vector<std::uint8_t>>(added[0]),
                      .level = std::get<std::vector<std::int32_t>>(added[1])});
    };
    detail::append_columns(folder_.write("in.csv", text), folder_.path("out.csv"), options,
                           {{"decision", AddedType::kUint8}, {"level", AddedType::kInt32}}, fill, limits);
    ASSERT_EQ(folder_.read("out.csv"), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace limen::table
