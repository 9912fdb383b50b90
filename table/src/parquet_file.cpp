// SPDX-License-Identifier: MIT
#include <arrow/memory_pool.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "arrow_file.h"

namespace limen::table::detail {
namespace {

constexpr std::int64_t kBatchRows = 65'536;  // decoded at a time: the columns stay in the cache
constexpr std::size_t kRows = 16'384;        // at a time: they are still in the cache when they are checked

// Reads values to `place` of their first row, and calls `put` with that row and their number, until there are no more.
// False when `put` says so, when a value is missing, or with another number of rows.
template <typename Type, typename Place, typename Put>
bool read_each(parquet::ColumnReader& column, std::size_t rows, const Place& place, const Put& put) {
  auto& typed = static_cast<parquet::TypedColumnReader<Type>&>(column);
  std::array<std::int16_t, kRows> is_there{};
  std::size_t row = 0;
  while (row < rows && typed.HasNext()) {
    std::int64_t filled = 0;
    const std::int64_t seen = typed.ReadBatch(static_cast<std::int64_t>(std::min(kRows, rows - row)), is_there.data(),
                                              nullptr, place(row), &filled);
    if (seen <= 0 || filled != seen || !put(row, static_cast<std::size_t>(filled))) return false;
    row += static_cast<std::size_t>(filled);
  }
  return row == rows && !typed.HasNext();
}

template <typename Type, typename Value>
bool read_numbers(parquet::ColumnReader& column, std::span<Value> values) {
  return read_each<Type>(
      column, values.size(), [&](std::size_t row) { return values.data() + row; },
      [&](std::size_t row, std::size_t count) {
        return all_finite(std::span<const Value>(values.subspan(row, count)));
      });
}

template <typename Type>
bool read_labels(parquet::ColumnReader& column, std::span<std::uint8_t> labels) {
  using Value = typename Type::c_type;
  std::array<Value, kRows> values{};
  return read_each<Type>(
      column, labels.size(), [&](std::size_t) { return values.data(); },
      [&](std::size_t row, std::size_t count) {
        std::conditional_t<std::is_same_v<Value, bool>, unsigned char, Value> bits = 0;
        for (std::size_t index = 0; index < count; ++index) {
          bits |= values[index];
          labels[row + index] = static_cast<std::uint8_t>(values[index]);
        }
        return bits == 0 || bits == 1;
      });
}

// No lists, no groups, and no decimals, dates or the like, whose numbers mean something else.
bool is_plain(const parquet::ColumnReader& column) {
  const parquet::ColumnDescriptor& type = *column.descr();
  const std::shared_ptr<const parquet::LogicalType>& meaning = type.logical_type();
  return type.max_repetition_level() == 0 && type.max_definition_level() <= 1 &&
         (!meaning || meaning->is_none() || meaning->is_int());
}

// Reads a column of a row group straight to its place in the values, without an array in between. False when it is not
// that plain: another type, lists, values that are missing or not finite, labels that are neither 0 nor 1, another
// number of rows. What the place holds is then of no use, and the way over arrays tells what is the matter. Fitting 40
// million rows takes 1.3 s of processor time with it, 2.3 s without.
bool read_plain(parquet::ColumnReader& column, Values& values, std::size_t begin, std::size_t rows) {
  const auto read = [&](auto& vector) {
    using Vector = std::remove_cvref_t<decltype(vector)>;
    if constexpr (std::is_same_v<Vector, Texts>) {
      return false;
    } else {
      if (vector.size() < begin + rows) vector.resize(begin + rows);
      const std::span place = std::span(vector).subspan(begin, rows);
      if constexpr (std::is_same_v<Vector, Singles>) {
        return column.type() == parquet::Type::FLOAT && read_numbers<parquet::FloatType>(column, place);
      } else if constexpr (std::is_same_v<Vector, Reals>) {
        return column.type() == parquet::Type::DOUBLE && read_numbers<parquet::DoubleType>(column, place);
      } else {
        return (column.type() == parquet::Type::BOOLEAN && read_labels<parquet::BooleanType>(column, place)) ||
               (column.type() == parquet::Type::INT32 && read_labels<parquet::Int32Type>(column, place)) ||
               (column.type() == parquet::Type::INT64 && read_labels<parquet::Int64Type>(column, place));
      }
    }
  };
  return is_plain(column) && std::visit(read, values);
}

void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) add_leaves(child, leaves);
}

