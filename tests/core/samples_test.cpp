// SPDX-License-Identifier: MIT
#include "limen/count/samples.h"

#include <gtest/gtest.h>

#include <limits>

#include "limen/base/error.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::refusal_of;
using test::SampleTable;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RealSpan, ReadsBothPrecisionsExactly) {
  const std::vector<float> single = {0.1F, -2.5F};
  const std::vector<double> twice = {0.1, -2.5, 3};
  const RealSpan from_single{std::span<const float>(single)};
  const RealSpan from_double{std::span<const double>(twice)};
  EXPECT_EQ(from_single.size(), 2U);
  EXPECT_EQ(from_single[0], static_cast<double>(0.1F));
  EXPECT_EQ(from_double.size(), 3U);
  EXPECT_EQ(from_double[0], 0.1);
  EXPECT_TRUE(RealSpan().empty());
  EXPECT_EQ(from_single.visit([](auto values) { return sizeof(values[0]); }), sizeof(float));
  EXPECT_EQ(from_double.visit([](auto values) { return sizeof(values[0]); }), sizeof(double));
}

TEST(ValidateSamples, TakesEveryShapeAndNoRows) {
  std::mt19937_64 random(1);
  for (const std::string& shape : test::sample_shapes()) {
    const SampleTable table = test::make_random_samples(shape, 200, random);
    EXPECT_EQ(refusal_of([&] { validate(table.samples()); }), "(not refused)") << shape;
  }
  EXPECT_EQ(refusal_of([] { validate(Samples{}); }), "(not refused)");
}

TEST(ValidateSamples, RefusesColumnsOfUnequalLength) {
  std::mt19937_64 random(1);
  SampleTable table = test::make_random_samples("weighted", 10, random);
  const Samples all = table.samples();
  Samples samples = all;
  const std::vector<double> nine(9, 1);
  samples.score = std::span<const double>(nine);
  EXPECT_EQ(refusal_of([&] { validate(samples); }), "samples: score has 9 rows, label has 10");
  samples = all;
  samples.uncertainty = std::span<const double>(nine);
  EXPECT_EQ(refusal_of([&] { validate(samples); }), "samples: uncertainty has 9 rows, label has 10");
  samples = all;
  samples.weight = nine;
  EXPECT_EQ(refusal_of([&] { validate(samples); }), "samples: weight has 9 rows, label has 10");
}

TEST(ValidateSamples, NamesColumnRowAndValue) {
  std::mt19937_64 random(1);
  const SampleTable table = test::make_random_samples("weighted", 10, random);
  const auto refusal = [&](auto change) {
    SampleTable changed = table;
    change(changed);
    return refusal_of([&] { validate(changed.samples()); });
  };
  EXPECT_EQ(refusal([](SampleTable& t) { t.score[3] = std::nan(""); }), "samples: score[3] is NaN, must be finite");
  EXPECT_EQ(refusal([](SampleTable& t) { t.score[9] = -kInfinity; }), "samples: score[9] is infinite, must be finite");
  EXPECT_EQ(refusal([](SampleTable& t) { t.uncertainty[0] = kInfinity; }),
            "samples: uncertainty[0] is infinite, must be finite");
  EXPECT_EQ(refusal([](SampleTable& t) { t.label[4] = 2; }), "samples: label[4] is 2, must be 0 or 1");
  EXPECT_EQ(refusal([](SampleTable& t) { t.weight[2] = -1; }),
            "samples: weight[2] is -1.000000, must be between 0 and 1e290");
  EXPECT_EQ(refusal([](SampleTable& t) { t.weight[2] = std::nan(""); }),
            "samples: weight[2] is nan, must be between 0 and 1e290");
  EXPECT_EQ(refusal([](SampleTable& t) {
              t.use_single_score();
              t.score32[5] = std::numeric_limits<float>::infinity();
            }),
            "samples: score[5] is infinite, must be finite");
}

TEST(ValidateSamples, NamesTheFirstBadRowOfManyBlocks) {
  // Several blocks of the parallel pass hold a bad row; the first of all is named, every time.
  std::mt19937_64 random(1);
  SampleTable table = test::make_random_samples("continuous", 400'000, random);
  for (const std::size_t row : {70'003U, 131'072U, 200'000U, 399'999U}) table.score[row] = std::nan("");
  for (int repeat = 0; repeat < 10; ++repeat) {
    EXPECT_EQ(refusal_of([&] { validate(table.samples()); }), "samples: score[70003] is NaN, must be finite");
  }
}

}  // namespace
}  // namespace limen
