// SPDX-License-Identifier: MIT
#include "limen/base/dates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <random>

#include "support/refusal.h"

namespace limen {
namespace {

using test::refusal_of;

TEST(ParseDate, ReadsEveryForm) {
  const Date day{.year = 2014, .month = 10, .day = 21};
  Date minute = day;
  minute.hour = 7;
  minute.minute = 5;
  Date second = minute;
  second.second = 59;
  EXPECT_EQ(parse_date("2014-10-21"), day);
  EXPECT_EQ(parse_date("2014/10/21"), day);
  EXPECT_EQ(parse_date("2014/10/21 07:05"), minute);
  EXPECT_EQ(parse_date("2014-10-21T07:05"), minute);
  EXPECT_EQ(parse_date("2014-10-21 07:05:59"), second);
  EXPECT_EQ(parse_date("2014-10-21T07:05:59Z"), second);
  second.fraction = 0.25;
  EXPECT_EQ(parse_date("2014-10-21T07:05:59.25"), second);
  second.offset_minutes = -90;
  EXPECT_EQ(parse_date("2014-10-21T07:05:59.25-01:30"), second);
  minute.offset_minutes = 120;
  EXPECT_EQ(parse_date("2014-10-21T07:05+0200"), minute);
  EXPECT_EQ(parse_date("2014-10-21T07:05+02"), minute);
  EXPECT_TRUE(parse_date("2000-02-29"));
}

TEST(ParseDate, RefusesWhatIsNoDate) {
  for (const char* text : {"",
                           "2014",
                           "2014-10",
                           "2014-10-2",
                           "2014-10-211",
                           "2014-10/21",
                           "2014.10.21",
                           "14-10-21",
                           " 2014-10-21",
                           "2014-10-21 ",
                           "2014-10-21T",
                           "2014-10-21 7:05",
                           "2014-10-21 07",
                           "2014-10-21 24:00",
                           "2014-10-21 07:60",
                           "2014-10-21 07:05:60",
                           "2014-10-21 07:05:59.",
                           "2014-10-21 07:05+",
                           "2014-10-21 07:05+2",
                           "2014-10-21 07:05+24",
                           "2014-10-21Z",
                           "2014-13-01",
                           "2014-00-01",
                           "2014-01-00",
                           "2014-04-31",
                           "2014-02-29",
                           "1900-02-29",
                           "0000-01-01",
                           "-014-10-21",
                           "14102107",
                           "abcd-ef-gh"}) {
    EXPECT_FALSE(parse_date(text)) << text;
  }
}

TEST(ParseDate, ReadsPackedHours) {
  const Date expected{.year = 2014, .month = 10, .day = 21, .hour = 7};
  EXPECT_EQ(parse_date("14102107", DateFormat::kYymmddhh), expected);
  EXPECT_EQ(parse_date(14102107.0, DateFormat::kYymmddhh), expected);
  EXPECT_EQ(parse_date(1020304.0, DateFormat::kYymmddhh), (Date{.year = 2001, .month = 2, .day = 3, .hour = 4}));
  for (const double number : {14102124.0, 14133107.0, 14102107.5, -14102107.0, 114102107.0, 1e300, std::nan("")}) {
    EXPECT_FALSE(parse_date(number, DateFormat::kYymmddhh)) << number;
  }
  EXPECT_FALSE(parse_date(14102107.0, DateFormat::kText));
  EXPECT_FALSE(parse_date("1410210", DateFormat::kYymmddhh));
  EXPECT_FALSE(parse_date("2014-10-21", DateFormat::kYymmddhh));
}

TEST(SecondsSinceEpoch, AgreesWithTheSystemOnEveryDay) {
  std::int64_t last = days_since_epoch({.year = 1, .month = 1, .day = 1}) - 1;
  for (int year = 1; year <= 9999; year += year == 2100 ? 7800 : 1) {
    if (year == 9900) last = days_since_epoch({.year = 9900, .month = 1, .day = 1}) - 1;
    for (int month = 1; month <= 12; ++month) {
      for (int day = 1; day <= 31; ++day) {
        char text[32];
        std::snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
        const auto date = parse_date(text);
        if (!date) continue;
        ASSERT_EQ(days_since_epoch(*date), ++last) << text;
        if (year < 1970 || year > 2100) continue;
        std::tm parts = {};
        parts.tm_year = year - 1900;
        parts.tm_mon = month - 1;
        parts.tm_mday = day;
        parts.tm_hour = 13;
        Date with_hour = *date;
        with_hour.hour = 13;
        ASSERT_EQ(seconds_since_epoch(with_hour), static_cast<double>(timegm(&parts))) << text;
        ASSERT_EQ(weekday(*date), (parts.tm_wday + 6) % 7) << text;
      }
    }
  }
  EXPECT_EQ(days_since_epoch({.year = 1, .month = 1, .day = 1}), -719'162);
  EXPECT_EQ(weekday({.year = 1, .month = 1, .day = 1}), 0);
}

TEST(SecondsSinceEpoch, MovesByTheOffset) {
  EXPECT_EQ(seconds_since_epoch(*parse_date("1970-01-01T02:00+02:00")), 0);
  EXPECT_EQ(seconds_since_epoch(*parse_date("1970-01-01T00:00:01.5-00:30")), 1801.5);
}

TEST(TimeValues, TakesNumbersDatesAndPackedHours) {
  EXPECT_EQ(time_values({.name = "t", .values = NumberValues{3, -1.5}}), (std::vector<double>{3, -1.5}));
  const TextValues text{.distinct = {"1970-01-02", "not used", "1970-01-01 00:01"}, .code = {2, 0, 2}};
  EXPECT_EQ(time_values({.name = "t", .values = text}), (std::vector<double>{60, 86'400, 60}));
  EXPECT_EQ(time_values({.name = "t", .values = NumberValues{14102107}}, DateFormat::kYymmddhh),
            (std::vector<double>{seconds_since_epoch(*parse_date("2014-10-21 07:00"))}));
}

TEST(TimeValues, NamesRowAndValue) {
  const std::string needed = ", must be a number or a date such as 2014-10-21 07:05";
  const auto refusal = [](const Column& column, DateFormat format = DateFormat::kText) {
    return refusal_of([&] { (void)time_values(column, format, 100); });
  };
  EXPECT_EQ(refusal({.name = "t", .values = NumberValues{1, std::nan("")}}),
            "time_values: row 102: column \"t\": is missing or infinite" + needed);
  EXPECT_EQ(refusal({.name = "t", .values = TextValues{.distinct = {"x"}, .code = {-1}}}),
            "time_values: row 101: column \"t\": is missing" + needed);
  EXPECT_EQ(refusal({.name = "t", .values = TextValues{.distinct = {"May 3"}, .code = {0}}}),
            "time_values: row 101: column \"t\": is \"May 3\"" + needed);
  EXPECT_EQ(refusal({.name = "t", .values = TextValues{.distinct = {"x"}, .code = {1}}}),
            "time_values: column \"t\": has code 1, there are 1 texts");
  EXPECT_EQ(refusal({.name = "t", .values = NumberValues{5}}, DateFormat::kYymmddhh),
            "time_values: row 101: column \"t\": is 5, must be YYMMDDHH such as 14102107");
}

TEST(ParseLooseDate, ReadsTheUsualSpellings) {
  // 14 January 2001 was a Sunday.
  for (const char* text : {"2001-01-14 13:05:00", "2001/01/14 13:05", "2001/1/14 13", "2001-01-14T13:05:30.25Z",
                           "20010114 13:05", "2001.01.14 13:05"}) {
    const std::optional<Date> date = parse_loose_date(text);
    ASSERT_TRUE(date) << text;
    EXPECT_EQ(*date, (Date{.year = 2001, .month = 1, .day = 14, .hour = 13})) << text;
  }
  EXPECT_EQ(parse_loose_date("2001-01-15"), (Date{.year = 2001, .month = 1, .day = 15}));
}

TEST(ParseLooseDate, RefusesWhatIsNoDate) {
  for (const char* text : {"", "x", "2001", "2001-13-01", "2001-02-29", "2001-01/02", "01/02/2001", "2001-01-01 24:00",
                           "2001-01-01x", "2001-01-01 123", "2001011", "2001-01-01 "}) {
    EXPECT_FALSE(parse_loose_date(text)) << text;
  }
}

TEST(DatePart, IsTakenFromADateAndKnowsItsName) {
  const Date sunday{.year = 2001, .month = 1, .day = 14, .hour = 13};
  EXPECT_EQ(part_of(sunday, DatePart::kYear), 2001);
  EXPECT_EQ(part_of(sunday, DatePart::kMonth), 1);
  EXPECT_EQ(part_of(sunday, DatePart::kDay), 14);
  EXPECT_EQ(part_of(sunday, DatePart::kHour), 13);
  EXPECT_EQ(part_of(sunday, DatePart::kWeekday), 7);
  EXPECT_EQ(part_of(*parse_date("2001-01-15"), DatePart::kWeekday), 1);
  for (const DatePart part : {DatePart::kYear, DatePart::kMonth, DatePart::kDay, DatePart::kHour, DatePart::kWeekday}) {
    EXPECT_EQ(parse_date_part(to_string(part)), part);
  }
  EXPECT_EQ(parse_date_part("Hour"), std::nullopt);
}

}  // namespace
}  // namespace limen
