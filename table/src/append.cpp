// SPDX-License-Identifier: MIT
#include "limen/table/append.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "append_plan.h"
#include "arrow_file.h"
#include "arrow_status.h"
#include "batch_source.h"
#include "csv_copy.h"
#include "limen/base/text.h"
#include "table_writer.h"

namespace limen::table {
namespace detail {
namespace {

constexpr std::size_t kBatchRows = 65'536;
constexpr std::size_t kChunksPerRun = 16;

// Calls `use` with an empty vector of the type.
template <typename Use>
auto visit_type(AddedType type, const Use& use) {
  switch (type) {
    case AddedType::kDouble:
      return use(std::vector<double>(), arrow::float64());
    case AddedType::kInt64:
      return use(std::vector<std::int64_t>(), arrow::int64());
    case AddedType::kInt32:
      return use(std::vector<std::int32_t>(), arrow::int32());
    default:
      return use(std::vector<std::uint8_t>(), arrow::uint8());
  }
}

std::shared_ptr<arrow::DataType> arrow_type(AddedType type) {
  return visit_type(type, [](const auto&, std::shared_ptr<arrow::DataType> own) { return own; });
}

// What the caller made of a batch.
struct FilledRows {
  std::vector<AddedValues> values = {};
  std::vector<std::uint8_t> keep = {};
};

// A column that `fill` left too short or too long is a mistake of the caller.
FilledRows filled_rows(const std::vector<AddedColumn>& added, const Frame& frame, const FillColumns& fill) {
  FilledRows rows;
  for (const AddedColumn& column : added) {
    rows.values.push_back(visit_type(column.type, [&](auto values, const auto&) {
      values.resize(frame.num_rows);
      return AddedValues(std::move(values));
    }));
  }
  rows.keep.assign(frame.num_rows, 1);
  fill(frame, rows.values, rows.keep);
  for (std::size_t column = 0; column < added.size(); ++column) {
    const std::size_t size = std::visit([](const auto& numbers) { return numbers.size(); }, rows.values[column]);
    if (size == frame.num_rows) continue;
    throw std::logic_error("append_columns: column " + added[column].name + " was filled with " + std::to_string(size) +
                           " values for " + std::to_string(frame.num_rows) + " rows");
  }
  return rows;
}

// Writes the rows of batches with what was added to them.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void write(const Batch& batch, const FilledRows& filled) = 0;
  virtual void commit() = 0;
};

template <typename Value>
void write_number(std::string& line, Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (std::isnan(value)) return;
  }
  std::array<char, 32> digits;
  line.append(digits.begin(), std::to_chars(digits.begin(), digits.end(), value).ptr);
}

// From text to text: every field stays as it is written, which no typed column could promise.
class TextRowWriter final : public RowWriter {
 public:
  TextRowWriter(const std::string& output, const NamedFormat& format, const CsvFile& first, const Copying& copying,
                const std::vector<std::string>& kept_names, const std::vector<AddedColumn>& added)
      : sink_(output, format.packing),
        separator_(copying.separator),
        line_end_(first.has_crlf() ? "\r\n" : "\n"),
        copies_nothing_(kept_names.empty()) {
    std::string line = first.has_byte_order_mark() ? "\xef\xbb\xbf" : "";
    if (first.header().fields.empty()) {
      for (const std::string& name : kept_names) {
        if (&name != &kept_names.front()) line += separator_;
        add_field(name, separator_, line);
      }
    } else {
      RowCopier(first, copying).add_text(first.header(), line);
    }
    bool is_first = copies_nothing_;
    for (const AddedColumn& column : added) {
      if (!std::exchange(is_first, false)) line += separator_;
      add_field(column.name, separator_, line);
    }
    sink_.write(line + line_end_);
  }

  void write(const Batch& batch, const FilledRows& filled) override {
    std::string lines;
    std::size_t begin = 0;
    for (std::size_t row = 0; row < batch.num_rows; ++row) {
      const std::size_t end = batch.text_end[row];
      const std::string_view text = std::string_view(batch.text).substr(begin, end - begin);
      begin = end;
      if (filled.keep[row] == 0) continue;
      lines += text;
      bool is_first = copies_nothing_;
      for (const AddedValues& column : filled.values) {
        if (!std::exchange(is_first, false)) lines += separator_;
        std::visit([&](const auto& numbers) { write_number(lines, numbers[row]); }, column);
      }
      lines += line_end_;
      if (lines.size() < kBufferBytes) continue;
      sink_.write(lines);
      lines.clear();
    }
    sink_.write(lines);
  }
  void commit() override { sink_.commit(); }

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

