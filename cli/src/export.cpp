// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flags.h"
#include "limen/base/error.h"
#include "limen/base/in_table.h"
#include "limen/deploy/c_header.h"
#include "limen/deploy/onnx.h"
#include "limen/deploy/sql.h"
#include "limen/fit/classes.h"
#include "limen/judge/calibration_set.h"
#include "limen/table/output_file.h"
#include "options.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct ExportFlags {
  std::string boundary;
  std::string to;
  std::string output = "-";
  std::string what = "decision";
  std::string dialect = "ansi";
  std::string score, uncertainty, segment, table;
  std::string name = CHeaderOptions{}.name;
  bool single = false;
  bool as_column = false;
  int opset = OnnxOptions{}.opset;
  int ir_version = 0;
};

/// "db.schema.table" as its parts.
std::vector<std::string> table_parts(const std::string& table) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= table.size();) {
    const std::size_t end = std::min(table.find('.', begin), table.size());
    parts.push_back(table.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Throws InvalidInput for flags that another kind of export has.
void check_flags(const CLI::App& verb, const std::string& to) {
  struct Known {
    const char* flag;
    std::string_view kinds;
  };
  constexpr Known kKnown[] = {{"--dialect", " sql "},
                              {"--what", " sql spark "},
                              {"--table", " sql spark "},
                              {"--score", " sql spark onnx "},
                              {"--uncertainty", " sql spark onnx "},
                              {"--segment", " sql spark onnx "},
                              {"--name", " c "},
                              {"--single", " onnx "},
                              {"--as-column", " onnx "},
                              {"--opset", " onnx "},
                              {"--ir-version", " onnx "}};
  for (const Known& known : kKnown) {
    if (verb.count(known.flag) == 0 || known.kinds.find(" " + to + " ") != std::string_view::npos) continue;
    throw InvalidInput(known.flag, fmt::format("is not for --to {}", to));
  }
}

std::string sql_of(const Boundary& boundary, const ExportFlags& flags, const CLI::App& verb) {
  const auto given = [&](const char* flag, const std::string& value) {
    return verb.count(flag) > 0 ? std::optional(value) : std::nullopt;
  };
  SqlOptions options;
  options.dialect = flags.to == "spark" ? SqlDialect::kSpark : parse_sql_dialect(flags.dialect);
  options.part = parse_sql_part(flags.what);
  options.score = given("--score", flags.score);
  options.uncertainty = given("--uncertainty", flags.uncertainty);
  options.segment = given("--segment", flags.segment);
  if (options.part == SqlPart::kQuery) {
    if (verb.count("--table") == 0) throw InvalidInput("--what", "query needs the name of a table: give --table");
    options.table = table_parts(flags.table);
  } else if (verb.count("--table") > 0) {
    throw InvalidInput("--table", "is for --what query");
  }
  return to_sql(boundary, options) + (options.part == SqlPart::kQuery ? ";\n" : "\n");
}

std::string onnx_of(const Boundary& boundary, const ExportFlags& flags, const CLI::App& verb) {
  OnnxOptions options;
  options.single_precision = flags.single;
  options.as_column = flags.as_column;
  options.opset = flags.opset;
  if (verb.count("--ir-version") > 0) options.ir_version = flags.ir_version;
  if (verb.count("--score") > 0) options.score = flags.score;
  if (verb.count("--uncertainty") > 0) options.uncertainty = flags.uncertainty;
  if (verb.count("--segment") > 0) {
    if (!boundary.segments) throw InvalidInput("--segment", "is given, but the boundary has no segments");
    options.segment = flags.segment;
  }
  return to_onnx(boundary, options);
}

int run(const ExportFlags& flags, const CLI::App& verb) {
  check_flags(verb, flags.to);
  const std::string text = read_json_text(flags.boundary, "boundary");
  const std::string name = shown(flags.boundary);
  if (is_calibration_json(text)) {
    throw InvalidInput(name, "is a calibration file, which has no decision; export takes a boundary of limen fit");
  }
  if (is_classes_json(text)) {
    throw InvalidInput(name, "is a file of several classes, which export does not take yet; limen apply decides by it");
  }
  const Boundary boundary = in_table(name, [&] { return boundary_from_json(text); });
  const std::unique_ptr<table::OutputFile> output = open_output(flags.output, {flags.boundary});
  output->write(flags.to == "c"      ? to_c_header(boundary, {.name = flags.name})
                : flags.to == "onnx" ? onnx_of(boundary, flags, verb)
                                     : sql_of(boundary, flags, verb));
  output->commit();
  return kDone;
}

}  // namespace

void add_export(CLI::App& program, Action& action) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* verb = program.add_subcommand("export", "The rule where the data is: SQL, Spark, C or ONNX");
  verb->add_option("BOUNDARY", flags->boundary, "Boundary file of limen fit; - for stdin")->required();
  FlagGroup group(*verb);
  group.choice("--to", flags->to, "KIND", {"sql", "c", "spark", "onnx"}, "sql, spark, c or onnx")->required();
  group.add("-o,--output", flags->output, "FILE", "Where to write it, - for stdout");
  FlagGroup sql(*verb, "SQL and Spark");
  sql.choice("--dialect", flags->dialect, "NAME",
             {"ansi", "spark", "duckdb", "postgres", "bigquery", "snowflake", "trino"},
             "ansi, spark, duckdb, postgres, bigquery, snowflake or trino; --to spark is its own");
  sql.choice(
      "--what", flags->what, "PART", {"decision", "level", "reason", "review", "query"},
      "An expression for decision (1 or 0), level, reason (a text) or review; or query, a SELECT of all of them");
  sql.add("--table", flags->table, "NAME", "With --what query: the table, its schema before it with a point");
  FlagGroup columns(*verb, "Columns; in ONNX, inputs");
  columns.add("--score", flags->score, "COLUMN", "Name of the score [as the boundary names it; in ONNX score]");
  columns.add("--uncertainty", flags->uncertainty, "COLUMN", "Name of the uncertainty [likewise]");
  columns.add("--segment", flags->segment, "COLUMN", "Name of the segment, for a boundary that has some [likewise]");
  FlagGroup c(*verb, "C");
  c.add("--name", flags->name, "NAME", "Of the function");
  FlagGroup onnx(*verb, "ONNX");
  onnx.toggle("--single", flags->single, "Inputs are single precision (float32), not double");
  onnx.toggle("--as-column", flags->as_column, "Inputs and outputs have the shape [N, 1], not [N]");
  onnx.add("--opset", flags->opset, "N", "Version of the operators");
  onnx.add("--ir-version", flags->ir_version, "N", "Version of the format [the one that came with the opset]")
      ->default_str("");
  verb->footer(
      "Example: limen export b.json --to sql --dialect duckdb --what query --table predictions\n"
      "         limen export b.json --to c --name is_fraud -o is_fraud.h\n"
      "         limen export b.json --to onnx -o rule.onnx\n"
      "Every row is decided as limen apply decides it, bit for bit. Where apply refuses a row (a value that is "
      "missing, NaN "
      "or\n"
      "infinite) SQL gives NULL, C and ONNX give -1. Names of columns are quoted: give them as the engine has them.");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
