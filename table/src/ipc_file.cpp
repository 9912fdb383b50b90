// SPDX-License-Identifier: MIT
#include <arrow/ipc/reader.h>

#include "arrow_file.h"

namespace limen::table::detail {
namespace {

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
    return guarded(names_.table, what_, [this] { return static_cast<std::uint64_t>(checked(file_form_->CountRows())); });
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
  void for_each_batch(const ArrowUnit& unit, const std::function<void(const BatchPointer&)>& use) const override {
    use(unit.batch_at_hand);
  }

  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_form_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> stream_form_;
  int next_batch_ = 0;
  BatchPointer batch_;  // of which rows from offset_ on are still to be handed out
  std::int64_t offset_ = 0;
};

}  // namespace

std::unique_ptr<FileReader> open_ipc(const std::shared_ptr<KnownFile>& file, const Limits& limits) {
  return std::make_unique<IpcFile>(file, limits);
}

}  // namespace limen::table::detail
