// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include "csv_copy.h"
#include "csv_file.h"
#include "file_reader.h"
#include "limen/base/labels.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

constexpr double kMissingNumber = std::numeric_limits<double>::quiet_NaN();

struct CsvUnit final : Unit {
  CsvBlock block;
  CsvPlace end = {};      // behind the block
  bool is_clean = false;  // decoded, and the place where it starts has no bearing on the result
};

// Labels by the texts that stand for them: each text is looked at once in a block.
class LabelMemo {
 public:
  explicit LabelMemo(const LabelRule& rule) : rule_(rule) {}

  std::optional<std::uint8_t> of(std::string_view text, LabelsSeen& seen) {
    if (rule_.kind == LabelKind::kStandard) return label_of(rule_, text);
    const auto number = static_cast<std::size_t>(index_.add(text));
    if (number == labels_.size()) {
      labels_.push_back(label_of(rule_, text));
      seen.add(label_value(text), labels_.back());
    }
    return labels_[number];
  }

 private:
  const LabelRule& rule_;
  TextIndex index_;
  std::vector<std::optional<std::uint8_t>> labels_;
};

// Parses records into the columns of a batch.
class RowParser {
 public:
  RowParser(const CsvFile& file, const Selection& selection, Batch& batch)
      : file_(file), rules_(selection.rules), batch_(batch), labels_(selection.rules.labels) {
    for (std::size_t column = 0; column < selection.wanted.size(); ++column) {
      Values& values = batch.columns[column];
      columns_.push_back({.wanted = selection.wanted[column],
                          .reals = std::get_if<Reals>(&values),
                          .labels = std::get_if<Labels>(&values),
                          .texts = std::get_if<Texts>(&values)});
    }
  }

  // False when the row is left out. All values of a row are read before it is left out, so that text in a column of
  // numbers is refused in any case.
  bool add(const CsvRow& row) {
    file_.check_length(row);
    is_whole_ = true;
    for (const Column& column : columns_) {
      if (column.reals != nullptr) {
        column.reals->push_back(number(row, column));
      } else if (column.labels != nullptr) {
        column.labels->push_back(label(row, column));
      } else {
        column.texts->code.push_back(text(row, column));
      }
    }
    if (is_whole_ || rules_.rule != MissingRule::kDrop) return true;
    for (const Column& column : columns_) {
      if (column.reals != nullptr) column.reals->pop_back();
      if (column.labels != nullptr) column.labels->pop_back();
      if (column.texts != nullptr) column.texts->code.pop_back();
    }
    return false;
  }

 private:
  struct Column {
    const Wanted& wanted;
    Reals* reals;
    Labels* labels;
    Texts* texts;
  };

  double number(const CsvRow& row, const Column& column) {
    const std::string_view field = unquoted(row.fields[column.wanted.index], scratch_);
    const NumberField number = parse_number(field);
    if (number.status == FieldStatus::kOk && rules_.missing.empty() && !column.wanted.is_weight) return number.value;
    if (number.status == FieldStatus::kMissing || rules_.is_missing(trimmed(field))) {
      leave_out(row, column, &missing_problem, field);
    } else if (number.status == FieldStatus::kNotFinite) {
      leave_out(row, column, &not_finite_problem, field);
    } else if (number.status == FieldStatus::kBad) {
      file_.refuse_value(row, column.wanted.index, quoted(field) + " is not a number", Cause::kNotANumber);
    } else if (column.wanted.is_weight && number.value < 0) {
      leave_out(row, column, &negative_problem, field);
    } else {
      return number.value;
    }
    return kMissingNumber;
  }

  std::uint8_t label(const CsvRow& row, const Column& column) {
    const std::string_view field = unquoted(row.fields[column.wanted.index], scratch_);
    const std::string_view value = trimmed(field);
    if (is_missing(value) || rules_.is_missing(value)) {
      leave_out(row, column, &missing_problem, field);
      return 0;
    }
    const std::optional<std::uint8_t> label = labels_.of(value, batch_.labels);
    if (label) return *label;
    if (rules_.rule == MissingRule::kRefuse) {
      file_.refuse_value(row, column.wanted.index, bad_label_problem(field, rules_.labels), Cause::kBadLabel);
    }
    is_whole_ = false;
    return 0;
  }

  // Blanks inside quotes count.
  std::int32_t text(const CsvRow& row, const Column& column) {
    const std::string_view field = row.fields[column.wanted.index];
    const std::string_view value = field.starts_with('"') ? without_quotes(field, scratch_) : trimmed(field);
    if (!rules_.is_missing(value)) return column.texts->index.add(value);
    leave_out(row, column, &missing_problem, value);
    return TextValues::kMissing;
  }

  void leave_out(const CsvRow& row, const Column& column, std::string (*problem)(std::string_view),
                 std::string_view field) {
    if (rules_.rule == MissingRule::kRefuse) {
      file_.refuse_value(row, column.wanted.index, problem(field), Cause::kMissingValue);
    }
    is_whole_ = false;
  }

  const CsvFile& file_;
  const ValueRules& rules_;
  Batch& batch_;
  std::vector<Column> columns_;
  LabelMemo labels_;
  std::string scratch_;
  bool is_whole_ = true;
};

class CsvReader final : public FileReader {
 public:
  CsvReader(const std::shared_ptr<KnownFile>& file, Format format, const ReadOptions& options, const Limits& limits)
      : file_(file, format, options, limits), place_(file_.start()) {}

