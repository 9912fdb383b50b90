// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace limen {

enum class DatePart {
  kYear,
  kMonth,    ///< 1 to 12
  kDay,      ///< of the month, 1 to 31
  kHour,     ///< 0 to 23; 0 for a date without a time
  kWeekday,  ///< 1 (Monday) to 7 (Sunday), as in ISO 8601
};

/// "year", "month", "day", "hour", "weekday"; unset for other texts.
[[nodiscard]] std::optional<DatePart> parse_date_part(std::string_view name);

/// A part of a date such as 2001-01-14, 2001/1/14 13:05, 2001.01.14T13:05:30.25Z or 20010114, year first; what stands
/// behind the hour is not looked at but for a digit. Unset for other texts and for days that are not in the calendar.
[[nodiscard]] std::optional<int> date_part(std::string_view text, DatePart part);

}  // namespace limen
