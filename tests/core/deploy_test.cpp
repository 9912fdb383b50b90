// SPDX-License-Identifier: MIT
//
// What is written; that engines decide by it as the library does is tested in python/tests/test_deploy.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "limen/deploy/c_header.h"
#include "limen/deploy/onnx.h"
#include "limen/deploy/sql.h"
#include "limen/solve/segments.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::refusal_of;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr SqlDialect kDialects[] = {SqlDialect::kAnsi,     SqlDialect::kSpark,    SqlDialect::kDuckdb,
                                    SqlDialect::kPostgres, SqlDialect::kBigquery, SqlDialect::kSnowflake,
                                    SqlDialect::kTrino};

Boundary make(Rule rule) {
  Boundary boundary;
  boundary.rule = std::move(rule);
  return boundary;
}

Boundary make_segment(const std::string& value) {
  Boundary boundary;
  boundary.segments = Segments{};
  boundary.segments->column = "market";
  boundary.segments->own.push_back({.value = value, .rule = {{}, {0.5}}});
  return boundary;
}

/// The expression of the level, in which texts of no column but uncertainty's are.
std::string level_of(const std::string& uncertainty, SqlDialect dialect) {
  return to_sql(make({{}, {0.5}}), {.dialect = dialect, .part = SqlPart::kLevel, .uncertainty = uncertainty});
}

std::string text_of(const std::string& value, SqlDialect dialect) {
  const std::string sql = to_sql(make_segment(value), {.dialect = dialect, .part = SqlPart::kLevel});
  const std::size_t begin = sql.find(" = ") + 3;
  return sql.substr(begin, sql.rfind(" THEN 0") - begin);
}

// Level 0 below 0.25 is flagged from 0.5 on, level 1 never.
TEST(ToSql, WritesGuardLevelsAndThreshold) {
  const Boundary boundary = make({{0.25}, {0.5, std::nullopt}});
  EXPECT_EQ(to_sql(boundary, {.dialect = SqlDialect::kSpark}),
            "CASE WHEN CAST(`score` AS DOUBLE) BETWEEN -1.7976931348623157e+308D AND 1.7976931348623157e+308D\n"
            " AND CAST(`uncertainty` AS DOUBLE) BETWEEN -1.7976931348623157e+308D AND 1.7976931348623157e+308D\n"
            "THEN CASE WHEN CAST(`score` AS DOUBLE) >= CASE\n"
            "    WHEN CAST(`uncertainty` AS DOUBLE) < 0.25D THEN 0.5D\n"
            "    ELSE CAST(NULL AS DOUBLE)\n"
            "  END THEN 1 ELSE 0 END\n"
            "END");
  EXPECT_EQ(to_sql(boundary, {.dialect = SqlDialect::kDuckdb, .part = SqlPart::kLevel, .uncertainty = "u"}),
            "CASE WHEN CAST(\"u\" AS DOUBLE) BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308\n"
            "THEN CASE\n"
            "  WHEN CAST(\"u\" AS DOUBLE) < 0.25E0 THEN 0\n"
            "  ELSE 1\n"
            "END\n"
            "END");
}

TEST(ToSql, WritesNumbersThatAreDoublesInEachDialect) {
  const auto threshold = [](double value, SqlDialect dialect) {
    const std::string sql = to_sql(make({{}, {value}}), {.dialect = dialect});
    const std::size_t begin = sql.find(" >= ") + 4;
    return sql.substr(begin, sql.find(" THEN 1") - begin);
  };
  for (const SqlDialect dialect : {SqlDialect::kDuckdb, SqlDialect::kBigquery, SqlDialect::kTrino}) {
    EXPECT_EQ(threshold(0.1, dialect), "0.1E0");
    EXPECT_EQ(threshold(3, dialect), "3E0");
    EXPECT_EQ(threshold(-0.0, dialect), "0E0");
    EXPECT_EQ(threshold(5e-324, dialect), "5e-324");
  }
  EXPECT_EQ(threshold(-1e308, SqlDialect::kSpark), "-1e+308D");
  EXPECT_EQ(threshold(0.1, SqlDialect::kPostgres), "CAST('0.1' AS DOUBLE PRECISION)");
  EXPECT_EQ(threshold(0.1, SqlDialect::kAnsi), "CAST('0.1' AS DOUBLE PRECISION)");
  EXPECT_EQ(threshold(0.1, SqlDialect::kSnowflake), "CAST('0.1' AS DOUBLE)");
}

TEST(ToSql, QuotesNamesInEachDialect) {
  const std::string hostile = "a\"b`c\\d;--\n";
  for (const SqlDialect dialect : kDialects) {
    const std::string sql = level_of(hostile, dialect);
    const std::string name = dialect == SqlDialect::kSpark      ? "`a\"b``c\\d;--\n`"
                             : dialect == SqlDialect::kBigquery ? "`a\"b\\`c\\\\d;--\\u000a`"
                                                                : "\"a\"\"b`c\\d;--\n\"";
    EXPECT_THAT(sql, HasSubstr("CAST(" + name + " AS ")) << to_string(dialect);
  }
}

