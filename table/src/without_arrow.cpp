// SPDX-License-Identifier: MIT
#include "append.h"
#include "arrow_tables.h"
#include "frame_source.h"
#include "gzip.h"
#include "limen/base/error.h"

namespace limen::table {
namespace detail {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& task) {
  throw InvalidInput(name + ": this limen was built without Apache Arrow, which " + task +
                     " needs; install pyarrow into .venv (make setup) and build again");
}

std::string reading(const Input& input) {
  return input.format == Format::kParquet ? "reading Parquet" : "reading Arrow IPC";
}

}  // namespace

std::unique_ptr<RowSource> open_arrow(const Input& input, const ReadOptions&) { refuse(input.name, reading(input)); }

std::optional<std::uint64_t> estimate_arrow_rows(const Input& input) { refuse(input.name, reading(input)); }

std::unique_ptr<FrameSource> open_arrow_frames(const Input& input, const Progress&) {
  refuse(input.name, reading(input));
}

AppendResult append_arrow(const std::vector<Input>& inputs, const std::string& output, Format output_format,
                          const AppendPlan&, const FillColumns&) {
  for (const Input& input : inputs) {
    if (!is_text(input.format)) refuse(input.name, reading(input));
  }
  const std::string name = output == "-" ? "<stdout>" : output;
  refuse(name, output_format == Format::kParquet ? "writing Parquet" : "writing Arrow IPC");
}

void for_each_arrow_row(const Input& input, const std::function<std::vector<Column>(const ColumnNames&)>&,
                        const std::function<void(std::uint64_t, std::span<const double>)>&) {
  refuse(input.name, reading(input));
}

std::unique_ptr<GzipReader> open_gzip(std::string name, std::function<std::size_t(std::span<char>)>) {
  refuse(name, "reading gzip");
}

}  // namespace detail

bool has_arrow() { return false; }

}  // namespace limen::table
