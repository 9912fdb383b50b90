// SPDX-License-Identifier: MIT
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "arrow_file.h"
#include "arrow_status.h"
#include "arrow_values.h"
#include "file_reader.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

bool none_negative(std::span<const double> values) {
  return std::ranges::none_of(values, [](double value) { return value < 0; });
}

// Of the rows that are looked at from one column after the other, the first bad one is refused.
struct BadValue {
  std::size_t row = std::numeric_limits<std::size_t>::max();
  std::size_t column = 0;

  void note(std::size_t bad_row, std::size_t bad_column) {
    if (bad_row < row) *this = {bad_row, bad_column};
  }
};

class ArrowReader final : public FileReader {
 public:
  ArrowReader(const std::shared_ptr<KnownFile>& file, Format format, const Limits& limits)
      : file_(file, format, limits) {}

  [[nodiscard]] OpenFile& file() override { return file_.file(); }
  [[nodiscard]] const ColumnNames& names() const override { return file_.names(); }
  [[nodiscard]] std::shared_ptr<arrow::Schema> schema() const override { return file_.schema(); }
  [[nodiscard]] std::vector<std::optional<ColumnKind>> kinds(const ValueRules&) override {
    std::vector<std::optional<ColumnKind>> kinds;
    for (const std::shared_ptr<arrow::Field>& field : schema()->fields()) {
      kinds.emplace_back(is_plain_number(*field->type()) ? ColumnKind::kNumber : ColumnKind::kText);
    }
    return kinds;
  }
  [[nodiscard]] bool is_single(std::size_t column) const override {
    return type_of(column)->id() == arrow::Type::FLOAT;
  }
  [[nodiscard]] std::optional<std::uint64_t> estimate_rows() override {
    return file_.file().can_seek() ? file_.num_rows() : std::nullopt;
  }
  void start(const Selection& selection) override;
  [[nodiscard]] std::unique_ptr<Unit> next() override { return file_.next_unit(); }
  void decode(Unit& unit) const override;
  void settle(Unit&) override {}

 private:
  [[nodiscard]] const std::shared_ptr<arrow::DataType>& type_of(std::size_t column) const {
    return file_.schema()->field(static_cast<int>(column))->type();
  }
  [[nodiscard]] bool can_be_plain(const Wanted& column) const;
  [[nodiscard]] bool decode_plain(ArrowUnit& unit) const;
  void decode_batch(const std::shared_ptr<arrow::RecordBatch>& rows, std::uint64_t first_row, Batch& into) const;
  [[nodiscard]] const std::shared_ptr<arrow::Array>& array_of(const arrow::RecordBatch& rows,
                                                              std::size_t wanted) const {
    return rows.columns()[static_cast<std::size_t>(places_[wanted])];
  }
  void copy(const std::shared_ptr<arrow::RecordBatch>& rows, const std::vector<bool>& keep, Batch& into) const;
  [[noreturn]] void refuse(const arrow::Array& array, std::size_t row, std::uint64_t first_row,
                           const Wanted& column) const;

  ArrowFile file_;
  const Selection* selection_ = nullptr;
  std::vector<int> places_;         // of the wanted columns in the batches
  std::vector<int> copied_places_;  // of the copied ones
  bool can_be_plain_ = false;
};

void ArrowReader::start(const Selection& selection) {
  selection_ = &selection;
  std::map<std::size_t, int> place_of;
  for (const Wanted& column : selection.wanted) {
    check_type(names(), column, type_of(column.index));
    place_of[column.index] = 0;
  }
  for (const std::size_t column : selection.copying.columns) place_of[column] = 0;
  std::vector<int> fields;
  for (auto& [field, place] : place_of) {
    place = static_cast<int>(fields.size());
    fields.push_back(static_cast<int>(field));
  }
  for (const Wanted& column : selection.wanted) places_.push_back(place_of[column.index]);
  for (const std::size_t column : selection.copying.columns) copied_places_.push_back(place_of[column]);
  file_.select(fields);
  can_be_plain_ = selection.copying.to == Copying::To::kNothing && !selection.with_places &&
                  std::ranges::all_of(selection.wanted, [this](const Wanted& column) { return can_be_plain(column); });
}

