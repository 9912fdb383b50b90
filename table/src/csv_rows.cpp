// SPDX-License-Identifier: MIT
#include "csv_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

constexpr std::size_t kMinChunkBytes = 16;  // holds every signature below

struct Signature {
  std::string_view bytes;
  std::string_view meaning;
};

constexpr std::array<Signature, 6> kSignatures = {{
    {"PAR1", "looks like a Parquet file, not text"},
    {"ARROW1", "looks like an Arrow IPC file, not text"},
    {"FEA1", "looks like a Feather file of version 1, not text (write it again as Parquet or CSV)"},
    {"PK\x03\x04", "looks like a zip or .xlsx file, not text (unpack it, or save the sheet as CSV)"},
    {"\xff\xfe", "looks like UTF-16 text (save it as UTF-8)"},
    {"\xfe\xff", "looks like UTF-16 text (save it as UTF-8)"},
}};

// One past the last record end in `text`, which starts with a record; 0 when there is none.
std::size_t last_record_end(std::string_view text, char separator) {
  std::size_t record_end = 0;
  std::size_t at = 0;  // outside quotes
  while (true) {
    const std::size_t quote = std::min(text.find('"', at), text.size());
    const std::size_t newline = text.substr(at, quote - at).rfind('\n');
    if (newline != std::string_view::npos) record_end = at + newline + 1;
    if (quote == text.size()) return record_end;
    at = quote + 1;
    const bool opens_field = quote == 0 || text[quote - 1] == separator || text[quote - 1] == '\n';
    if (!opens_field) continue;
    // Each turn starts behind a quote that is not the closing one: the opening quote, or the second of a doubled pair.
    while (true) {
      const std::size_t closing = text.find('"', at);
      if (closing == std::string_view::npos) return record_end;
      at = closing + 1;
      if (at == text.size()) return record_end;
      if (text[at] != '"') break;
      ++at;
    }
  }
}

// First `wanted` in [begin, end), or end.
const char* find(const char* begin, const char* end, char wanted) {
  const void* found = begin == end ? nullptr : std::memchr(begin, wanted, static_cast<std::size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

}  // namespace

CsvBlocks::CsvBlocks(const std::string& name, Bytes& bytes, char separator, const Limits& limits)
    : name_(name), bytes_(bytes), separator_(separator), limits_(limits) {}

std::optional<CsvBlock> CsvBlocks::next() {
  if (at_end_) return std::nullopt;
  CsvBlock block;
  block.bytes = std::exchange(rest_, {});
  std::size_t asked = std::max(limits_.chunk_bytes, kMinChunkBytes);
  while (true) {
    const std::size_t filled = block.bytes.size();
    block.bytes.resize(filled + asked);
    const std::size_t got = bytes_.read(std::span(block.bytes).subspan(filled));
    block.bytes.resize(filled + got);
    if (at_start_) check_start(block);
    at_end_ = got < asked;
    if (at_end_) return block;
    if (const std::size_t end = last_record_end(block.text(), separator_); end > 0) {
      const auto cut = block.bytes.begin() + static_cast<std::ptrdiff_t>(block.begin + end);
      rest_.assign(cut, block.bytes.end());
      block.bytes.erase(cut, block.bytes.end());
      block.is_last = false;
      return block;
    }
    if (block.bytes.size() > limits_.max_record_bytes) {
      at_end_ = true;
      block.is_record_start = true;
      return block;
    }
    asked = std::min(block.bytes.size(), limits_.max_record_bytes + 1 - block.bytes.size());
    asked = std::max(asked, kMinChunkBytes);
  }
}

// Refuses other formats by their first bytes; skips a byte order mark.
void CsvBlocks::check_start(CsvBlock& block) {
  at_start_ = false;
  for (const Signature& signature : kSignatures) {
    if (block.text().starts_with(signature.bytes)) {
      throw InvalidInput(name_, std::string(signature.meaning), Cause::kWrongFormat);
    }
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  has_byte_order_mark_ = block.text().starts_with(kByteOrderMark);
  if (has_byte_order_mark_) block.begin = kByteOrderMark.size();
}

CsvRows::CsvRows(const std::string& name, char separator, std::size_t max_record_bytes, const CsvBlock& block,
                 const CsvPlace& place)
    : name_(name), separator_(separator), max_record_bytes_(max_record_bytes), block_(block), place_(place) {
  begin_ = block_.bytes.data() + block_.begin;
  end_ = block_.bytes.data() + block_.bytes.size();
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
  const char* at = begin_;
  const char* line_end = find(at, end_, '\n');
  bool has_quotes = false;
  fields_.clear();
  while (true) {
    const char* const field = at;
    if (at != end_ && *at == '"') {
      has_quotes = true;
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
      if (line_end < at) line_end = find(at, end_, '\n');  // a quoted field held a line end
      at = find(at, line_end, separator_);
    }
    const bool is_last = at == end_ || *at == '\n';
    const char* const field_end = is_last && at != field && at[-1] == '\r' ? at - 1 : at;
    fields_.emplace_back(field, static_cast<std::size_t>(field_end - field));
    if (is_last) break;
    ++at;
  }
  if (at == end_ && block_.is_record_start) refuse_long_record(nullptr);
  const char* const text_end = fields_.back().data() + fields_.back().size();
  row_.text = std::string_view(begin_, static_cast<std::size_t>(text_end - begin_));
  row_.line = place_.line;
  row_.fields = fields_;
  ended_with_crlf_ = at != end_ && text_end != at;
  if (has_quotes) place_.line += static_cast<std::uint64_t>(std::count(begin_, at, '\n'));
  place_.line += 1;
  begin_ = at == end_ ? at : at + 1;
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

std::string_view unquoted(std::string_view field, std::string& scratch) {
  if (!field.starts_with('"')) return field;
  field = field.substr(1, field.size() - 2);
  if (field.find('"') == std::string_view::npos) return field;
  scratch.clear();
  for (std::size_t at = 0; at < field.size(); ++at) {
    scratch += field[at];
    if (field[at] == '"') ++at;
  }
  return scratch;
}

void append_quoted(std::string_view value, std::string& line) {
  line += '"';
  for (const char c : value) line.append(c == '"' ? 2 : 1, c);
  line += '"';
}

}  // namespace limen::table::detail
