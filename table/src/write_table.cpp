// SPDX-License-Identifier: MIT
#include "limen/table/write_table.h"

#include <stdexcept>

#include "arrow_status.h"
#include "limen/base/text.h"
#include "table_writer.h"

namespace limen::table {
void write_table(const std::string& path, const std::vector<WrittenColumn>& columns, std::optional<Format> format) {
  const NamedFormat named = output_format(path, format);
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const WrittenColumn& column : columns) {
    auto array = std::visit([](const auto& values) { return detail::array_of(values); }, column.values);
    arrays.push_back(detail::value_or_refuse(std::move(array), shown_path(path, "<stdout>"), "a table"));
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
