// SPDX-License-Identifier: MIT
#include "arrow_file.h"

#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <arrow/table.h>
#include <fcntl.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <cerrno>

#include "arrow_status.h"
#include "bytes.h"
#include "limen/base/machine_memory.h"
#include "limen/base/text.h"
#include "parquet_plain.h"

namespace limen::table::detail {
namespace {

constexpr std::int64_t kBatchRows = 65'536;  // decoded at a time: the columns stay in the cache
constexpr std::int64_t kUnitRows = 1 << 18;  // smaller row groups are put together

// Refuses a damaged file's claim on more memory than the machine has. Lives as long as the process, because Arrow's
// input threads may give back a buffer after the file has been closed.
arrow::MemoryPool* memory_pool() {
  static arrow::MemoryPool* const pool =
      new arrow::CappedMemoryPool(arrow::default_memory_pool(), static_cast<std::int64_t>(machine_memory()));
  return pool;
}

std::shared_ptr<arrow::io::RandomAccessFile> read_into_memory(const OpenFile& file) {
  Bytes bytes(file);
  std::string content;
  constexpr std::size_t kChunk = std::size_t{1} << 24;
  for (std::size_t got = kChunk; got == kChunk;) {
    const std::size_t filled = content.size();
    content.resize(filled + kChunk);
    got = bytes.read(std::span(content).subspan(filled));
    content.resize(filled + got);
  }
  return std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(std::move(content)));
}

// Read by pread(2), never mapped: touching a page of a mapped file that somebody truncates ends the process.
std::shared_ptr<arrow::io::RandomAccessFile> random_access(const OpenFile& file) {
  if (!file.can_seek()) return read_into_memory(file);
  const int descriptor = ::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) file.fail(errno);
  return value_or_refuse(arrow::io::ReadableFile::Open(descriptor, memory_pool()), file.name(), "a file");
}

void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) add_leaves(child, leaves);
}

}  // namespace

void refuse_damaged(const std::string& name, std::string_view what, std::string_view reason) {
  constexpr std::size_t kMaxCharacters = 200;
  reason = reason.substr(0, reason.find('\n'));
  throw InvalidInput(name, "cannot be read as " + std::string(what) + ": " + escaped(reason, kMaxCharacters));
}

ArrowFile::ArrowFile(const std::shared_ptr<KnownFile>& file, Format format, const Limits& limits)
    : open_file_(file),
      limits_(limits),
      names_{.table = file->name, .names = {}},
      is_parquet_(format == Format::kParquet) {
  guarded(names_.table, what(), [&] {
    file_ = random_access(open_file_);
    size_ = static_cast<std::uint64_t>(value_or_refuse(file_->GetSize(), names_.table, what()));
    is_parquet_ ? open_parquet() : open_ipc();
  });
  for (const std::string& name : schema_->field_names()) names_.names.emplace_back(trimmed(name));
}

void ArrowFile::open_parquet() {
  constexpr std::int64_t kMagicBytes = 4;
  const auto bytes_at = [&](std::int64_t position) {
    return value_or_refuse(file_->ReadAt(position, kMagicBytes), names_.table, what())->ToString();
  };
  if (size_ == 0) names_.refuse("is empty");
  const std::string start = bytes_at(0);
  if (start == "PARE") names_.refuse("is an encrypted Parquet file (decrypt it first)");
  if (start != "PAR1") throw InvalidInput(names_.table, "is not a Parquet file", Cause::kWrongFormat);
  if (size_ < 3 * kMagicBytes || bytes_at(static_cast<std::int64_t>(size_) - kMagicBytes) != "PAR1") {
    names_.refuse("is cut off or damaged: it does not end like a Parquet file");
  }
  const std::unique_ptr<parquet::arrow::FileReader> reader = parquet_reader(false);
  metadata_ = reader->parquet_reader()->metadata();
  refuse_unless_ok(reader->GetSchema(&schema_), names_.table, what());
}

void ArrowFile::open_ipc() {
  constexpr std::int64_t kMagicBytes = 6;
  if (size_ == 0) names_.refuse("is empty");
  const std::string start = value_or_refuse(file_->ReadAt(0, kMagicBytes), names_.table, what())->ToString();
  if (start.starts_with("FEA1")) names_.refuse("is a Feather file of version 1 (write it again as Arrow or Parquet)");
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = memory_pool();
  options.included_fields = fields_;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  if (start == "ARROW1") {
    ipc_file_ = value_or_refuse(arrow::ipc::RecordBatchFileReader::Open(file_, options), names_.table, what());
    if (!schema_) schema_ = ipc_file_->schema();
  } else if (start.starts_with("\xff\xff\xff\xff")) {
    refuse_unless_ok(file_->Seek(0), names_.table, what());
    ipc_stream_ = value_or_refuse(arrow::ipc::RecordBatchStreamReader::Open(file_, options), names_.table, what());
    if (!schema_) schema_ = ipc_stream_->schema();
  } else {
    throw InvalidInput(names_.table, "is not an Arrow IPC file", Cause::kWrongFormat);
  }
}