  [[nodiscard]] OpenFile& file() override { return file_.file(); }
  [[nodiscard]] const ColumnNames& names() const override { return file_.names(); }
  [[nodiscard]] const CsvFile* csv() const override { return &file_; }
  [[nodiscard]] std::vector<std::optional<ColumnKind>> kinds(const ValueRules& rules) override;
  [[nodiscard]] bool is_single(std::size_t) const override { return false; }
  [[nodiscard]] std::optional<std::uint64_t> estimate_rows() override;
  void start(const Selection& selection) override { selection_ = &selection; }
  [[nodiscard]] std::unique_ptr<Unit> next() override;
  void decode(Unit& unit) const override;
  void settle(Unit& unit) override;

 private:
  struct BlockAhead {
    CsvBlock block;
    std::uint64_t bytes_done;
  };
  void decode_at(CsvUnit& unit, const CsvPlace& place) const;

  CsvFile file_;
  const Selection* selection_ = nullptr;
  std::deque<BlockAhead> ahead_;  // read by kinds()
  CsvPlace place_;                // of the next unit to settle
};

// Reads about a megabyte ahead, to look at. What is malformed is left to decode().
std::vector<std::optional<ColumnKind>> CsvReader::kinds(const ValueRules& rules) {
  constexpr std::size_t kLookBytes = std::size_t{1} << 20;
  std::vector<std::optional<ColumnKind>> kinds(names().names.size());
  std::string scratch;
  const auto look_at = [&](const CsvBlock& block) {
    CsvRows rows = file_.rows(block, {});
    while (const CsvRow* row = rows.next()) {
      if (row->fields.size() != kinds.size()) return;
      for (std::size_t column = 0; column < kinds.size(); ++column) {
        if (kinds[column] == ColumnKind::kText) continue;
        const std::string_view text = trimmed(unquoted(row->fields[column], scratch));
        const FieldStatus status = parse_number(text).status;
        if (rules.is_missing(text) || status == FieldStatus::kMissing) continue;
        kinds[column] = status == FieldStatus::kBad ? ColumnKind::kText : ColumnKind::kNumber;
      }
    }
  };
  for (std::size_t seen = 0; seen < kLookBytes;) {
    std::optional<CsvBlock> block = file_.next_block();
    if (!block) break;
    seen += std::max<std::size_t>(block->bytes.size(), 1);
    ahead_.push_back({*std::move(block), file_.bytes_read()});
    try {
      look_at(ahead_.back().block);
    } catch (const InvalidInput&) {
      break;
    }
  }
  return kinds;
}

std::optional<std::uint64_t> CsvReader::estimate_rows() {
  const std::uint64_t size = file().size();
  if (size == 0) return std::nullopt;
  const std::optional<CsvBlock> block = file_.next_block();
  if (!block) return 0;
  CsvRows rows = file_.rows(*block, {});
  std::uint64_t count = 0;
  while (rows.next() != nullptr) ++count;
  if (block->is_last) return count;
  const double share = static_cast<double>(size) / static_cast<double>(file_.bytes_read());
  return static_cast<std::uint64_t>(share * static_cast<double>(count));
}

std::unique_ptr<Unit> CsvReader::next() {
  auto unit = std::make_unique<CsvUnit>();
  if (!ahead_.empty()) {
    unit->block = std::move(ahead_.front().block);
    unit->bytes_done = ahead_.front().bytes_done;
    ahead_.pop_front();
    return unit;
  }
  std::optional<CsvBlock> block = file_.next_block();
  if (!block) return nullptr;
  unit->block = *std::move(block);
  unit->bytes_done = file_.bytes_read();
  return unit;
}

// As if the block were the first of the file: blank lines and refusals wait until the place is known.
void CsvReader::decode(Unit& unit) const {
  CsvUnit& own = static_cast<CsvUnit&>(unit);
  try {
    decode_at(own, {});
    own.is_clean = own.end.blank_line == 0;
  } catch (const InvalidInput&) {
  }
}

void CsvReader::settle(Unit& unit) {
  CsvUnit& own = static_cast<CsvUnit&>(unit);
  if (own.is_clean && place_.blank_line == 0) {
    for (std::uint64_t& line : own.batch.places) line += place_.line - 1;
    place_.line += own.end.line - 1;
  } else {
    decode_at(own, place_);
    place_ = own.end;
  }
}

void CsvReader::decode_at(CsvUnit& unit, const CsvPlace& place) const {
  Batch& batch = unit.batch;
  clear(batch);
  CsvRows rows = file_.rows(unit.block, place);
  RowParser parser(file_, *selection_, batch);
  RowCopier copier(file_, selection_->copying);
  while (const CsvRow* row = rows.next()) {
    if (!parser.add(*row)) {
      ++batch.rows_dropped;
      continue;
    }
    ++batch.num_rows;
    if (selection_->with_places) batch.places.push_back(row->line);
    copier.add(*row, batch);
  }
  copier.finish(batch);
  unit.rows = batch.num_rows + batch.rows_dropped;
  unit.end = rows.place();
}

}  // namespace

std::unique_ptr<FileReader> open_csv(const std::shared_ptr<KnownFile>& file, Format format, const ReadOptions& options,
                                     const Limits& limits) {
  return std::make_unique<CsvReader>(file, format, options, limits);
}

}  // namespace limen::table::detail