class ParquetFile final : public ArrowFile {
 public:
  ParquetFile(const std::shared_ptr<KnownFile>& file, const Limits& limits) : ArrowFile(file, limits, "Parquet") {
    guarded(names_.table, what_, [this] {
      constexpr std::int64_t kMagicBytes = 4;
      const std::string start = bytes_at(0, kMagicBytes);
      if (start == "PARE") names_.refuse("is an encrypted Parquet file (decrypt it first)");
      if (start != "PAR1") throw InvalidInput(names_.table, "is not a Parquet file", Cause::kWrongFormat);
      if (size_ < 3 * kMagicBytes || bytes_at(static_cast<std::int64_t>(size_) - kMagicBytes, kMagicBytes) != "PAR1") {
        names_.refuse("is cut off or damaged: it does not end like a Parquet file");
      }
      const std::unique_ptr<parquet::arrow::FileReader> reader = open(false);
      metadata_ = reader->parquet_reader()->metadata();
      std::shared_ptr<arrow::Schema> schema;
      check(reader->GetSchema(&schema));
      set_schema(schema);
    });
  }

 private:
  // What reads the batches of some row groups, and the reader of the file, which it may not keep alive by itself.
  struct BatchReader {
    std::unique_ptr<parquet::arrow::FileReader> file = nullptr;
    std::unique_ptr<arrow::RecordBatchReader> batches = nullptr;
  };

