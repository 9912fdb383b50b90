// SPDX-License-Identifier: MIT
#include "csv_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

// First `wanted` in [begin, end), or end.
const char* find(const char* begin, const char* end, char wanted) {
  const void* found = begin == end ? nullptr : std::memchr(begin, wanted, static_cast<std::size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

}  // namespace

CsvRows::CsvRows(const std::string& name, char separator, std::size_t max_record_bytes, const CsvBlock& block,
                 const CsvPlace& place)
    : name_(name), separator_(separator), max_record_bytes_(max_record_bytes), block_(block), place_(place) {
  begin_ = block_.bytes.data() + block_.begin;
  end_ = block_.bytes.data() + block_.bytes.size();
  quote_ = find(begin_, end_, '"');
  const char* const nul = find(begin_, end_, '\0');
  if (nul != end_) refuse("line " + std::to_string(line_of(nul)) + " has a NUL byte: looks like a binary file");
}

const CsvRow* CsvRows::next() {
  while (begin_ != end_) {
    split_record();
    if (row_.fields.size() == 1 && trimmed(row_.text).empty()) {
      if (place_.blank_line == 0) place_.blank_line = row_.line;
      continue;
    }
    if (place_.blank_line != 0) {
      refuse("line " + std::to_string(place_.blank_line) + " is blank, but more rows follow");
    }
    return &row_;
  }
  return nullptr;
}

// Splits the record at begin_ into row_ and moves begin_ behind it.
void CsvRows::split_record() {
  if (quote_ < begin_) quote_ = find(begin_, end_, '"');
  const char* const newline = find(begin_, end_, '\n');
  if (quote_ < newline) {
    split_quoted();
  } else {
    if (newline == end_ && block_.is_record_start) refuse_long_record(nullptr);
    split_plain(newline);
  }
}

void CsvRows::split_plain(const char* newline) {
  const char* stop = newline;
  if (stop != begin_ && stop[-1] == '\r') --stop;
  fields_.clear();
  const char* field = begin_;
  while (true) {
    const char* const field_end = find(field, stop, separator_);
    fields_.emplace_back(field, static_cast<std::size_t>(field_end - field));
    if (field_end == stop) break;
    field = field_end + 1;
  }
  finish_record(newline);
}

void CsvRows::split_quoted() {
  const char* const begin = begin_;
  fields_.clear();
  const char* at = begin;
  while (true) {
    const char* const field = at;
    if (at != end_ && *at == '"') {
      // Each turn starts on a quote that is not the closing one: the opening quote, or the second of a doubled pair.
      while (true) {
        at = find(at + 1, end_, '"');
        if (at == end_) {
          if (block_.is_record_start) refuse_long_record(field);
          refuse("the quote opened on line " + std::to_string(line_of(field)) + " is not closed");
        }
        ++at;
        if (at == end_ || *at != '"') break;
      }
      if (at != end_ && *at == '\r' && (at + 1 == end_ || at[1] == '\n')) ++at;
      if (at != end_ && *at != separator_ && *at != '\n') {
        refuse("line " + std::to_string(line_of(at)) + ", field " + std::to_string(fields_.size() + 1) +
               " has text after its closing quote (a quote inside a quoted field is written twice)");
      }
    } else {
      while (at != end_ && *at != separator_ && *at != '\n') ++at;
    }
    const bool is_last = at == end_ || *at == '\n';
    const char* const field_end = is_last && at != field && at[-1] == '\r' ? at - 1 : at;
    fields_.emplace_back(field, static_cast<std::size_t>(field_end - field));
    if (is_last) break;
    ++at;
  }
  if (at == end_ && block_.is_record_start) refuse_long_record(nullptr);
  finish_record(at);
  place_.line += static_cast<std::uint64_t>(std::count(begin, at, '\n'));
}

// `stop` is the LF that ends the record, or the end of the file.
void CsvRows::finish_record(const char* stop) {
  const char* const text_end = fields_.back().data() + fields_.back().size();
  const bool has_newline = stop != end_;
  row_.text = std::string_view(begin_, static_cast<std::size_t>(text_end - begin_));
  row_.line = place_.line;
  row_.fields = fields_;
  ended_with_crlf_ = has_newline && text_end != stop;
  begin_ = stop + (has_newline ? 1 : 0);
  place_.line += 1;
}

void CsvRows::refuse(const std::string& what) const { throw InvalidInput(name_, what); }

void CsvRows::refuse_long_record(const char* open_quote) const {
  const std::string what = "the record on line " + std::to_string(place_.line) + " is longer than " +
                           std::to_string(max_record_bytes_ >> 20) + " MiB";
  if (open_quote == nullptr) refuse(what);
  refuse(what + " (probably the quote opened on line " + std::to_string(line_of(open_quote)) + " is not closed)");
}

// Of a position in the block at or after begin_.
std::uint64_t CsvRows::line_of(const char* position) const {
  return place_.line + static_cast<std::uint64_t>(std::count(begin_, position, '\n'));
}

std::string_view without_quotes(std::string_view field, std::string& scratch) {
  field = field.substr(1, field.size() - 2);
  if (field.find('"') == std::string_view::npos) return field;
  scratch.clear();
  for (std::size_t at = 0; at < field.size(); ++at) {
    scratch += field[at];
    if (field[at] == '"') ++at;
  }
  return scratch;
}

}  // namespace limen::table::detail
