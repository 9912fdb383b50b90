// SPDX-License-Identifier: MIT
#include "limen/table/write_table.h"

#include <arrow/builder.h>

#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "arrow_status.h"
#include "limen/base/text.h"
#include "table_writer.h"

namespace limen::table {
namespace {

arrow::Result<std::shared_ptr<arrow::Array>> array_of(const WrittenColumn& column) {
  return std::visit(
      [](const auto& values) -> arrow::Result<std::shared_ptr<arrow::Array>> {
        using Value = std::remove_cvref_t<decltype(values[0])>;
        if constexpr (std::is_same_v<Value, std::string>) {
          arrow::StringBuilder builder;
          ARROW_RETURN_NOT_OK(builder.AppendValues(values));
          return builder.Finish();
        } else if constexpr (std::is_same_v<Value, double>) {
          arrow::DoubleBuilder builder;
          for (const double value : values) {
            ARROW_RETURN_NOT_OK(std::isnan(value) ? builder.AppendNull() : builder.Append(value));
          }
          return builder.Finish();
        } else {
          arrow::Int64Builder builder;
          ARROW_RETURN_NOT_OK(builder.AppendValues(values));
          return builder.Finish();
        }
      },
      column.values);
}

}  // namespace

void write_table(const std::string& path, const std::vector<WrittenColumn>& columns, std::optional<Format> format) {
  const NamedFormat named = output_format(path, format);
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const WrittenColumn& column : columns) {
    arrays.push_back(detail::value_or_refuse(array_of(column), shown_path(path, "<stdout>"), "a table"));
    fields.push_back(arrow::field(column.name, arrays.back()->type()));
    if (arrays.back()->length() != arrays.front()->length()) {
      throw std::logic_error("write_table: column " + column.name + " has another length than the first");
    }
  }
  const std::shared_ptr<arrow::Schema> schema = arrow::schema(fields);
  const std::unique_ptr<detail::TableWriter> writer = detail::open_writer(path, named, schema);
  const std::int64_t rows = arrays.empty() ? 0 : arrays.front()->length();
  writer->write(*arrow::RecordBatch::Make(schema, rows, arrays));
  writer->commit();
}

}  // namespace limen::table
