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
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "ordered_pipeline.h"

namespace limen::table {
namespace detail {
namespace {

const arrow::Array& values_of(const arrow::RecordBatch& batch, const Column& column) {
  return *batch.column(static_cast<int>(column.index));
}

bool is_plain_number_type(const arrow::DataType& type) {
  return type.id() == arrow::Type::FLOAT || type.id() == arrow::Type::DOUBLE;
}

bool is_plain_label_type(const arrow::DataType& type) {
  return type.id() == arrow::Type::BOOL || arrow::is_integer(type.id());
}

bool is_label_code(std::uint8_t label) { return label <= 1; }

// Without an early end, so that the compiler vectorises it.
bool are_labels(std::span<const std::uint8_t> labels) {
  std::uint8_t bits = 0;
  for (const std::uint8_t label : labels) bits |= label;
  return is_label_code(bits);
}

bool are_weights(std::span<const double> weights) {
  return all_finite(weights, 0, weights.size()) &&
         std::ranges::none_of(weights, [](double weight) { return weight < 0; });
}

void resize(Predictions& rows, std::size_t size, bool has_weight) {
  const auto set_size = [size](auto& values) { values.resize(size); };
  std::visit(set_size, rows.score.values());
  std::visit(set_size, rows.uncertainty.values());
  set_size(rows.label);
  if (has_weight) set_size(rows.weight);
}

// Moves rows towards the front.
void move_rows(Predictions& rows, std::size_t from, std::size_t to, std::size_t count) {
  const auto move = [&](auto& values) {
    if (!values.empty())
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from), count,
                  values.begin() + static_cast<std::ptrdiff_t>(to));
  };
  if (from == to) return;
  std::visit(move, rows.score.values());
  std::visit(move, rows.uncertainty.values());
  move(rows.label);
  move(rows.weight);
}

// Rows that are decoded by one thread, into `rows` of its own or straight to where all rows of the file go.
struct Piece {
  ArrowUnit unit;
  Predictions rows;
  std::size_t kept = 0;
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

    can_be_plain_ = is_plain_number_type(type_of(columns_.score)) &&
                    is_plain_number_type(type_of(columns_.uncertainty)) &&
                    is_plain_label_type(type_of(columns_.label)) &&
                    (!columns_.weight || type_of(*columns_.weight).id() == arrow::Type::DOUBLE);

    std::vector<Column*> roles = {&columns_.score, &columns_.uncertainty, &columns_.label};
    if (columns_.weight) roles.push_back(&*columns_.weight);
    file_.select(roles);
  }

  bool read(Predictions& into, std::size_t rows) override;
  [[nodiscard]] Predictions empty() const override { return empty_; }
  [[nodiscard]] bool has_weight() const override { return columns_.weight.has_value(); }

 private:
  [[nodiscard]] const arrow::DataType& type_of(const Column& column) const {
    return *file_.schema()->field(static_cast<int>(column.index))->type();
  }

  bool read_all(Predictions& into);
  [[nodiscard]] bool can_have(std::optional<std::uint64_t> rows) const;
  void convert(Piece& piece, Predictions& rows, std::size_t begin) const;
  [[nodiscard]] bool put_plain(const ArrowUnit& unit, Predictions& rows, std::size_t begin) const;
  void put_batch(const arrow::RecordBatch& batch, Predictions& rows, std::size_t begin) const;
  [[nodiscard]] std::size_t keep_good(const arrow::RecordBatch& batch, std::uint64_t first_row, Predictions& rows,
                                      std::size_t begin) const;
  void refuse(const arrow::RecordBatch& batch, std::size_t batch_row, std::uint64_t first_row, const Predictions& rows,
              std::size_t row) const;
  [[nodiscard]] Predictions take_spare();
  void give_back(Predictions&& rows);

  ReadOptions options_;
  ArrowFile file_;
  LabelledColumns columns_;
  Predictions empty_;
  bool can_be_plain_ = false;  // by the types of the columns, see parquet_plain.h
  bool started_ = false;
  std::mutex spare_mutex_;
  std::vector<Predictions> spare_;  // memory for pieces, which is dear to take from the system again and again
};

bool ArrowSource::read(Predictions& into, std::size_t rows) {
  const bool all = rows == std::numeric_limits<std::size_t>::max();
  if (all && into.label.empty() && !started_ && can_have(file_.num_rows())) return read_all(into);
  started_ = true;
  const std::size_t rows_before = into.label.size();
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
        [&](Piece& piece) {
          convert(piece, piece.rows, 0);
          resize(piece.rows, piece.kept, columns_.weight.has_value());
        },
        [&](Piece& piece) {
          append(into, piece.rows);
          give_back(std::move(piece.rows));
          into.rows_dropped += piece.unit.rows - piece.kept;
          file_.report(options_.progress, piece.unit);
        });
  }
  return has_more;
}

