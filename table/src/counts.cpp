// SPDX-License-Identifier: MIT
#include "limen/table/counts.h"

#include <cmath>

#include "batch_source.h"
#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table {
namespace {

constexpr double kMaxCount = 9007199254740992.0;  // 2^53: every whole number up to it is a double

// The values of a row by column: level, score, positives, rows and, where there is one, uncertainty.
CountedBin checked_bin(const detail::Batch& batch, std::size_t row, std::span<const detail::Wanted> columns,
                       const Where& place) {
  const auto value = [&](std::size_t column) { return std::get<detail::Reals>(batch.columns[column])[row]; };
  const auto refuse = [&](std::size_t column, const std::string& problem) {
    throw InvalidInput(Where{.source = place.source, .place = place.place, .column = columns[column].name}, problem);
  };
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const double number = value(column);
    if (!std::isfinite(number)) refuse(column, "the value is missing or not finite");
    const bool is_count = column == 0 || column == 2 || column == 3;
    if (is_count && (number < 0 || number > kMaxCount || number != std::floor(number))) {
      refuse(column, quoted(number_text(number)) + " is not a whole number from 0 to 2^53");
    }
  }
  CountedBin bin = {.level = static_cast<std::int64_t>(value(0)),
                    .score = value(1),
                    .positives = static_cast<std::int64_t>(value(2)),
                    .rows = static_cast<std::int64_t>(value(3))};
  if (bin.positives > bin.rows) {
    refuse(2, "there are " + std::to_string(bin.positives) + " positives in " + std::to_string(bin.rows) + " rows");
  }
  if (columns.size() > 4) bin.uncertainty = value(4);
  return bin;
}

}  // namespace

std::vector<CountedBin> read_counts(const TableFiles& files, const CountOptions& options) {
  std::vector<CountedBin> bins;
  // One file after the other, because each may or may not have the column of uncertainty.
  for (const auto& file : files.files()) {
    TableFiles one(file->path);
    detail::BatchSource source(one, options.read, detail::limits_for(options.read.max_bytes));
    std::vector<detail::Wanted> wanted;
    std::string place;
    source.start([&](detail::FileReader& reader) {
      place = reader.csv() != nullptr ? "line " : "row ";
      for (const std::string& name :
           {std::string("level"), options.score, std::string("positives"), std::string("rows")}) {
        wanted.push_back({.name = name, .index = reader.names().require(name)});
      }
      if (const auto column = reader.names().find(options.uncertainty)) {
        wanted.push_back({.name = options.uncertainty, .index = *column});
      }
      // Missing values are kept, for checked_bin() to refuse.
      return detail::Selection{
          .wanted = wanted, .rules = detail::value_rules(options.read, MissingRule::kKeep), .with_places = true};
    });
    while (const std::optional<detail::Batch> batch = source.next(detail::Limits().batch_rows)) {
      for (std::size_t row = 0; row < batch->num_rows; ++row) {
        bins.push_back(checked_bin(*batch, row, wanted,
                                   {.source = file->name, .place = place + std::to_string(batch->places[row])}));
      }
    }
    if (files.files().size() == 1) source.require_rows();
  }
  if (bins.empty()) throw InvalidInput(files.name(), "no rows", Cause::kNoRows);
  return bins;
}

}  // namespace limen::table
