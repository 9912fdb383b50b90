// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrow_status.h"
#include "decode.h"
#include "file_reader.h"
#include "limen/base/text.h"

namespace arrow {
class MemoryPool;
}  // namespace arrow

namespace limen::table::detail {

using BatchPointer = std::shared_ptr<arrow::RecordBatch>;

inline constexpr std::int64_t kUnitRows = 1 << 18;  ///< at most, but for a single row group of Parquet

/// Refuses a damaged file's claim on more memory than the machine has.
[[nodiscard]] arrow::MemoryPool* memory_pool();

/// A run of rows. Parquet row groups are left to decode(), for which several threads may go ahead, unless they are so
/// large that their batches must be decoded one after the other.
struct ArrowUnit final : Unit {
  std::uint64_t first_row = 0;  ///< from 0
  std::vector<int> row_groups = {};
  BatchPointer batch_at_hand = {};  ///< else: decoded already
};

/// A Parquet or Arrow IPC file, of which some columns are read from front to back.
///
/// The content is not trusted: what Arrow throws or reports becomes InvalidInput that names the file, arrays are
/// validated before they are used, and memory is not asked for beyond what the machine has. Stdin and other files that
/// cannot be sought in are read into memory first.
class ArrowFile : public FileReader {
 public:
  [[nodiscard]] std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  [[nodiscard]] std::vector<std::optional<ColumnKind>> kinds(const ValueRules&) override;
  [[nodiscard]] bool is_single(std::size_t column) const override {
    return type_of(column)->id() == arrow::Type::FLOAT;
  }
  [[nodiscard]] std::optional<std::uint64_t> estimate_rows() override {
    return file_.can_seek() ? num_rows() : std::nullopt;
  }

  void start(const Selection& selection) override;
  [[nodiscard]] std::unique_ptr<Unit> next() override;
  void decode(Unit& unit) const override;

 protected:
  ArrowFile(const std::shared_ptr<KnownFile>& file, const Limits& limits, const char* what);

  /// Opens the chosen fields_ only.
  virtual void select() = 0;
  /// The next rows; nothing when there are none.
  virtual void take(ArrowUnit& unit) = 0;
  /// Unset for the stream form of Arrow IPC.
  [[nodiscard]] virtual std::optional<std::uint64_t> num_rows() = 0;
  /// Calls `use` with the batches of row groups that were left to decode(), in order.
  virtual void for_each_batch(const std::vector<int>&, const std::function<void(const BatchPointer&)>&) const {}
  /// All rows of a unit that needs no more than a copy; false, and rows that are to be decoded again, for any other.
  [[nodiscard]] virtual bool decode_plain(ArrowUnit&) const { return false; }

  void set_schema(const std::shared_ptr<arrow::Schema>& schema) {
    schema_ = schema;
    for (const std::string& name : schema->field_names()) names_.names.emplace_back(trimmed(name));
  }
  [[nodiscard]] const std::shared_ptr<arrow::DataType>& type_of(std::size_t column) const {
    return schema_->field(static_cast<int>(column))->type();
  }
  [[nodiscard]] std::string bytes_at(std::int64_t position, std::int64_t count) const {
    return checked(input_->ReadAt(position, count))->ToString();
  }
  void check(const arrow::Status& status) const { refuse_unless_ok(status, names_.table, what_); }
  template <typename Value>
  [[nodiscard]] Value checked(arrow::Result<Value> result) const {
    return value_or_refuse(std::move(result), names_.table, what_);
  }

  const char* what_;
  std::shared_ptr<arrow::io::RandomAccessFile> input_;
  std::uint64_t size_ = 0;
  std::vector<int> fields_;  // that are read, ascending: the columns of the batches
  std::vector<int> places_;  // of the wanted columns in the batches

 private:
  void decode_batch(const BatchPointer& batch, std::uint64_t first_row, Batch& into) const;

  std::shared_ptr<arrow::Schema> schema_;  // of all columns
  std::vector<int> copied_places_;         // of the copied columns in the batches
  std::uint64_t next_row_ = 0;
  std::uint64_t total_rows_ = 0;  // 0 until it is asked for, 1 when not known
};

[[nodiscard]] std::unique_ptr<FileReader> open_ipc(const std::shared_ptr<KnownFile>& file, const Limits& limits);
[[nodiscard]] std::unique_ptr<FileReader> open_parquet(const std::shared_ptr<KnownFile>& file, const Limits& limits);

}  // namespace limen::table::detail
