// SPDX-License-Identifier: MIT
#include "limen/table/frames.h"

#include <algorithm>

#include "batch_source.h"
#include "columns.h"
#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table {
namespace {

using detail::ColumnKinds;
using detail::ColumnNames;
using detail::FileReader;

// A million rows of a few columns, fewer of many.
std::size_t batch_rows(std::size_t num_columns, const detail::Limits& limits) {
  constexpr std::size_t kValues = std::size_t{1} << 24;
  const std::size_t rows =
      std::clamp(kValues / std::max<std::size_t>(num_columns, 1), std::size_t{1} << 16, std::size_t{1} << 20);
  return std::min(rows, limits.batch_rows);
}

}  // namespace

std::vector<ColumnInfo> describe_columns(const TableFiles& files, const FrameReadOptions& options) {
  if (files.has_stdin()) throw InvalidInput("<stdin>", "can be read only once; give a file");
  const detail::ValueRules rules = detail::value_rules(options.read, options.missing_rule);
  ColumnKinds kinds(options);
  ColumnNames all = {.table = files.name(), .names = {}};
  detail::BatchSource(files, options.read, {}).for_each_file([&](FileReader& reader) {
    kinds.add(reader.names(), reader.kinds(rules));
    for (const std::string& name : reader.names().names) {
      if (!all.has(name)) all.names.push_back(name);
    }
  });
  for (const std::vector<std::string>* fixed : {&options.text_columns, &options.number_columns}) {
    for (const std::string& name : *fixed) (void)all.require(name);
  }
  std::vector<ColumnInfo> columns;
  for (const std::string& name : all.names) columns.push_back({.name = name, .kind = kinds.of(name)});
  return columns;
}

RowCounts for_each_frame(const TableFiles& files, const FrameReadOptions& options,
                         const std::function<void(const Frame&)>& visit) {
  const detail::Limits limits = detail::limits_for(options.read.max_bytes);
  const detail::ValueRules rules = detail::value_rules(options.read, options.missing_rule);
  detail::BatchSource source(files, options.read, limits);
  ColumnKinds kinds(options);
  std::size_t num_columns = options.columns.size();
  if (options.columns.empty() || !kinds.are_fixed(options.columns)) {
    source.for_each_file([&](FileReader& reader) {
      kinds.add(reader.names(), reader.kinds(rules));
      num_columns = options.columns.empty() ? reader.names().names.size() : num_columns;
    });
  }
  std::vector<detail::Wanted> first;
  source.start([&](const FileReader& reader) {
    detail::Selection selection = {.rules = rules};
    for (const std::string& name : options.columns.empty() ? reader.names().names : options.columns) {
      selection.wanted.push_back(kinds.wanted(reader.names(), name));
    }
    if (first.empty()) first = selection.wanted;
    // Without a list of wanted columns, each file says by itself what its columns are.
    if (!std::ranges::equal(first, selection.wanted, {}, &detail::Wanted::name, &detail::Wanted::name)) {
      reader.names().refuse("has other columns than " + files.files().front()->name +
                            " (several inputs must have the same columns)");
    }
    return selection;
  });
  source.for_each(batch_rows(num_columns, limits), [&](detail::Batch& batch) {
    if (batch.num_rows > 0) visit(take_frame(batch, first));
  });
  source.require_rows();
  return source.counts();
}

}  // namespace limen::table
