// SPDX-License-Identifier: MIT
#include "limen/uncertainty/ensemble.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "limen/base/error.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::refusal_of;

EnsembleMeasures measure(const std::vector<std::vector<double>>& members) {
  std::vector<RealSpan> spans;
  for (const auto& member : members) spans.emplace_back(std::span(member));
  return ensemble_measures(spans);
}

// Members 0 and 1: mean 1/2, variance 1/4, entropy ln 2, and as each member is certain, all of it is disagreement.
// Members 1/4 and 1/4: no disagreement; entropy = ln 4 - 3/4 ln 3.
TEST(EnsembleMeasures, SplitsUncertaintyIntoNoiseAndDisagreement) {
  const auto result = measure({{0, 0.25}, {1, 0.25}});
  EXPECT_EQ(result.mean, (std::vector{0.5, 0.25}));
  EXPECT_EQ(result.variance, (std::vector{0.25, 0.0}));
  EXPECT_DOUBLE_EQ(result.entropy[0], std::log(2));
  EXPECT_DOUBLE_EQ(result.entropy[1], std::log(4) - 0.75 * std::log(3));
  EXPECT_DOUBLE_EQ(result.mutual_information[0], std::log(2));
  EXPECT_EQ(result.mutual_information[1], 0);
}

TEST(EnsembleMeasures, OneMemberDisagreesWithNobody) {
  const auto result = measure({{0, 0.3, 1}});
  EXPECT_EQ(result.mean, (std::vector{0.0, 0.3, 1.0}));
  EXPECT_EQ(result.variance, (std::vector{0.0, 0.0, 0.0}));
  EXPECT_EQ(result.mutual_information, (std::vector{0.0, 0.0, 0.0}));
  EXPECT_EQ(result.entropy[0], 0);
  EXPECT_EQ(result.entropy[2], 0);
}

TEST(EnsembleMeasures, SinglePrecisionIsReadAsItIs) {
  const std::vector<float> a = {0.25F, 0.5F};
  const std::vector<double> b = {0.75, 0.5};
  const std::vector<RealSpan> members = {std::span(a), std::span(b)};
  const auto result = ensemble_measures(members);
  EXPECT_EQ(result.mean, (std::vector{0.5, 0.5}));
  EXPECT_EQ(result.variance, (std::vector{0.0625, 0.0}));
}

TEST(EnsembleMeasures, NoRowsGiveNoValues) { EXPECT_TRUE(measure({{}, {}}).mean.empty()); }

TEST(EnsembleMeasures, RefusesWhatIsNoProbability) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal_of([] { (void)measure({}); }), "ensemble_measures: there are no members");
  EXPECT_EQ(refusal_of([] { (void)measure({{0.5}, {}}); }), "ensemble_measures: member 1 has 0 rows, member 0 has 1");
  EXPECT_EQ(refusal_of([] {
              (void)measure({{0.5, 1.5}});
            }),
            "ensemble_measures: member 0, row 1 is 1.500000, must be between 0 and 1");
  EXPECT_EQ(refusal_of([&] {
              (void)measure({{0.5}, {nan}});
            }),
            "ensemble_measures: member 1, row 0 is NaN, must be between 0 and 1");
}

}  // namespace
}  // namespace limen