  ByteSink sink_;
  char separator_;
  std::string line_end_;
  bool copies_nothing_;
};

// Between any formats.
class TypedRowWriter final : public RowWriter {
 public:
  TypedRowWriter(const std::string& output, const NamedFormat& format, std::string table,
                 const std::shared_ptr<arrow::Schema>& schema, const std::vector<AddedColumn>& added)
      : table_(std::move(table)), schema_(schema), added_(added), writer_(open_writer(output, format, schema)) {}

  void write(const Batch& batch, const FilledRows& filled) override {
    arrow::ArrayVector added;
    for (std::size_t column = 0; column < added_.size(); ++column) {
      added.push_back(array_of(added_[column], filled.values[column]));
    }
    std::int64_t offset = 0;
    for (const std::shared_ptr<arrow::RecordBatch>& copied : batch.typed) {
      arrow::ArrayVector columns = copied->columns();
      for (const auto& array : added) columns.push_back(array->Slice(offset, copied->num_rows()));
      const auto begin = filled.keep.begin() + offset;
      const std::vector<bool> keep(begin, begin + copied->num_rows());
      offset += copied->num_rows();
      std::shared_ptr<arrow::RecordBatch> rows = arrow::RecordBatch::Make(schema_, copied->num_rows(), columns);
      if (std::ranges::find(keep, false) != keep.end()) rows = filtered(rows, keep, table_);
      if (rows->num_rows() > 0) writer_->write(*rows);
    }
  }
  void commit() override { writer_->commit(); }

 private:
  // The values stay where they are and must outlive the array. NaN is null.
  [[nodiscard]] std::shared_ptr<arrow::Array> array_of(const AddedColumn& column, const AddedValues& values) const {
    return std::visit(
        [&](const auto& numbers) {
          std::shared_ptr<arrow::Buffer> present;
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(numbers[0])>, double>) {
            if (std::ranges::any_of(numbers, [](double value) { return std::isnan(value); })) {
              arrow::TypedBufferBuilder<bool> bits;
              for (const double value : numbers) refuse_unless_ok(bits.Append(!std::isnan(value)), table_, "a table");
              present = value_or_refuse(bits.Finish(), table_, "a table");
            }
          }
          return arrow::MakeArray(arrow::ArrayData::Make(arrow_type(column.type),
                                                         static_cast<std::int64_t>(numbers.size()),
                                                         {present, arrow::Buffer::Wrap(numbers)}));
        },
        values);
  }

  std::string table_;
  std::shared_ptr<arrow::Schema> schema_;
  const std::vector<AddedColumn>& added_;
  std::unique_ptr<TableWriter> writer_;
};

// Chooses what to read of each input, and opens the output when the first is known.
class Appender {
 public:
  Appender(const TableFiles& inputs, const std::string& output, const AppendPlan& plan, const Limits& limits)
      : output_(output), plan_(plan), source_(inputs, plan.read, limits) {
    // A name that says no format is refused before anything is read.
    format_ = table::output_format(output, plan.output_format, source_.format_of(*inputs.files().front()));
    const auto is_text_file = [&](const auto& file) { return is_text(source_.format_of(*file)); };
    is_all_text_ = is_text(format_.format) && std::ranges::all_of(inputs.files(), is_text_file);
    if (!is_all_text_) find_text_types(inputs, limits);
    source_.start([this](const FileReader& reader) { return choose(reader); });
  }

  RowCounts run(const FillColumns& fill) {
    std::size_t left_out = 0;
    source_.for_each(kBatchRows, [&](Batch& batch) {
      if (batch.num_rows == 0) return;
      const FilledRows filled = filled_rows(plan_.added, take_frame(batch, plan_.wanted), fill);
      left_out += static_cast<std::size_t>(std::ranges::count(filled.keep, std::uint8_t{0}));
      writer_->write(batch, filled);
    });
    RowCounts counts = source_.counts();
    if (counts.rows_dropped > 0) source_.require_rows();
    writer_->commit();
    counts.rows -= left_out;
    return counts;
  }

