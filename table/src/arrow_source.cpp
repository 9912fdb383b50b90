// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "arrow_file.h"
#include "arrow_tables.h"
#include "arrow_values.h"
#include "fields.h"
#include "limen/error.h"
#include "ordered_pipeline.h"

namespace limen::table {
namespace detail {
namespace {

const arrow::Array& values_of(const arrow::RecordBatch& batch, const Column& column) {
  return *batch.column(static_cast<int>(column.index));
}

bool is_label_code(std::uint8_t label) { return label <= 1; }

// Without an early end, so that the compiler vectorises it.
bool are_labels(const std::vector<std::uint8_t>& labels, std::size_t begin) {
  std::uint8_t bits = 0;
  for (std::size_t row = begin; row < labels.size(); ++row) bits |= labels[row];
  return is_label_code(bits);
}

bool are_weights(const std::vector<double>& weights, std::size_t begin) {
  return all_finite(weights, begin) &&
         std::ranges::none_of(std::span(weights).subspan(begin), [](double weight) { return weight < 0; });
}

struct Piece {
  ArrowUnit unit;
  Predictions rows;
};

class ArrowSource final : public RowSource {
 public:
  ArrowSource(const Input& input, const ReadOptions& options)
      : options_(options), file_(input), columns_(find_labelled(file_.names(), options.columns)) {
    check_number_type(file_.names(), columns_.score, type_of(columns_.score));
    check_number_type(file_.names(), columns_.uncertainty, type_of(columns_.uncertainty));
    check_label_type(file_.names(), columns_.label, type_of(columns_.label));
    if (columns_.weight) check_number_type(file_.names(), *columns_.weight, type_of(*columns_.weight));
    empty_.score = empty_column(type_of(columns_.score));
    empty_.uncertainty = empty_column(type_of(columns_.uncertainty));

    std::vector<Column*> roles = {&columns_.score, &columns_.uncertainty, &columns_.label};
    if (columns_.weight) roles.push_back(&*columns_.weight);
    std::vector<int> fields;
    for (const Column* column : roles) fields.push_back(static_cast<int>(column->index));
    std::ranges::sort(fields);
    fields.erase(std::ranges::unique(fields).begin(), fields.end());
    file_.select(fields);
    // From here on an index is that of a column in the batches.
    for (Column* column : roles) {
      const auto place = std::ranges::find(fields, static_cast<int>(column->index));
      column->index = static_cast<std::size_t>(place - fields.begin());
    }
  }

  bool read(Predictions& into, std::size_t rows) override;
  [[nodiscard]] Predictions empty() const override { return empty_; }
  [[nodiscard]] bool has_weight() const override { return columns_.weight.has_value(); }

 private:
  [[nodiscard]] const arrow::DataType& type_of(const Column& column) const {
    return *file_.schema()->field(static_cast<int>(column.index))->type();
  }

  void reserve(Predictions& rows, std::uint64_t count) const;
  void convert(Piece& piece) const;
  void add_batch(const arrow::RecordBatch& batch, std::uint64_t first_row, Predictions& rows) const;
  void refuse(const arrow::RecordBatch& batch, std::size_t batch_row, std::uint64_t first_row, const Predictions& rows,
              std::size_t row) const;
  [[nodiscard]] Predictions take_spare();
  void give_back(Predictions&& rows);

