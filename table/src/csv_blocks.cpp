// SPDX-License-Identifier: MIT
#include "csv_blocks.h"

#include <algorithm>
#include <array>
#include <utility>

#include "limen/base/error.h"

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

}  // namespace limen::table::detail