std::optional<std::uint64_t> ArrowFile::num_rows() {
  if (metadata_) return static_cast<std::uint64_t>(std::max<std::int64_t>(metadata_->num_rows(), 0));
  if (!ipc_file_) return std::nullopt;
  return guarded(names_.table, what(), [&] {
    return static_cast<std::uint64_t>(value_or_refuse(ipc_file_->CountRows(), names_.table, what()));
  });
}

void ArrowFile::select(const std::vector<int>& fields) {
  fields_ = fields;
  guarded(names_.table, what(), [&] {
    if (!is_parquet_) {
      open_ipc();
      return;
    }
    const std::unique_ptr<parquet::arrow::FileReader> reader = parquet_reader(false);
    columns_.clear();
    for (const int field : fields_) {
      add_leaves(reader->manifest().schema_fields.at(static_cast<std::size_t>(field)), columns_);
    }
  });
}

// Rows whose values one thread may hold.
std::int64_t ArrowFile::large_batch_rows() const {
  const std::uint64_t columns = std::max<std::size_t>(columns_.size(), 1);
  return static_cast<std::int64_t>(std::max<std::uint64_t>(limits_.unit_values / columns / 4, 1 << 12));
}

parquet::ReaderProperties ArrowFile::parquet_properties(bool is_large) {
  parquet::ReaderProperties properties(memory_pool());
  properties.set_page_checksum_verification(true);
  if (is_large) {
    properties.enable_buffered_stream();
    properties.set_buffer_size(1 << 18);
  }
  return properties;
}

std::unique_ptr<parquet::arrow::FileReader> ArrowFile::parquet_reader(bool is_large) const {
  // Threads: over the columns of a large row group; otherwise the caller decodes several row groups at a time.
  parquet::ArrowReaderProperties arrow_properties(is_large);
  arrow_properties.set_batch_size(is_large ? large_batch_rows() : kBatchRows);
  arrow_properties.set_pre_buffer(false);
  parquet::arrow::FileReaderBuilder builder;
  refuse_unless_ok(builder.Open(file_, parquet_properties(is_large), metadata_), names_.table, what());
  builder.memory_pool(memory_pool());
  builder.properties(arrow_properties);
  return value_or_refuse(builder.Build(), names_.table, what());
}

std::unique_ptr<arrow::RecordBatchReader> ArrowFile::open_row_groups(const std::vector<int>& row_groups,
                                                                     bool is_large) const {
  return guarded(names_.table, what(), [&] {
    // The reader of batches keeps what it needs of the file reader alive only in newer versions of Arrow.
    class Owner final : public arrow::RecordBatchReader {
     public:
      Owner(std::unique_ptr<parquet::arrow::FileReader> file, std::unique_ptr<arrow::RecordBatchReader> batches)
          : file_(std::move(file)), batches_(std::move(batches)) {}
      [[nodiscard]] std::shared_ptr<arrow::Schema> schema() const override { return batches_->schema(); }
      arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override { return batches_->ReadNext(batch); }

     private:
      std::unique_ptr<parquet::arrow::FileReader> file_;
      std::unique_ptr<arrow::RecordBatchReader> batches_;
    };
    for (const int row_group : row_groups) check_chunks(row_group);
    std::unique_ptr<parquet::arrow::FileReader> file = parquet_reader(is_large);
    std::unique_ptr<arrow::RecordBatchReader> batches = value_or_refuse(
        columns_.empty() ? file->GetRecordBatchReader(row_groups) : file->GetRecordBatchReader(row_groups, columns_),
        names_.table, what());
    return std::unique_ptr<arrow::RecordBatchReader>(new Owner(std::move(file), std::move(batches)));
  });
}

// Arrow takes memory for a column chunk before it reads it.
void ArrowFile::check_chunks(int row_group) const {
  const std::unique_ptr<parquet::RowGroupMetaData> group = metadata_->RowGroup(row_group);
  for (int column = 0; column < group->num_columns(); ++column) {
    if (!columns_.empty() && std::ranges::find(columns_, column) == columns_.end()) continue;
    const std::int64_t bytes = group->ColumnChunk(column)->total_compressed_size();
    if (bytes < 0 || static_cast<std::uint64_t>(bytes) > size_) refuse_damaged_file("a column is longer than the file");
  }
}

