// SPDX-License-Identifier: MIT
#include "limen/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "limen/base/undersampling.h"

namespace limen {
namespace {

// The first outputs of splitmix64 from state 0, as its authors publish them.
TEST(Mix, IsTheFinaliserOfSplitmix64) {
  EXPECT_EQ(mix(kGoldenRatio), 0xe220a8397b1dcdafU);
  EXPECT_EQ(mix(2 * kGoldenRatio), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(mix(3 * kGoldenRatio), 0x06c45d188009454fU);
  EXPECT_EQ(mix(0), 0U);
}

// FNV-1a of the empty text is its offset basis; the model format depends on these.
TEST(TextHash, IsPartOfTheModelFormat) {
  EXPECT_EQ(text_hash(""), mix(0xcbf29ce484222325U));
  EXPECT_EQ(text_hash("a"), mix(0xaf63dc4c8601ec8cU));
  EXPECT_EQ(text_hash("foobar"), mix(0x85944171f73967e8U));
  EXPECT_EQ(hash_bucket(0, 10), 0);
  EXPECT_EQ(hash_bucket(~std::uint64_t{0}, 10), 9);
  EXPECT_EQ(hash_bucket(std::uint64_t{1} << 63, 10), 5);
}

TEST(RowHash, IsEvenAndIndependentByUse) {
  const RowHash split(1, RowUse::kSplit);
  const RowHash undersample(1, RowUse::kUndersample);
  std::set<std::uint64_t> hashes;
  double sum = 0;
  int both_low = 0;
  constexpr int kRows = 100'000;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    hashes.insert(split(row));
    sum += split.uniform(row);
    both_low += split.uniform(row) < 0.5 && undersample.uniform(row) < 0.5 ? 1 : 0;
  }
  EXPECT_EQ(hashes.size(), static_cast<std::size_t>(kRows));
  // Five standard deviations: 0.2887 / sqrt(kRows), and sqrt(kRows * 3 / 16).
  EXPECT_NEAR(sum / kRows, 0.5, 5 * 0.2887 / 316.2);
  EXPECT_NEAR(both_low, kRows / 4, 5 * 137);
}

std::vector<std::uint64_t> kept(double tau, std::uint64_t seed, std::uint64_t rows = 10'000) {
  const Undersampling undersampling(tau, seed);
  std::vector<std::uint64_t> result;
  for (std::uint64_t row = 0; row < rows; ++row) {
    if (undersampling.keeps(row)) result.push_back(row);
  }
  return result;
}

TEST(Undersampling, KeepsAShareOfTheRowsByTheSeedAlone) {
  EXPECT_EQ(kept(1, 7).size(), 10'000U);
  // Binomial with p = 1 / 4: five standard deviations are 217.
  EXPECT_NEAR(static_cast<double>(kept(4, 7).size()), 2500, 217);
  EXPECT_EQ(kept(4, 7), kept(4, 7));
  EXPECT_NE(kept(4, 7), kept(4, 8));
  EXPECT_EQ(kept(1e9, 7).size(), 0U);
}

TEST(Undersampling, OfALargerTauKeepsASubset) {
  std::vector<std::uint64_t> before = kept(1, 3);
  for (const double tau : {1.5, 2.0, 3.0, 10.0}) {
    const std::vector<std::uint64_t> now = kept(tau, 3);
    EXPECT_TRUE(std::ranges::includes(before, now)) << tau;
    EXPECT_LT(now.size(), before.size()) << tau;
    before = now;
  }
}

}  // namespace
}  // namespace limen
