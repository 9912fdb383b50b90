// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "batch.h"
#include "columns.h"
#include "known_file.h"
#include "limen/table/format.h"
#include "read_limits.h"

namespace limen::table::detail {

class CsvFile;

/// Rows of a file that one thread decodes.
struct Unit {
  virtual ~Unit() = default;
  std::uint64_t rows = 0;        ///< in the file, dropped ones too; known at the latest when it is decoded
  std::uint64_t bytes_done = 0;  ///< of the file, up to the end of the unit
  Batch batch = {};
};

/// One file of any format. Throws IoError and InvalidInput that name it.
class FileReader {
 public:
  virtual ~FileReader() = default;

  [[nodiscard]] OpenFile& file() { return file_; }
  [[nodiscard]] const ColumnNames& names() const { return names_; }
  /// The kind of each column, unset when it has no values to tell by. To be called before start().
  [[nodiscard]] virtual std::vector<std::optional<ColumnKind>> kinds(const ValueRules& rules) = 0;
  /// Whether the column is held in single precision.
  [[nodiscard]] virtual bool is_single(std::size_t) const { return false; }
  /// Unset when not known. To be called instead of start().
  [[nodiscard]] virtual std::optional<std::uint64_t> estimate_rows() = 0;
  /// The file when it is text, else null.
  [[nodiscard]] virtual CsvFile* csv() { return nullptr; }
  /// The types of the columns, null for text.
  [[nodiscard]] virtual std::shared_ptr<arrow::Schema> schema() const { return nullptr; }

  /// Says what to read, which must outlive the reading.
  virtual void start(const Selection& selection) { selection_ = &selection; }
  /// The next unit, null after the last one. One call at a time.
  [[nodiscard]] virtual std::unique_ptr<Unit> next() = 0;
  /// Fills the batch of a unit, which has the empty columns already. By any thread, in any order.
  virtual void decode(Unit& unit) const = 0;
  /// To be called with the decoded units in order, one at a time: what needs to know how the units before it ended.
  virtual void settle(Unit&) {}

 protected:
  FileReader(const std::shared_ptr<KnownFile>& file, const Limits& limits)
      : file_(file), limits_(limits), names_{.table = file->name, .names = {}} {}

  OpenFile file_;
  Limits limits_;
  ColumnNames names_;
  const Selection* selection_ = nullptr;
};

}  // namespace limen::table::detail