template <typename Value>
bool ArrowFile::read_plain(const ArrowUnit& unit, std::size_t column, std::span<Value> place) const {
  if (unit.row_groups.empty() || columns_.size() != fields_.size()) return false;
  return guarded(names_.table, what(), [&] {
    const auto file = parquet::ParquetFileReader::Open(file_, parquet_properties(false), metadata_);
    std::size_t begin = 0;
    for (const int index : unit.row_groups) {
      check_chunks(index);
      const std::shared_ptr<parquet::RowGroupReader> group = file->RowGroup(index);
      const auto rows = static_cast<std::size_t>(group->metadata()->num_rows());
      if (rows > place.size() - begin) return false;
      if (!detail::read_plain(*group->Column(columns_[column]), place.subspan(begin, rows))) return false;
      begin += rows;
    }
    return begin == place.size();
  });
}
template bool ArrowFile::read_plain(const ArrowUnit&, std::size_t, std::span<float>) const;
template bool ArrowFile::read_plain(const ArrowUnit&, std::size_t, std::span<double>) const;
template bool ArrowFile::read_plain(const ArrowUnit&, std::size_t, std::span<std::uint8_t>) const;

std::shared_ptr<arrow::RecordBatch> ArrowFile::next_batch(arrow::RecordBatchReader& reader) const {
  return guarded(names_.table, what(), [&] {
    std::shared_ptr<arrow::RecordBatch> batch;
    refuse_unless_ok(reader.ReadNext(&batch), names_.table, what());
    if (batch) refuse_unless_ok(batch->Validate(), names_.table, what());
    return batch;
  });
}

std::unique_ptr<ArrowUnit> ArrowFile::next_unit() {
  auto unit = std::make_unique<ArrowUnit>();
  unit->first_row = next_row_;
  if (is_parquet_) {
    take_parquet(*unit);
  } else {
    if (!ipc_batch_ || ipc_offset_ >= ipc_batch_->num_rows()) {
      ipc_batch_ = next_ipc_batch();
      ipc_offset_ = 0;
    }
    if (ipc_batch_) unit->batch_at_hand = ipc_batch_->Slice(ipc_offset_, kUnitRows);
    ipc_offset_ += kUnitRows;
  }
  if (unit->batch_at_hand) unit->rows = static_cast<std::uint64_t>(unit->batch_at_hand->num_rows());
  if (!unit->batch_at_hand && unit->row_groups.empty()) return nullptr;
  next_row_ += unit->rows;
  unit->bytes_done = bytes_up_to(next_row_);
  return unit;
}

void ArrowFile::take_parquet(ArrowUnit& unit) {
  if (large_row_group_) {
    unit.batch_at_hand = next_batch(*large_row_group_);
    if (!unit.batch_at_hand) large_row_group_.reset();
  }
  while (!unit.batch_at_hand && next_row_group_ < metadata_->num_row_groups()) {
    const std::int64_t rows =
        guarded(names_.table, what(), [&] { return metadata_->RowGroup(next_row_group_)->num_rows(); });
    if (rows < 0) refuse_damaged_file("a row group has a negative number of rows");
    const bool is_large = rows / 4 > large_batch_rows();
    if (is_large && unit.row_groups.empty()) {
      large_row_group_ = open_row_groups({next_row_group_++}, true);
      unit.batch_at_hand = next_batch(*large_row_group_);
      if (!unit.batch_at_hand) large_row_group_.reset();
      continue;
    }
    const std::int64_t most_rows = std::min(kUnitRows, 4 * large_batch_rows());
    if (!unit.row_groups.empty() && static_cast<std::int64_t>(unit.rows) + rows > most_rows) break;
    unit.row_groups.push_back(next_row_group_++);
    unit.rows += static_cast<std::uint64_t>(rows);
  }
}

// As if all rows were of equal length.
std::uint64_t ArrowFile::bytes_up_to(std::uint64_t row) {
  if (total_rows_ == 0) total_rows_ = std::max<std::uint64_t>(num_rows().value_or(0), 1);
  const double share = static_cast<double>(row) / static_cast<double>(total_rows_);
  return static_cast<std::uint64_t>(std::min(1.0, share) * static_cast<double>(size_));
}

// Null after the last one. Arrow checks little of an IPC file by itself.
std::shared_ptr<arrow::RecordBatch> ArrowFile::next_ipc_batch() {
  return guarded(names_.table, what(), [&]() -> std::shared_ptr<arrow::RecordBatch> {
    std::shared_ptr<arrow::RecordBatch> batch;
    if (ipc_stream_) {
      refuse_unless_ok(ipc_stream_->ReadNext(&batch), names_.table, what());
    } else if (next_ipc_batch_ < ipc_file_->num_record_batches()) {
      batch = value_or_refuse(ipc_file_->ReadRecordBatch(next_ipc_batch_++), names_.table, what());
    }
    if (batch) refuse_unless_ok(batch->ValidateFull(), names_.table, what());
    return batch;
  });
}

void ArrowFile::refuse_damaged_file(std::string_view reason) const { refuse_damaged(names_.table, what(), reason); }

}  // namespace limen::table::detail
