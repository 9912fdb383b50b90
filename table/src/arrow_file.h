// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "columns.h"
#include "file_reader.h"
#include "known_file.h"
#include "read_limits.h"

namespace limen::table::detail {

/// A run of rows of an ArrowFile.
struct ArrowUnit final : Unit {
  std::uint64_t first_row = 0;                        ///< from 0
  std::vector<int> row_groups;                        ///< to be decoded by ArrowFile::decode
  std::shared_ptr<arrow::RecordBatch> batch_at_hand;  ///< else: decoded already
};

/// A Parquet or Arrow IPC file, of which some columns are read from front to back.
///
/// The content is not trusted: what Arrow throws or reports becomes InvalidInput that names the file, arrays are
/// validated before they are handed out, and memory is not asked for beyond what the machine has. Stdin and other files
/// that cannot be sought in are read into memory first.
class ArrowFile {
 public:
  ArrowFile(const std::shared_ptr<KnownFile>& file, Format format, const Limits& limits);

  [[nodiscard]] OpenFile& file() { return open_file_; }
  [[nodiscard]] const ColumnNames& names() const { return names_; }
  [[nodiscard]] const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /// Unset for the stream form of Arrow IPC.
  [[nodiscard]] std::optional<std::uint64_t> num_rows();

  /// Reads only these of the fields, ascending and without repetition: the columns of the batches. To be called once,
  /// before the first unit.
  void select(const std::vector<int>& fields);

  /// The next rows, null after the last ones. Parquet row groups are left to decode(), for which several threads may
  /// go ahead, unless they are so large that their batches must be decoded one after the other.
  [[nodiscard]] std::unique_ptr<ArrowUnit> next_unit();

  /// Calls `use` with the batches of a unit, in order.
  template <typename Use>
  void decode(const ArrowUnit& unit, Use&& use) const {
    if (unit.batch_at_hand) {
      use(unit.batch_at_hand);
      return;
    }
    const std::unique_ptr<arrow::RecordBatchReader> reader = open_row_groups(unit.row_groups, false);
    while (const std::shared_ptr<arrow::RecordBatch> batch = next_batch(*reader)) use(batch);
  }

  /// Reads a chosen column of a unit straight into its place, see parquet_plain.h; false when it is not that plain.
  template <typename Value>
  [[nodiscard]] bool read_plain(const ArrowUnit& unit, std::size_t column, std::span<Value> place) const;

  [[noreturn]] void refuse_damaged_file(std::string_view reason) const;

 private:
  void open_parquet();
  void open_ipc();
  void check_chunks(int row_group) const;
  [[nodiscard]] static parquet::ReaderProperties parquet_properties(bool is_large);
  [[nodiscard]] std::int64_t large_batch_rows() const;
  [[nodiscard]] std::unique_ptr<parquet::arrow::FileReader> parquet_reader(bool is_large) const;
  [[nodiscard]] std::unique_ptr<arrow::RecordBatchReader> open_row_groups(const std::vector<int>& row_groups,
                                                                          bool is_large) const;
  [[nodiscard]] std::shared_ptr<arrow::RecordBatch> next_batch(arrow::RecordBatchReader& reader) const;
  [[nodiscard]] std::shared_ptr<arrow::RecordBatch> next_ipc_batch();
  void take_parquet(ArrowUnit& unit);
  [[nodiscard]] std::uint64_t bytes_up_to(std::uint64_t row);
  [[nodiscard]] std::string_view what() const { return is_parquet_ ? "Parquet" : "Arrow IPC"; }

  OpenFile open_file_;
  Limits limits_;
  ColumnNames names_;
  bool is_parquet_;
  std::uint64_t size_ = 0;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<arrow::Schema> schema_;  // of all columns
  std::uint64_t next_row_ = 0;
  std::uint64_t total_rows_ = 0;  // 0 until it is asked for, 1 when not known

  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<int> columns_;  // leaves of the chosen fields
  int next_row_group_ = 0;
  std::unique_ptr<arrow::RecordBatchReader> large_row_group_;

  std::vector<int> fields_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> ipc_file_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> ipc_stream_;
  int next_ipc_batch_ = 0;
  std::shared_ptr<arrow::RecordBatch> ipc_batch_;  // of which rows from ipc_offset_ on are still to be handed out
  std::int64_t ipc_offset_ = 0;
};

/// The rows whose flag is set; also of a batch without columns. `table` is named when Arrow fails.
[[nodiscard]] std::shared_ptr<arrow::RecordBatch> filtered(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                           const std::vector<bool>& keep, const std::string& table);

}  // namespace limen::table::detail