TEST(ToSql, EscapesTextsInEachDialect) {
  const std::string hostile = "it's \\ ${x}";
  EXPECT_EQ(text_of(hostile, SqlDialect::kAnsi), "'it''s \\ ${x}'");
  EXPECT_EQ(text_of(hostile, SqlDialect::kDuckdb), "'it''s \\ ${x}'");
  EXPECT_EQ(text_of(hostile, SqlDialect::kTrino), "'it''s \\ ${x}'");
  EXPECT_EQ(text_of(hostile, SqlDialect::kPostgres), "E'it''s \\\\ ${x}'");
  EXPECT_EQ(text_of(hostile, SqlDialect::kBigquery), "'it\\'s \\\\ ${x}'");
  EXPECT_EQ(text_of(hostile, SqlDialect::kSnowflake), "'it\\'s \\\\ ${x}'");
  EXPECT_EQ(text_of(hostile, SqlDialect::kSpark), "CAST(X'69742773205C20247B787D' AS STRING)");
  EXPECT_EQ(text_of("DE", SqlDialect::kSpark), "'DE'");
  EXPECT_EQ(text_of("a\nb", SqlDialect::kBigquery), "'a\\u000ab'");
}

TEST(ToSql, KeepsTextsOutOfComments) {
  Boundary boundary = make_segment("*/ x \n y");
  boundary.score_column = "s\n; DROP TABLE t; --";
  boundary.chosen_by.emplace().why = "because\n; DROP TABLE t";
  for (const SqlDialect dialect : kDialects) {
    const std::string sql = to_sql(boundary, {.dialect = dialect, .part = SqlPart::kQuery, .table = {"t"}});
    EXPECT_EQ(sql.find("--"), 0U);
    EXPECT_EQ(sql.substr(0, sql.find('\n')).find("DROP"), std::string::npos);
    EXPECT_THAT(sql, Not(HasSubstr("because")));
    EXPECT_THAT(sql, HasSubstr("SELECT limen_rows.*,\n"));
  }
}

TEST(ToSql, ManyLevelsAreABalancedTree) {
  Rule rule;
  for (int edge = 0; edge < 999; ++edge) rule.uncertainty_edges.push_back(edge);
  rule.score_thresholds.resize(1000, 0.5);
  const std::string sql = to_sql(make(rule), {.part = SqlPart::kLevel});
  std::size_t depth = 0;
  std::size_t deepest = 0;
  std::size_t leaves = 0;
  for (std::size_t at = 0; at + 4 < sql.size(); ++at) {
    if (sql.compare(at, 5, "CASE\n") == 0 || sql.compare(at, 5, "CASE ") == 0) deepest = std::max(deepest, ++depth);
    if (sql.compare(at, 4, "\nEND") == 0 || sql.compare(at, 4, " END") == 0) --depth;
    if (sql.compare(at, 4, "WHEN") == 0) ++leaves;
  }
  EXPECT_EQ(leaves, 1000U) << "an edge each, and the guard";
  EXPECT_LE(deepest, 9U) << "1 + 3 for 8 levels in a row, and a halving from 1000 to 8";
}

TEST(ToSql, RefusesWhatCannotBeQuoted) {
  const Boundary boundary = make({{}, {0.5}});
  EXPECT_EQ(refusal_of([&] { (void)to_sql(boundary, {.score = std::string("a\0b", 3)}); }),
            "to_sql: the score column \"a\\x00b\" has a NUL, which cannot be exported");
  EXPECT_EQ(refusal_of([&] { (void)to_sql(boundary, {.score = "\xff"}); }),
            "to_sql: the score column \"\\xff\" is not UTF-8");
  EXPECT_EQ(refusal_of([&] { (void)to_sql(boundary, {.uncertainty = ""}); }),
            "to_sql: the uncertainty column is empty");
  EXPECT_EQ(refusal_of([&] { (void)to_sql(boundary, {.segment = "market"}); }),
            "to_sql: a segment column is given, but the boundary has no segments");
  EXPECT_EQ(refusal_of([&] { (void)to_sql(boundary, {.part = SqlPart::kReview}); }),
            "to_sql: the boundary has no review");
  EXPECT_EQ(refusal_of([&] { (void)to_sql(boundary, {.part = SqlPart::kQuery}); }),
            "to_sql: a query needs the name of a table");
  EXPECT_THAT(refusal_of([&] { (void)to_sql(make({{2, 1}, {0.5, 0.5, 0.5}})); }), HasSubstr("rule"));
  EXPECT_THAT(refusal_of([&] { (void)to_sql(make_segment(std::string("a\0b", 3))); }), HasSubstr("has a NUL"));
  EXPECT_THAT(refusal_of([] { (void)parse_sql_dialect("oracle"); }),
              HasSubstr("must be one of ansi, spark, duckdb, postgres, bigquery, snowflake, trino"));
}