// The whole file straight into its place, when the number of rows is known. Where rows are dropped, those behind move
// up.
bool ArrowSource::read_all(Predictions& into) {
  const std::uint64_t total = file_.num_rows().value();
  const bool has_weight = columns_.weight.has_value();
  resize(into, total, has_weight);
  std::size_t filled = 0;
  run_ordered<Piece>(
      [&]() -> std::unique_ptr<Piece> {
        std::optional<ArrowUnit> unit = file_.next_unit();
        if (!unit) return nullptr;
        if (unit->first_row + unit->rows > total) file_.refuse_damaged_file("it has more rows than it says");
        return std::make_unique<Piece>(Piece{.unit = *std::move(unit), .rows = {}});
      },
      [&](Piece& piece) { convert(piece, into, piece.unit.first_row); },
      [&](Piece& piece) {
        move_rows(into, piece.unit.first_row, filled, piece.kept);
        filled += piece.kept;
        into.rows_dropped += piece.unit.rows - piece.kept;
        file_.report(options_.progress, piece.unit);
      });
  resize(into, filled, has_weight);
  return false;
}

// Whether a file of this size can have so many rows: eight to a byte are more than one of random numbers has.
bool ArrowSource::can_have(std::optional<std::uint64_t> rows) const { return rows && *rows <= 8 * file_.size(); }

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

// The rows of a piece go to `begin` of `rows`; without those that drop_missing leaves out, of which none may be kept
// when it is not asked for.
void ArrowSource::convert(Piece& piece, Predictions& rows, std::size_t begin) const {
  if (&rows == &piece.rows) resize(rows, piece.unit.rows, columns_.weight.has_value());
  if (put_plain(piece.unit, rows, begin)) {
    piece.kept = piece.unit.rows;
    return;
  }
  std::uint64_t first_row = piece.unit.first_row;
  std::uint64_t seen = 0;
  file_.decode(piece.unit, [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
    const auto size = static_cast<std::size_t>(batch->num_rows());
    seen += size;
    if (seen > piece.unit.rows) file_.refuse_damaged_file("a row group has more rows than it says");
    put_batch(*batch, rows, begin + piece.kept);
    piece.kept += keep_good(*batch, first_row, rows, begin + piece.kept);
    first_row += size;
  });
  if (seen != piece.unit.rows) file_.refuse_damaged_file("a row group has fewer rows than it says");
}

// All rows of a unit that needs no more than a copy; false, and rows that are to be written again, for any other.
bool ArrowSource::put_plain(const ArrowUnit& unit, Predictions& rows, std::size_t begin) const {
  if (!can_be_plain_) return false;
  const auto read = [&](const Column& column, auto& values) {
    return file_.read_plain(unit, column.index, std::span(values).subspan(begin, unit.rows));
  };
  const auto read_column = [&](const Column& column, RealColumn& numbers) {
    return std::visit([&](auto& values) { return read(column, values); }, numbers.values());
  };
  return read_column(columns_.score, rows.score) && read_column(columns_.uncertainty, rows.uncertainty) &&
         read(columns_.label, rows.label) &&
         (!columns_.weight ||
          (read(*columns_.weight, rows.weight) && are_weights(std::span(rows.weight).subspan(begin, unit.rows))));
}

void ArrowSource::put_batch(const arrow::RecordBatch& batch, Predictions& rows, std::size_t begin) const {
  put_numbers(values_of(batch, columns_.score), rows.score, begin);
  put_numbers(values_of(batch, columns_.uncertainty), rows.uncertainty, begin);
  std::vector<std::uint8_t> labels;
  append_labels(values_of(batch, columns_.label), labels);
  std::ranges::copy(labels, rows.label.begin() + static_cast<std::ptrdiff_t>(begin));
  if (!columns_.weight) return;
  std::vector<double> weights;
  append_numbers(values_of(batch, *columns_.weight), weights);
  std::ranges::copy(weights, rows.weight.begin() + static_cast<std::ptrdiff_t>(begin));
}

// How many of the rows at `begin` are kept, and moves these together; the first bad one is refused unless drop_missing.
std::size_t ArrowSource::keep_good(const arrow::RecordBatch& batch, std::uint64_t first_row, Predictions& rows,
                                   std::size_t begin) const {
  const auto size = static_cast<std::size_t>(batch.num_rows());
  if (all_finite(rows.score.span(), begin, size) && all_finite(rows.uncertainty.span(), begin, size) &&
      are_labels(std::span(rows.label).subspan(begin, size)) &&
      (!columns_.weight || are_weights(std::span(rows.weight).subspan(begin, size)))) {
    return size;
  }
  std::size_t kept = 0;
  for (std::size_t row = begin; row < begin + size; ++row) {
    const bool is_good = std::isfinite(rows.score.span()[row]) && std::isfinite(rows.uncertainty.span()[row]) &&
                         is_label_code(rows.label[row]) &&
                         (!columns_.weight || (std::isfinite(rows.weight[row]) && rows.weight[row] >= 0));
    if (!is_good && !options_.drop_missing) refuse(batch, row - begin, first_row, rows, row);
    if (is_good) move_rows(rows, row, begin + kept++, 1);
  }
  return kept;
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
