// SPDX-License-Identifier: MIT
#include "experiment/file_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "frame_rows.h"
#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/base/text.h"
#include "limen/table/frames.h"
#include "options.h"

namespace limen::cli::experiment {

train::FrameSource file_source(const FileData& data, const std::vector<std::string>& paths) {
  const table::TableFiles files(paths);
  table::FrameReadOptions read = {.read = read_options(data.read, ""),
                                  .text_columns = data.features.categorical,
                                  .number_columns = data.features.numeric};
  for (const auto& [name, format] : data.features.date) read.text_columns.push_back(name);
  if (!data.negative.empty()) read.text_columns.push_back(data.features.label);
  std::vector<std::string> names;
  for (const table::ColumnInfo& column : table::describe_columns(files, read)) names.push_back(column.name);
  for (const std::string& name : {data.features.label, data.time_column}) {
    if (name.empty() || contains(names, name)) continue;
    throw InvalidInput(files.name(), fmt::format("has no column {}{}", limen::quoted(name), did_you_mean(name, names)),
                       Cause::kNoSuchColumn);
  }
  const auto relabelled = [negative = label_value(data.negative)](const limen::Column& column) {
    const auto& from = std::get<TextValues>(column.values);
    TextValues to = {.distinct = {"0", "1"}};
    for (const std::int32_t code : from.code) {
      to.code.push_back(code == TextValues::kMissing                                             ? TextValues::kMissing
                        : label_value(from.distinct[static_cast<std::size_t>(code)]) == negative ? 0
                                                                                                 : 1);
    }
    return limen::Column{column.name, std::move(to)};
  };
  return {.name = files.name(),
          .columns = names,
          .read = [files, read, data, relabelled](std::span<const std::string> wanted, const auto& visit) {
            table::FrameReadOptions options = read;
            options.columns.assign(wanted.begin(), wanted.end());
            // Any seed will do, if it is the same for all cells: they see the same rows.
            const RowHash hash(0x5eed, RowUse::kSplit);
            std::uint64_t first_row = 0;
            table::for_each_frame(files, options, [&](const Frame& frame) {
              if (data.share == 1 && data.negative.empty()) return visit(frame);
              std::vector<std::size_t> rows;
              for (std::size_t row = 0; row < frame.num_rows; ++row) {
                if (hash.uniform(first_row + row) < data.share) rows.push_back(row);
              }
              first_row += frame.num_rows;
              Frame part{.num_rows = rows.size()};
              for (const limen::Column& column : frame.columns) {
                const bool is_label = !data.negative.empty() && column.name == data.features.label;
                part.columns.push_back(taken_rows(is_label ? relabelled(column) : column, rows));
              }
              visit(part);
            });
          }};
}

std::uint64_t data_fingerprint(const Data& data) {
  const auto* files = std::get_if<FileData>(&data);
  if (files == nullptr) return 0;
  std::uint64_t hash = kGoldenRatio;
  std::vector<char> block(std::size_t{1} << 20U);
  for (const auto* paths : {&files->table, &files->train, &files->holdout, &files->test}) {
    hash = mix(hash + paths->size());
    for (const std::string& path : *paths) {
      std::ifstream file(path, std::ios::binary);
      if (!file) throw IoError(IoError::Access::kRead, path, "cannot be read; is the path right?");
      while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
        const auto size = static_cast<std::size_t>(file.gcount());
        for (std::size_t at = 0; at < size; at += 8) {
          std::uint64_t word = 0;
          std::copy_n(block.data() + at, std::min<std::size_t>(8, size - at), reinterpret_cast<char*>(&word));
          hash = mix(hash ^ word) + kGoldenRatio;
        }
        hash = mix(hash + size);
      }
    }
  }
  return hash;
}

}  // namespace limen::cli::experiment