  void select() override {
    const std::unique_ptr<parquet::arrow::FileReader> reader = open(false);
    for (const int field : fields_) {
      add_leaves(reader->manifest().schema_fields.at(static_cast<std::size_t>(field)), columns_);
    }
    can_be_plain_ =
        selection_->copying.to == Copying::To::kNothing && !selection_->with_places &&
        columns_.size() == fields_.size() &&
        std::ranges::all_of(selection_->wanted, [this](const Wanted& column) { return can_be_plain(column); });
  }
  [[nodiscard]] std::optional<std::uint64_t> num_rows() override {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(metadata_->num_rows(), 0));
  }

  void take(ArrowUnit& unit) override {
    if (large_row_group_.batches) take_of_large(unit);
    while (!unit.batch_at_hand && next_row_group_ < metadata_->num_row_groups()) {
      const std::int64_t rows = metadata_->RowGroup(next_row_group_)->num_rows();
      if (rows < 0) refuse_damaged(names_.table, what_, "a row group has a negative number of rows");
      const bool is_large = rows / 4 > large_batch_rows();
      if (is_large && unit.row_groups.empty()) {
        large_row_group_ = open_row_groups({next_row_group_++}, true);
        take_of_large(unit);
        continue;
      }
      const std::int64_t most_rows = std::min(kUnitRows, 4 * large_batch_rows());
      if (!unit.row_groups.empty() && static_cast<std::int64_t>(unit.rows) + rows > most_rows) break;
      unit.row_groups.push_back(next_row_group_++);
      unit.rows += static_cast<std::uint64_t>(rows);
    }
  }
  void take_of_large(ArrowUnit& unit) {
    unit.batch_at_hand = next_batch(large_row_group_);
    if (!unit.batch_at_hand) large_row_group_ = {};
  }
  // Rows whose values one thread may hold.
  [[nodiscard]] std::int64_t large_batch_rows() const {
    const std::uint64_t columns = std::max<std::size_t>(columns_.size(), 1);
    return static_cast<std::int64_t>(std::max<std::uint64_t>(limits_.unit_values / columns / 4, 1 << 12));
  }

  [[nodiscard]] static parquet::ReaderProperties properties(bool is_large) {
    parquet::ReaderProperties properties(memory_pool());
    properties.set_page_checksum_verification(true);
    if (is_large) {
      properties.enable_buffered_stream();
      properties.set_buffer_size(1 << 18);
    }
    return properties;
  }
  [[nodiscard]] std::unique_ptr<parquet::arrow::FileReader> open(bool is_large) const {
    // Threads: over the columns of a large row group; otherwise the caller decodes several row groups at a time.
    parquet::ArrowReaderProperties arrow_properties(is_large);
    arrow_properties.set_batch_size(is_large ? large_batch_rows() : kBatchRows);
    arrow_properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(input_, properties(is_large), metadata_));
    builder.memory_pool(memory_pool());
    builder.properties(arrow_properties);
    return checked(builder.Build());
  }
  [[nodiscard]] BatchReader open_row_groups(const std::vector<int>& row_groups, bool is_large) const {
    for (const int row_group : row_groups) check_chunks(row_group);
    BatchReader reader = {.file = open(is_large)};
    reader.batches = checked(columns_.empty() ? reader.file->GetRecordBatchReader(row_groups)
                                              : reader.file->GetRecordBatchReader(row_groups, columns_));
    return reader;
  }
  [[nodiscard]] BatchPointer next_batch(const BatchReader& reader) const {
    BatchPointer batch;
    check(reader.batches->ReadNext(&batch));
    if (batch) check(batch->Validate());
    return batch;
  }
  // Arrow takes memory for a column chunk before it reads it.
  void check_chunks(int row_group) const {
    const std::unique_ptr<parquet::RowGroupMetaData> group = metadata_->RowGroup(row_group);
    for (int column = 0; column < group->num_columns(); ++column) {
      if (!columns_.empty() && std::ranges::find(columns_, column) == columns_.end()) continue;
      const std::int64_t bytes = group->ColumnChunk(column)->total_compressed_size();
      if (bytes >= 0 && static_cast<std::uint64_t>(bytes) <= size_) continue;
      refuse_damaged(names_.table, what_, "a column is longer than the file");
    }
  }
  void for_each_batch(const std::vector<int>& row_groups,
                      const std::function<void(const BatchPointer&)>& use) const override {
    const BatchReader reader = open_row_groups(row_groups, false);
    while (const BatchPointer batch = next_batch(reader)) use(batch);
  }

  // Whether the type of a column allows parquet_plain.h.
  [[nodiscard]] bool can_be_plain(const Wanted& column) const {
    const arrow::Type::type type = type_of(column.index)->id();
    if (column.kind == Kind::kLabel) {
      return selection_->rules.labels.kind == LabelKind::kStandard &&
             (type == arrow::Type::BOOL || arrow::is_integer(type));
    }
    return column.kind == Kind::kReal &&
           (type == arrow::Type::DOUBLE || (type == arrow::Type::FLOAT && column.keeps_single));
  }
  [[nodiscard]] bool decode_plain(ArrowUnit& unit) const override {
    if (!can_be_plain_ || unit.row_groups.empty()) return false;
    const auto file = parquet::ParquetFileReader::Open(input_, properties(false), metadata_);
    std::size_t begin = 0;
    for (const int index : unit.row_groups) {
      check_chunks(index);
      const std::shared_ptr<parquet::RowGroupReader> group = file->RowGroup(index);
      const auto rows = static_cast<std::size_t>(group->metadata()->num_rows());
      for (std::size_t column = 0; column < places_.size(); ++column) {
        const int leaf = columns_[static_cast<std::size_t>(places_[column])];
        if (!read_plain(*group->Column(leaf), unit.batch.columns[column], begin, rows)) return false;
      }
      begin += rows;
    }
    for (std::size_t column = 0; column < places_.size(); ++column) {
      if (!selection_->wanted[column].is_weight) continue;
      const Reals& weights = std::get<Reals>(unit.batch.columns[column]);
      if (std::ranges::any_of(weights, [](double weight) { return weight < 0; })) return false;
    }
    unit.batch.num_rows = unit.rows;
    return true;
  }

  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<int> columns_;  // leaves of the chosen fields
  bool can_be_plain_ = false;
  int next_row_group_ = 0;
  BatchReader large_row_group_;
};

}  // namespace

std::unique_ptr<FileReader> open_parquet(const std::shared_ptr<KnownFile>& file, const Limits& limits) {
  return std::make_unique<ParquetFile>(file, limits);
}

}  // namespace limen::table::detail