TEST(ToCHeader, WritesTablesAndFunctions) {
  const std::string header = to_c_header(make({{0.25}, {0.5, std::nullopt}}), {.name = "rule"});
  EXPECT_THAT(header, HasSubstr("#ifndef LIMEN_EXPORT_rule\n#define LIMEN_EXPORT_rule\n"));
  EXPECT_THAT(header, HasSubstr("static inline int rule(double score, double uncertainty) {\n"
                                "  static const double thresholds[] = {0.5, 0.0};\n"
                                "  static const unsigned char is_flagged[] = {1, 0};\n"));
  EXPECT_THAT(header, HasSubstr("static const double edges[] = {0.25};"));
  EXPECT_THAT(header, Not(HasSubstr("#include")));
  EXPECT_EQ(header, to_c_header(make({{0.25}, {0.5, std::nullopt}}), {.name = "rule"}));
}

TEST(ToCHeader, WritesTextsInPrintableAsciiWithoutTrigraphs) {
  const std::string header = to_c_header(make_segment("\xc3\xbc?\?/*/\n\"\\1"));
  EXPECT_THAT(header, HasSubstr("{\"\\303\\274\\?\\?/*/\\012\\\"\\\\1\"}"));
  EXPECT_TRUE(std::ranges::all_of(header, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_THAT(header, Not(HasSubstr("?\?")));
}

TEST(ToCHeader, RefusesNamesThatAreNoneInC) {
  const Boundary boundary = make({{}, {0.5}});
  for (const char* name : {"", "1a", "_a", "a b", "a-b", "a__b", "\xc3\xbc", "a;b", "a*/"}) {
    EXPECT_THAT(refusal_of([&] { (void)to_c_header(boundary, {.name = name}); }), HasSubstr("must be letters, digits"))
        << name;
  }
  for (const char* name : {"int", "class", "main", "restrict", "co_await"}) {
    EXPECT_THAT(refusal_of([&] { (void)to_c_header(boundary, {.name = name}); }), HasSubstr("a word of C or C++"));
  }
  EXPECT_THAT(refusal_of([&] { (void)to_c_header(boundary, {.name = std::string(61, 'a')}); }),
              HasSubstr("at most 60"));
}

/// One field after the other of a message of protocol buffers: its number, and how long it is with its value.
std::vector<unsigned> fields_of(const std::string& message) {
  std::vector<unsigned> fields;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.size()) {
    const std::uint64_t key = varint();
    fields.push_back(static_cast<unsigned>(key >> 3U));
    const std::uint64_t value = varint();
    if ((key & 7U) == 2) at += value;
  }
  EXPECT_EQ(at, message.size());
  return fields;
}

TEST(ToOnnx, IsAModelOfTheSameBytesEachTime) {
  const Boundary boundary = make({{0.25, 0.5}, {0.5, std::nullopt, 0.75}});
  const std::string model = to_onnx(boundary);
  EXPECT_EQ(model, to_onnx(boundary));
  EXPECT_EQ(fields_of(model), (std::vector<unsigned>{1, 2, 3, 7, 8}));
  EXPECT_NE(model, to_onnx(boundary, {.single_precision = true}));
  EXPECT_THAT(model, HasSubstr("GreaterOrEqual"));
  EXPECT_THAT(model, Not(HasSubstr("ai.onnx.ml")));
}

TEST(ToOnnx, RefusesVersionsAndNames) {
  const Boundary boundary = make({{}, {0.5}});
  EXPECT_EQ(refusal_of([&] { (void)to_onnx(boundary, {.opset = 12}); }), "to_onnx: opset is 12, must be 13 to 25");
  EXPECT_EQ(refusal_of([&] { (void)to_onnx(boundary, {.ir_version = 6}); }),
            "to_onnx: ir_version is 6, must be 7 to 13");
  EXPECT_EQ(refusal_of([&] { (void)to_onnx(boundary, {.score = "level"}); }),
            "to_onnx: the score's name and the level's name are equal");
  EXPECT_THAT(refusal_of([&] { (void)to_onnx(boundary, {.score = "limen_x"}); }), HasSubstr("begins with limen_"));
  EXPECT_THAT(refusal_of([&] { (void)to_onnx(make_segment("DE"), {.opset = 18}); }),
              HasSubstr("opset is 18, must be 19 at least"));
  Boundary many = make_segment("a");
  many.segments->pooled = Segment{.value = "", .rule = {{}, {0.5}}};
  for (int value = 0; value < 1000; ++value) many.segments->pooled_values.push_back("v" + std::to_string(1000 + value));
  EXPECT_EQ(refusal_of([&] { (void)to_onnx(many); }),
            "to_onnx: 1001 values of segments are more than 1000, each of which is compared with every row");
}

}  // namespace
}  // namespace limen
