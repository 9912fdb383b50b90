// SPDX-License-Identifier: MIT
#include "limen/table/frames.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "limen/base/error.h"
#include "limen/table/append.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// A column as texts: "." for missing.
std::vector<std::string> shown(const limen::Column& column) {
  std::vector<std::string> texts;
  if (const NumberValues* values = std::get_if<NumberValues>(&column.values)) {
    for (const double value : *values) texts.push_back(std::isnan(value) ? "." : std::to_string(value).substr(0, 4));
    return texts;
  }
  const TextValues& text = std::get<TextValues>(column.values);
  for (const std::int32_t code : text.code) {
    texts.push_back(code == TextValues::kMissing ? "." : text.distinct.at(static_cast<std::size_t>(code)));
  }
  return texts;
}

class Frames : public ::testing::Test {
 protected:
  // All rows of some files, column by column; the names in front.
  std::vector<std::vector<std::string>> read(const std::vector<std::string>& paths,
                                             const FrameReadOptions& options = {}) {
    std::vector<std::vector<std::string>> columns;
    result_ = for_each_frame(paths, options, [&](const Frame& frame) {
      columns.resize(frame.columns.size());
      for (std::size_t column = 0; column < columns.size(); ++column) {
        if (columns[column].empty()) columns[column] = {frame.columns[column].name};
        EXPECT_EQ(columns[column].front(), frame.columns[column].name);
        for (std::string& value : shown(frame.columns[column])) columns[column].push_back(std::move(value));
      }
    });
    return columns;
  }
  std::vector<std::vector<std::string>> read_text(const std::string& text, const FrameReadOptions& options = {}) {
    return read({folder_.write("in.csv", text)}, options);
  }
  std::string refusal(const std::string& text, const FrameReadOptions& options = {}) {
    return folder_.without_folder(test::message_of<InvalidInput>([&] { read_text(text, options); }));
  }
  std::string append(const std::string& text, const AppendColumnsOptions& options,
                     const std::string& output = "out.csv") {
    append_columns({folder_.write("in.csv", text)}, folder_.path(output), options,
                   {{"n", AddedType::kInt64}, {"x", AddedType::kDouble}}, number_rows_);
    return folder_.read(output);
  }

  // n: the number of the row. x: the first wanted column by half, when there is one.
  const FillColumns number_rows_ = [](const Frame& frame, std::span<AddedValues> added, std::span<std::uint8_t>) {
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      std::get<std::vector<std::int64_t>>(added[0])[row] = static_cast<std::int64_t>(row) + 1;
      if (frame.columns.empty()) continue;
      std::get<std::vector<double>>(added[1])[row] = std::get<NumberValues>(frame.columns[0].values)[row] / 2;
    }
  };

  test::TemporaryFolder folder_;
  RowCounts result_;
};

TEST_F(Frames, TellsNumbersFromText) {
  const std::string path = folder_.write("in.csv", "a,b,c,d,e\n1,x,,1,?\nNA, y ,,2.5,3\n-3e1,\"z, w\",none,4x,4\n");
  EXPECT_THAT(describe_columns({path}),
              ElementsAre(ColumnInfo{"a", ColumnKind::kNumber}, ColumnInfo{"b", ColumnKind::kText},
                          ColumnInfo{"c", ColumnKind::kNumber}, ColumnInfo{"d", ColumnKind::kText},
                          ColumnInfo{"e", ColumnKind::kText}));
  EXPECT_EQ(describe_columns({path}, {.read = {.missing = {"?"}}, .text_columns = {"a"}})[0].kind, ColumnKind::kText);
  EXPECT_EQ(describe_columns({path}, {.read = {.missing = {"?"}}})[4].kind, ColumnKind::kNumber);
  EXPECT_THAT(read({path}), ElementsAre(ElementsAre("a", "1.00", ".", "-30."), ElementsAre("b", "x", "y", "z, w"),
                                        ElementsAre("c", ".", ".", "."), ElementsAre("d", "1", "2.5", "4x"),
                                        ElementsAre("e", "?", "3", "4")));
  EXPECT_EQ(result_.rows, 3u);
}

TEST_F(Frames, ReadsTheWantedColumnsInTheirOrderAndKind) {
  EXPECT_THAT(read_text("a,b,c\n1,2,3\n4,5,6\n", {.columns = {"c", "a"}, .text_columns = {"a"}}),
              ElementsAre(ElementsAre("c", "3.00", "6.00"), ElementsAre("a", "1", "4")));
}