 private:
  Selection choose(const FileReader& reader) {
    const ColumnNames& names = reader.names();
    Selection selection = {.wanted = plan_.wanted, .rules = value_rules(plan_.read, plan_.missing_rule)};
    for (Wanted& column : selection.wanted) column.index = names.require(column.name);
    selection.copying.columns = kept_in(names);
    const ColumnNames kept = kept_names(names);
    const bool is_first = writer_ == nullptr;
    if (is_first) first_ = kept;
    require_same_columns(first_, kept);
    if (is_all_text_) {
      selection.copying.to = Copying::To::kText;
      selection.copying.separator = separator_of(format_.format);
      if (is_first) {
        writer_ = std::make_unique<TextRowWriter>(output_, format_, *reader.csv(), selection.copying, kept.names,
                                                  plan_.added);
      }
      return selection;
    }
    selection.copying.to = Copying::To::kTyped;
    selection.copying.schema = copied_schema(reader, selection.copying.columns);
    if (is_first) {
      arrow::FieldVector fields;
      for (const auto& field : selection.copying.schema->fields()) fields.push_back(field->WithNullable(true));
      for (const AddedColumn& column : plan_.added)
        fields.push_back(arrow::field(column.name, arrow_type(column.type)));
      schema_ = arrow::schema(fields, selection.copying.schema->metadata());
      writer_ = std::make_unique<TypedRowWriter>(output_, format_, kept.table, schema_, plan_.added);
    }
    require_same_types(kept, *selection.copying.schema);
    return selection;
  }

  // The places in a file of the columns to copy, in its order.
  [[nodiscard]] std::vector<std::size_t> kept_in(const ColumnNames& names) const {
    std::vector<std::size_t> kept;
    if (plan_.keep) {
      for (const std::string& name : *plan_.keep) kept.push_back(names.require(name));
      std::ranges::sort(kept);
      kept.erase(std::ranges::unique(kept).begin(), kept.end());
    } else {
      for (std::size_t index = 0; index < names.names.size(); ++index) kept.push_back(index);
    }
    return kept;
  }

  // Their names. Refuses one that is also added.
  [[nodiscard]] ColumnNames kept_names(const ColumnNames& names) const {
    ColumnNames kept = {.table = names.table, .names = {}};
    for (const std::size_t index : kept_in(names)) kept.names.push_back(names.names[index]);
    for (const AddedColumn& column : plan_.added) {
      if (kept.has(column.name)) {
        names.refuse("already has a column " + quoted(column.name) + " (rename it or leave it out)");
      }
    }
    return kept;
  }

  // Goes through the files of text once, except for stdin.
  void find_text_types(const TableFiles& inputs, const Limits& limits) {
    ReadOptions options = plan_.read;
    for (const auto& file : inputs.files()) {
      const Format format = source_.format_of(*file);
      if (!is_text(format) || is_stdin(*file)) continue;
      CsvFile csv(file, format, options, limits);
      const ColumnNames kept = kept_names(csv.names());
      if (!has_text_types_) first_ = kept;
      require_same_columns(first_, kept);
      text_types_.add(csv, kept_in(csv.names()));
      has_text_types_ = true;
    }
  }

  [[nodiscard]] std::shared_ptr<arrow::Schema> copied_schema(const FileReader& reader,
                                                             const std::vector<std::size_t>& columns) const {
    const std::shared_ptr<arrow::Schema> typed = reader.schema();
    arrow::FieldVector fields;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const std::string& name = reader.names().names[columns[column]];
      if (typed) {
        fields.push_back(typed->field(static_cast<int>(columns[column])));
      } else if (must_be_number(name)) {
        fields.push_back(arrow::field(name, arrow::float64()));
      } else {
        fields.push_back(arrow::field(name, has_text_types_ ? text_types_.type(column) : arrow::utf8()));
      }
    }
    return arrow::schema(fields, typed ? typed->metadata() : nullptr);
  }

  // A column that must be a number, and whose missing values leave no trace, is double whatever it looks like.
  [[nodiscard]] bool must_be_number(const std::string& name) const {
    return plan_.missing_rule != MissingRule::kKeep && std::ranges::any_of(plan_.wanted, [&](const Wanted& column) {
             return column.kind == Kind::kReal && trimmed(column.name) == name;
           });
  }

  void require_same_types(const ColumnNames& names, const arrow::Schema& schema) const {
    for (int column = 0; column < schema.num_fields(); ++column) {
      const arrow::DataType& type = *schema.field(column)->type();
      const arrow::DataType& first_type = *schema_->field(column)->type();
      if (type.Equals(first_type)) continue;
      throw InvalidInput(Where{.source = names.table, .column = schema.field(column)->name()},
                         "has type " + escaped(type.ToString(), 60) + ", in " + first_.table + " it has type " +
                             escaped(first_type.ToString(), 60));
    }
  }

  std::string output_;
  const AppendPlan& plan_;
  BatchSource source_;
  NamedFormat format_;
  bool is_all_text_ = false;
  TypeFinder text_types_;
  bool has_text_types_ = false;
  ColumnNames first_;
  std::shared_ptr<arrow::Schema> schema_;  // with the added columns
  std::unique_ptr<RowWriter> writer_;
};

}  // namespace

