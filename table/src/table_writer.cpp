// SPDX-License-Identifier: MIT
#include "table_writer.h"

#include <arrow/array.h>
#include <arrow/io/compressed.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrow_status.h"
#include "csv_rows.h"
#include "decode.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/table/output_file.h"
#include "limen/table/write_table.h"

namespace limen::table::detail {
namespace {

constexpr std::int64_t kRowGroupRows = 1 << 20;

// An OutputFile for Arrow. The file's exception is kept for the caller: Arrow's code is not made for exceptions.
class FileStream final : public arrow::io::OutputStream {
 public:
  explicit FileStream(const std::string& path) : file_(path) {}

  arrow::Status Write(const void* data, std::int64_t bytes) override {
    try {
      file_.write({static_cast<const char*>(data), static_cast<std::size_t>(bytes)});
      position_ += bytes;
      return arrow::Status::OK();
    } catch (...) {
      error_ = std::current_exception();
      return arrow::Status::IOError("cannot be written");
    }
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  [[nodiscard]] bool closed() const override { return closed_; }
  [[nodiscard]] arrow::Result<std::int64_t> Tell() const override { return position_; }

  void commit() { file_.commit(); }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  OutputFile file_;
  std::int64_t position_ = 0;
  bool closed_ = false;
  std::exception_ptr error_;
};

arrow::Compression::type codec_of(Packing packing) {
  switch (packing) {
    case Packing::kGzip:
      return arrow::Compression::GZIP;
    case Packing::kZstd:
      return arrow::Compression::ZSTD;
    case Packing::kBzip2:
      return arrow::Compression::BZ2;
    case Packing::kLz4:
      return arrow::Compression::LZ4_FRAME;
    default:
      return arrow::Compression::UNCOMPRESSED;
  }
}

// Bytes into a file, packed, which appears whole on commit() or not at all.
class ByteSink {
 public:
  ByteSink(const std::string& path, Packing packing)
      : name_(shown_path(path, "<stdout>")), file_(std::make_shared<FileStream>(path)), stream_(file_) {
    if (packing == Packing::kNone) return;
    codec_ = checked(arrow::util::Codec::Create(codec_of(packing)));
    stream_ = checked(arrow::io::CompressedOutputStream::Make(codec_.get(), file_));
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::shared_ptr<arrow::io::OutputStream>& stream() const { return stream_; }
  void write(std::string_view text) { check(stream_->Write(text.data(), static_cast<std::int64_t>(text.size()))); }
  void commit() {
    check(stream_->Close());
    file_->commit();
  }
  // Throws the file's error, else InvalidInput when the status is not OK.
  void check(const arrow::Status& status) const {
    file_->rethrow();
    if (status.ok()) return;
    const std::string& message = status.message();
    throw InvalidInput(name_, "cannot be written: " + escaped(message.substr(0, message.find('\n')), 200));
  }
  template <typename Value>
  [[nodiscard]] Value checked(arrow::Result<Value> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }

 private:
  std::string name_;
  std::shared_ptr<FileStream> file_;
  std::shared_ptr<arrow::util::Codec> codec_;  // outlives stream_, which uses it
  std::shared_ptr<arrow::io::OutputStream> stream_;
};

std::shared_ptr<parquet::WriterProperties> parquet_properties() {
  parquet::WriterProperties::Builder properties;
  properties.max_row_group_length(kRowGroupRows)->enable_page_checksum();
  const bool has_zstd = arrow::util::Codec::IsAvailable(arrow::Compression::ZSTD);
  properties.compression(has_zstd ? arrow::Compression::ZSTD : arrow::Compression::SNAPPY);
  return properties.build();
}

// Parquet, with the schema stored too, so that types that Parquet does not know come back; or an Arrow file, with the
// values of dictionaries, because the format cannot express those that change from batch to batch.
class ArrowWriter final : public TableWriter {
 public:
  ArrowWriter(const std::string& path, Format format, const std::shared_ptr<arrow::Schema>& schema)
      : sink_(path, Packing::kNone) {
    if (format == Format::kParquet) {
      parquet_ = sink_.checked(
          parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), sink_.stream(), parquet_properties(),
                                           parquet::ArrowWriterProperties::Builder().store_schema()->build()));
      return;
    }
    arrow::FieldVector fields = schema->fields();
    for (std::shared_ptr<arrow::Field>& field : fields) field = field->WithType(value_type(field->type()));
    ipc_schema_ = arrow::schema(fields, schema->metadata());
    ipc_ = sink_.checked(arrow::ipc::MakeFileWriter(sink_.stream(), ipc_schema_));
  }
  void write(const arrow::RecordBatch& batch) override {
    if (parquet_) {
      sink_.check(parquet_->WriteRecordBatch(batch));
      return;
    }
    arrow::ArrayVector columns = batch.columns();
    for (std::shared_ptr<arrow::Array>& column : columns) column = sink_.checked(plain_array(column));
    sink_.check(ipc_->WriteRecordBatch(*arrow::RecordBatch::Make(ipc_schema_, batch.num_rows(), columns)));
  }
  void commit() override {
    sink_.check(parquet_ ? parquet_->Close() : ipc_->Close());
    sink_.commit();
  }