TEST_F(Frames, ReadsTextWithoutAHeaderAndOtherSeparators) {
  EXPECT_THAT(read_text("1;x\n2;y\n", {.read = {.separator = ';', .has_header = false, .names = {"n", "t"}}}),
              ElementsAre(ElementsAre("n", "1.00", "2.00"), ElementsAre("t", "x", "y")));
  EXPECT_THAT(read_text("1;x\n", {.read = {.separator = ';', .has_header = false}}),
              ElementsAre(ElementsAre("column1", "1.00"), ElementsAre("column2", "x")));
  EXPECT_THAT(read_text("a,b\n1,x\n", {.read = {.names = {"n", "t"}}}),
              ElementsAre(ElementsAre("n", "1.00"), ElementsAre("t", "x")));
  EXPECT_EQ(refusal("1,2,3\n", {.read = {.has_header = false, .names = {"a", "b"}}}),
            "in.csv: the first line has 3 fields, but 2 names of columns are given");
  EXPECT_EQ(refusal("1,2\n3\n", {.read = {.has_header = false}}), "in.csv: line 2 has 1 field, the first line has 2");
  EXPECT_THAT(refusal("a\n1\n", {.read = {.separator = '"'}}), HasSubstr("separator"));
}

TEST_F(Frames, RefusesWhatIsNotANumberWithAdvice) {
  // Beyond the megabyte that is looked at, so that the column passes for one of numbers.
  std::string text = "code,y\n";
  for (int row = 0; row < 300'000; ++row) text += "12345,1\n";
  EXPECT_EQ(refusal(text + "A7,1\n"), "in.csv: line 300002: column \"code\": \"A7\" is not a number");
  EXPECT_EQ(read_text(text + "A7,1\n", {.columns = {"code"}, .text_columns = {"code"}})[0].back(), "A7");
}

TEST_F(Frames, NamesTheNearestColumn) {
  EXPECT_EQ(refusal("origin,delay\nA,1\n", {.columns = {"orgin"}}),
            "in.csv: column \"orgin\": there is no such column; did you mean \"origin\"?");
  EXPECT_EQ(refusal("a,b\nA,1\n", {.columns = {"weather"}}),
            "in.csv: column \"weather\": there is no such column; the columns are: a, b");
  EXPECT_EQ(refusal("a,b\n1,2\n", {.text_columns = {"a"}, .number_columns = {"a"}}),
            "column \"a\" cannot be both text and number");
}

TEST_F(Frames, RowsWithMissingValuesAreKeptRefusedOrDropped) {
  const std::string text = "a,t\n1,x\n?,y\n3,\ninf,z\n";
  const FrameReadOptions keep = {.read = {.missing = {"?"}}};
  EXPECT_THAT(read_text(text, keep),
              ElementsAre(ElementsAre("a", "1.00", ".", "3.00", "."), ElementsAre("t", "x", "y", ".", "z")));
  FrameReadOptions drop = keep;
  drop.missing_rule = MissingRule::kDrop;
  EXPECT_THAT(read_text(text, drop), ElementsAre(ElementsAre("a", "1.00"), ElementsAre("t", "x")));
  EXPECT_EQ(result_.rows_dropped, 3u);
  FrameReadOptions refuse = keep;
  refuse.missing_rule = MissingRule::kRefuse;
  EXPECT_EQ(refusal(text, refuse), "in.csv: line 3: column \"a\": \"?\" is a missing value");
  EXPECT_EQ(refusal("a\n", keep), "in.csv: has a header but no rows");
}

TEST_F(Frames, SeveralFilesAndStdinAreOneTable) {
  const std::string first = folder_.write("1.csv", "a,b\n1,x\n");
  const std::string second = folder_.write("2.csv", "b,a\ny,two\n");
  EXPECT_THAT(read({first, second}, {.columns = {"a", "b"}}),
              ElementsAre(ElementsAre("a", "1", "two"), ElementsAre("b", "x", "y")));
  EXPECT_EQ(folder_.without_folder(test::message_of<InvalidInput>([&] {
    read({first, second});
  })),
            "2.csv: has other columns than " + std::string("1.csv (several inputs must have the same columns)"));
  const test::Redirect stdin_from(0, ::open(second.c_str(), O_RDONLY));
  EXPECT_THAT(read({first, "-"}, {.columns = {"a"}}), ElementsAre(ElementsAre("a", "1", "two")));
  EXPECT_EQ(test::message_of<InvalidInput>([&] { (void)describe_columns({"-"}); }),
            "<stdin>: can be read only once; give a file");
}

TEST_F(Frames, LargeFilesComeInTheSameBatchesEachTime) {
  std::mt19937 random(1);
  std::string text = "id,t,x\n";
  const int num_rows = 1'500'000;
  std::vector<std::uint64_t> expected;
  for (int row = 0; row < num_rows; ++row) {
    expected.push_back(random() % 1000);
    text += std::to_string(row) + ",t" + std::to_string(expected.back()) + ",0.5\n";
  }
  const std::string path = folder_.write("in.csv", text);
  std::vector<std::vector<std::size_t>> sizes(2);
  for (std::vector<std::size_t>& batches : sizes) {
    std::size_t row = 0;
    bool is_right = true;
    for_each_frame({path}, {.columns = {"t", "id"}}, [&](const Frame& frame) {
      batches.push_back(frame.num_rows);
      const TextValues& names = std::get<TextValues>(frame.columns[0].values);
      for (std::size_t at = 0; at < frame.num_rows; ++at, ++row) {
        is_right = is_right && std::get<NumberValues>(frame.columns[1].values)[at] == static_cast<double>(row) &&
                   names.distinct[static_cast<std::size_t>(names.code[at])] == "t" + std::to_string(expected[row]);
      }
    });
    EXPECT_EQ(row, static_cast<std::size_t>(num_rows));
    EXPECT_TRUE(is_right);
  }
  EXPECT_EQ(sizes[0], sizes[1]);
  EXPECT_GT(sizes[0].size(), 1u);
  EXPECT_THROW(for_each_frame({path}, {}, [](const Frame&) { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST_F(Frames, AppendsColumnsAndKeepsFieldsAsWritten) {
  const AppendColumnsOptions all = {.read = {.columns = {"b"}}};
  EXPECT_EQ(append("a,b\n\"x,y\", 1\n z,NA\n", all), "a,b,n,x\n\"x,y\", 1,1,0.5\n z,NA,2,\n");
  EXPECT_EQ(append("a,b\n1,2\n", {}), "a,b,n,x\n1,2,1,0\n");
  EXPECT_EQ(append("a,b,c\n1,2,3\n", {.read = {.columns = {"b"}}, .keep = {{"c", "a"}}}), "a,c,n,x\n1,3,1,1\n");
  EXPECT_EQ(append("b\n3\n", {.read = {.columns = {"b"}}, .keep = {std::vector<std::string>{}}}), "n,x\n1,1.5\n");
  EXPECT_EQ(append("3;\"u\"\n", {.read = {.read = {.separator = ';', .has_header = false}, .columns = {"column1"}}}),
            "column1,column2,n,x\n3,\"u\",1,1.5\n");
  EXPECT_EQ(append("a;b\nx,\"y;z\n", {.read = {.read = {.separator = ';'}, .columns = {}}}, "out.tsv"),
            "a\tb\tn\tx\nx,\"y\tz\t1\t0\n");
  EXPECT_EQ(append("a;b\nx,\"y;z\n", {.read = {.read = {.separator = ';'}}}), "a,b,n,x\n\"x,\"\"y\",z,1,0\n");
}

TEST_F(Frames, AppendTellsTheKindsOfStdinByItsBeginning) {
  const std::string path = folder_.write("in.csv", "b,t\n3,x\n");
  const test::Redirect stdin_from(0, ::open(path.c_str(), O_RDONLY));
  append_columns("-", folder_.path("out.csv"), {.read = {.columns = {"b"}}},
                 {{"n", AddedType::kInt64}, {"x", AddedType::kDouble}}, number_rows_);
  EXPECT_EQ(folder_.read("out.csv"), "b,t,n,x\n3,x,1,1.5\n");
}

TEST_F(Frames, AppendReplacesColumnsOfAddedNamesWhenAsked) {
  EXPECT_EQ(append("n,a,x\n7,1,8\n", {.replace = true}), "a,n,x\n1,1,0\n");
  // What is replaced can be read.
  EXPECT_EQ(append("n,a\n7,1\n", {.read = {.columns = {"n"}, .number_columns = {"n"}}, .replace = true}),
            "a,n,x\n1,1,3.5\n");
  EXPECT_EQ(append("n,a\n7,1\n", {.keep = {{"n", "a"}}, .replace = true}), "a,n,x\n1,1,0\n");
}

TEST_F(Frames, RequireNewColumnsLooksAtNamesOnly) {
  const std::string path = folder_.write("in.csv", "a,n\nbroken\n");
  const std::vector<AddedColumn> added = {{"m"}, {"n"}};
  EXPECT_EQ(folder_.without_folder(test::message_of<InvalidInput>([&] { require_new_columns(path, {}, added); })),
            "in.csv: already has a column \"n\"");
  EXPECT_NO_THROW(require_new_columns(path, {.replace = true}, added));
  EXPECT_NO_THROW(require_new_columns(path, {.keep = {{"a"}}}, added));
  EXPECT_NO_THROW(require_new_columns(path, {}, {{"m"}}));
  EXPECT_NO_THROW(require_new_columns("-", {}, added));
}

TEST_F(Frames, AppendRefusesAndLeavesNothingBehind) {
  const auto refused = [&](const std::string& text, const AppendColumnsOptions& options) {
    return folder_.without_folder(test::message_of<InvalidInput>([&] { append(text, options); }));
  };
  EXPECT_EQ(refused("a,n\n1,2\n", {}), "in.csv: already has a column \"n\"");
  EXPECT_EQ(refused("a\n1\n", {.keep = {{"aa"}}}),
            "in.csv: column \"aa\": there is no such column; did you mean \"a\"?");
  EXPECT_EQ(refused("a\n1\nx\n", {.read = {.columns = {"a"}, .number_columns = {"a"}}}),
            "in.csv: line 3: column \"a\": \"x\" is not a number");
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("in.csv"));
  // A column that is not kept may have the name of an added one.
  EXPECT_EQ(append("a,n\n1,2\n", {.keep = {{"a"}}}), "a,n,x\n1,1,0\n");
}

}  // namespace
}  // namespace limen::table
