// SPDX-License-Identifier: MIT
#include "limen/base/dates.h"

#include <array>
#include <cmath>
#include <string>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen {
namespace {

constexpr std::array<std::string_view, 5> kPartNames = {"year", "month", "day", "hour", "weekday"};

/// Reads a text from the left; every step says whether it found what it wanted.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  [[nodiscard]] bool done() const { return text_.empty(); }
  [[nodiscard]] char next() const { return text_.empty() ? '\0' : text_.front(); }

  bool take(char wanted) {
    if (next() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }

  [[nodiscard]] bool at_digit() const { return next() >= '0' && next() <= '9'; }

  /// From `least` to `most` digits, as many as there are.
  bool digits(int least, int most, int& value) {
    int length = 0;
    value = 0;
    for (; length < most && at_digit(); text_.remove_prefix(1), ++length) value = 10 * value + (next() - '0');
    return length >= least;
  }
  bool digits(int count, int& value) { return digits(count, count, value); }

  /// One to nine digits of a decimal fraction.
  bool fraction(double& value) {
    double unit = 0.1;
    int length = 0;
    value = 0;
    for (; at_digit(); text_.remove_prefix(1), ++length, unit /= 10) value += (next() - '0') * unit;
    return length >= 1 && length <= 9;
  }

 private:
  std::string_view text_;
};

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

bool is_sound(const Date& date) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (date.year < 1 || date.month < 1 || date.month > 12 || date.day < 1) return false;
  const int last = kDays[date.month - 1] + (date.month == 2 && is_leap(date.year) ? 1 : 0);
  return date.day <= last && date.hour <= 23 && date.minute <= 59 && date.second <= 59;
}

bool read_offset(Cursor& cursor, Date& date) {
  if (cursor.take('Z')) return true;
  const int sign = cursor.next() == '-' ? -1 : 1;
  if (!cursor.take('+') && !cursor.take('-')) return false;
  int hours = 0;
  int minutes = 0;
  if (!cursor.digits(2, hours)) return false;
  if (!cursor.done()) {
    cursor.take(':');
    if (!cursor.digits(2, minutes)) return false;
  }
  date.offset_minutes = sign * (60 * hours + minutes);
  return hours <= 23 && minutes <= 59;
}

// Two digits of month and day between '-' or '/'. Loose: also between '.', or one digit, or eight digits in a row.
bool read_day(Cursor& cursor, bool loose, Date& date) {
  if (!cursor.digits(4, date.year)) return false;
  const char mark = cursor.next();
  const bool packed = loose && cursor.at_digit();
  if (!packed && mark != '-' && mark != '/' && !(loose && mark == '.')) return false;
  const int least = loose && !packed ? 1 : 2;
  const auto take_mark = [&] { return packed || cursor.take(mark); };
  return take_mark() && cursor.digits(least, 2, date.month) && take_mark() && cursor.digits(least, 2, date.day);
}

std::optional<Date> parse_text_date(std::string_view text) {
  Cursor cursor(text);
  Date date;
  if (!read_day(cursor, /*loose=*/false, date)) return std::nullopt;
  if (cursor.take(' ') || cursor.take('T')) {
    if (!cursor.digits(2, date.hour) || !cursor.take(':') || !cursor.digits(2, date.minute)) return std::nullopt;
    if (cursor.take(':')) {
      if (!cursor.digits(2, date.second)) return std::nullopt;
      if (cursor.take('.') && !cursor.fraction(date.fraction)) return std::nullopt;
    }
    if (!cursor.done() && !read_offset(cursor, date)) return std::nullopt;
  }
  return cursor.done() && is_sound(date) ? std::optional(date) : std::nullopt;
}

std::optional<Date> parse_packed_date(std::string_view text) {
  Cursor cursor(text);
  Date date;
  if (!cursor.digits(2, date.year) || !cursor.digits(2, date.month) || !cursor.digits(2, date.day) ||
      !cursor.digits(2, date.hour) || !cursor.done()) {
    return std::nullopt;
  }
  date.year += 2000;
  return is_sound(date) ? std::optional(date) : std::nullopt;
}

[[noreturn]] void refuse_time(const Column& column, std::size_t row, const std::string& what, DateFormat format) {
  const char* needed =
      format == DateFormat::kYymmddhh ? "YYMMDDHH such as 14102107" : "a number or a date such as 2014-10-21 07:05";
  throw InvalidInput(Where{.place = "row " + std::to_string(row + 1), .column = column.name, .function = "time_values"},
                     what + ", must be " + needed);
}

}  // namespace

