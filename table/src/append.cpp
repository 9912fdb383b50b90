// SPDX-License-Identifier: MIT
#include "limen/table/append.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "arrow_status.h"
#include "batch_source.h"
#include "columns.h"
#include "csv_file.h"
#include "known_file.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "table_writer.h"

namespace limen::table {
namespace {

using detail::ColumnNames;
using detail::Copying;
using detail::FileReader;
using detail::Wanted;

constexpr std::size_t kBatchRows = 65'536;
constexpr std::size_t kMostChunksPerRun = 16;

AddedValues zeros(AddedType type, std::size_t rows) {
  switch (type) {
    case AddedType::kDouble:
      return std::vector<double>(rows);
    case AddedType::kInt64:
      return std::vector<std::int64_t>(rows);
    case AddedType::kInt32:
      return std::vector<std::int32_t>(rows);
    case AddedType::kText:
      return std::vector<std::string>(rows);
    default:
      return std::vector<std::uint8_t>(rows);
  }
}

// An empty text is a missing value, as a NaN is.
arrow::Result<std::shared_ptr<arrow::Array>> array_of(const std::vector<std::string>& texts) {
  arrow::StringBuilder builder;
  for (const std::string& text : texts) ARROW_RETURN_NOT_OK(text.empty() ? builder.AppendNull() : builder.Append(text));
  return builder.Finish();
}

std::shared_ptr<arrow::Array> array_of(const AddedValues& values, const std::string& table) {
  auto array = std::visit(
      [](const auto& column) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(column)>, std::vector<std::string>>) {
          return array_of(column);
        } else {
          return detail::array_of(column);
        }
      },
      values);
  return detail::value_or_refuse(std::move(array), table, "a table");
}

// The places in a file of the columns to copy, in its order.
std::vector<std::size_t> kept_in(const ColumnNames& names, const AppendColumnsOptions& options,
                                 const std::vector<AddedColumn>& added) {
  std::vector<std::size_t> kept;
  if (options.keep) {
    for (const std::string& name : *options.keep) kept.push_back(names.require(name));
    std::ranges::sort(kept);
    kept.erase(std::ranges::unique(kept).begin(), kept.end());
  } else {
    for (std::size_t index = 0; index < names.names.size(); ++index) kept.push_back(index);
  }
  if (options.replace) {
    std::erase_if(kept, [&](std::size_t index) {
      return std::ranges::find(added, names.names[index], &AddedColumn::name) != added.end();
    });
  }
  return kept;
}

ColumnNames kept_names(const ColumnNames& names, const AppendColumnsOptions& options,
                       const std::vector<AddedColumn>& added) {
  ColumnNames kept = {.table = names.table, .names = {}};
  for (const std::size_t index : kept_in(names, options, added)) kept.names.push_back(names.names[index]);
  return kept;
}

void refuse_existing(const ColumnNames& kept, const std::vector<AddedColumn>& added) {
  for (const AddedColumn& column : added) {
    if (!kept.has(column.name)) continue;
    throw InvalidInput(kept.table, "already has a column " + quoted(column.name), Cause::kColumnExists);
  }
}

// Chooses what to read of each input, and opens the output when the first is known.
class Appender {
 public:
  Appender(const TableFiles& inputs, const std::string& output, const AppendColumnsOptions& options,
           const std::vector<AddedColumn>& added, const detail::Limits& limits)
      : output_(output),
        options_(options),
        added_(added),
        source_(inputs, options.read.read, limits),
        kinds_(options.read),
        rules_(detail::value_rules(options.read.read, options.read.missing_rule)) {
    // A name that says no format is refused before anything is read.
    format_ = output_format(output, options.output_format, source_.format_of(*inputs.files().front()));
    const auto is_text_file = [&](const auto& file) { return is_text(source_.format_of(*file)); };
    is_all_text_ = is_text(format_.format) && std::ranges::all_of(inputs.files(), is_text_file);
    const bool needs_types = !is_all_text_ && std::ranges::any_of(inputs.files(), is_text_file);
    if (needs_types || !kinds_.are_fixed(options.read.columns))
      source_.for_each_file([this](FileReader& reader) { look_at(reader); });
    source_.start([this](FileReader& reader) { return choose(reader); });
  }

  RowCounts run(const FillColumns& fill) {
    std::size_t left_out = 0;
    source_.for_each(kBatchRows, [&](detail::Batch& batch) {
      if (batch.num_rows > 0) left_out += write(batch, fill);
    });
    RowCounts counts = source_.counts();
    if (counts.rows_dropped > 0) source_.require_rows();
    writer_->commit();
    counts.rows -= left_out;
    return counts;
  }

