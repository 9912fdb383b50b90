// SPDX-License-Identifier: MIT
#include "csv_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "fields.h"
#include "limen/error.h"

namespace limen::table::detail {
namespace {

constexpr std::size_t kMinChunkBytes = 16;  // holds every signature below

struct Signature {
  std::string_view bytes;
  std::string_view meaning;
};

constexpr std::array<Signature, 8> kSignatures = {{
    {"PAR1", "looks like a Parquet file, not text (export it as CSV)"},
    {"ARROW1", "looks like an Arrow IPC file, not text (export it as CSV)"},
    {"FEA1", "looks like a Feather file, not text (export it as CSV)"},
    {"\x1f\x8b", "looks like a gzip file, not text (unpack it, or pipe it in through gzip -dc)"},
    {"\x28\xb5\x2f\xfd", "looks like a zstd file, not text (unpack it, or pipe it in through zstd -dc)"},
    {"PK\x03\x04", "looks like a zip or .xlsx file, not text (unpack it, or save the sheet as CSV)"},
    {"\xff\xfe", "looks like UTF-16 text (save it as UTF-8)"},
    {"\xfe\xff", "looks like UTF-16 text (save it as UTF-8)"},
}};

// First `wanted` in [begin, end), or end.
const char* find(const char* begin, const char* end, char wanted) {
  const void* found = begin == end ? nullptr : std::memchr(begin, wanted, static_cast<std::size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

}  // namespace

CsvRows::CsvRows(InputFile& file, char separator, const CsvLimits& limits,
                 std::function<void(std::uint64_t, std::uint64_t)> progress)
    : file_(file),
      separator_(separator),
      limits_(limits),
      progress_(std::move(progress)),
      buffer_(std::max(limits.chunk_bytes, kMinChunkBytes)) {
  read_more();
}

const CsvRow* CsvRows::next() {
  while (true) {
    if (begin_ == end_ && at_end_of_file_) return nullptr;
    if (!split_record()) {
      if (end_ - begin_ > limits_.max_record_bytes) refuse_long_record();
      read_more();
      continue;
    }
    if (row_.fields.size() == 1 && trimmed(row_.text).empty()) {
      if (blank_line_ == 0) blank_line_ = row_.line;
      continue;
    }
    if (blank_line_ != 0) refuse("line " + std::to_string(blank_line_) + " is blank, but more rows follow");
    return &row_;
  }
}

// Splits the record at begin_ into row_ and moves begin_ behind it; false when its end is not in the buffer yet.
bool CsvRows::split_record() {
  const char* const begin = buffer_.data() + begin_;
  const char* const end = buffer_.data() + end_;
  open_quote_ = nullptr;
  if (quote_ < begin_) quote_ = static_cast<std::size_t>(find(begin, end, '"') - buffer_.data());
  const char* const newline = find(begin, end, '\n');
  if (buffer_.data() + quote_ < newline) return split_quoted(begin, end);
  if (newline == end && !at_end_of_file_) return false;
  split_plain(begin, newline);
  return true;
}

void CsvRows::split_plain(const char* begin, const char* newline) {
  const char* stop = newline;
  if (stop != begin && stop[-1] == '\r') --stop;
  fields_.clear();
  const char* field = begin;
  while (true) {
    const char* const field_end = find(field, stop, separator_);
    fields_.emplace_back(field, static_cast<std::size_t>(field_end - field));
    if (field_end == stop) break;
    field = field_end + 1;
  }
  finish_record(begin, newline);
}

bool CsvRows::split_quoted(const char* begin, const char* end) {
  fields_.clear();
  const char* at = begin;
  while (true) {
    const char* const field = at;
    if (at != end && *at == '"') {
      // Each turn starts on a quote that is not the closing one: the opening quote, or the second of a doubled pair.
      while (true) {
        at = find(at + 1, end, '"');
        if (at == end) {
          if (at_end_of_file_) refuse("the quote opened on line " + std::to_string(line_of(field)) + " is not closed");
          open_quote_ = field;
          return false;
        }
        ++at;
        if (at == end || *at != '"') break;
      }
      if (at != end && *at == '\r' && (at + 1 == end ? at_end_of_file_ : at[1] == '\n')) ++at;
      const bool cut_off = !at_end_of_file_ && (at == end || (*at == '\r' && at + 1 == end));
      if (cut_off) return false;
      if (at != end && *at != separator_ && *at != '\n') {
        refuse("line " + std::to_string(line_of(at)) + ", field " + std::to_string(fields_.size() + 1) +
               " has text after its closing quote (a quote inside a quoted field is written twice)");
      }
    } else {
      while (at != end && *at != separator_ && *at != '\n') ++at;
      if (at == end && !at_end_of_file_) return false;
    }
    const bool is_last = at == end || *at == '\n';
    const char* const field_end = is_last && at != field && at[-1] == '\r' ? at - 1 : at;
    fields_.emplace_back(field, static_cast<std::size_t>(field_end - field));
    if (is_last) break;
    ++at;
  }
  finish_record(begin, at);
  line_ += static_cast<std::uint64_t>(std::count(begin, at, '\n'));
  return true;
}

// `stop` is the LF that ends the record, or the end of the file.
void CsvRows::finish_record(const char* begin, const char* stop) {
  const char* const text_end = fields_.back().data() + fields_.back().size();
  const bool has_newline = stop != buffer_.data() + end_;
  row_.text = std::string_view(begin, static_cast<std::size_t>(text_end - begin));
  row_.line = line_;
  row_.fields = fields_;
  ended_with_crlf_ = has_newline && text_end != stop;
  begin_ = static_cast<std::size_t>(stop - buffer_.data()) + (has_newline ? 1 : 0);
  line_ += 1;
}

// Moves the record at hand to the front of the buffer, makes room when it fills all of it, and reads.
void CsvRows::read_more() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) buffer_.resize(std::min(2 * end_, std::max(end_, limits_.max_record_bytes) + 1));
  const std::size_t asked = buffer_.size() - end_;
  const std::size_t got = file_.read(std::span(buffer_).subspan(end_));
  at_end_of_file_ = got < asked;
  bytes_read_ += got;
  const std::size_t old_end = std::exchange(end_, end_ + got);
  if (bytes_read_ == got) check_start();
  check_no_nul(old_end);
  quote_ = static_cast<std::size_t>(find(buffer_.data(), buffer_.data() + end_, '"') - buffer_.data());
  if (progress_) progress_(bytes_read_, file_.size() == 0 ? 0 : std::max(file_.size(), bytes_read_));
}

// Refuses other formats by their first bytes; skips a byte order mark.
void CsvRows::check_start() {
  const std::string_view start(buffer_.data(), end_);
  for (const Signature& signature : kSignatures) {
    if (start.starts_with(signature.bytes)) refuse(std::string(signature.meaning));
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  has_byte_order_mark_ = start.starts_with(kByteOrderMark);
  if (has_byte_order_mark_) begin_ = kByteOrderMark.size();
}

void CsvRows::check_no_nul(std::size_t from) const {
  const char* const end = buffer_.data() + end_;
  const char* const nul = find(buffer_.data() + from, end, '\0');
  if (nul != end) refuse("line " + std::to_string(line_of(nul)) + " has a NUL byte: looks like a binary file");
}

void CsvRows::refuse(const std::string& what) const { throw InvalidInput(file_.name() + ": " + what); }

void CsvRows::refuse_long_record() const {
  const std::string what = "the record on line " + std::to_string(line_) + " is longer than " +
                           std::to_string(limits_.max_record_bytes >> 20) + " MiB";
  if (open_quote_ == nullptr) refuse(what);
  refuse(what + " (probably the quote opened on line " + std::to_string(line_of(open_quote_)) + " is not closed)");
}

// Of a position in the buffer at or after begin_.
std::uint64_t CsvRows::line_of(const char* position) const {
  return line_ + static_cast<std::uint64_t>(std::count(buffer_.data() + begin_, position, '\n'));
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

}  // namespace limen::table::detail
