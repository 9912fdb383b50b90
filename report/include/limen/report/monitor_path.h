// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limen/promise/monitor.h"

namespace limen::report {

/// What a monitor said after so many rows.
struct MonitorPoint {
  std::int64_t rows = 0;
  std::optional<double> figure = std::nullopt;
  double low = 0;
  double high = 1;
  double e_value = 1;
};

/// A monitor's report and the way to it.
struct MonitorStudy {
  MonitorReport report;
  std::vector<MonitorPoint> path;
};

/// Feeds a monitor and keeps what it says along the way, at most 400 points, evenly spaced in rows given to it. Depends
/// on the rows and their order alone, not on how they are cut into batches.
class MonitorPath {
 public:
  /// Monitor::update of the rows, part by part.
  void update(Monitor& monitor, const MonitorRows& rows);
  /// The points, and the monitor as it is now.
  [[nodiscard]] MonitorStudy finish(const Monitor& monitor) const;

 private:
  static constexpr std::size_t kMostPoints = 400;

  std::int64_t given_ = 0;     ///< rows so far, those that had come before too
  std::int64_t spacing_ = 64;  ///< rows from point to point
  std::vector<MonitorPoint> points_;
};

}  // namespace limen::report