 private:
  ByteSink sink_;
  std::unique_ptr<parquet::arrow::FileWriter> parquet_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> ipc_;
  std::shared_ptr<arrow::Schema> ipc_schema_;
};

// Decisions and levels as text: Arrow's cast takes a sixth of the time of appending them to a CSV file.
template <typename IntegerArray>
std::shared_ptr<arrow::StringArray> digits_of(const arrow::Array& array) {
  std::string text;
  std::vector<std::int32_t> ends = {0};
  std::array<char, 16> digits;
  for (const auto value :
       std::span(static_cast<const IntegerArray&>(array).raw_values(), static_cast<std::size_t>(array.length()))) {
    text.append(digits.begin(), std::to_chars(digits.begin(), digits.end(), value).ptr);
    ends.push_back(static_cast<std::int32_t>(text.size()));
  }
  return std::make_shared<arrow::StringArray>(array.length(), arrow::Buffer::FromVector(std::move(ends)),
                                              arrow::Buffer::FromString(std::move(text)));
}

// RFC 4180, quoted only where needed; a null is nothing, an empty string is "". Arrow's own writer quotes all text.
class CsvWriter final : public TableWriter {
 public:
  CsvWriter(const std::string& path, const NamedFormat& format, const arrow::Schema& schema,
            const std::optional<CopiedLines>& lines)
      : sink_(path, format.packing), separator_(separator_of(format.format)) {
    if (lines) {
      line_end_ = lines->line_end;
      first_column_is_raw_ = lines->has_fields;
      text_ = lines->header;
    }
    for (int column = first_column_is_raw_ ? 1 : 0; column < schema.num_fields(); ++column) {
      if (column > 0) text_ += separator_;
      add_field(schema.field(column)->name());
    }
    text_ += line_end_;
  }

  void write(const arrow::RecordBatch& batch) override {
    std::vector<std::shared_ptr<arrow::StringArray>> columns;
    std::vector<bool> has_nulls;
    std::vector<bool> is_quoted;  // already, or without need
    for (int column = 0; column < batch.num_columns(); ++column) {
      columns.push_back(text_of(batch, column));
      has_nulls.push_back(columns.back()->null_count() > 0);
      is_quoted.push_back((column == 0 && first_column_is_raw_) || is_plain_number(*batch.column(column)->type()));
    }
    for (std::int64_t row = 0; row < batch.num_rows(); ++row) {
      for (std::size_t column = 0; column < columns.size(); ++column) {
        if (column > 0) text_ += separator_;
        if (has_nulls[column] && columns[column]->IsNull(row)) continue;
        if (is_quoted[column]) {
          text_ += columns[column]->GetView(row);
        } else {
          add_field(columns[column]->GetView(row));
        }
      }
      text_ += line_end_;
      if (text_.size() > kTextBytes) flush();
    }
  }
  void commit() override {
    flush();
    sink_.commit();
  }

 private:
  static constexpr std::size_t kTextBytes = std::size_t{1} << 18;

  std::shared_ptr<arrow::StringArray> text_of(const arrow::RecordBatch& batch, int column) const {
    if (batch.column(column)->null_count() == 0) {
      if (batch.column(column)->type_id() == arrow::Type::INT32)
        return digits_of<arrow::Int32Array>(*batch.column(column));
      if (batch.column(column)->type_id() == arrow::Type::UINT8)
        return digits_of<arrow::UInt8Array>(*batch.column(column));
    }
    auto text = as_text(batch.column(column));
    if (text.ok()) return *std::move(text);
    throw InvalidInput(Where{.source = sink_.name(), .column = batch.column_name(column)},
                       "has type " + escaped(value_type(batch.column(column)->type())->ToString(), 60) +
                           ", which text cannot hold (write Parquet)");
  }

  void add_field(std::string_view value) {
    const bool is_plain = !value.empty() && value.find_first_of("\"\r\n") == std::string_view::npos &&
                          value.find(separator_) == std::string_view::npos;
    if (is_plain) {
      text_ += value;
    } else {
      append_quoted(value, text_);
    }
  }

  void flush() {
    sink_.write(text_);
    text_.clear();
  }

  ByteSink sink_;
  char separator_;
  std::string line_end_ = "\n";
  bool first_column_is_raw_ = false;
  std::string text_;
};

}  // namespace

std::unique_ptr<TableWriter> open_writer(const std::string& path, const NamedFormat& format,
                                         const std::shared_ptr<arrow::Schema>& schema,
                                         const std::optional<CopiedLines>& lines) {
  if (is_text(format.format)) return std::make_unique<CsvWriter>(path, format, *schema, lines);
  return std::make_unique<ArrowWriter>(path, format.format, schema);
}

}  // namespace limen::table::detail

namespace limen::table {

void write_table(const std::string& path, const std::vector<WrittenColumn>& columns, std::optional<Format> format) {
  const NamedFormat named = output_format(path, format);
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const WrittenColumn& column : columns) {
    auto array = std::visit([](const auto& values) { return detail::array_of(values); }, column.values);
    arrays.push_back(detail::value_or_refuse(std::move(array), shown_path(path, "<stdout>"), "a table"));
    fields.push_back(arrow::field(column.name, arrays.back()->type()));
    if (arrays.back()->length() != arrays.front()->length()) {
      throw std::logic_error("write_table: column " + column.name + " has another length than the first");
    }
  }
  const std::shared_ptr<arrow::Schema> schema = arrow::schema(fields);
  const std::unique_ptr<detail::TableWriter> writer = detail::open_writer(path, named, schema);
  const std::int64_t rows = arrays.empty() ? 0 : arrays.front()->length();
  writer->write(*arrow::RecordBatch::Make(schema, rows, arrays));
  writer->commit();
}

}  // namespace limen::table
