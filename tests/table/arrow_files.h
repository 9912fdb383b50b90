// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/json/from_string.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace limen::test {

inline void require(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}
template <typename Value>
Value require(arrow::Result<Value> result) {
  require(result.status());
  return std::move(result).ValueUnsafe();
}

/// An array of any type, dictionaries too, from JSON.
inline std::shared_ptr<arrow::Array> array(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return require(arrow::json::ArrayFromJSONString(type, json));
}

using NamedArrays = std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>;

inline std::shared_ptr<arrow::Table> table(const NamedArrays& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, values] : columns) {
    fields.push_back(arrow::field(name, values->type()));
    arrays.push_back(values);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

struct WriteOptions {
  std::int64_t chunk_rows = 1 << 20;
  arrow::Compression::type compression = arrow::Compression::UNCOMPRESSED;
  bool as_stream = false;
  bool has_checksums = false;
  bool decimals_as_integers = false;
};

inline void write_parquet(const std::string& path, const arrow::Table& rows, const WriteOptions& options = {}) {
  const auto file = require(arrow::io::FileOutputStream::Open(path));
  parquet::WriterProperties::Builder properties;
  properties.compression(options.compression)->max_row_group_length(options.chunk_rows)->data_pagesize(4096);
  if (options.has_checksums) properties.enable_page_checksum();
  if (options.decimals_as_integers) properties.enable_store_decimal_as_integer();
  const auto stored = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  require(parquet::arrow::WriteTable(rows, arrow::default_memory_pool(), file, options.chunk_rows, properties.build(),
                                     stored));
  require(file->Close());
}

inline void write_ipc(const std::string& path, const arrow::Table& rows, const WriteOptions& options = {}) {
  const auto file = require(arrow::io::FileOutputStream::Open(path));
  auto ipc = arrow::ipc::IpcWriteOptions::Defaults();
  if (options.compression != arrow::Compression::UNCOMPRESSED) {
    ipc.codec = require(arrow::util::Codec::Create(options.compression));
  }
  const auto writer = require(options.as_stream ? arrow::ipc::MakeStreamWriter(file, rows.schema(), ipc)
                                                : arrow::ipc::MakeFileWriter(file, rows.schema(), ipc));
  require(writer->WriteTable(rows, options.chunk_rows));
  require(writer->Close());
  require(file->Close());
}

}  // namespace limen::test
