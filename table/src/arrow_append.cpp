// SPDX-License-Identifier: MIT
#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "arrow_csv.h"
#include "arrow_file.h"
#include "arrow_status.h"
#include "arrow_tables.h"
#include "arrow_values.h"
#include "arrow_writer.h"
#include "fields.h"
#include "ordered_pipeline.h"

namespace limen::table::detail {
namespace {

// Decides on rows and writes them; holds what must be the same for all inputs.
class Appender {
 public:
  Appender(std::string output, Format format, const std::function<void(const DecisionBatch&)>& decide)
      : output_(std::move(output)), format_(format), decide_(decide) {}

  // To be called with the columns of each input before its rows.
  void start_input(const ColumnNames& names, const arrow::Schema& schema);
  void add(const UndecidedRows& rows);
  AppendResult finish(const std::vector<Input>& inputs);

 private:
  std::string output_;
  Format format_;
  const std::function<void(const DecisionBatch&)>& decide_;
  ColumnNames names_;
  std::shared_ptr<arrow::Schema> schema_;  // with the two new columns
  std::unique_ptr<ArrowWriter> writer_;
  AppendResult result_;
};

void Appender::start_input(const ColumnNames& names, const arrow::Schema& schema) {
  if (!writer_) {
    names.require_undecided();
    names_ = names;
    arrow::FieldVector fields;
    for (const std::shared_ptr<arrow::Field>& field : schema.fields()) fields.push_back(field->WithNullable(true));
    fields.push_back(arrow::field("decision", arrow::uint8()));
    fields.push_back(arrow::field("level", arrow::int32()));
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

void Appender::add(const UndecidedRows& rows) {
  result_.rows += rows.score.size();
  result_.rows_dropped += rows.rows_dropped;
  if (rows.score.size() == 0) return;
  std::vector<std::uint8_t> decision(rows.score.size());
  std::vector<std::int32_t> level(rows.score.size());
  decide_({.score = rows.score.span(), .uncertainty = rows.uncertainty.span(), .decision = decision, .level = level});
  const std::int64_t length = rows.batch->num_rows();
  arrow::ArrayVector columns = rows.batch->columns();
  columns.push_back(std::make_shared<arrow::UInt8Array>(length, arrow::Buffer::Wrap(decision)));
  columns.push_back(std::make_shared<arrow::Int32Array>(length, arrow::Buffer::Wrap(level)));
  writer_->write(*arrow::RecordBatch::Make(schema_, length, columns));
}

AppendResult Appender::finish(const std::vector<Input>& inputs) {
  require_rows(inputs, result_.rows, result_.rows_dropped);
  writer_->commit();
  return result_;
}

void append_text(const Input& input, const ReadOptions& options, const std::shared_ptr<arrow::Schema>& schema,
                 Appender& appender) {
  CsvBatches batches(input, options, schema);
  appender.start_input(batches.names(), *batches.schema());
  while (const std::optional<UndecidedRows> rows = batches.next()) appender.add(*rows);
}

struct Piece {
  ArrowUnit unit;
  std::vector<UndecidedRows> batches;
};

RealColumn column_of(const arrow::Array& array) {
  RealColumn column = empty_column(*array.type());
  std::visit([&](auto& values) { values.resize(static_cast<std::size_t>(array.length())); }, column.values());
  put_numbers(array, column, 0);
  return column;
}

// The rows of a batch that have both numbers; `first_row` is that of the batch in the file, from 0.
UndecidedRows undecided(const std::shared_ptr<arrow::RecordBatch>& batch, const Column& score,
                        const Column& uncertainty, const ColumnNames& names, bool drop_missing,
                        std::uint64_t first_row) {
  const arrow::Array& scores = *batch->column(static_cast<int>(score.index));
  const arrow::Array& uncertainties = *batch->column(static_cast<int>(uncertainty.index));
  UndecidedRows rows = {.batch = batch, .score = column_of(scores), .uncertainty = column_of(uncertainties)};
  const auto size = static_cast<std::size_t>(batch->num_rows());
  if (all_finite(rows.score.span(), 0, size) && all_finite(rows.uncertainty.span(), 0, size)) return rows;
  const auto refuse = [&](const Column& column, const arrow::Array& array, std::int64_t row) {
    names.refuse("row " + std::to_string(first_row + static_cast<std::uint64_t>(row) + 1) + ", column " +
                 quoted(column.name) + ": " + bad_value(array, row));
  };
  arrow::BooleanBuilder keep;
  for (std::int64_t row = 0; row < batch->num_rows(); ++row) {
    const auto index = static_cast<std::size_t>(row);
    const bool has_score = std::isfinite(rows.score.span()[index]);
    const bool has_uncertainty = std::isfinite(rows.uncertainty.span()[index]);
    if (!drop_missing && !has_score) refuse(score, scores, row);
    if (!drop_missing && !has_uncertainty) refuse(uncertainty, uncertainties, row);
    refuse_unless_ok(keep.Append(has_score && has_uncertainty), names.table, "a table");
    if (!has_score || !has_uncertainty) ++rows.rows_dropped;
  }
  const std::shared_ptr<arrow::Array> mask = value_or_refuse(keep.Finish(), names.table, "a table");
  rows.batch = value_or_refuse(arrow::compute::Filter(batch, mask), names.table, "a table").record_batch();
  rows.score = column_of(*rows.batch->column(static_cast<int>(score.index)));
  rows.uncertainty = column_of(*rows.batch->column(static_cast<int>(uncertainty.index)));
  return rows;
}

void append_typed(const Input& input, const ReadOptions& options, Appender& appender) {
  ArrowFile file(input);
  const Column score = file.names().require(options.columns.score, "--score");
  const Column uncertainty = file.names().require(options.columns.uncertainty, "--uncertainty");
  for (const Column& column : {score, uncertainty}) {
    check_number_type(file.names(), column, *file.schema()->field(static_cast<int>(column.index))->type());
  }
  appender.start_input(file.names(), *file.schema());
  const std::uint64_t total = options.progress ? std::max<std::uint64_t>(file.num_rows().value_or(0), 1) : 1;
  run_ordered<Piece>(
      [&]() -> std::unique_ptr<Piece> {
        std::optional<ArrowUnit> unit = file.next_unit();
        if (!unit) return nullptr;
        return std::make_unique<Piece>(Piece{.unit = *std::move(unit), .batches = {}});
      },
      [&](Piece& piece) {
        std::uint64_t first_row = piece.unit.first_row;
        file.decode(piece.unit, [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
          piece.batches.push_back(undecided(batch, score, uncertainty, file.names(), options.drop_missing, first_row));
          first_row += static_cast<std::uint64_t>(batch->num_rows());
        });
      },
      [&](Piece& piece) {
        for (const UndecidedRows& rows : piece.batches) appender.add(rows);
        if (!options.progress) return;
        const double share = static_cast<double>(piece.unit.first_row + piece.unit.rows) / static_cast<double>(total);
        options.progress(static_cast<std::uint64_t>(std::min(1.0, share) * static_cast<double>(file.size())),
                         file.size());
      });
}

}  // namespace

AppendResult append_arrow(const std::vector<Input>& inputs, const std::string& output, Format output_format,
                          const ReadOptions& options, const std::function<void(const DecisionBatch&)>& decide) {
  const std::shared_ptr<arrow::Schema> text_schema = infer_schema(inputs, options);
  Appender appender(output, output_format, decide);
  FileProgress progress(inputs, options);
  for (const Input& input : inputs) {
    const ReadOptions file_options = progress.options_for(input);
    if (is_text(input.format)) {
      append_text(input, file_options, text_schema, appender);
    } else {
      append_typed(input, file_options, appender);
    }
  }
  return appender.finish(inputs);
}

}  // namespace limen::table::detail
