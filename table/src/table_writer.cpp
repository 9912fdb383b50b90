// SPDX-License-Identifier: MIT
#include "table_writer.h"

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/io/compressed.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "arrow_values.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/table/output_file.h"

namespace limen::table::detail {

// An OutputFile for Arrow. The file's exception is kept for the caller: Arrow's code is not made for exceptions.
class ByteSink::File final : public arrow::io::OutputStream {
 public:
  explicit File(const std::string& path) : file_(path) {}

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

namespace {

constexpr std::int64_t kRowGroupRows = 1 << 20;

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

template <typename Value>
Value checked(const ByteSink& sink, arrow::Result<Value> result) {
  sink.check(result.status());
  return std::move(result).ValueUnsafe();
}

// Dictionaries may change from batch to batch, which neither the Arrow file format nor text can express.
std::shared_ptr<arrow::Array> decoded(const std::shared_ptr<arrow::Array>& array, arrow::Status& status) {
  if (array->type_id() != arrow::Type::DICTIONARY) return array;
  auto plain = arrow::compute::Cast(*array, value_type(array->type()));
  status &= plain.status();
  return plain.ok() ? *plain : array;
}

class ParquetWriter final : public TableWriter {
 public:
  ParquetWriter(const std::string& path, const std::shared_ptr<arrow::Schema>& schema) : sink_(path, Packing::kNone) {
    parquet::WriterProperties::Builder properties;
    properties.max_row_group_length(kRowGroupRows)->enable_page_checksum();
    for (const auto codec : {arrow::Compression::ZSTD, arrow::Compression::SNAPPY}) {
      if (!arrow::util::Codec::IsAvailable(codec)) continue;
      properties.compression(codec);
      break;
    }
    // The schema is stored too, so that types that Parquet does not know come back.
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    writer_ = checked(sink_, parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), sink_.stream(),
                                                              properties.build(), arrow_properties));
  }
  void write(const arrow::RecordBatch& batch) override { sink_.check(writer_->WriteRecordBatch(batch)); }
  void commit() override {
    sink_.check(writer_->Close());
    sink_.commit();
  }

 private:
  ByteSink sink_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

class IpcWriter final : public TableWriter {
 public:
  IpcWriter(const std::string& path, const std::shared_ptr<arrow::Schema>& schema) : sink_(path, Packing::kNone) {
    arrow::FieldVector fields = schema->fields();
    for (std::shared_ptr<arrow::Field>& field : fields) {
      field = field->WithType(value_type(field->type()));
    }
    schema_ = arrow::schema(fields, schema->metadata());
    writer_ = checked(sink_, arrow::ipc::MakeFileWriter(sink_.stream(), schema_));
  }
  void write(const arrow::RecordBatch& batch) override {
    arrow::Status status;
    arrow::ArrayVector columns = batch.columns();
    for (std::shared_ptr<arrow::Array>& column : columns) column = decoded(column, status);
    sink_.check(status);
    sink_.check(writer_->WriteRecordBatch(*arrow::RecordBatch::Make(schema_, batch.num_rows(), columns)));
  }
  void commit() override {
    sink_.check(writer_->Close());
    sink_.commit();
  }

 private:
  ByteSink sink_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

// RFC 4180, quoted only where needed; a null is nothing, an empty string is "". Arrow's own writer quotes all text.
class CsvWriter final : public TableWriter {
 public:
  CsvWriter(const std::string& path, const NamedFormat& format, const std::shared_ptr<arrow::Schema>& schema)
      : name_(shown_path(path, "<stdout>")), sink_(path, format.packing), separator_(separator_of(format.format)) {
    for (int column = 0; column < schema->num_fields(); ++column) {
      if (column > 0) text_ += separator_;
      add_field(schema->field(column)->name());
    }
    text_ += '\n';
  }

  void write(const arrow::RecordBatch& batch) override {
    std::vector<std::shared_ptr<arrow::StringArray>> columns;
    for (int column = 0; column < batch.num_columns(); ++column) columns.push_back(as_text(batch, column));
    for (std::int64_t row = 0; row < batch.num_rows(); ++row) {
      for (std::size_t column = 0; column < columns.size(); ++column) {
        if (column > 0) text_ += separator_;
        if (!columns[column]->IsNull(row)) add_field(columns[column]->GetView(row));
      }
      text_ += '\n';
      if (text_.size() > kTextBytes) flush();
    }
  }
  void commit() override {
    flush();
    sink_.commit();
  }

 private:
  static constexpr std::size_t kTextBytes = std::size_t{1} << 18;

  std::shared_ptr<arrow::StringArray> as_text(const arrow::RecordBatch& batch, int column) const {
    arrow::Status status;
    std::shared_ptr<arrow::Array> plain = decoded(batch.column(column), status);
    auto text = detail::as_text(plain);
    if (!text.ok()) {
      throw InvalidInput(
          Where{.source = name_, .column = batch.column_name(column)},
          "has type " + escaped(plain->type()->ToString(), 60) + ", which text cannot hold (write Parquet)");
    }
    return *std::move(text);
  }

  void add_field(std::string_view value) {
    const bool is_plain = !value.empty() && value.find_first_of("\"\r\n") == std::string_view::npos &&
                          value.find(separator_) == std::string_view::npos;
    if (is_plain) {
      text_ += value;
      return;
    }
    text_ += '"';
    for (const char c : value) text_.append(c == '"' ? 2 : 1, c);
    text_ += '"';
  }

  void flush() {
    sink_.write(text_);
    text_.clear();
  }

  std::string name_;
  ByteSink sink_;
  char separator_;
  std::string text_;
};

}  // namespace

ByteSink::ByteSink(const std::string& path, Packing packing)
    : name_(shown_path(path, "<stdout>")), file_(std::make_shared<File>(path)), stream_(file_) {
  if (packing == Packing::kNone) return;
  codec_ = checked(*this, arrow::util::Codec::Create(codec_of(packing)));
  stream_ = checked(*this, arrow::io::CompressedOutputStream::Make(codec_.get(), file_));
}

ByteSink::~ByteSink() = default;

void ByteSink::write(std::string_view text) {
  check(stream_->Write(text.data(), static_cast<std::int64_t>(text.size())));
}

void ByteSink::commit() {
  check(stream_->Close());
  file_->commit();
}

void ByteSink::check(const arrow::Status& status) const {
  file_->rethrow();
  if (status.ok()) return;
  const std::string& message = status.message();
  throw InvalidInput(name_, "cannot be written: " + escaped(message.substr(0, message.find('\n')), 200));
}

std::unique_ptr<TableWriter> open_writer(const std::string& path, const NamedFormat& format,
                                         const std::shared_ptr<arrow::Schema>& schema) {
  if (format.format == Format::kParquet) return std::make_unique<ParquetWriter>(path, schema);
  if (format.format == Format::kArrow) return std::make_unique<IpcWriter>(path, schema);
  return std::make_unique<CsvWriter>(path, format, schema);
}

}  // namespace limen::table::detail
