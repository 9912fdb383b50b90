// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <string>
#include <string_view>

#include "limen/table/format.h"

namespace limen::table::detail {

/// Bytes into a file, packed, which appears whole on commit() or not at all; see OutputFile, whose errors it throws.
class ByteSink {
 public:
  ByteSink(const std::string& path, Packing packing);
  ~ByteSink();

  void write(std::string_view text);
  void commit();
  /// For Arrow to write to; after it failed, check() throws the file's own error.
  [[nodiscard]] const std::shared_ptr<arrow::io::OutputStream>& stream() const { return stream_; }
  /// Throws the file's error, else InvalidInput when the status is not OK.
  void check(const arrow::Status& status) const;

 private:
  class File;
  std::string name_;
  std::shared_ptr<File> file_;
  std::shared_ptr<arrow::util::Codec> codec_;  // outlives stream_, which uses it
  std::shared_ptr<arrow::io::OutputStream> stream_;
};

/// Writes record batches into a file of any format, which appears whole on commit(), or not at all. Throws like
/// ByteSink, and InvalidInput when the format cannot hold a column.
class TableWriter {
 public:
  virtual ~TableWriter() = default;
  virtual void write(const arrow::RecordBatch& batch) = 0;
  virtual void commit() = 0;
};

[[nodiscard]] std::unique_ptr<TableWriter> open_writer(const std::string& path, const NamedFormat& format,
                                                       const std::shared_ptr<arrow::Schema>& schema);

}  // namespace limen::table::detail