  ReadOptions options_;
  ArrowFile file_;
  LabelledColumns columns_;
  Predictions empty_;
  std::uint64_t rows_read_ = 0;
  std::mutex spare_mutex_;
  std::vector<Predictions> spare_;  // memory for pieces, which is dear to take from the system again and again
};

bool ArrowSource::read(Predictions& into, std::size_t rows) {
  if (rows == std::numeric_limits<std::size_t>::max() && into.label.empty())
    reserve(into, file_.num_rows().value_or(0));
  const std::size_t rows_before = into.label.size();
  const std::uint64_t total = options_.progress ? std::max<std::uint64_t>(file_.num_rows().value_or(0), 1) : 1;
  bool has_more = true;
  while (has_more && into.label.size() - rows_before < rows) {
    // A batch ends where enough rows were asked for, not where they arrive: where it ends depends on no race.
    std::uint64_t asked = into.label.size() - rows_before;
    run_ordered<Piece>(
        [&]() -> std::unique_ptr<Piece> {
          if (asked >= rows) return nullptr;
          std::optional<ArrowUnit> unit = file_.next_unit();
          has_more = unit.has_value();
          if (!has_more) return nullptr;
          asked += unit->rows;
          return std::make_unique<Piece>(Piece{.unit = *std::move(unit), .rows = take_spare()});
        },
        [&](Piece& piece) { convert(piece); },
        [&](Piece& piece) {
          append(into, piece.rows);
          give_back(std::move(piece.rows));
          rows_read_ += piece.unit.rows;
          if (!options_.progress) return;
          const double share = static_cast<double>(rows_read_) / static_cast<double>(total);
          options_.progress(static_cast<std::uint64_t>(std::min(1.0, share) * static_cast<double>(file_.size())),
                            file_.size());
        });
  }
  return has_more;
}

// Never more than the file can hold: eight rows to a byte are more than one of random numbers has, and a vector that
// grows is slower, not wrong.
void ArrowSource::reserve(Predictions& rows, std::uint64_t count) const {
  count = std::min(count, 8 * file_.size());
  rows.score.reserve(count);
  rows.uncertainty.reserve(count);
  rows.label.reserve(count);
  if (columns_.weight) rows.weight.reserve(count);
}

Predictions ArrowSource::take_spare() {
  const std::lock_guard lock(spare_mutex_);
  if (spare_.empty()) return empty_;
  Predictions rows = std::move(spare_.back());
  spare_.pop_back();
  return rows;
}

void ArrowSource::give_back(Predictions&& rows) {
  const auto clear = [](auto& values) { values.clear(); };
  std::visit(clear, rows.score.values());
  std::visit(clear, rows.uncertainty.values());
  rows.label.clear();
  rows.weight.clear();
  rows.rows_dropped = 0;
  const std::lock_guard lock(spare_mutex_);
  spare_.push_back(std::move(rows));
}

void ArrowSource::convert(Piece& piece) const {
  std::uint64_t first_row = piece.unit.first_row;
  reserve(piece.rows, piece.unit.rows);
  file_.decode(piece.unit, [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
    add_batch(*batch, first_row, piece.rows);
    first_row += static_cast<std::uint64_t>(batch->num_rows());
  });
}

// Appends the rows of a batch; those that drop_missing leaves out are counted, or the first of them is refused.
void ArrowSource::add_batch(const arrow::RecordBatch& batch, std::uint64_t first_row, Predictions& rows) const {
  const std::size_t begin = rows.label.size();
  append_numbers(values_of(batch, columns_.score), rows.score);
  append_numbers(values_of(batch, columns_.uncertainty), rows.uncertainty);
  append_labels(values_of(batch, columns_.label), rows.label);
  if (columns_.weight) append_numbers(values_of(batch, *columns_.weight), rows.weight);
  if (all_finite(rows.score, begin) && all_finite(rows.uncertainty, begin) && are_labels(rows.label, begin) &&
      (!columns_.weight || are_weights(rows.weight, begin))) {
    return;
  }
  std::vector<std::size_t> kept;
  for (std::size_t row = begin; row < rows.label.size(); ++row) {
    const bool is_good = std::isfinite(rows.score.span()[row]) && std::isfinite(rows.uncertainty.span()[row]) &&
                         is_label_code(rows.label[row]) &&
                         (!columns_.weight || (std::isfinite(rows.weight[row]) && rows.weight[row] >= 0));
    if (is_good) kept.push_back(row);
    if (!is_good && !options_.drop_missing) refuse(batch, row - begin, first_row, rows, row);
  }
  rows.rows_dropped += rows.label.size() - begin - kept.size();
  const auto keep = [&](auto& values) {
    std::size_t end = begin;
    for (const std::size_t row : kept) values[end++] = values[row];
    values.resize(end);
  };
  std::visit(keep, rows.score.values());
  std::visit(keep, rows.uncertainty.values());
  keep(rows.label);
  if (columns_.weight) keep(rows.weight);
}

// `row` is the place in `rows` of a bad row, `batch_row` that in the batch, which starts at `first_row` of the file.
void ArrowSource::refuse(const arrow::RecordBatch& batch, std::size_t batch_row, std::uint64_t first_row,
                         const Predictions& rows, std::size_t row) const {
  const auto index = static_cast<std::int64_t>(batch_row);
  const auto refuse_value = [&](const Column& column, const std::string& what) {
    file_.names().refuse("row " + std::to_string(first_row + batch_row + 1) + ", column " + quoted(column.name) + ": " +
                         what);
  };
  const auto check_finite = [&](const Column& column, double value) {
    if (!std::isfinite(value)) refuse_value(column, bad_value(values_of(batch, column), index));
  };
  check_finite(columns_.score, rows.score.span()[row]);
  check_finite(columns_.uncertainty, rows.uncertainty.span()[row]);
  const arrow::Array& labels = values_of(batch, columns_.label);
  if (rows.label[row] == kMissingLabel) refuse_value(columns_.label, bad_value(labels, index));
  if (!is_label_code(rows.label[row])) refuse_value(columns_.label, shown_value(labels, index).append(kBadLabel));
  check_finite(columns_.weight.value(), rows.weight[row]);
  refuse_value(*columns_.weight,
               shown_value(values_of(batch, *columns_.weight), index).append(kNegativeWeight).append(kDropHint));
}

}  // namespace

std::unique_ptr<RowSource> open_arrow(const Input& input, const ReadOptions& options) {
  return std::make_unique<ArrowSource>(input, options);
}

std::optional<std::uint64_t> estimate_arrow_rows(const Input& input) {
  if (file_size(input) == 0) return std::nullopt;
  return ArrowFile(input).num_rows();
}

void for_each_arrow_row(const Input& input, const std::function<std::vector<Column>(const ColumnNames&)>& choose,
                        const std::function<void(std::uint64_t, std::span<const double>)>& row) {
  ArrowFile file(input);
  const std::vector<Column> columns = choose(file.names());
  for (const Column& column : columns) {
    check_number_type(file.names(), column, *file.schema()->field(static_cast<int>(column.index))->type());
  }
  std::vector<std::vector<double>> values(columns.size());
  std::vector<double> row_values(columns.size());
  std::uint64_t row_number = 0;
  while (const std::optional<ArrowUnit> unit = file.next_unit()) {
    file.decode(*unit, [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
      for (std::size_t column = 0; column < columns.size(); ++column) {
        values[column].clear();
        append_numbers(*batch->column(static_cast<int>(columns[column].index)), values[column]);
      }
      for (std::size_t index = 0; index < static_cast<std::size_t>(batch->num_rows()); ++index) {
        for (std::size_t column = 0; column < columns.size(); ++column) row_values[column] = values[column][index];
        row(++row_number, row_values);
      }
    });
  }
}

}  // namespace detail

bool has_arrow() { return true; }

}  // namespace limen::table
