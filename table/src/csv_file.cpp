// SPDX-License-Identifier: MIT
#include "csv_file.h"

#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "arrow_status.h"
#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

// Rows that are decoded at a time: their texts stay in the cache. Copied ones are many, so that few batches are
// written.
constexpr std::size_t kSliceRows = 2048;
constexpr std::size_t kCopiedSliceRows = 16'384;

char checked_separator(const ReadOptions& options, Format format) {
  const char separator = options.separator.value_or(separator_of(format));
  if (separator == '"' || separator == '\n' || separator == '\r' || separator == '\0') {
    throw InvalidInput("the separator cannot be a quote, a line end or NUL");
  }
  return separator;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Digits with a zero in front are a code, such as a post code, whose zeros count.
bool is_code(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

template <typename Builder, typename Value>
arrow::Status add_or_null(arrow::ArrayBuilder& builder, const std::optional<Value>& value) {
  return value ? static_cast<Builder&>(builder).Append(*value) : builder.AppendNull();
}

// A value that fits the type. Where it must be a number, a word for a missing one is null.
arrow::Status add_value(arrow::ArrayBuilder& builder, arrow::Type::type type, std::string_view text) {
  switch (type) {
    case arrow::Type::STRING:
      return static_cast<arrow::StringBuilder&>(builder).Append(text);
    case arrow::Type::INT64:
      return add_or_null<arrow::Int64Builder>(builder, parse_integer(trimmed(text)));
    case arrow::Type::BOOL:
      return add_or_null<arrow::BooleanBuilder>(builder, parse_bool(trimmed(text)));
    default:
      const NumberField number = parse_number(text);
      return add_or_null<arrow::DoubleBuilder>(
          builder, number.status == FieldStatus::kOk ? std::optional(number.value) : std::nullopt);
  }
}

// Adds a field as it is written, or a name, to a line; in quotes only where the separator makes that needed.
void add_field(std::string_view field, char separator, std::string& line) {
  if (field.starts_with('"') || field.find(separator) == std::string_view::npos) {
    line += field;
  } else {
    append_quoted(field, line);
  }
}

// The copied fields of a record, between separators of the output, as they are written. May use `scratch`.
std::string_view copied_text(const CsvRow& row, const ColumnNames& names, const Copying& copying,
                             std::string& scratch) {
  if (copying.separator == names.separator && copying.columns.size() == names.names.size()) return row.text;
  scratch.clear();
  for (std::size_t field = 0; field < copying.columns.size(); ++field) {
    if (field > 0) scratch += copying.separator;
    add_field(row.fields[copying.columns[field]], copying.separator, scratch);
  }
  return scratch;
}

// Copies fields of records, as text or as typed columns.
class RowCopier {
 public:
  RowCopier(const ColumnNames& names, const Copying& copying) : names_(names), copying_(copying) {
    if (copying.to != Copying::To::kTyped) return;
    for (const std::shared_ptr<arrow::Field>& field : copying.schema->fields()) {
      builders_.push_back(value_or_refuse(arrow::MakeBuilder(field->type()), names.table, "text"));
      types_.push_back(field->type()->id());
    }
  }

  void add(const CsvRow& row) {
    ++num_rows_;
    if (copying_.to == Copying::To::kText) {
      lines_ += copied_text(row, names_, copying_, scratch_);
      line_ends_.push_back(static_cast<std::int32_t>(lines_.size()));
      return;
    }
    for (std::size_t column = 0; column < builders_.size(); ++column) {
      const std::string_view text = unquoted(row.fields[copying_.columns[column]], scratch_);
      if (!bad_ && types_[column] == arrow::Type::STRING && !arrow::util::ValidateUTF8(text)) {
        bad_ = {.row = num_rows_ - 1,
                .column = copying_.columns[column],
                .problem = quoted(text) + " is not UTF-8 (save the file as UTF-8)"};
      }
      refuse_unless_ok(add_value(*builders_[column], types_[column], text), names_.table, "text");
    }
  }

  // What was added since the last call; null when nothing is copied.
  [[nodiscard]] std::shared_ptr<arrow::RecordBatch> finish() {
    if (copying_.to == Copying::To::kNothing) return nullptr;
    const auto rows = static_cast<std::int64_t>(std::exchange(num_rows_, 0));
    arrow::ArrayVector columns;
    for (const auto& builder : builders_) columns.push_back(value_or_refuse(builder->Finish(), names_.table, "text"));
    if (copying_.to == Copying::To::kText && copying_.schema->num_fields() > 0) {
      columns = {std::make_shared<arrow::StringArray>(rows, arrow::Buffer::FromVector(std::exchange(line_ends_, {0})),
                                                      arrow::Buffer::FromString(std::exchange(lines_, {})))};
    }
    return arrow::RecordBatch::Make(copying_.schema, rows, std::move(columns));
  }

  // The first text since then that is not UTF-8, which typed columns must be.
  [[nodiscard]] const std::optional<BadValue>& bad() const { return bad_; }

 private:
  const ColumnNames& names_;
  const Copying& copying_;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
  std::vector<arrow::Type::type> types_;
  std::string lines_;  // kText, joined, and where each begins and ends in it
  std::vector<std::int32_t> line_ends_ = {0};
  std::size_t num_rows_ = 0;
  std::optional<BadValue> bad_;
  std::string scratch_;
};

}  // namespace

void TypeCandidates::add(std::string_view text) {
  if (text.empty()) return;
  has_values = true;
  if (may_be_int64) may_be_int64 = parse_integer(text).has_value() && !is_code(text) && text != "-0";
  if (may_be_double)
    may_be_double = text == trimmed(text) && !is_code(text) && parse_number(text).status == FieldStatus::kOk;
  if (may_be_bool) may_be_bool = parse_bool(text).has_value();
}

std::shared_ptr<arrow::DataType> TypeCandidates::type() const {
  if (!has_values) return arrow::utf8();
  if (may_be_int64) return arrow::int64();
  if (may_be_double) return arrow::float64();
  return may_be_bool ? arrow::boolean() : arrow::utf8();
}

struct CsvFile::CsvUnit final : Unit {
  CsvBlock block = {};
  CsvPlace end = {};                    // behind the block
  bool is_clean = false;                // decoded, and the place where it starts has no bearing on the result
  std::deque<std::string> values = {};  // of the slice at hand, those that had doubled quotes
  std::optional<BadValue> bad = std::nullopt;
};

CsvFile::CsvFile(const std::shared_ptr<KnownFile>& file, Format format, const ReadOptions& options,
                 const Limits& limits)
    : FileReader(file, limits), bytes_(file_), blocks_(file->name, bytes_, checked_separator(options, format), limits) {
  names_.separator = checked_separator(options, format);
  names_.has_header = options.has_header;
  while (std::unique_ptr<CsvUnit> unit = next_unit()) {
    CsvRows rows = rows_of(unit->block, place_);
    const CsvRow* const first = rows.next();
    if (first == nullptr) {
      place_ = rows.place();
      continue;
    }
    read_names(*first, options);
    has_crlf_ = rows.ended_with_crlf();
    if (options.has_header) {
      unit->block.begin = rows.consumed();
      place_ = rows.place();
    }
    ahead_.push_back(std::move(unit));
    return;
  }
  names_.refuse("is empty");
}

CsvFile::~CsvFile() = default;

void CsvFile::read_names(const CsvRow& first, const ReadOptions& options) {
  std::string scratch;
  if (!options.names.empty() && options.names.size() != first.fields.size()) {
    names_.refuse("the first line has " + std::to_string(first.fields.size()) + " fields, but " +
                  std::to_string(options.names.size()) + " names of columns are given");
  }
  for (std::size_t field = 0; field < first.fields.size(); ++field) {
    if (!options.names.empty()) {
      names_.names.emplace_back(trimmed(options.names[field]));
    } else if (options.has_header) {
      names_.names.emplace_back(trimmed(unquoted(first.fields[field], scratch)));
    } else {
      names_.names.push_back("column" + std::to_string(field + 1));
    }
  }
  if (options.names.empty() && options.has_header) header_.bytes.assign(first.text.begin(), first.text.end());
}

std::string CsvFile::header(const Copying& copying) const {
  std::string text = blocks_.has_byte_order_mark() ? "\xef\xbb\xbf" : "";
  if (!header_.bytes.empty()) {
    std::string scratch;
    return text.append(copied_text(*rows_of(header_, {}).next(), names_, copying, scratch));
  }
  for (const std::size_t column : copying.columns) {
    if (column != copying.columns.front()) text += copying.separator;
    add_field(names_.names[column], copying.separator, text);
  }
  return text;
}

// Reads about a megabyte ahead, to look at. What is malformed is left to decode().
std::vector<std::optional<ColumnKind>> CsvFile::kinds(const ValueRules& rules) {
  constexpr std::size_t kLookBytes = std::size_t{1} << 20;
  std::vector<std::optional<ColumnKind>> kinds(names_.names.size());
  std::string scratch;
  const auto look_at = [&](const CsvBlock& block) {
    CsvRows rows = rows_of(block, {});
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
  std::size_t seen = 0;
  for (std::size_t unit = 0; seen < kLookBytes; ++unit) {
    if (unit == ahead_.size()) {
      std::unique_ptr<CsvUnit> more = next_unit();
      if (!more) break;
      ahead_.push_back(std::move(more));
    }
    seen += std::max<std::size_t>(ahead_[unit]->block.bytes.size(), 1);
    try {
      look_at(ahead_[unit]->block);
    } catch (const InvalidInput&) {
      break;
    }
  }
  return kinds;
}

std::optional<std::uint64_t> CsvFile::estimate_rows() {
  if (file_.size() == 0) return std::nullopt;
  const CsvUnit& first = *ahead_.front();
  CsvRows rows = rows_of(first.block, {});
  std::uint64_t count = 0;
  while (rows.next() != nullptr) ++count;
  if (first.block.is_last) return count;
  const double share = static_cast<double>(file_.size()) / static_cast<double>(first.bytes_done);
  return static_cast<std::uint64_t>(share * static_cast<double>(count));
}

void CsvFile::find_types(const std::vector<std::size_t>& columns, std::vector<TypeCandidates>& types) {
  types.resize(columns.size());
  std::string scratch;
  std::uint64_t num_rows = 0;
  while (const std::unique_ptr<Unit> unit = next()) {
    CsvRows rows = rows_of(static_cast<CsvUnit&>(*unit).block, place_);
    while (const CsvRow* row = rows.next()) {
      check_length(*row);
      ++num_rows;
      for (std::size_t column = 0; column < columns.size(); ++column) {
        types[column].add(unquoted(row->fields[columns[column]], scratch));
      }
    }
    place_ = rows.place();
  }
  file_.end(num_rows);
}

std::unique_ptr<CsvFile::CsvUnit> CsvFile::next_unit() {
  std::optional<CsvBlock> block = blocks_.next();
  if (!block) return nullptr;
  auto unit = std::make_unique<CsvUnit>();
  unit->block = *std::move(block);
  unit->bytes_done = bytes_.bytes_read();
  return unit;
}

std::unique_ptr<Unit> CsvFile::next() {
  if (ahead_.empty()) return next_unit();
  std::unique_ptr<Unit> unit = std::move(ahead_.front());
  ahead_.pop_front();
  return unit;
}

// As if the block were the first of the file: what is malformed waits until the place is known.
void CsvFile::decode(Unit& unit) const {
  CsvUnit& own = static_cast<CsvUnit&>(unit);
  RawRows rows;
  const bool copies = selection_->copying.to != Copying::To::kNothing;
  const std::size_t slice_rows = copies ? kCopiedSliceRows : kSliceRows;
  rows.columns.resize(selection_->wanted.size(), {.texts = std::vector<std::string_view>(slice_rows)});
  RowCopier copier(names_, selection_->copying);
  reserve(own.batch, 1 + static_cast<std::size_t>(std::ranges::count(own.block.text(), '\n')));
  const auto decode_slice = [&] {
    for (RawColumn& column : rows.columns) column.texts.resize(rows.size);
    rows.copied = copier.finish();
    own.bad = decode_rows(rows, *selection_, names_.table, own.batch);
    if (copier.bad() && (!own.bad || copier.bad()->row < own.bad->row)) own.bad = copier.bad();
    if (own.bad) own.bad->row += own.rows;
    own.rows += rows.size;
    rows.size = 0;
    for (RawColumn& column : rows.columns) column.texts.resize(slice_rows);
    rows.places.clear();
    own.values.clear();
  };
  try {
    CsvRows records = rows_of(own.block, {});
    while (const CsvRow* record = records.next()) {
      check_length(*record);
      add(*record, own, rows);
      if (copies) copier.add(*record);
      if (rows.size == slice_rows) decode_slice();
      if (own.bad) return;
    }
    own.end = records.place();
    own.is_clean = own.end.blank_line == 0;
  } catch (const InvalidInput&) {
  }
  decode_slice();
}

void CsvFile::settle(Unit& unit) {
  CsvUnit& own = static_cast<CsvUnit&>(unit);
  if (own.bad && place_.blank_line == 0) refuse(own);
  for (std::uint64_t& line : own.batch.places) line += place_.line - 1;
  if (own.is_clean && place_.blank_line == 0) {
    place_.line += own.end.line - 1;
    return;
  }
  CsvRows records = rows_of(own.block, place_);
  while (const CsvRow* record = records.next()) check_length(*record);
  place_ = records.place();
}

// Adds the texts of the wanted columns. Blanks around text do not count, unless they are quoted.
void CsvFile::add(const CsvRow& row, CsvUnit& unit, RawRows& into) const {
  for (std::size_t column = 0; column < into.columns.size(); ++column) {
    const Wanted& wanted = selection_->wanted[column];
    const std::string_view field = row.fields[wanted.index];
    std::string_view& text = into.columns[column].texts[into.size];
    if (field.starts_with('"')) {
      std::string scratch;
      text = unquoted(field, scratch);
      if (text.data() == scratch.data()) text = unit.values.emplace_back(std::move(scratch));
    } else {
      text = wanted.kind == Kind::kText ? trimmed(field) : field;
    }
  }
  if (selection_->with_places) into.places.push_back(row.line);
  ++into.size;
}

void CsvFile::refuse_length(const CsvRow& row) const {
  names_.refuse("line " + std::to_string(row.line) + " has " + std::to_string(row.fields.size()) +
                (row.fields.size() == 1 ? " field" : " fields") +
                (names_.has_header ? ", the header has " : ", the first line has ") +
                std::to_string(names_.names.size()));
}

// The bad value of a unit, with the physical line on which its field begins.
void CsvFile::refuse(const CsvUnit& unit) const {
  CsvRows rows = rows_of(unit.block, place_);
  const CsvRow* row = rows.next();
  for (std::size_t index = 0; index < unit.bad->row; ++index) row = rows.next();
  const char* const field = row->fields[unit.bad->column].data();
  const auto line = row->line + static_cast<std::uint64_t>(std::count(row->text.data(), field, '\n'));
  refuse_value(names_, "line " + std::to_string(line), *unit.bad);
}

}  // namespace limen::table::detail
