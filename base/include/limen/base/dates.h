// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "limen/base/frame.h"

namespace limen {

enum class DateFormat {
  /// "2014-10-21" or "2014/10/21"; behind the day, after a blank or T: "07:05", "07:05:59", "07:05:59.25", and behind
  /// the time optionally "Z", "+02", "+0200" or "+02:00".
  kText,
  /// Year of this century, month, day and hour in eight digits, as text or as a whole number: 14102107.
  kYymmddhh,
};

/// A moment as it is written, checked against the Gregorian calendar. Years 1 to 9999; no leap seconds, no 24:00.
struct Date {
  int year = 1970;
  int month = 1;  ///< 1 to 12
  int day = 1;    ///< 1 to 31
  int hour = 0;   ///< 0 to 23, by the clock of the place: an offset does not move it
  int minute = 0;
  int second = 0;
  double fraction = 0;     ///< of a second, 0 to below 1
  int offset_minutes = 0;  ///< ahead of universal time; 0 when none is written

  bool operator==(const Date&) const = default;
};

/// Nothing when the text is not a date of the format, whole and exactly: no blanks around it.
[[nodiscard]] std::optional<Date> parse_date(std::string_view text, DateFormat format = DateFormat::kText);

/// More forms, for a text that is known to be a date: 2001-01-14, 2001/1/14 13:05, 2001.01.14T13:05:30.25Z, 20010114 7,
/// year first. What stands behind the hour is not looked at but for a digit; minutes and below are 0.
[[nodiscard]] std::optional<Date> parse_loose_date(std::string_view text);

/// parse_date for a number column; only kYymmddhh can be a number. NaN gives nothing.
[[nodiscard]] std::optional<Date> parse_date(double number, DateFormat format);

/// Days since 1970-01-01, which is day 0.
[[nodiscard]] std::int64_t days_since_epoch(const Date& date);

/// Seconds since 1970-01-01T00:00Z; a date without offset is taken as universal time.
[[nodiscard]] double seconds_since_epoch(const Date& date);

/// 0 Monday to 6 Sunday.
[[nodiscard]] int weekday(const Date& date);

enum class DatePart {
  kYear,
  kMonth,    ///< 1 to 12
  kDay,      ///< of the month, 1 to 31
  kHour,     ///< 0 to 23; 0 for a date without a time
  kWeekday,  ///< 1 (Monday) to 7 (Sunday), as in ISO 8601
};

/// "year", "month", "day", "hour", "weekday".
[[nodiscard]] std::string_view to_string(DatePart part);
/// Unset for other texts.
[[nodiscard]] std::optional<DatePart> parse_date_part(std::string_view name);
[[nodiscard]] int part_of(const Date& date, DatePart part);

/// Sortable times of a column: numbers of kText as they are, everything else as seconds since the epoch.
/// first_row: what is added to the row number in an error, for columns that come in batches.
/// A missing, infinite or unreadable value: InvalidInput with row and value.
[[nodiscard]] std::vector<double> time_values(const Column& column, DateFormat format = DateFormat::kText,
                                              std::size_t first_row = 0);

}  // namespace limen
