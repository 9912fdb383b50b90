// SPDX-License-Identifier: MIT
#include "frame_flags.h"

#include <fmt/format.h>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "progress.h"

namespace limen::cli {
namespace {

constexpr const char* kGroup = "Table";

void add_list(CLI::App& verb, const char* name, std::vector<std::string>& values, const char* help) {
  verb.add_option(name, values, help)->type_name("A,B")->delimiter(',')->allow_extra_args(false)->group(kGroup);
}

}  // namespace

void add_read_flags(CLI::App& verb, ReadFlags& flags) {
  add_list(verb, "--missing", flags.missing, "More values that mean missing, such as ?");
  verb.add_flag("--drop-missing", flags.drop_missing,
                "Leave out rows with a missing or impossible value, and say how many")
      ->group(kGroup);
  verb.add_option("--format", flags.format, "csv, tsv, parquet or arrow; default: by the file's extension")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"csv", "tsv", "parquet", "arrow"}).description(""))
      ->group(kGroup);
  verb.add_option("--separator", flags.separator, "Between the fields of CSV: one character, or tab")
      ->type_name("C")
      ->group(kGroup);
  verb.add_flag("--no-header", flags.no_header, "The first line of CSV is data: columns are column1, column2 ...")
      ->group(kGroup);
  add_list(verb, "--names", flags.names, "Names of the columns of CSV, in place of those of the header");
}

std::optional<table::Format> parse_format(const std::string& text) {
  if (text == "csv") return table::Format::kCsv;
  if (text == "tsv") return table::Format::kTsv;
  if (text == "parquet") return table::Format::kParquet;
  if (text == "arrow") return table::Format::kArrow;
  return std::nullopt;
}

table::ReadOptions read_options(const ReadFlags& flags, const std::string& name) {
  table::ReadOptions options;
  options.format = parse_format(flags.format);
  if (flags.separator == "tab" || flags.separator == "\\t") {
    options.separator = '\t';
  } else if (flags.separator.size() == 1) {
    options.separator = flags.separator[0];
  } else if (!flags.separator.empty()) {
    throw InvalidInput("--separator", limen::quoted(flags.separator) + " is not one character, nor tab");
  }
  options.has_header = !flags.no_header;
  options.names = flags.names;
  options.missing = flags.missing;
  if (!name.empty()) options.progress = progress_line(name);
  return options;
}

void add_label_flags(CLI::App& verb, LabelFlags& flags) {
  CLI::Option* const value =
      verb.add_option("--positive", flags.positive, "The label that is positive, such as yes; the others are negative")
          ->type_name("VALUE")
          ->group(kGroup);
  verb.add_option("--positive-if", flags.positive_if, "Labels are numbers, positive where this holds, such as \">30\"")
      ->type_name("COMPARISON")
      ->excludes(value)
      ->group(kGroup);
}

LabelRule label_rule(const LabelFlags& flags) {
  if (!flags.positive.empty()) return positive_value(flags.positive);
  if (flags.positive_if.empty()) return {};
  try {
    return positive_if(flags.positive_if);
  } catch (const InvalidInput& error) {
    throw InvalidInput("--positive-if", error.problem());
  }
}

void add_frame_flags(CLI::App& verb, FrameFlags& flags) {
  add_list(verb, "--categorical", flags.categorical, "Columns to read as text though they look like numbers");
  add_read_flags(verb, flags);
}

table::FrameReadOptions frame_options(const FrameFlags& flags, const std::string& name) {
  return {.read = read_options(flags, name)};
}

}  // namespace limen::cli
