// SPDX-License-Identifier: MIT
#include "arrow_file.h"

#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/memory_pool.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "bytes.h"
#include "limen/base/machine_memory.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

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

class IpcFile final : public ArrowFile {
 public:
  IpcFile(const std::shared_ptr<KnownFile>& file, const Limits& limits) : ArrowFile(file, limits, "Arrow IPC") {
    guarded(names_.table, what_, [this] {
      select();
      set_schema(file_form_ ? file_form_->schema() : stream_form_->schema());
    });
  }

 private:
  void select() override {
    const std::string start = bytes_at(0, 6);
    if (start.starts_with("FEA1")) names_.refuse("is a Feather file of version 1 (write it again as Arrow or Parquet)");
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = memory_pool();
    options.included_fields = fields_;
    options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
    if (start == "ARROW1") {
      file_form_ = checked(arrow::ipc::RecordBatchFileReader::Open(input_, options));
    } else if (start.starts_with("\xff\xff\xff\xff")) {
      check(input_->Seek(0));
      stream_form_ = checked(arrow::ipc::RecordBatchStreamReader::Open(input_, options));
    } else {
      throw InvalidInput(names_.table, "is not an Arrow IPC file", Cause::kWrongFormat);
    }
  }
  [[nodiscard]] std::optional<std::uint64_t> num_rows() override {
    if (!file_form_) return std::nullopt;
    return guarded(names_.table, what_,
                   [this] { return static_cast<std::uint64_t>(checked(file_form_->CountRows())); });
  }
  void take(ArrowUnit& unit) override {
    if (!batch_ || offset_ >= batch_->num_rows()) {
      batch_ = next_batch();
      offset_ = 0;
    }
    if (batch_) unit.batch_at_hand = batch_->Slice(offset_, kUnitRows);
    offset_ += kUnitRows;
  }
  // Null after the last one. Arrow checks little of an IPC file by itself.
  [[nodiscard]] BatchPointer next_batch() {
    BatchPointer batch;
    if (stream_form_) {
      check(stream_form_->ReadNext(&batch));
    } else if (next_batch_ < file_form_->num_record_batches()) {
      batch = checked(file_form_->ReadRecordBatch(next_batch_++));
    }
    if (batch) check(batch->ValidateFull());
    return batch;
  }

  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_form_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> stream_form_;
  int next_batch_ = 0;
  BatchPointer batch_;  // of which rows from offset_ on are still to be handed out
  std::int64_t offset_ = 0;
};

}  // namespace

void refuse_damaged(const std::string& name, std::string_view what, std::string_view reason) {
  constexpr std::size_t kMaxCharacters = 200;
  reason = reason.substr(0, reason.find('\n'));
  throw InvalidInput(name, "cannot be read as " + std::string(what) + ": " + escaped(reason, kMaxCharacters));
}

// Lives as long as the process, because Arrow's input threads may give back a buffer after the file has been closed.
// The system's allocator, because the others keep tens of megabytes that were given back.
arrow::MemoryPool* memory_pool() {
  static arrow::MemoryPool* const pool =
      new arrow::CappedMemoryPool(arrow::system_memory_pool(), static_cast<std::int64_t>(machine_memory()));
  return pool;
}

ArrowFile::ArrowFile(const std::shared_ptr<KnownFile>& file, const Limits& limits, const char* what)
    : FileReader(file, limits), what_(what) {
  guarded(names_.table, what_, [&] {
    input_ = random_access(file_);
    size_ = static_cast<std::uint64_t>(checked(input_->GetSize()));
  });
  if (size_ == 0) names_.refuse("is empty");
}

std::vector<std::optional<ColumnKind>> ArrowFile::kinds(const ValueRules&) {
  std::vector<std::optional<ColumnKind>> kinds;
  for (const std::shared_ptr<arrow::Field>& field : schema_->fields()) {
    kinds.emplace_back(is_plain_number(*field->type()) ? ColumnKind::kNumber : ColumnKind::kText);
  }
  return kinds;
}

void ArrowFile::start(const Selection& selection) {
  selection_ = &selection;
  std::map<std::size_t, int> place_of;
  for (const Wanted& column : selection.wanted) {
    check_type(names_, column, type_of(column.index));
    place_of[column.index] = 0;
  }
  for (const std::size_t column : selection.copying.columns) place_of[column] = 0;
  for (auto& [field, place] : place_of) {
    place = static_cast<int>(fields_.size());
    fields_.push_back(static_cast<int>(field));
  }
  for (const Wanted& column : selection.wanted) places_.push_back(place_of[column.index]);
  for (const std::size_t column : selection.copying.columns) copied_places_.push_back(place_of[column]);
  guarded(names_.table, what_, [this] { select(); });
}

std::unique_ptr<Unit> ArrowFile::next() {
  auto unit = std::make_unique<ArrowUnit>();
  guarded(names_.table, what_, [&] { take(*unit); });
  if (unit->batch_at_hand) unit->rows = static_cast<std::uint64_t>(unit->batch_at_hand->num_rows());
  if (!unit->batch_at_hand && unit->row_groups.empty()) return nullptr;
  unit->first_row = next_row_;
  next_row_ += unit->rows;
  // As if all rows were of equal length.
  if (total_rows_ == 0) total_rows_ = std::max<std::uint64_t>(num_rows().value_or(0), 1);
  const double share = static_cast<double>(next_row_) / static_cast<double>(total_rows_);
  unit->bytes_done = static_cast<std::uint64_t>(std::min(1.0, share) * static_cast<double>(size_));
  return unit;
}

void ArrowFile::decode(Unit& unit) const {
  ArrowUnit& own = static_cast<ArrowUnit&>(unit);
  guarded(names_.table, what_, [&] {
    const std::vector<Values> empty = own.batch.columns;
    if (decode_plain(own)) return;
    own.batch.columns = empty;
    if (own.batch_at_hand) {
      decode_batch(own.batch_at_hand, own.first_row, own.batch);
      return;
    }
    std::uint64_t seen = 0;
    for_each_batch(own.row_groups, [&](const BatchPointer& rows) {
      const auto size = static_cast<std::uint64_t>(rows->num_rows());
      if (seen + size > own.rows) refuse_damaged(names_.table, what_, "a row group has more rows than it says");
      decode_batch(rows, own.first_row + seen, own.batch);
      seen += size;
    });
    if (seen != own.rows) refuse_damaged(names_.table, what_, "a row group has fewer rows than it says");
  });
}

void ArrowFile::decode_batch(const BatchPointer& batch, std::uint64_t first_row, Batch& into) const {
  RawRows rows = {.size = static_cast<std::size_t>(batch->num_rows())};
  for (const int place : places_) rows.columns.push_back({.array = batch->column(place)});
  for (std::size_t row = 0; selection_->with_places && row < rows.size; ++row) {
    rows.places.push_back(first_row + row + 1);
  }
  if (selection_->copying.to != Copying::To::kNothing) rows.copied = checked(batch->SelectColumns(copied_places_));
  if (const std::optional<BadValue> bad = decode_rows(rows, *selection_, names_.table, into)) {
    refuse_value(names_, "row " + std::to_string(first_row + bad->row + 1), *bad);
  }
}

std::unique_ptr<FileReader> open_ipc(const std::shared_ptr<KnownFile>& file, const Limits& limits) {
  return std::make_unique<IpcFile>(file, limits);
}

}  // namespace limen::table::detail