std::optional<Date> parse_date(std::string_view text, DateFormat format) {
  return format == DateFormat::kText ? parse_text_date(text) : parse_packed_date(text);
}

std::optional<Date> parse_loose_date(std::string_view text) {
  Cursor cursor(text);
  Date date;
  if (!read_day(cursor, /*loose=*/true, date)) return std::nullopt;
  if (!cursor.done()) {
    if (!cursor.take(' ') && !cursor.take('T')) return std::nullopt;
    if (!cursor.digits(1, 2, date.hour) || cursor.at_digit()) return std::nullopt;
  }
  return is_sound(date) ? std::optional(date) : std::nullopt;
}

std::optional<Date> parse_date(double number, DateFormat format) {
  if (format != DateFormat::kYymmddhh || !(number >= 0 && number < 1e8) || number != std::floor(number)) {
    return std::nullopt;
  }
  const int packed = static_cast<int>(number);
  const Date date{.year = 2000 + packed / 1'000'000,
                  .month = packed / 10'000 % 100,
                  .day = packed / 100 % 100,
                  .hour = packed % 100};
  return is_sound(date) ? std::optional(date) : std::nullopt;
}

// Days of whole 400-year cycles, years beginning in March so that the leap day is the last one.
std::int64_t days_since_epoch(const Date& date) {
  const std::int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const std::int64_t era = year / 400;
  const std::int64_t year_of_era = year % 400;
  const std::int64_t month = (date.month + 9) % 12;
  const std::int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

double seconds_since_epoch(const Date& date) {
  const std::int64_t minutes = (days_since_epoch(date) * 24 + date.hour) * 60 + date.minute - date.offset_minutes;
  return static_cast<double>(minutes * 60 + date.second) + date.fraction;
}

int weekday(const Date& date) {
  const std::int64_t day = (days_since_epoch(date) + 3) % 7;  // day 0 was a Thursday
  return static_cast<int>(day < 0 ? day + 7 : day);
}

std::string_view to_string(DatePart part) { return kPartNames[static_cast<std::size_t>(part)]; }

std::optional<DatePart> parse_date_part(std::string_view name) {
  for (std::size_t part = 0; part < kPartNames.size(); ++part) {
    if (kPartNames[part] == name) return static_cast<DatePart>(part);
  }
  return std::nullopt;
}

int part_of(const Date& date, DatePart part) {
  switch (part) {
    case DatePart::kYear:
      return date.year;
    case DatePart::kMonth:
      return date.month;
    case DatePart::kDay:
      return date.day;
    case DatePart::kHour:
      return date.hour;
    case DatePart::kWeekday:
      return weekday(date) + 1;
  }
  return 0;
}

std::vector<double> time_values(const Column& column, DateFormat format, std::size_t first_row) {
  std::vector<double> times;
  if (const auto* numbers = std::get_if<NumberValues>(&column.values)) {
    times = *numbers;
    for (std::size_t row = 0; row < times.size(); ++row) {
      if (!std::isfinite(times[row])) refuse_time(column, first_row + row, "is missing or infinite", format);
      if (format == DateFormat::kText) continue;
      const auto date = parse_date(times[row], format);
      if (!date) refuse_time(column, first_row + row, "is " + number_text(times[row]), format);
      times[row] = seconds_since_epoch(*date);
    }
    return times;
  }
  const TextValues& text = std::get<TextValues>(column.values);
  std::vector<std::optional<double>> of_code(text.distinct.size());
  for (std::size_t code = 0; code < of_code.size(); ++code) {
    if (const auto date = parse_date(text.distinct[code], format)) of_code[code] = seconds_since_epoch(*date);
  }
  times.reserve(text.code.size());
  for (std::size_t row = 0; row < text.code.size(); ++row) {
    const auto code = static_cast<std::size_t>(text.code[row]);
    if (text.code[row] == TextValues::kMissing) refuse_time(column, first_row + row, "is missing", format);
    if (code >= of_code.size()) {
      throw InvalidInput(
          Where{.column = column.name, .function = "time_values"},
          "has code " + std::to_string(text.code[row]) + ", there are " + std::to_string(of_code.size()) + " texts");
    }
    if (!of_code[code]) refuse_time(column, first_row + row, "is " + quoted(text.distinct[code]), format);
    times.push_back(*of_code[code]);
  }
  return times;
}

}  // namespace limen