RowCounts append(const TableFiles& inputs, const std::string& output, const AppendPlan& plan, const FillColumns& fill,
                 const Limits& limits) {
  return Appender(inputs, output, plan, limits).run(fill);
}

}  // namespace detail

namespace {

detail::Limits append_limits(const ReadOptions& options) {
  detail::Limits limits = detail::limits_for(options.max_bytes);
  limits.chunks_per_run = std::min(limits.chunks_per_run, detail::kChunksPerRun);
  return limits;
}

}  // namespace

RowCounts append_columns(const TableFiles& inputs, const std::string& output, const AppendColumnsOptions& options,
                         const std::vector<AddedColumn>& added, const FillColumns& fill) {
  // The inputs are opened again for copying, so that stdin cannot be looked at before: there kinds must be given, and
  // are text when they are not.
  FrameReadOptions read = options.read;
  detail::ColumnKinds given(read);
  std::vector<std::string> undecided;
  std::ranges::copy_if(read.columns, std::back_inserter(undecided),
                       [&](const std::string& name) { return !given.is_fixed(trimmed(name)); });
  if (inputs.has_stdin()) {
    read.text_columns.insert(read.text_columns.end(), undecided.begin(), undecided.end());
    undecided.clear();
  }
  detail::ColumnKinds kinds(read);
  if (!undecided.empty()) {
    const detail::ValueRules rules = detail::value_rules(read.read, read.missing_rule);
    detail::BatchSource(inputs, read.read, {}).for_each_file([&](detail::FileReader& reader) {
      kinds.add(reader, rules);
    });
  }
  detail::AppendPlan plan = {.read = read.read,
                             .missing_rule = read.missing_rule,
                             .keep = options.keep,
                             .added = added,
                             .output_format = options.output_format};
  for (const std::string& name : read.columns) {
    const std::string own_name(trimmed(name));
    plan.wanted.push_back({.name = own_name,
                           .kind = kinds.of(own_name) == ColumnKind::kText ? detail::Kind::kText : detail::Kind::kReal,
                           .parses_text = true});
  }
  return detail::append(inputs, output, plan, fill, append_limits(read.read));
}

RowCounts append_decisions(const TableFiles& inputs, const std::string& output, const AppendDecisionsOptions& options,
                           const std::function<void(const DecisionBatch&)>& decide) {
  const detail::AppendPlan plan = {.read = options.read,
                                   .wanted = {{.name = options.score}, {.name = options.uncertainty}},
                                   .missing_rule = options.drop_missing ? MissingRule::kDrop : MissingRule::kRefuse,
                                   .added = {{"decision", AddedType::kUint8}, {"level", AddedType::kInt32}},
                                   .output_format = options.output_format};
  const auto fill = [&decide](const Frame& frame, std::span<AddedValues> added, std::span<std::uint8_t>) {
    decide({.score = std::span(std::get<NumberValues>(frame.columns[0].values)),
            .uncertainty = std::span(std::get<NumberValues>(frame.columns[1].values)),
            .decision = std::get<std::vector<std::uint8_t>>(added[0]),
            .level = std::get<std::vector<std::int32_t>>(added[1])});
  };
  return detail::append(inputs, output, plan, fill, append_limits(options.read));
}

}  // namespace limen::table
