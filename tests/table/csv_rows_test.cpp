// SPDX-License-Identifier: MIT
// Tests the private row splitter, because only there can a chunk be made small enough to end at every place of a
// record.
#include "csv_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bytes.h"
#include "known_file.h"
#include "limen/base/error.h"
#include "support/temporary_folder.h"

namespace limen::table::detail {
namespace {

struct Record {
  std::string text;
  std::uint64_t line = 0;
  std::vector<std::string> values;
  bool operator==(const Record&) const = default;
};

// All records of `text`, one character at a time; empty when the text is to be refused. The slow, obvious reader.
std::optional<std::vector<Record>> oracle(const std::string& text, char separator) {
  if (text.find('\0') != std::string::npos) return std::nullopt;
  std::vector<Record> records;
  bool blank_before = false;
  std::uint64_t line = 1;
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const auto at_line_end = [&] {
    return at == text.size() || text[at] == '\n' ||
           (text[at] == '\r' && (at + 1 == text.size() || text[at + 1] == '\n'));
  };
  while (at < text.size()) {
    Record record{.text = "", .line = line, .values = {}};
    const std::size_t start = at;
    while (true) {
      std::string value;
      if (at < text.size() && text[at] == '"') {
        ++at;
        while (true) {
          if (at == text.size()) return std::nullopt;
          if (text[at] == '"' && at + 1 < text.size() && text[at + 1] == '"') {
            value += '"';
            at += 2;
          } else if (text[at] == '"') {
            ++at;
            break;
          } else {
            if (text[at] == '\n') ++line;
            value += text[at++];
          }
        }
        if (!at_line_end() && text[at] != separator) return std::nullopt;
      } else {
        while (!at_line_end() && text[at] != separator) value += text[at++];
      }
      record.values.push_back(value);
      if (at_line_end()) break;
      ++at;
    }
    record.text = text.substr(start, at - start);
    while (at < text.size() && text[at] != '\n') ++at;
    ++at;
    ++line;
    const bool blank = record.values.size() == 1 && record.text.find_first_not_of(" \t") == std::string::npos;
    if (!blank && blank_before) return std::nullopt;
    blank_before = blank_before || blank;
    if (!blank) records.push_back(record);
  }
  return records;
}

class CsvRowsTest : public ::testing::Test {
 protected:
  std::vector<Record> read(const std::string& text, char separator = ',', const Limits& limits = {}) {
    const OpenFile file(std::make_shared<KnownFile>(KnownFile{.path = folder_.write("t.csv", text), .name = "t.csv"}));
    Bytes bytes(file);
    CsvBlocks blocks("t.csv", bytes, separator, limits);
    std::vector<Record> records;
    std::string scratch;
    CsvPlace place;
    while (const std::optional<CsvBlock> block = blocks.next()) {
      const std::string name = "t.csv";
      CsvRows rows(name, separator, limits.max_record_bytes, *block, place);
      while (const CsvRow* row = rows.next()) {
        Record record{.text = std::string(row->text), .line = row->line, .values = {}};
        for (const std::string_view field : row->fields) record.values.emplace_back(unquoted(field, scratch));
        records.push_back(record);
        crlf_.push_back(rows.ended_with_crlf());
      }
      place = rows.place();
    }
    return records;
  }

  std::string refusal(const std::string& text, const Limits& limits = {}) {
    return folder_.without_folder(test::message_of<InvalidInput>([&] { read(text, ',', limits); }));
  }

