// SPDX-License-Identifier: MIT
#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "append.h"
#include "arrow_csv.h"
#include "arrow_file.h"
#include "arrow_frame.h"
#include "arrow_status.h"
#include "arrow_writer.h"
#include "limen/base/text.h"
#include "ordered_pipeline.h"
#include "row_source.h"

namespace limen::table::detail {
namespace {

std::shared_ptr<arrow::DataType> type_of(AddedType type) {
  switch (type) {
    case AddedType::kDouble:
      return arrow::float64();
    case AddedType::kInt64:
      return arrow::int64();
    case AddedType::kInt32:
      return arrow::int32();
    default:
      return arrow::uint8();
  }
}

// The values stay where they are and must outlive the array. NaN is null.
std::shared_ptr<arrow::Array> array_of(const AddedColumn& column, const AddedValues& values, const std::string& name) {
  return std::visit(
      [&](const auto& numbers) -> std::shared_ptr<arrow::Array> {
        const auto length = static_cast<std::int64_t>(numbers.size());
        std::shared_ptr<arrow::Buffer> present;
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(numbers[0])>, double>) {
          if (std::ranges::any_of(numbers, [](double value) { return std::isnan(value); })) {
            arrow::TypedBufferBuilder<bool> bits;
            for (const double value : numbers) refuse_unless_ok(bits.Append(!std::isnan(value)), name, "a table");
            present = value_or_refuse(bits.Finish(), name, "a table");
          }
        }
        return arrow::MakeArray(
            arrow::ArrayData::Make(type_of(column.type), length, {present, arrow::Buffer::Wrap(numbers)}));
      },
      values);
}

std::shared_ptr<arrow::RecordBatch> filtered(const std::shared_ptr<arrow::RecordBatch>& batch,
                                             const std::vector<bool>& keep, const ColumnNames& names) {
  arrow::BooleanBuilder builder;
  refuse_unless_ok(builder.AppendValues(keep), names.table, "a table");
  const std::shared_ptr<arrow::Array> mask = value_or_refuse(builder.Finish(), names.table, "a table");
  return value_or_refuse(arrow::compute::Filter(batch, mask), names.table, "a table").record_batch();
}

// Fills the added columns and writes; holds what must be the same for all inputs.
class Appender {
 public:
  Appender(std::string output, Format format, const AppendPlan& plan, const FillColumns& fill)
      : output_(std::move(output)), format_(format), plan_(plan), fill_(fill) {}

  // To be called with the copied columns of each input before its rows.
  void start_input(const ColumnNames& names, const arrow::Schema& schema);
  void add(const FrameRows& rows);
  AppendResult finish(const std::vector<Input>& inputs);

