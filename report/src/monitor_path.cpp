// SPDX-License-Identifier: MIT
#include "limen/report/monitor_path.h"

#include <algorithm>
#include <unordered_map>

namespace limen::report {
namespace {

template <typename Value>
std::span<const Value> part_of(std::span<const Value> values, std::size_t begin, std::size_t size) {
  return values.empty() ? values : values.subspan(begin, size);
}

RealSpan part_of(const RealSpan& values, std::size_t begin, std::size_t size) {
  return values.visit([&](auto span) { return RealSpan(span.subspan(begin, size)); });
}

Column part_of(const Column& column, std::size_t begin, std::size_t size) {
  Column part = {.name = column.name};
  if (const auto* numbers = std::get_if<NumberValues>(&column.values)) {
    const auto first = numbers->begin() + static_cast<std::ptrdiff_t>(begin);
    part.values = NumberValues(first, first + static_cast<std::ptrdiff_t>(size));
    return part;
  }
  // Only the texts of these rows: a copy of all of them for every part would take quadratic time.
  const auto& texts = std::get<TextValues>(column.values);
  TextValues values;
  std::unordered_map<std::int32_t, std::int32_t> code_of;
  for (std::size_t row = begin; row < begin + size; ++row) {
    const std::int32_t code = texts.code[row];
    if (code == TextValues::kMissing) {
      values.code.push_back(code);
      continue;
    }
    const auto [found, is_new] = code_of.try_emplace(code, static_cast<std::int32_t>(values.distinct.size()));
    if (is_new) values.distinct.push_back(texts.distinct[static_cast<std::size_t>(code)]);
    values.code.push_back(found->second);
  }
  part.values = std::move(values);
  return part;
}

MonitorPoint point_of(const MonitorReport& report) {
  return {report.rows, report.figure, report.figure_low, report.figure_high, report.e_value};
}

}  // namespace

void MonitorPath::update(Monitor& monitor, const MonitorRows& rows) {
  check(rows, monitor.options());
  for (std::size_t begin = 0; begin < rows.size();) {
    const auto to_point = static_cast<std::size_t>(spacing_ - given_ % spacing_);
    const std::size_t size = std::min(to_point, rows.size() - begin);
    MonitorRows part;
    part.score = part_of(rows.score, begin, size);
    part.uncertainty = part_of(rows.uncertainty, begin, size);
    part.label = part_of(rows.label, begin, size);
    part.weight = part_of(rows.weight, begin, size);
    Column id;
    Column time;
    if (rows.id != nullptr) {
      id = part_of(*rows.id, begin, size);
      part.id = &id;
    }
    if (rows.time != nullptr) {
      time = part_of(*rows.time, begin, size);
      part.time = &time;
    }
    monitor.update(part);
    given_ += static_cast<std::int64_t>(size);
    begin += size;
    if (given_ % spacing_ != 0) continue;
    points_.push_back(point_of(monitor.report()));
    if (points_.size() < kMostPoints) continue;
    // Every second point is kept: those at multiples of twice the spacing.
    for (std::size_t at = 0; 2 * at + 1 < points_.size(); ++at) points_[at] = points_[2 * at + 1];
    points_.resize(points_.size() / 2);
    spacing_ *= 2;
  }
}

MonitorStudy MonitorPath::finish(const Monitor& monitor) const {
  MonitorStudy study = {monitor.report(), points_};
  if (study.path.empty() || study.path.back().rows != study.report.rows) study.path.push_back(point_of(study.report));
  return study;
}

}  // namespace limen::report
