// SPDX-License-Identifier: MIT
#include "frame_flags.h"

#include <fmt/format.h>

#include "limen/base/error.h"
#include "options.h"

namespace limen::cli {

void add_frame_flags(CLI::App& verb, FrameFlags& flags) {
  const char* const group = "Table";
  verb.add_option("--categorical", flags.categorical, "Columns to read as text though they look like numbers")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  verb.add_option("--missing", flags.missing, "More values that mean missing, such as ?")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  verb.add_option("--format", flags.format, "csv, tsv, parquet or arrow; default: by the file's extension")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"csv", "tsv", "parquet", "arrow"}).description(""))
      ->group(group);
  verb.add_option("--separator", flags.separator, "Between the fields of CSV: one character, or tab")
      ->type_name("C")
      ->group(group);
  verb.add_flag("--no-header", flags.no_header, "The first line of CSV is data: columns are column1, column2 ...")
      ->group(group);
  verb.add_option("--names", flags.names, "Names of the columns of CSV, in place of those of the header")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
}

table::FrameReadOptions frame_options(const FrameFlags& flags, const std::string& name) {
  table::FrameReadOptions options;
  options.format = parse_format(flags.format);
  if (flags.separator == "tab" || flags.separator == "\\t") {
    options.separator = '\t';
  } else if (flags.separator.size() == 1) {
    options.separator = flags.separator[0];
  } else if (!flags.separator.empty()) {
    throw InvalidInput(fmt::format("--separator: \"{}\" is not one character, nor tab", flags.separator));
  }
  options.has_header = !flags.no_header;
  options.names = flags.names;
  options.missing = flags.missing;
  options.progress = progress_line(name);
  return options;
}

}  // namespace limen::cli
