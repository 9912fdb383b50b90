// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytes.h"
#include "csv_rows.h"
#include "decode.h"
#include "file_reader.h"
#include "limen/table/read_options.h"

namespace limen::table::detail {

/// What all values of a column so far could be.
struct TypeCandidates {
  bool has_values = false;
  bool may_be_int64 = true;
  bool may_be_double = true;
  bool may_be_bool = true;

  void add(std::string_view text);
  /// int64, double or bool when every value is written as such and missing ones are empty, else string.
  [[nodiscard]] std::shared_ptr<arrow::DataType> type() const;
};

/// A CSV or TSV file whose header, if it has one, has been read. Throws InvalidInput when it is empty.
///
/// Its fields are handed to decode_rows() as texts, without their quotes.
class CsvFile final : public FileReader {
 public:
  CsvFile(const std::shared_ptr<KnownFile>& file, Format format, const ReadOptions& options, const Limits& limits);
  ~CsvFile() override;

  [[nodiscard]] std::vector<std::optional<ColumnKind>> kinds(const ValueRules& rules) override;
  [[nodiscard]] std::optional<std::uint64_t> estimate_rows() override;
  [[nodiscard]] CsvFile* csv() override { return this; }
  [[nodiscard]] std::unique_ptr<Unit> next() override;
  void decode(Unit& unit) const override;
  void settle(Unit& unit) override;

  /// Looks at these columns of all records, instead of start().
  void find_types(const std::vector<std::size_t>& columns, std::vector<TypeCandidates>& types);
  /// What a copy of these columns begins with: a byte order mark where the file has one, and the names.
  [[nodiscard]] std::string header(const Copying& copying) const;
  /// That of the first line.
  [[nodiscard]] std::string line_end() const { return has_crlf_ ? "\r\n" : "\n"; }

 private:
  struct CsvUnit;

  void read_names(const CsvRow& first, const ReadOptions& options);
  [[nodiscard]] std::unique_ptr<CsvUnit> next_unit();
  [[nodiscard]] CsvRows rows_of(const CsvBlock& block, const CsvPlace& place) const {
    return {names_.table, names_.separator, limits_.max_record_bytes, block, place};
  }
  void check_length(const CsvRow& row) const {
    if (row.fields.size() != names_.names.size()) refuse_length(row);
  }
  [[noreturn]] void refuse_length(const CsvRow& row) const;
  void add(const CsvRow& row, CsvUnit& unit, RawRows& into) const;
  [[noreturn]] void refuse(const CsvUnit& unit) const;

  Bytes bytes_;
  CsvBlocks blocks_;
  std::deque<std::unique_ptr<CsvUnit>> ahead_;  // read by the constructor and kinds()
  CsvPlace place_;                              // of the next unit to settle
  CsvBlock header_;                             // empty when the names are not those of the file
  bool has_crlf_ = false;
};

}  // namespace limen::table::detail
