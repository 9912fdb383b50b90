// SPDX-License-Identifier: MIT
#include "limen/base/date_part.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace limen {
namespace {

TEST(DatePart, ReadsTheUsualSpellings) {
  // 14 January 2001 was a Sunday.
  for (const char* text : {"2001-01-14 13:05:00", "2001/01/14 13:05", "2001/1/14 13", "2001-01-14T13:05:30.25Z",
                           "20010114 13:05", "2001.01.14 13:05"}) {
    EXPECT_EQ(date_part(text, DatePart::kYear), 2001) << text;
    EXPECT_EQ(date_part(text, DatePart::kMonth), 1) << text;
    EXPECT_EQ(date_part(text, DatePart::kDay), 14) << text;
    EXPECT_EQ(date_part(text, DatePart::kHour), 13) << text;
    EXPECT_EQ(date_part(text, DatePart::kWeekday), 7) << text;
  }
  EXPECT_EQ(date_part("2001-01-15", DatePart::kHour), 0);
  EXPECT_EQ(date_part("2001-01-15", DatePart::kWeekday), 1);
}

TEST(DatePart, RefusesWhatIsNoDate) {
  for (const char* text : {"", "x", "2001", "2001-13-01", "2001-02-29", "2001-01/02", "01/02/2001", "2001-01-01 24:00",
                           "2001-01-01x", "2001-01-01 123", "2001011", "2001-01-01 "}) {
    EXPECT_EQ(date_part(text, DatePart::kYear), std::nullopt) << text;
  }
}

TEST(DatePart, KnowsItsNames) {
  EXPECT_EQ(parse_date_part("weekday"), DatePart::kWeekday);
  EXPECT_EQ(parse_date_part("Hour"), std::nullopt);
}

}  // namespace
}  // namespace limen
