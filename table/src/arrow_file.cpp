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
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <system_error>

#include "arrow_status.h"
#include "input_file.h"
#include "limen/base/text.h"
#include "parquet_plain.h"

namespace limen::table::detail {
namespace {

constexpr std::int64_t kBatchRows = 65'536;         // decoded at a time: the columns stay in the cache
constexpr std::int64_t kUnitRows = 1 << 18;         // smaller row groups are put together
constexpr std::int64_t kMaxRowGroupRows = 1 << 22;  // larger ones are decoded in batches, to bound memory
constexpr std::int64_t kLargeBatchRows = 1 << 20;   // then of this length

[[noreturn]] void fail(const std::string& name, int error) {
  throw IoError(IoError::Access::kRead, name, "cannot be read: " + std::generic_category().message(error));
}

// Refuses a damaged file's claim on more memory than the machine has. Lives as long as the process, because Arrow's
// input threads may give back a buffer after the file has been closed.
arrow::MemoryPool* memory_pool() {
  static arrow::MemoryPool* const pool = [] {
    const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
    return new arrow::CappedMemoryPool(arrow::default_memory_pool(), pages * ::sysconf(_SC_PAGESIZE));
  }();
  return pool;
}

std::shared_ptr<arrow::io::RandomAccessFile> read_into_memory(const Input& input) {
  InputFile file(input.path);
  std::string content;
  constexpr std::size_t kChunk = std::size_t{1} << 24;
  for (std::size_t got = kChunk; got == kChunk;) {
    const std::size_t filled = content.size();
    content.resize(filled + kChunk);
    got = file.read(std::span(content).subspan(filled));
    content.resize(filled + got);
  }
  return std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(std::move(content)));
}

std::shared_ptr<arrow::io::RandomAccessFile> open_file(const Input& input) {
  if (is_stdin(input)) return read_into_memory(input);
  const int descriptor = ::open(input.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(input.name, errno);
  struct stat status = {};
  const int error = ::fstat(descriptor, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  if (error != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    if (error != 0) fail(input.name, error);
    return read_into_memory(input);
  }
  return value_or_refuse(arrow::io::ReadableFile::Open(descriptor, memory_pool()), input.name, "a file");
}

void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) add_leaves(child, leaves);
}

}  // namespace

void refuse_damaged(const std::string& name, std::string_view what, std::string_view reason) {
  constexpr std::size_t kMaxCharacters = 200;
  reason = reason.substr(0, reason.find('\n'));
  throw InvalidInput(name + ": cannot be read as " + std::string(what) + ": " + escaped(reason, kMaxCharacters));
}

ArrowFile::ArrowFile(const Input& input)
    : names_{.table = input.name, .names = {}}, is_parquet_(input.format == Format::kParquet) {
  guarded(input.name, what(), [&] {
    file_ = open_file(input);
    size_ = static_cast<std::uint64_t>(value_or_refuse(file_->GetSize(), input.name, what()));
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
  if (start != "PAR1") names_.refuse("is not a Parquet file (give its format with --format, or name it by its format)");
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
    schema_ = ipc_file_->schema();
  } else if (start.starts_with("\xff\xff\xff\xff")) {
    refuse_unless_ok(file_->Seek(0), names_.table, what());
    ipc_stream_ = value_or_refuse(arrow::ipc::RecordBatchStreamReader::Open(file_, options), names_.table, what());
    schema_ = ipc_stream_->schema();
  } else {
    names_.refuse("is not an Arrow IPC file (give its format with --format, or name it by its format)");
  }
}

std::optional<std::uint64_t> ArrowFile::num_rows() {
  if (metadata_) return static_cast<std::uint64_t>(std::max<std::int64_t>(metadata_->num_rows(), 0));
  if (!ipc_file_) return std::nullopt;
  return guarded(names_.table, what(), [&] {
    return static_cast<std::uint64_t>(value_or_refuse(ipc_file_->CountRows(), names_.table, what()));
  });
}

void ArrowFile::select(const std::vector<Column*>& chosen) {
  fields_.clear();
  for (const Column* column : chosen) fields_.push_back(static_cast<int>(column->index));
  std::ranges::sort(fields_);
  fields_.erase(std::ranges::unique(fields_).begin(), fields_.end());
  for (Column* column : chosen) {
    const auto place = std::ranges::find(fields_, static_cast<int>(column->index));
    column->index = static_cast<std::size_t>(place - fields_.begin());
  }
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

void ArrowFile::report(const Progress& progress, const ArrowUnit& unit) {
  if (!progress) return;
  if (total_rows_ == 0) total_rows_ = std::max<std::uint64_t>(num_rows().value_or(0), 1);
  const double share = static_cast<double>(unit.first_row + unit.rows) / static_cast<double>(total_rows_);
  progress(static_cast<std::uint64_t>(std::min(1.0, share) * static_cast<double>(size_)), size_);
}

parquet::ReaderProperties ArrowFile::parquet_properties(bool is_large) {
  parquet::ReaderProperties properties(memory_pool());
  properties.set_page_checksum_verification(true);
  if (is_large) {
    properties.enable_buffered_stream();
    properties.set_buffer_size(1 << 20);
  }
  return properties;
}

std::unique_ptr<parquet::arrow::FileReader> ArrowFile::parquet_reader(bool is_large) const {
  // Threads: over the columns of a large row group; otherwise the caller decodes several row groups at a time.
  parquet::ArrowReaderProperties arrow_properties(is_large);
  arrow_properties.set_batch_size(is_large ? kLargeBatchRows : kBatchRows);
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

std::optional<ArrowUnit> ArrowFile::next_unit() {
  if (is_parquet_) return next_parquet_unit();
  if (!ipc_batch_ || ipc_offset_ >= ipc_batch_->num_rows()) {
    ipc_batch_ = next_ipc_batch();
    ipc_offset_ = 0;
  }
  if (!ipc_batch_) return std::nullopt;
  ArrowUnit unit;
  unit.batch = ipc_batch_->Slice(ipc_offset_, kUnitRows);
  ipc_offset_ += kUnitRows;
  unit.first_row = next_row_;
  unit.rows = static_cast<std::uint64_t>(unit.batch->num_rows());
  next_row_ += unit.rows;
  return unit;
}

std::optional<ArrowUnit> ArrowFile::next_parquet_unit() {
  ArrowUnit unit;
  unit.first_row = next_row_;
  if (large_row_group_) {
    unit.batch = next_batch(*large_row_group_);
    if (!unit.batch) large_row_group_.reset();
  }
  while (!unit.batch && next_row_group_ < metadata_->num_row_groups()) {
    const std::int64_t rows =
        guarded(names_.table, what(), [&] { return metadata_->RowGroup(next_row_group_)->num_rows(); });
    if (rows < 0) refuse_damaged_file("a row group has a negative number of rows");
    if (rows > kMaxRowGroupRows && unit.row_groups.empty()) {
      large_row_group_ = open_row_groups({next_row_group_++}, true);
      unit.batch = next_batch(*large_row_group_);
      if (!unit.batch) large_row_group_.reset();
      continue;
    }
    if (!unit.row_groups.empty() && static_cast<std::int64_t>(unit.rows) + rows > kUnitRows) break;
    unit.row_groups.push_back(next_row_group_++);
    unit.rows += static_cast<std::uint64_t>(rows);
  }
  if (unit.batch) unit.rows = static_cast<std::uint64_t>(unit.batch->num_rows());
  if (!unit.batch && unit.row_groups.empty()) return std::nullopt;
  next_row_ += unit.rows;
  return unit;
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
