// SPDX-License-Identifier: MIT
#include "limen/base/date_part.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <utility>

namespace limen {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes `least` to `most` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t least, std::size_t most) {
  std::size_t length = 0;
  int value = 0;
  while (length < std::min(most, text.size()) && is_digit(text[length])) value = 10 * value + (text[length++] - '0');
  if (length < least) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

}  // namespace

std::optional<DatePart> parse_date_part(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, DatePart>, 5> kNames = {{{"year", DatePart::kYear},
                                                                            {"month", DatePart::kMonth},
                                                                            {"day", DatePart::kDay},
                                                                            {"hour", DatePart::kHour},
                                                                            {"weekday", DatePart::kWeekday}}};
  for (const auto& [known, part] : kNames) {
    if (known == name) return part;
  }
  return std::nullopt;
}

std::optional<int> date_part(std::string_view text, DatePart part) {
  const auto year = take_number(text, 4, 4);
  if (!year || text.empty()) return std::nullopt;
  const char mark = is_digit(text[0]) ? '\0' : text[0];
  if (mark != '\0' && mark != '-' && mark != '/' && mark != '.') return std::nullopt;
  const auto take_mark = [&] {
    if (mark == '\0') return true;
    if (text.empty() || text[0] != mark) return false;
    text.remove_prefix(1);
    return true;
  };
  const std::size_t least_digits = mark == '\0' ? 2 : 1;
  if (!take_mark()) return std::nullopt;
  const auto month = take_number(text, least_digits, 2);
  if (!month || !take_mark()) return std::nullopt;
  const auto day = take_number(text, least_digits, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  int hour = 0;
  if (!text.empty()) {
    if (text[0] != ' ' && text[0] != 'T') return std::nullopt;
    text.remove_prefix(1);
    const auto given = take_number(text, 1, 2);
    if (!given || *given > 23 || (!text.empty() && is_digit(text[0]))) return std::nullopt;
    hour = *given;
  }
  switch (part) {
    case DatePart::kYear:
      return *year;
    case DatePart::kMonth:
      return *month;
    case DatePart::kDay:
      return *day;
    case DatePart::kHour:
      return hour;
    default:
      return static_cast<int>(std::chrono::weekday(std::chrono::sys_days(date)).iso_encoding());
  }
}

}  // namespace limen
