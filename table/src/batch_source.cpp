// SPDX-License-Identifier: MIT
#include "batch_source.h"

#include <algorithm>
#include <future>
#include <utility>

#include "arrow_file.h"
#include "csv_file.h"
#include "limen/base/error.h"
#include "ordered_pipeline.h"

namespace limen::table::detail {

BatchSource::BatchSource(const TableFiles& files, const ReadOptions& options, const Limits& limits)
    : files_(files), options_(options), limits_(limits) {
  for (const auto& file : files_.files()) {
    const std::uint64_t bytes = size_of(*file);
    total_bytes_ += bytes;
    if (bytes > 0) continue;
    total_bytes_ = 0;
    break;
  }
}

Format BatchSource::format_of(const KnownFile& file) const {
  if (options_.format) return *options_.format;
  const std::optional<NamedFormat> named = is_stdin(file) ? std::nullopt : format_of_name(file.path);
  return named ? named->format : Format::kCsv;
}

std::unique_ptr<FileReader> BatchSource::open(const std::shared_ptr<KnownFile>& file) const {
  const Format format = format_of(*file);
  if (is_text(format)) return std::make_unique<CsvFile>(file, format, options_, limits_);
  return format == Format::kParquet ? open_parquet(file, limits_) : open_ipc(file, limits_);
}

void BatchSource::for_each_file(const std::function<void(FileReader&)>& look) {
  for (const auto& file : files_.files()) {
    std::unique_ptr<FileReader> reader = open(file);
    look(*reader);
    if (is_stdin(*file)) stdin_ = std::move(reader);
  }
}

void BatchSource::open_next() {
  const std::shared_ptr<KnownFile>& file = files_.files()[next_file_++];
  reader_ = is_stdin(*file) && stdin_ ? std::move(stdin_) : open(file);
  selection_ = choose_(*reader_);
  reader_->start(selection_);
  rows_of_file_ = 0;
  empty_.clear();
  for (const Wanted& column : selection_.wanted)
    empty_.push_back(empty_values(column, reader_->is_single(column.index)));
}

std::optional<Batch> BatchSource::next(std::size_t rows) {
  std::optional<Batch> batch;
  while (next_file_ < files_.files().size() || reader_) {
    if (!reader_) open_next();
    if (!batch) {
      batch.emplace();
      batch->columns = empty_;
    }
    try {
      read(*batch, rows == kAllRows ? rows : rows - batch->num_rows);
    } catch (...) {
      if (reader_) reader_->file().require_unchanged();
      throw;
    }
    if (batch->num_rows >= rows) break;
  }
  if (!batch || (batch->num_rows == 0 && batch->rows_dropped == 0)) return std::nullopt;
  counts_.rows += batch->num_rows;
  counts_.rows_dropped += batch->rows_dropped;
  labels_.merge(batch->labels);
  return batch;
}

// A batch ends where enough units or rows were asked for, not where they arrive: where it ends depends on no race.
void BatchSource::read(Batch& into, std::size_t rows) {
  const bool is_all = rows == kAllRows;
  const std::size_t rows_before = into.num_rows;
  bool has_more = true;
  while (has_more && into.num_rows - rows_before < rows) {
    std::uint64_t asked_rows = into.num_rows - rows_before;
    std::size_t asked_units = 0;
    run_ordered<Unit>(
        [&]() -> std::unique_ptr<Unit> {
          if (!is_all && (asked_rows >= rows || asked_units++ == limits_.chunks_per_run)) return nullptr;
          std::unique_ptr<Unit> unit = reader_->next();
          has_more = unit != nullptr;
          if (!has_more) return nullptr;
          asked_rows += unit->rows;
          unit->batch.columns = empty_;
          return unit;
        },
        [&](Unit& unit) { reader_->decode(unit); },
        [&](Unit& unit) {
          reader_->settle(unit);
          add(into, unit, is_all);
        });
  }
  if (has_more) return;
  reader_->file().end(rows_of_file_);
  bytes_before_ += reader_->file().size();
  reader_.reset();
}

void BatchSource::add(Batch& into, Unit& unit, bool is_all) {
  const std::uint64_t bytes = bytes_before_ + unit.bytes_done;
  if (is_all && into.num_rows == 0 && bytes > 0 && bytes < total_bytes_) {
    const double share = static_cast<double>(total_bytes_) / static_cast<double>(bytes);
    reserve(into, static_cast<std::size_t>(1.02 * share * static_cast<double>(unit.batch.num_rows)));
  }
  append(into, unit.batch);
  rows_of_file_ += unit.rows;
  if (options_.progress) options_.progress(bytes, total_bytes_ == 0 ? 0 : std::max(total_bytes_, bytes));
}

void BatchSource::for_each(std::size_t rows, const std::function<void(Batch&)>& visit) {
  // A future of std::async waits in its destructor: no thread is left behind when `visit` throws.
  const auto read_ahead = [this, rows] { return std::async(std::launch::async, [this, rows] { return next(rows); }); };
  std::future<std::optional<Batch>> ahead = read_ahead();
  while (std::optional<Batch> batch = ahead.get()) {
    ahead = read_ahead();
    visit(*batch);
  }
}

void BatchSource::require_rows() const {
  if (counts_.rows > 0) return;
  std::string problem =
      "no rows are left: all " + std::to_string(counts_.rows_dropped) + " have a missing or bad value";
  if (counts_.rows_dropped == 0) {
    problem = files_.files().size() > 1                     ? "no rows"
              : is_text(format_of(*files_.files().front())) ? "has a header but no rows"
                                                            : "has no rows";
  }
  throw InvalidInput(files_.name(), problem, Cause::kNoRows);
}

}  // namespace limen::table::detail