 private:
  std::string output_;
  Format format_;
  const AppendPlan& plan_;
  const FillColumns& fill_;
  ColumnNames names_;
  std::shared_ptr<arrow::Schema> schema_;  // with the added columns
  std::unique_ptr<ArrowWriter> writer_;
  AppendResult result_;
};

void Appender::start_input(const ColumnNames& names, const arrow::Schema& schema) {
  if (!writer_) {
    names_ = names;
    arrow::FieldVector fields;
    for (const std::shared_ptr<arrow::Field>& field : schema.fields()) fields.push_back(field->WithNullable(true));
    for (const AddedColumn& column : plan_.added) fields.push_back(arrow::field(column.name, type_of(column.type)));
    schema_ = arrow::schema(fields, schema.metadata());
    writer_ = open_writer(output_, format_, schema_);
  }
  require_same_columns(names_, names);
  for (int column = 0; column < schema.num_fields(); ++column) {
    const arrow::DataType& type = *schema.field(column)->type();
    const arrow::DataType& first_type = *schema_->field(column)->type();
    if (type.Equals(first_type)) continue;
    names.refuse("column " + quoted(schema.field(column)->name()) + " has type " + escaped(type.ToString(), 60) +
                 ", in " + names_.table + " it has type " + escaped(first_type.ToString(), 60));
  }
}

void Appender::add(const FrameRows& rows) {
  result_.rows += rows.frame.num_rows;
  result_.rows_dropped += rows.rows_dropped;
  if (rows.frame.num_rows == 0) return;
  const auto [values, keep] = filled_rows(plan_, rows.frame, fill_);
  arrow::ArrayVector columns = rows.batch->columns();
  for (std::size_t column = 0; column < values.size(); ++column) {
    columns.push_back(array_of(plan_.added[column], values[column], names_.table));
  }
  // Not the length of rows.batch, which is 0 when no column is copied.
  const auto num_rows = static_cast<std::int64_t>(rows.frame.num_rows);
  std::shared_ptr<arrow::RecordBatch> batch = arrow::RecordBatch::Make(schema_, num_rows, columns);
  if (const auto left_out = std::ranges::count(keep, std::uint8_t{0}); left_out > 0) {
    result_.rows -= static_cast<std::size_t>(left_out);
    batch = filtered(batch, std::vector<bool>(keep.begin(), keep.end()), names_);
  }
  if (batch->num_rows() > 0) writer_->write(*batch);
}

AppendResult Appender::finish(const std::vector<Input>& inputs) {
  require_rows(inputs, result_.rows, result_.rows_dropped);
  writer_->commit();
  return result_;
}

void append_text(const Input& input, const AppendPlan& plan, const Progress& progress,
                 const std::shared_ptr<arrow::Schema>& schema, Appender& appender) {
  CsvBatches batches(input, plan, progress, schema);
  appender.start_input(plan.kept_names(batches.names()), *batches.schema());
  while (const std::optional<FrameRows> rows = batches.next()) appender.add(*rows);
}

struct Piece {
  ArrowUnit unit;
  std::vector<FrameRows> batches = {};
};

// The rows of a batch that are kept, with only the columns that are copied; `first_row` is that of the batch in the
// file, from 0.
FrameRows rows_of(const std::shared_ptr<arrow::RecordBatch>& batch, const std::vector<FrameColumn>& wanted,
                  const std::vector<int>& kept, const AppendPlan& plan, const ColumnNames& names,
                  std::uint64_t first_row) {
  FrameRows rows;
  FrameBuilder builder(wanted);
  const std::vector<bool> keep = append_frame(*batch, wanted, plan.rules, names, first_row, builder);
  rows.frame = builder.take();
  rows.batch = value_or_refuse(batch->SelectColumns(kept), names.table, "a table");
  if (keep.empty()) return rows;
  rows.batch = filtered(rows.batch, keep, names);
  rows.rows_dropped = static_cast<std::size_t>(batch->num_rows()) - rows.frame.num_rows;
  return rows;
}

void append_typed(const Input& input, const AppendPlan& plan, const Progress& progress, Appender& appender) {
  ArrowFile file(input);
  std::vector<FrameColumn> wanted = plan.wanted_in(file.names());
  for (const FrameColumn& column : wanted) {
    check_frame_type(file.names(), column, *file.schema()->field(static_cast<int>(column.column.index))->type());
  }
  std::vector<Column> copied;
  arrow::FieldVector fields;
  for (const std::size_t index : plan.kept_in(file.names())) {
    copied.push_back({file.names().names[index], index});
    fields.push_back(file.schema()->field(static_cast<int>(index)));
  }
  appender.start_input(plan.kept_names(file.names()), *arrow::schema(fields, file.schema()->metadata()));
  std::vector<Column*> chosen;
  for (FrameColumn& column : wanted) chosen.push_back(&column.column);
  for (Column& column : copied) chosen.push_back(&column);
  file.select(chosen);
  std::vector<int> kept;
  for (const Column& column : copied) kept.push_back(static_cast<int>(column.index));
  // Decoded on all cores, a few units at a time, then filled and written by the caller's thread.
  const auto units_at_a_time = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  for (bool has_more = true; has_more;) {
    std::vector<Piece> pieces;
    std::size_t asked = 0;
    run_ordered<Piece>(
        [&]() -> std::unique_ptr<Piece> {
          if (asked++ == units_at_a_time) return nullptr;
          std::optional<ArrowUnit> unit = file.next_unit();
          has_more = unit.has_value();
          return has_more ? std::make_unique<Piece>(Piece{.unit = *std::move(unit)}) : nullptr;
        },
        [&](Piece& piece) {
          std::uint64_t first_row = piece.unit.first_row;
          file.decode(piece.unit, [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
            piece.batches.push_back(rows_of(batch, wanted, kept, plan, file.names(), first_row));
            first_row += static_cast<std::uint64_t>(batch->num_rows());
          });
        },
        [&](Piece& piece) { pieces.push_back(std::move(piece)); });
    for (const Piece& piece : pieces) {
      for (const FrameRows& rows : piece.batches) appender.add(rows);
      file.report(progress, piece.unit);
    }
  }
}

}  // namespace

AppendResult append_arrow(const std::vector<Input>& inputs, const std::string& output, Format output_format,
                          const AppendPlan& plan, const FillColumns& fill) {
  const std::shared_ptr<arrow::Schema> text_schema = infer_schema(inputs, plan);
  Appender appender(output, output_format, plan, fill);
  FileProgress progress(inputs, plan.progress);
  for (const Input& input : inputs) {
    const Progress file_progress = progress.next(input);
    if (is_text(input.format)) {
      append_text(input, plan, file_progress, text_schema, appender);
    } else {
      append_typed(input, plan, file_progress, appender);
    }
  }
  return appender.finish(inputs);
}

}  // namespace limen::table::detail