  test::TemporaryFolder folder_;
  std::vector<bool> crlf_;  // whether each record read so far ended with CRLF
};

TEST_F(CsvRowsTest, SplitsRecordsAsWritten) {
  struct Case {
    const char* name;
    std::string text;
    std::vector<std::vector<std::string>> values;
  };
  const std::vector<Case> cases = {
      {"nothing", "", {}},
      {"only line ends", "\n\r\n\n", {}},
      {"LF", "a,b\n1,2\n", {{"a", "b"}, {"1", "2"}}},
      {"CRLF", "a,b\r\n1,2\r\n", {{"a", "b"}, {"1", "2"}}},
      {"mixed line ends", "a,b\r\n1,2\n3,4\r\n", {{"a", "b"}, {"1", "2"}, {"3", "4"}}},
      {"no last line end", "a,b\n1,2", {{"a", "b"}, {"1", "2"}}},
      {"CR at the end of the file", "a,b\n1,2\r", {{"a", "b"}, {"1", "2"}}},
      {"CR inside a field", "a\rb,c\n", {{"a\rb", "c"}}},
      {"two CR before LF", "a\r\r\n", {{"a\r"}}},
      {"blank lines at the end", "a\n1\n\n \t \n\r\n", {{"a"}, {"1"}}},
      {"byte order mark",
       "\xef\xbb\xbf"
       "a,b\n",
       {{"a", "b"}}},
      {"byte order mark before a quote", "\xef\xbb\xbf\"a\",b\n", {{"a", "b"}}},
      {"empty fields", ",\n,,\n", {{"", ""}, {"", "", ""}}},
      {"empty quoted field alone", "a\n\"\"\n", {{"a"}, {""}}},
      {"separator in quotes", "\"a,b\",c\n", {{"a,b", "c"}}},
      {"doubled quotes", "\"\"\"a\"\"\",\"\"\"\"\n", {{"\"a\"", "\""}}},
      {"line ends in quotes", "\"a\nb\r\nc\",d\r\n1,2\r\n", {{"a\nb\r\nc", "d"}, {"1", "2"}}},
      {"quoted last field", "a,\"b\"\r\n1,\"2\"", {{"a", "b"}, {"1", "2"}}},
      {"quote inside an unquoted field", "5\" pipe,b\"\n", {{"5\" pipe", "b\""}}},
      {"blank before a quote", "a, \"b\"\n", {{"a", " \"b\""}}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::vector<std::vector<std::string>> values;
    for (const Record& record : read(c.text)) values.push_back(record.values);
    EXPECT_EQ(values, c.values);
  }
}

TEST_F(CsvRowsTest, CountsPhysicalLines) {
  const std::vector<Record> records = read("a\n\"1\n\n\"\n2\r\n\"3\r\n\"\r\n4");
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[1].line, 2u);
  EXPECT_EQ(records[2].line, 5u);
  EXPECT_EQ(records[3].line, 6u);
  EXPECT_EQ(records[4].line, 8u);
}

TEST_F(CsvRowsTest, TellsTheLineEndOfTheLastRecord) {
  (void)read("a\r\n\"b\"\r\nc\n\"d\"\ne\r");
  EXPECT_EQ(crlf_, (std::vector<bool>{true, true, false, false, false}));
}

TEST_F(CsvRowsTest, RefusesWhatIsNotATable) {
  using namespace std::string_literals;
  EXPECT_EQ(refusal("a,b\n1,\"2\n3,4\n"), "t.csv: the quote opened on line 2 is not closed");
  EXPECT_EQ(refusal("a,b\n\"1\n2\",\"3\n"), "t.csv: the quote opened on line 3 is not closed");
  EXPECT_EQ(refusal("a,b\n\"1\n\",\"2\"x\n"),
            "t.csv: line 3, field 2 has text after its closing quote (a quote inside a quoted field is written twice)");
  EXPECT_EQ(refusal("a,b\n\n1,2\n"), "t.csv: line 2 is blank, but more rows follow");
  EXPECT_EQ(refusal("\n\na,b\n"), "t.csv: line 1 is blank, but more rows follow");
  EXPECT_EQ(refusal("a,b\n1,2\n3,\0\n"s), "t.csv: line 3 has a NUL byte: looks like a binary file");
  EXPECT_EQ(refusal("a,b\n\"1\n\0"s), "t.csv: line 3 has a NUL byte: looks like a binary file");
}

TEST_F(CsvRowsTest, NamesTheFormatOfABinaryFile) {
  using namespace std::string_literals;
  EXPECT_EQ(refusal("PAR1\x15\x04\0\0"s), "t.csv: looks like a Parquet file, not text");
  EXPECT_EQ(refusal("ARROW1\0\0\xff\xff"s), "t.csv: looks like an Arrow IPC file, not text");
  EXPECT_EQ(refusal("FEA1\0"s),
            "t.csv: looks like a Feather file of version 1, not text (write it again as Parquet or CSV)");
  EXPECT_EQ(refusal("PK\x03\x04\0"s),
            "t.csv: looks like a zip or .xlsx file, not text (unpack it, or save the sheet as CSV)");
  EXPECT_EQ(refusal("\xff\xfes\0"s), "t.csv: looks like UTF-16 text (save it as UTF-8)");
  EXPECT_EQ(refusal("\xfe\xff\0s"s), "t.csv: looks like UTF-16 text (save it as UTF-8)");
}

TEST_F(CsvRowsTest, RefusesARecordAboveTheLimit) {
  const Limits limits = {.chunk_bytes = 1 << 16, .max_record_bytes = 1 << 20};
  const std::string row = "1,2\n";
  std::string rows;
  while (rows.size() < (2u << 20)) rows += row;
  EXPECT_EQ(refusal("a,b\n1,\"2\n" + rows, limits),
            "t.csv: the record on line 2 is longer than 1 MiB (probably the quote opened on line 2 is not closed)");
  EXPECT_EQ(refusal("a,b\n\"\n\n\",\"2\n" + rows, limits),
            "t.csv: the record on line 2 is longer than 1 MiB (probably the quote opened on line 4 is not closed)");
  EXPECT_EQ(refusal("a,b\n" + std::string(2 << 20, 'x'), limits), "t.csv: the record on line 2 is longer than 1 MiB");
}

TEST_F(CsvRowsTest, TakesALongRecordBelowTheLimit) {
  const Limits limits = {.chunk_bytes = 1 << 10, .max_record_bytes = 1 << 20};
  for (const std::string& field : {std::string((1 << 20) - 3, 'x'), '"' + std::string(900'000, '\n') + '"'}) {
    const std::vector<Record> records = read("a,b\n" + field + ",2\n3,4\n", ',', limits);
    ASSERT_EQ(records.size(), 3u);
    EXPECT_TRUE(records[1].text == field + ",2");
    EXPECT_EQ(records[2].text, "3,4");
  }
}

// Random bytes of an alphabet that is mostly syntax: every way of going wrong comes up, at every place of a chunk.
TEST_F(CsvRowsTest, AgreesWithTheOracleOnRandomTextForAnyChunkSize) {
  constexpr std::array<std::string_view, 11> kPieces = {",",  "\t", "\"", "\"\"", "\n",   "\r\n",
                                                        "\r", "a",  " ",  "12",   "\",\""};
  int accepted = 0;
  int refused = 0;
  int accepted_with_line_end_in_quotes = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t bound) { return random() % bound; };
    std::string text = below(8) == 0 ? "\xef\xbb\xbf" : "";
    for (std::size_t pieces = below(60); pieces > 0; --pieces) text += kPieces[below(kPieces.size())];
    const char separator = below(2) == 0 ? ',' : '\t';
    const Limits limits = {.chunk_bytes = 1 + below(40)};
    const std::optional<std::vector<Record>> expected = oracle(text, separator);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", text " + ::testing::PrintToString(text));
    if (!expected) {
      ++refused;
      EXPECT_THROW(read(text, separator, limits), InvalidInput);
      continue;
    }
    ++accepted;
    accepted_with_line_end_in_quotes += std::ranges::any_of(
        *expected, [](const Record& record) { return record.text.find('\n') != std::string::npos; });
    EXPECT_TRUE(read(text, separator, limits) == *expected);
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 300);
  EXPECT_GT(accepted_with_line_end_in_quotes, 30);
}

// Well-formed tables of random shape: the values that were written are the values that are read.
TEST_F(CsvRowsTest, ReadsBackRandomTablesForAnyChunkSize) {
  constexpr std::array<std::string_view, 9> kPieces = {"a", "0.5", ",", "\"", "\n", "\r\n", "\t", " ", "\xc3\xa9"};
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t bound) { return random() % bound; };
    const std::string line_end = below(2) == 0 ? "\n" : "\r\n";
    const std::size_t num_columns = 2 + below(5);
    const std::size_t num_rows = 1 + below(20);
    std::string text;
    std::vector<std::vector<std::string>> table(num_rows, std::vector<std::string>(num_columns));
    for (auto& row : table) {
      for (std::size_t column = 0; column < num_columns; ++column) {
        std::string& value = row[column];
        for (std::size_t pieces = below(6); pieces > 0; --pieces) value += kPieces[below(kPieces.size())];
        if (column > 0) text += ',';
        if (value.find_first_of(",\"\r\n") == std::string::npos && below(2) == 0) {
          text += value;
          continue;
        }
        text += '"';
        for (const char c : value) text += c == '"' ? std::string("\"\"") : std::string(1, c);
        text += '"';
      }
      if (&row != &table.back() || below(2) == 0) text += line_end;
    }
    std::vector<std::vector<std::string>> values;
    for (Record& record : read(text, ',', {.chunk_bytes = 1 + below(64)})) values.push_back(std::move(record.values));
    ASSERT_EQ(values, table) << "seed " << seed;
    const auto expected = oracle(text, ',');
    ASSERT_TRUE(expected && expected->size() == num_rows) << "seed " << seed;
  }
}

}  // namespace
}  // namespace limen::table::detail