// Whether the type of a column allows parquet_plain.h.
bool ArrowReader::can_be_plain(const Wanted& column) const {
  const arrow::Type::type type = type_of(column.index)->id();
  if (column.kind == Kind::kLabel) {
    return selection_->rules.labels.kind == LabelKind::kStandard &&
           (type == arrow::Type::BOOL || arrow::is_integer(type));
  }
  return column.kind == Kind::kReal &&
         (type == arrow::Type::DOUBLE || (type == arrow::Type::FLOAT && column.keeps_single));
}

void ArrowReader::decode(Unit& unit) const {
  ArrowUnit& own = static_cast<ArrowUnit&>(unit);
  if (can_be_plain_ && decode_plain(own)) return;
  clear(own.batch);
  std::uint64_t seen = 0;
  file_.decode(own, [&](const std::shared_ptr<arrow::RecordBatch>& rows) {
    const auto size = static_cast<std::uint64_t>(rows->num_rows());
    if (seen + size > own.rows) file_.refuse_damaged_file("a row group has more rows than it says");
    decode_batch(rows, own.first_row + seen, own.batch);
    seen += size;
  });
  if (seen != own.rows) file_.refuse_damaged_file("a row group has fewer rows than it says");
}

// All rows of a unit that needs no more than a copy; false, and rows that are to be decoded again, for any other.
bool ArrowReader::decode_plain(ArrowUnit& unit) const {
  for (std::size_t column = 0; column < places_.size(); ++column) {
    const bool is_done = std::visit(
        [&](auto& values) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(values)>, Texts>) {
            return false;
          } else {
            values.resize(unit.rows);
            return file_.read_plain(unit, static_cast<std::size_t>(places_[column]), std::span(values));
          }
        },
        unit.batch.columns[column]);
    if (!is_done) return false;
    if (selection_->wanted[column].is_weight && !none_negative(std::get<Reals>(unit.batch.columns[column])))
      return false;
  }
  unit.batch.num_rows = unit.rows;
  return true;
}

void ArrowReader::decode_batch(const std::shared_ptr<arrow::RecordBatch>& rows, std::uint64_t first_row,
                               Batch& into) const {
  const auto size = static_cast<std::size_t>(rows->num_rows());
  const std::size_t begin = into.num_rows;
  const MissingRule rule = selection_->rules.rule;
  std::vector<bool> keep;  // empty: all
  BadValue bad;
  for (std::size_t column = 0; column < places_.size(); ++column) {
    const Wanted& wanted = selection_->wanted[column];
    std::optional<std::size_t> not_a_number;
    append_values(array_of(*rows, column), wanted, selection_->rules, names().table, into, into.columns[column],
                  not_a_number);
    if (not_a_number) bad.note(*not_a_number, column);
    const auto leave_out = [&](std::size_t row) {
      if (rule == MissingRule::kRefuse) bad.note(row, column);
      if (rule != MissingRule::kDrop) return;
      if (keep.empty()) keep.assign(size, true);
      keep[row] = false;
    };
    const auto check_reals = [&](auto& all) {
      const auto values = std::span(all).subspan(begin);
      using Real = typename decltype(values)::value_type;
      const bool is_good = all_finite(std::span<const Real>(values)) &&
                           (!wanted.is_weight || std::ranges::none_of(values, [](Real value) { return value < 0; }));
      for (std::size_t row = 0; !is_good && row < size; ++row) {
        if (std::isfinite(values[row]) && (!wanted.is_weight || values[row] >= 0)) continue;
        values[row] = std::numeric_limits<Real>::quiet_NaN();
        leave_out(row);
      }
    };
    if (Reals* reals = std::get_if<Reals>(&into.columns[column])) check_reals(*reals);
    if (Singles* singles = std::get_if<Singles>(&into.columns[column])) check_reals(*singles);
    if (const Labels* labels = std::get_if<Labels>(&into.columns[column])) {
      for (std::size_t row = 0; row < size; ++row) {
        if ((*labels)[begin + row] > 1) leave_out(row);
      }
    }
    if (const Texts* texts = std::get_if<Texts>(&into.columns[column]);
        texts != nullptr && rule != MissingRule::kKeep) {
      for (std::size_t row = 0; row < size; ++row) {
        if (texts->code[begin + row] == TextValues::kMissing) leave_out(row);
      }
    }
  }
  if (bad.row < size) refuse(*array_of(*rows, bad.column), bad.row, first_row, selection_->wanted[bad.column]);
  if (!keep.empty()) keep_rows(into, begin, keep);
  const auto kept = keep.empty() ? size : static_cast<std::size_t>(std::ranges::count(keep, true));
  into.num_rows += kept;
  into.rows_dropped += size - kept;
  for (std::size_t row = 0; selection_->with_places && row < size; ++row) {
    if (keep.empty() || keep[row]) into.places.push_back(first_row + row + 1);
  }
  if (selection_->copying.to != Copying::To::kNothing && kept > 0) copy(rows, keep, into);
}