 private:
  // Kinds, and the types of columns of text, for which the whole file is read.
  void look_at(FileReader& reader) {
    kinds_.add(reader.names(), reader.kinds(rules_));
    if (is_all_text_ || reader.csv() == nullptr || !reader.file().can_seek()) return;
    check_kept(reader.names());
    reader.csv()->find_types(kept_in(reader.names()), text_types_);
  }

  detail::Selection choose(FileReader& reader) {
    const ColumnNames& names = reader.names();
    check_kept(names);
    detail::Selection selection = {.rules = rules_};
    for (const std::string& name : options_.read.columns) selection.wanted.push_back(kinds_.wanted(names, name));
    if (!writer_) wanted_ = selection.wanted;
    Copying& copying = selection.copying;
    copying.columns = kept_in(names);
    copying.to = is_all_text_ ? Copying::To::kText : Copying::To::kTyped;
    copying.separator = separator_of(format_.format);
    copying.schema = copied_schema(reader, copying.columns);
    if (!writer_) {
      arrow::FieldVector fields;
      for (const auto& field : copying.schema->fields()) fields.push_back(field->WithNullable(true));
      for (const AddedColumn& column : added_) {
        fields.push_back(arrow::field(column.name, array_of(zeros(column.type, 0), names.table)->type()));
      }
      schema_ = arrow::schema(fields, copying.schema->metadata());
      std::optional<detail::CopiedLines> lines;
      if (is_all_text_) {
        lines = {.header = reader.csv()->header(copying),
                 .line_end = reader.csv()->line_end(),
                 .has_fields = !copying.columns.empty()};
      }
      writer_ = detail::open_writer(output_, format_, schema_, lines);
    }
    require_same_types(names, *copying.schema);
    return selection;
  }

  // Returns the number of rows that were left out.
  std::size_t write(detail::Batch& batch, const FillColumns& fill) {
    const Frame frame = take_frame(batch, wanted_);
    std::vector<AddedValues> values;
    for (const AddedColumn& column : added_) values.push_back(zeros(column.type, frame.num_rows));
    std::vector<std::uint8_t> keep(frame.num_rows, 1);
    fill(frame, values, keep);
    arrow::ArrayVector added;
    for (std::size_t column = 0; column < added_.size(); ++column) {
      added.push_back(array_of(values[column], first_.table));
      if (static_cast<std::size_t>(added.back()->length()) == frame.num_rows) continue;
      throw std::logic_error("append_columns: column " + added_[column].name + " was filled with " +
                             std::to_string(added.back()->length()) + " values for " + std::to_string(frame.num_rows) +
                             " rows");
    }
    const auto left_out = static_cast<std::size_t>(std::ranges::count(keep, std::uint8_t{0}));
    std::int64_t offset = 0;
    for (const std::shared_ptr<arrow::RecordBatch>& copied : batch.copied) {
      const std::int64_t size = copied->num_rows();
      arrow::ArrayVector columns = copied->columns();
      for (const auto& array : added) columns.push_back(array->Slice(offset, size));
      std::shared_ptr<arrow::RecordBatch> rows = arrow::RecordBatch::Make(schema_, size, columns);
      if (left_out > 0) {
        const std::vector<bool> kept(keep.begin() + offset, keep.begin() + offset + size);
        rows = detail::filtered(rows, kept, first_.table);
      }
      offset += size;
      if (rows->num_rows() > 0) writer_->write(*rows);
    }
    return left_out;
  }

  [[nodiscard]] std::vector<std::size_t> kept_in(const ColumnNames& names) const {
    return table::kept_in(names, options_, added_);
  }

  // Refuses copied columns that are other ones than those of the first file, or have the name of an added one.
  void check_kept(const ColumnNames& names) {
    const ColumnNames kept = kept_names(names, options_, added_);
    refuse_existing(kept, added_);
    if (first_.table.empty()) first_ = kept;
    require_same_columns(first_, kept);
  }

