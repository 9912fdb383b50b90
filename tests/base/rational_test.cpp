// SPDX-License-Identifier: MIT
#include "limen/base/rational.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "limen/base/error.h"
#include "reference/shortest_decimal.h"
#include "reference/wide_fraction.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::big;
using test::big_decimal;
using test::refusal_of;
using test::shortest_decimal;

constexpr std::int64_t kTenTo16 = 10'000'000'000'000'000;
constexpr std::int64_t kTenTo17 = 100'000'000'000'000'000;

TEST(ParseRational, ReadsADecimalAsTheFractionItStandsFor) {
  const struct {
    const char* text;
    Rational expected;
  } cases[] = {
      {"0.9", {9, 10}},
      {"2.5e-1", {1, 4}},
      {"3", {3, 1}},
      {"0", {0, 1}},
      {"0.000", {0, 1}},
      {"0e5", {0, 1}},
      {"1", {1, 1}},
      {"1.", {1, 1}},
      {".5", {1, 2}},
      {"000.50", {1, 2}},
      {"12.5E+1", {125, 1}},
      {"1e0", {1, 1}},
      {"0.30000000000000004", {7'500'000'000'000'001, 25'000'000'000'000'000}},
      {"0.12345678901234567", {12'345'678'901'234'567, kTenTo17}},
      {"99999999999999999", {99'999'999'999'999'999, 1}},
      {"1e16", {kTenTo16, 1}},
      {"1e-17", {1, kTenTo17}},
      {"0.00000000000000001", {1, kTenTo17}},
      {"9e-17", {9, kTenTo17}},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(parse_rational(text), expected) << text;
}

TEST(ParseRational, TakesTheLargestNumberOfItsRange) { EXPECT_EQ(parse_rational("1e17"), (Rational{kTenTo17, 1})); }

TEST(ParseRational, RefusesWhatIsNoNumber) {
  for (const char* text : {"",    ".",  "-1",  "+1",  "-0",   " 1",    "1 ",    "0x1", "1,5", "1.2.3", "e5",
                           ".e5", "1e", "1e+", "1e-", "1e5x", "1e1.5", "1e--5", "nan", "inf", "9/10"}) {
    EXPECT_EQ(refusal_of([&] { (void)parse_rational(text); }),
              "parse_rational: \"" + std::string(text) + "\" is not a non-negative decimal number");
  }
}

TEST(ParseRational, RefusesASecondSignInTheExponent) {
  EXPECT_EQ(refusal_of([] { (void)parse_rational("1e+-5"); }),
            "parse_rational: \"1e+-5\" is not a non-negative decimal number");
}

TEST(ParseRational, RefusesMoreThanEighteenDigits) {
  EXPECT_EQ(refusal_of([] { (void)parse_rational("0.1234567890123456789"); }),
            "parse_rational: \"0.1234567890123456789\" is not a decimal number of at most 18 significant digits");
  EXPECT_EQ(refusal_of([] { (void)parse_rational("1000000000000000001"); }),
            "parse_rational: \"1000000000000000001\" is not a decimal number of at most 18 significant digits");
}

TEST(ParseRational, RefusesNumbersOutOfRange) {
  for (const char* text : {"1e18", "1e-19", "1e300", "1e-300", "123e16", "1e99999999999", "1e-2147483648"}) {
    EXPECT_EQ(refusal_of([&] { (void)parse_rational(text); }),
              "parse_rational: \"" + std::string(text) +
                  "\" is not a number below 1e18 of at most 18 digits after the point");
  }
}

TEST(ParseRational, ShortensALongTextInItsMessage) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(refusal_of([&] { (void)parse_rational(text); }),
            "parse_rational: \"" + std::string(40, 'x') + "\" is not a non-negative decimal number");
}

TEST(DecimalRational, TakesTheDecimalThatWasMeantNotItsBinaryNeighbour) {
  EXPECT_EQ(decimal_rational(0.9), (Rational{9, 10}));
  EXPECT_EQ(decimal_rational(0.25), (Rational{1, 4}));
  EXPECT_EQ(decimal_rational(1), (Rational{1, 1}));
  EXPECT_EQ(decimal_rational(0), (Rational{0, 1}));
  EXPECT_EQ(decimal_rational(5), (Rational{5, 1}));
  EXPECT_EQ(decimal_rational(1e-17), (Rational{1, kTenTo17}));
  // 0.1 + 0.2 is not 0.3 but the double above it, whose shortest decimal is 0.30000000000000004.
  EXPECT_EQ(decimal_rational(0.1 + 0.2), (Rational{7'500'000'000'000'001, 25'000'000'000'000'000}));
}

TEST(DecimalRational, TakesNegativeZeroAsZero) { EXPECT_EQ(decimal_rational(-0.0), (Rational{0, 1})); }

TEST(DecimalRational, RefusesNegativeAndNonFiniteValues) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double value : {-1.0, -1e-300, kInfinity, -kInfinity, std::nan("")}) {
    const std::string message = refusal_of([&] { (void)decimal_rational(value); });
    EXPECT_NE(message.find("is not a non-negative decimal number"), std::string::npos) << value << ": " << message;
  }
}

TEST(DecimalRational, RefusesValuesOutOfRange) {
  EXPECT_EQ(refusal_of([] { (void)decimal_rational(1e-19); }),
            "parse_rational: \"1e-19\" is not a number below 1e18 of at most 18 digits after the point");
  EXPECT_EQ(refusal_of([] { (void)decimal_rational(1e18); }),
            "parse_rational: \"1e+18\" is not a number below 1e18 of at most 18 digits after the point");
}

// 1/81 in double has the 17 digits 0.012345679012345678: a plain false-positive rate inside the range that the message
// names. The fraction 12345679012345678 / 10^18 fits into 64 bits.
TEST(DecimalRational, TakesSeventeenDigitsAfterALeadingZero) {
  EXPECT_EQ(refusal_of([] { (void)decimal_rational(1.0 / 81); }), "(not refused)");
}

/// Random values in [0, 1] of the named shape.
double random_value(const std::string& shape, std::mt19937_64& random) {
  const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
  if (shape == "uniform") return uniform;
  if (shape == "dyadic") return std::floor(uniform * 4096) / 4096;
  const double scale = std::pow(10.0, static_cast<double>(1 + random() % 15));
  const double decimal = std::floor(uniform * scale) / scale;
  if (shape == "decimal") return decimal;
  return std::nextafter(decimal, 1);  // "beside_a_decimal"
}

TEST(DecimalRational, ReadsBackAsTheSameDoubleInLowestTerms) {
  int accepted = 0;
  int long_ones = 0;
  for (const std::string shape : {"uniform", "dyadic", "decimal", "beside_a_decimal"}) {
    std::mt19937_64 random(71);
    int wrong = 0;
    for (int instance = 0; instance < 5'000; ++instance) {
      const double value = random_value(shape, random);
      const std::string decimal = shortest_decimal(value);
      SCOPED_TRACE(shape + " instance " + std::to_string(instance) + ": " + decimal);
      Rational fraction;
      try {
        fraction = decimal_rational(value);
      } catch (const InvalidInput&) {
        // 18 digits after the point may not fit. All values from 0.1 on have at most 17.
        ASSERT_LT(value, 0.1);
        continue;
      }
      ++accepted;
      if (decimal.size() >= 22) ++long_ones;  // "d.dddddddddddddddde-01"
      ASSERT_EQ(std::gcd(fraction.num, fraction.den), 1);
      ASSERT_EQ(big(fraction), big_decimal(decimal));
      if (fraction.to_double() == value || ++wrong > 1) continue;
      ADD_FAILURE() << to_string(fraction) << " is " << fraction.to_double() << " in double";  // the first one only
    }
    EXPECT_EQ(wrong, 0) << shape << ": values of 5000 that do not read back";
  }
  EXPECT_GT(accepted, 15'000);
  EXPECT_GT(long_ones, 2'500);
}

TEST(ParseRational, RefusesTheSmallestExponentOfAll) {
  // The absolute value of this exponent does not fit into an int.
  for (const char* text : {"1e-2147483648", "0.1e-2147483648"}) {
    EXPECT_EQ(refusal_of([&] { (void)parse_rational(text); }),
              "parse_rational: \"" + std::string(text) +
                  "\" is not a number below 1e18 of at most 18 digits after the point");
  }
}

TEST(RationalToString, WritesNumeratorAndDenominator) {
  EXPECT_EQ(to_string(Rational{9, 10}), "9/10");
  EXPECT_EQ(to_string(Rational{}), "0/1");
}

}  // namespace
}  // namespace limen
