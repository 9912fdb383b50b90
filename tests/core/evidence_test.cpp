// SPDX-License-Identifier: MIT
#include "limen/uncertainty/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../reference/evidence_reference.h"
#include "../support/refusal.h"
#include "limen/base/error.h"

namespace limen {
namespace {

using reference::EvidenceReference;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Row = EvidenceReference::Row;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Text columns from rows of texts; an empty text is missing.
Frame text_frame(const std::vector<Row>& rows, std::size_t num_keys) {
  Frame frame;
  frame.num_rows = rows.size();
  for (std::size_t key = 0; key < num_keys; ++key) {
    TextIndex index;
    TextValues values;
    for (const Row& row : rows) {
      values.code.push_back(row[key].empty() ? TextValues::kMissing : index.add(row[key]));
    }
    values.distinct = index.take_texts();
    frame.columns.push_back({.name = "k" + std::to_string(key), .values = std::move(values)});
  }
  return frame;
}

Frame number_frame(const std::vector<double>& values) {
  return {.num_rows = values.size(), .columns = {{.name = "x", .values = values}}};
}

EvidenceKeys fitted_keys(const Frame& frame, const EvidenceOptions& options = {}) {
  EvidenceKeys keys(frame, options);
  keys.fit(frame);
  keys.finish_fit();
  return keys;
}

Evidence counted(const Frame& frame, const std::vector<std::uint8_t>& label, const EvidenceOptions& options = {}) {
  EvidenceCounter counter(fitted_keys(frame, options), options);
  counter.add(frame, label);
  return std::move(counter).finish();
}

// Training: (a, x) twice, one positive; (a, y) once, positive; (b, x) once, negative. Strength 2.
// All rows: 4, 2 positive, rate 1/2. a: 3 rows, 2 positive, rate (2 + 2/2) / 5 = 0.6. b: 1 row, rate (0 + 1) / 3.
// (a, x): (1 + 2 * 0.6) / 4 = 0.55. (a, y): (1 + 1.2) / 3.
TEST(Evidence, DropsTheLastKeyWhereACellIsEmpty) {
  const Evidence evidence = counted(text_frame({{"a", "x"}, {"a", "x"}, {"a", "y"}, {"b", "x"}}, 2), {1, 0, 1, 0});
  EXPECT_EQ(evidence.num_rows(), 4);
  EXPECT_EQ(evidence.num_positives(), 2);
  EXPECT_EQ(evidence.num_cells(), 3u);
  const EvidenceRows rows = evidence.query(text_frame({{"a", "x"}, {"a", "y"}, {"a", "z"}, {"b", "y"}, {"c", "x"}}, 2));
  EXPECT_THAT(rows.count, ElementsAre(2, 1, 3, 1, 4));
  EXPECT_THAT(rows.positives, ElementsAre(1, 1, 2, 0, 2));
  EXPECT_THAT(rows.keys_used, ElementsAre(2, 2, 1, 1, 0));
  EXPECT_THAT(rows.rate,
              ElementsAre(DoubleEq(0.55), DoubleEq(2.2 / 3), DoubleEq(0.6), DoubleEq(1.0 / 3), DoubleEq(0.5)));
  EXPECT_THAT(rows.uncertainty, ElementsAre(DoubleEq(-std::log(3)), DoubleEq(-std::log(2)), 0.25, 0.5, DoubleEq(1.2)));
}

TEST(Evidence, UncertaintyFallsWithEvidenceAndRisesWithEachDroppedKey) {
  EXPECT_GT(evidence_uncertainty(1, 0), evidence_uncertainty(2, 0));
  EXPECT_GT(evidence_uncertainty(1e9, 1), evidence_uncertainty(1e-3, 0));
  EXPECT_GT(evidence_uncertainty(1, 1), evidence_uncertainty(2, 1));
  EXPECT_GT(evidence_uncertainty(1e6, 2), evidence_uncertainty(1, 1));
  EXPECT_EQ(evidence_uncertainty(0, 2), 2);
}

TEST(Evidence, AMissingValueIsAValueOfItsOwn) {
  const Evidence evidence = counted(text_frame({{"a"}, {""}, {""}}, 1), {});
  EXPECT_THAT(evidence.query(text_frame({{""}, {"a"}, {"b"}}, 1)).count, ElementsAre(2, 1, 3));
}

TEST(Evidence, FewNumbersAreKeptAndManyAreBinnedByQuantiles) {
  const EvidenceOptions options = {.num_bins = 4};
  EvidenceKeys few = fitted_keys(number_frame({3, 1, kNaN, 2, 1, 4}), options);
  EXPECT_FALSE(few.is_binned(0));
  EXPECT_THAT(few.cuts(0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(few.codes(number_frame({1, 4, kNaN, 2.5, 0})),
              ElementsAre(1u, 4u, 0u, EvidenceKeys::kUnseen, EvidenceKeys::kUnseen));
  // 1 to 8: quarters start at 3, 5 and 7.
  EvidenceKeys many = fitted_keys(number_frame({8, 7, 6, 5, 4, 3, 2, 1}), options);
  EXPECT_TRUE(many.is_binned(0));
  EXPECT_THAT(many.cuts(0), ElementsAre(3, 5, 7));
  EXPECT_THAT(many.codes(number_frame({-9, 2.9, 3, 6, 7, 99, kNaN})), ElementsAre(1u, 1u, 2u, 3u, 4u, 4u, 0u));
  // Equal values are never split: more than half are 0.
  EvidenceKeys heavy = fitted_keys(number_frame({0, 0, 0, 0, 0, 1, 2, 3, 4}), options);
  EXPECT_THAT(heavy.cuts(0), ElementsAre(2));
}

TEST(Evidence, BinsOfALargeSampleAreNearTheQuantilesWhateverTheBatches) {
  std::mt19937_64 random(7);
  std::vector<double> values(500'000);
  for (double& value : values) value = static_cast<double>(random() >> 11) * 0x1p-53;
  const auto cuts = [&](std::size_t batch) {
    EvidenceKeys keys(number_frame({}), {.num_bins = 8});
    for (std::size_t begin = 0; begin < values.size(); begin += batch) {
      const std::size_t end = std::min(values.size(), begin + batch);
      keys.fit(number_frame(
          {values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end)}));
    }
    keys.finish_fit();
    return std::vector<double>(keys.cuts(0).begin(), keys.cuts(0).end());
  };
  const std::vector<double> whole = cuts(values.size());
  ASSERT_EQ(whole.size(), 7u);
  // Standard error of a quantile of 200,000 uniform numbers: at most 0.0011; five of them.
  for (std::size_t bin = 0; bin < 7; ++bin) EXPECT_NEAR(whole[bin], static_cast<double>(bin + 1) / 8, 0.006);
  EXPECT_EQ(cuts(1'000), whole);
  EXPECT_EQ(cuts(77'777), whole);
}

struct Shape {
  const char* name;
  std::size_t num_keys;
  unsigned values;  // of each key
  int rows;
};

class EvidenceShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(EvidenceShapes, AgreesWithTheReferenceForAnyBatchesThreadsAndMerges) {
  const Shape& shape = GetParam();
  int backed_off = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto row_of = [&](unsigned values) {
      Row row;
      for (std::size_t key = 0; key < shape.num_keys; ++key) {
        const auto value = random() % values;
        row.push_back(value == 0 ? "" : std::to_string(value));
      }
      return row;
    };
    std::vector<Row> rows;
    std::vector<std::uint8_t> labels;
    std::vector<double> weights;
    EvidenceReference oracle;
    for (int row = 0; row < shape.rows; ++row) {
      rows.push_back(row_of(shape.values));
      labels.push_back(static_cast<std::uint8_t>(random() % 3 == 0));
      weights.push_back(static_cast<double>(random() % 4) / 4);
      if (weights.back() > 0) oracle.add(rows.back(), labels.back() != 0, weights.back());
    }
    std::vector<Row> asked;
    for (int row = 0; row < 200; ++row) asked.push_back(row_of(shape.values + shape.values / 4 + 1));

    // Parts of the rows go to two counters, in batches, and are merged.
    const EvidenceOptions options = {.strength = 1.5, .num_threads = seed % 2 == 0 ? 1 : 0};
    std::vector<EvidenceRows> results;
    for (const std::size_t batch : {rows.size(), std::size_t{1} + random() % 50}) {
      const EvidenceKeys keys(text_frame({}, shape.num_keys), options);
      EvidenceCounter first(keys, options);
      EvidenceCounter second(keys, options);
      for (std::size_t begin = 0; begin < rows.size(); begin += batch) {
        const auto part = [&](const auto& values) {
          const auto from = values.begin() + static_cast<std::ptrdiff_t>(begin);
          return std::decay_t<decltype(values)>(
              from, from + static_cast<std::ptrdiff_t>(std::min(batch, rows.size() - begin)));
        };
        EvidenceCounter& counter = 2 * begin < rows.size() ? first : second;
        counter.add(text_frame(part(rows), shape.num_keys), part(labels), part(weights));
      }
      first.merge(second);
      results.push_back(std::move(first).finish().query(text_frame(asked, shape.num_keys)));
    }
    for (std::size_t row = 0; row < asked.size(); ++row) {
      const EvidenceReference::Found found = oracle.find(asked[row], options.strength);
      backed_off += found.keys_used < shape.num_keys ? 1 : 0;
      for (const EvidenceRows& result : results) {
        // Quarters add up exactly.
        ASSERT_EQ(result.count[row], found.count) << row;
        ASSERT_EQ(result.positives[row], found.positives) << row;
        ASSERT_EQ(result.keys_used[row], static_cast<std::int32_t>(found.keys_used)) << row;
        ASSERT_DOUBLE_EQ(result.rate[row], found.rate) << row;
      }
    }
  }
  EXPECT_GT(backed_off, 100);
}

INSTANTIATE_TEST_SUITE_P(Evidence, EvidenceShapes,
                         ::testing::Values(Shape{"one_key", 1, 20, 300}, Shape{"dense", 2, 4, 500},
                                           Shape{"sparse", 3, 30, 2'000}, Shape{"many_keys", 7, 3, 1'000}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Evidence, ThreadsDoNotChangeSumsOfWeights) {
  std::mt19937 random(3);
  std::vector<Row> rows;
  std::vector<double> weights;
  for (int row = 0; row < 60'000; ++row) {
    rows.push_back({std::to_string(random() % 20), std::to_string(random() % 20)});
    weights.push_back(1.0 / static_cast<double>(1 + random() % 97));
  }
  const Frame frame = text_frame(rows, 2);
  const auto query = [&](int threads) {
    const EvidenceOptions options = {.num_threads = threads};
    EvidenceCounter counter(EvidenceKeys(frame, options), options);
    counter.add(frame, {}, weights);
    return std::move(counter).finish().query(text_frame({{"1", "2"}, {"3", "none"}, {"none", "1"}}, 2)).count;
  };
  EXPECT_EQ(query(1), query(0));
}

// Each row is left out: the same as counting all the others.
TEST(Evidence, LeavingOneOutCountsAllOthers) {
  std::mt19937 random(11);
  std::vector<Row> rows;
  std::vector<std::uint8_t> labels;
  for (int row = 0; row < 120; ++row) {
    rows.push_back({std::to_string(random() % 5), std::to_string(random() % 9)});
    labels.push_back(static_cast<std::uint8_t>(random() % 2));
  }
  const Frame frame = text_frame(rows, 2);
  const EvidenceOptions options = {.strength = 3};
  const EvidenceRows result = counted(frame, labels, options).query(frame, {.label = labels});
  int backed_off = 0;
  for (std::size_t left_out = 0; left_out < rows.size(); ++left_out) {
    EvidenceReference oracle;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (row != left_out) oracle.add(rows[row], labels[row] != 0);
    }
    const EvidenceReference::Found found = oracle.find(rows[left_out], options.strength);
    backed_off += found.keys_used < 2 ? 1 : 0;
    EXPECT_EQ(result.count[left_out], found.count);
    EXPECT_EQ(result.positives[left_out], found.positives);
    EXPECT_EQ(result.keys_used[left_out], static_cast<std::int32_t>(found.keys_used));
    EXPECT_DOUBLE_EQ(result.rate[left_out], found.rate);
  }
  EXPECT_GT(backed_off, 0);
}

TEST(Evidence, TheOnlyRowLeftOutLeavesNothing) {
  const Frame frame = text_frame({{"a"}}, 1);
  const EvidenceRows rows = counted(frame, {1}).query(frame, {.label = std::vector<std::uint8_t>{1}});
  EXPECT_THAT(rows.count, ElementsAre(0));
  EXPECT_THAT(rows.rate, ElementsAre(0));
  EXPECT_THAT(rows.uncertainty, ElementsAre(1));
}

TEST(Evidence, RefusesBadInput) {
  const Frame frame = text_frame({{"a"}, {"b"}}, 1);
  const auto refusal = [](auto&& action) { return test::refusal_of(action); };
  EXPECT_THAT(refusal([&] { (void)EvidenceKeys(frame, {.num_bins = 1}); }), HasSubstr("num_bins is 1"));
  EXPECT_THAT(refusal([&] { (void)EvidenceKeys(frame, {.strength = -1}); }), HasSubstr("strength is -1"));
  EXPECT_THAT(refusal([&] { (void)EvidenceKeys({}, {}); }), HasSubstr("0 keys, must be from 1 to 256"));
  EXPECT_THAT(refusal([&] { EvidenceCounter(EvidenceKeys(text_frame({}, 33), {}), {}); }),
              HasSubstr("33 keys, must be from 1 to 32"));
  EXPECT_THAT(refusal([&] { EvidenceCounter(EvidenceKeys(number_frame({1}), {}), {}); }), HasSubstr("need fit()"));
  EvidenceCounter counter(EvidenceKeys(frame, {}), {});
  const std::vector<std::uint8_t> bad_label = {0, 2};
  const std::vector<double> bad_weight = {1, -1};
  EXPECT_EQ(refusal([&] { counter.add(frame, bad_label); }), "evidence: label[1] is 2, must be 0 or 1");
  EXPECT_THAT(refusal([&] { counter.add(frame, {}, bad_weight); }), HasSubstr("weight[1] is -1"));
  EXPECT_THAT(refusal([&] { counter.add(frame, std::vector<std::uint8_t>{1}); }), HasSubstr("label has 1 rows"));
  EXPECT_EQ(refusal([&] { counter.add(number_frame({1})); }), "evidence: column 1 is x (number), the key is k0 (text)");
  EXPECT_THAT(refusal([&] { counter.merge(EvidenceCounter(fitted_keys(number_frame({1})), {})); }),
              HasSubstr("the same keys"));
  EXPECT_EQ(refusal([&] { (void)std::move(counter).finish(); }), "evidence: no training rows");
}

}  // namespace
}  // namespace limen