  [[nodiscard]] std::shared_ptr<arrow::Schema> copied_schema(const FileReader& reader,
                                                             const std::vector<std::size_t>& columns) const {
    const std::shared_ptr<arrow::Schema> typed = reader.schema();
    arrow::FieldVector fields;
    if (is_all_text_ && !columns.empty()) return arrow::schema({arrow::field("fields", arrow::utf8())});
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const std::string& name = reader.names().names[columns[column]];
      if (typed) {
        fields.push_back(typed->field(static_cast<int>(columns[column])));
      } else if (must_be_number(name)) {
        fields.push_back(arrow::field(name, arrow::float64()));
      } else {
        fields.push_back(arrow::field(name, text_types_.empty() ? arrow::utf8() : text_types_[column].type()));
      }
    }
    return arrow::schema(fields, typed ? typed->metadata() : nullptr);
  }

  // A column that must be a number, and whose missing values leave no trace, is double whatever it looks like.
  [[nodiscard]] bool must_be_number(const std::string& name) const {
    return rules_.rule != MissingRule::kKeep && std::ranges::any_of(wanted_, [&](const Wanted& column) {
             return column.kind == detail::Kind::kReal && column.name == name;
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
  const AppendColumnsOptions& options_;
  const std::vector<AddedColumn>& added_;
  detail::BatchSource source_;
  detail::ColumnKinds kinds_;
  detail::ValueRules rules_;
  NamedFormat format_;
  bool is_all_text_ = false;
  std::vector<detail::TypeCandidates> text_types_;  // of the copied columns, when there are files to tell by
  ColumnNames first_;                               // copied of the first file
  std::vector<Wanted> wanted_;                      // but for their places in a file
  std::shared_ptr<arrow::Schema> schema_;           // with the added columns
  std::unique_ptr<detail::TableWriter> writer_;
};

}  // namespace

RowCounts detail::append_columns(const TableFiles& inputs, const std::string& output,
                                 const AppendColumnsOptions& options, const std::vector<AddedColumn>& added,
                                 const FillColumns& fill, const Limits& limits) {
  return Appender(inputs, output, options, added, limits).run(fill);
}

void require_new_columns(const TableFiles& inputs, const AppendColumnsOptions& options,
                         const std::vector<AddedColumn>& added) {
  if (std::ranges::any_of(inputs.files(), [](const auto& file) { return detail::size_of(*file) == 0; })) return;
  detail::BatchSource(inputs, options.read.read, {}).for_each_file([&](FileReader& reader) {
    refuse_existing(kept_names(reader.names(), options, added), added);
  });
}

RowCounts append_columns(const TableFiles& inputs, const std::string& output, const AppendColumnsOptions& options,
                         const std::vector<AddedColumn>& added, const FillColumns& fill) {
  detail::Limits limits = detail::limits_for(options.read.read.max_bytes);
  limits.chunks_per_run = std::min(limits.chunks_per_run, kMostChunksPerRun);
  return detail::append_columns(inputs, output, options, added, fill, limits);
}

RowCounts append_decisions(const TableFiles& inputs, const std::string& output, const AppendDecisionsOptions& options,
                           const std::function<void(const DecisionBatch&)>& decide) {
  std::vector<std::string> numbers = {options.score};
  if (!options.uncertainty.empty()) numbers.push_back(options.uncertainty);
  std::vector<std::string> wanted = numbers;
  std::vector<std::string> texts;
  if (!options.segment.empty()) {
    wanted.push_back(options.segment);
    texts.push_back(options.segment);
  }
  const AppendColumnsOptions columns = {
      .read = {.read = options.read,
               .columns = wanted,
               .text_columns = texts,
               .number_columns = numbers,
               .missing_rule = options.drop_missing ? MissingRule::kDrop : MissingRule::kRefuse},
      .output_format = options.output_format};
  std::vector<AddedColumn> added_columns = {{"decision", AddedType::kUint8}, {"level", AddedType::kInt32}};
  if (options.with_review) added_columns.push_back({"review", AddedType::kUint8});
  const auto fill = [&](const Frame& frame, std::span<AddedValues> added, std::span<std::uint8_t>) {
    decide({.score = std::span(std::get<NumberValues>(frame.columns[0].values)),
            .uncertainty = options.uncertainty.empty()
                               ? RealSpan()
                               : RealSpan(std::span<const double>(std::get<NumberValues>(frame.columns[1].values))),
            .decision = std::get<std::vector<std::uint8_t>>(added[0]),
            .level = std::get<std::vector<std::int32_t>>(added[1]),
            .review = options.with_review ? std::span(std::get<std::vector<std::uint8_t>>(added[2]))
                                          : std::span<std::uint8_t>(),
            .segment = options.segment.empty() ? nullptr : &std::get<TextValues>(frame.columns.back().values)});
  };
  return append_columns(inputs, output, columns, added_columns, fill);
}

}  // namespace limen::table