void ArrowReader::copy(const std::shared_ptr<arrow::RecordBatch>& rows, const std::vector<bool>& keep,
                       Batch& into) const {
  std::shared_ptr<arrow::RecordBatch> copied =
      value_or_refuse(rows->SelectColumns(copied_places_), names().table, "a table");
  if (!keep.empty()) copied = filtered(copied, keep, names().table);
  into.typed.push_back(std::move(copied));
}

void ArrowReader::refuse(const arrow::Array& array, std::size_t row, std::uint64_t first_row,
                         const Wanted& column) const {
  const std::string text = shown_value(array, static_cast<std::int64_t>(row));
  const NumberField number = parse_number(text);
  std::string problem = missing_problem(text);
  Cause cause = Cause::kMissingValue;
  const bool is_missing_text = trimmed(text).empty() || is_missing(trimmed(text)) || text == "null";
  if (column.kind == Kind::kLabel && !is_missing_text && !selection_->rules.is_missing(trimmed(text))) {
    problem = bad_label_problem(text, selection_->rules.labels);
    cause = Cause::kBadLabel;
  } else if (column.kind == Kind::kReal && number.status == FieldStatus::kBad && !is_missing_text) {
    problem = quoted(text) + " is not a number";
    cause = Cause::kNotANumber;
  } else if (column.kind == Kind::kReal && number.status == FieldStatus::kNotFinite) {
    problem = not_finite_problem(text);
  } else if (column.is_weight && number.status == FieldStatus::kOk && number.value < 0) {
    problem = negative_problem(text);
  } else if (text == "null") {
    problem = missing_problem("");
  }
  throw InvalidInput(
      Where{.source = names().table, .place = "row " + std::to_string(first_row + row + 1), .column = column.name},
      problem, cause);
}

}  // namespace

std::shared_ptr<arrow::RecordBatch> filtered(const std::shared_ptr<arrow::RecordBatch>& rows,
                                             const std::vector<bool>& keep, const std::string& table) {
  const auto kept = static_cast<std::int64_t>(std::ranges::count(keep, true));
  if (rows->num_columns() == 0) return arrow::RecordBatch::Make(rows->schema(), kept, arrow::ArrayVector());
  arrow::BooleanBuilder builder;
  refuse_unless_ok(builder.AppendValues(keep), table, "a table");
  const std::shared_ptr<arrow::Array> mask = value_or_refuse(builder.Finish(), table, "a table");
  return value_or_refuse(arrow::compute::Filter(rows, mask), table, "a table").record_batch();
}

std::unique_ptr<FileReader> open_arrow(const std::shared_ptr<KnownFile>& file, Format format, const Limits& limits) {
  return std::make_unique<ArrowReader>(file, format, limits);
}

}  // namespace limen::table::detail
