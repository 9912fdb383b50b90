// SPDX-License-Identifier: MIT
#include "csv_file.h"

#include <algorithm>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

char checked_separator(const ReadOptions& options, Format format) {
  const char separator = options.separator.value_or(separator_of(format));
  if (separator == '"' || separator == '\n' || separator == '\r' || separator == '\0') {
    throw InvalidInput("the separator cannot be a quote, a line end or NUL");
  }
  return separator;
}

}  // namespace

CsvFile::CsvFile(const std::shared_ptr<KnownFile>& file, Format format, const ReadOptions& options,
                 const Limits& limits)
    : limits_(limits),
      file_(file),
      bytes_(file_),
      names_{.table = file->name,
             .names = {},
             .separator = checked_separator(options, format),
             .has_header = options.has_header},
      blocks_(file->name, bytes_, names_.separator, limits) {
  while ((first_block_ = blocks_.next())) {
    CsvRows records = rows(*first_block_, start_);
    const CsvRow* const first = records.next();
    if (first == nullptr) {
      start_ = records.place();
      continue;
    }
    read_names(*first, options);
    has_crlf_ = records.ended_with_crlf();
    if (options.has_header) {
      first_block_->begin = records.consumed();
      start_ = records.place();
    }
    return;
  }
  names_.refuse("is empty");
}

void CsvFile::read_names(const CsvRow& first, const ReadOptions& options) {
  if (!options.names.empty()) {
    if (options.names.size() != first.fields.size()) {
      names_.refuse("the first line has " + std::to_string(first.fields.size()) + " fields, but " +
                    std::to_string(options.names.size()) + " names of columns are given");
    }
    for (const std::string& name : options.names) names_.names.emplace_back(trimmed(name));
  } else if (options.has_header) {
    std::string scratch;
    for (const std::string_view field : first.fields) names_.names.emplace_back(trimmed(unquoted(field, scratch)));
    header_text_ = first.text;
    for (const std::string_view field : first.fields) {
      header_fields_.push_back(std::string_view(header_text_)
                                   .substr(static_cast<std::size_t>(field.data() - first.text.data()), field.size()));
    }
  } else {
    for (std::size_t field = 1; field <= first.fields.size(); ++field) {
      names_.names.push_back("column" + std::to_string(field));
    }
  }
}

std::optional<CsvBlock> CsvFile::next_block() {
  if (first_block_) return std::exchange(first_block_, std::nullopt);
  return blocks_.next();
}

void CsvFile::refuse_length(const CsvRow& row) const {
  names_.refuse("line " + std::to_string(row.line) + " has " + std::to_string(row.fields.size()) +
                (row.fields.size() == 1 ? " field" : " fields") +
                (names_.has_header ? ", the header has " : ", the first line has ") +
                std::to_string(names_.names.size()));
}

void CsvFile::refuse_value(const CsvRow& row, std::size_t column, const std::string& problem, Cause cause) const {
  const char* const field = row.fields[column].data();
  const auto line = row.line + static_cast<std::uint64_t>(std::count(row.text.data(), field, '\n'));
  throw InvalidInput(
      Where{.source = names_.table, .place = "line " + std::to_string(line), .column = names_.names[column]}, problem,
      cause);
}

}  // namespace limen::table::detail
