// SPDX-License-Identifier: MIT
#include "limen/train/fingerprint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/frames.h"
#include "support/refusal.h"

namespace limen::train {
namespace {

using test::frame_of;
using test::number_column;
using test::text_column;

TableFingerprint taken(const std::vector<Frame>& batches, std::vector<std::string> columns = {"x", "c"}) {
  FingerprintTaker taker(std::move(columns));
  for (const Frame& batch : batches) taker.add(batch);
  return taker.fingerprint();
}

const Frame kTable = frame_of({number_column("x", {1, 2, std::nan(""), -0.0, 5}),
                               text_column("c", {"a", "b", "", "a", "7"}), number_column("other", {1, 2, 3, 4, 5})});

TEST(Fingerprint, DoesNotDependOnBatchesOrOnHowAValueIsRead) {
  const TableFingerprint whole = taken({kTable});
  EXPECT_EQ(whole.rows, 5U);
  EXPECT_EQ(taken({test::slice(kTable, 0, 1), test::slice(kTable, 1, 4), test::slice(kTable, 4, 5)}), whole);
  EXPECT_EQ(taken({frame_of(
                {text_column("c", {" a", "b", "NA", "a", "7.0"}), text_column("x", {"1.0", "2", "", "0", "5e0"})})}),
            whole);
}

TEST(Fingerprint, TellsOtherTablesApart) {
  const TableFingerprint whole = taken({kTable});
  const auto with = [](std::vector<double> x, std::vector<std::string> c) {
    return taken({frame_of({number_column("x", x), text_column("c", c)})});
  };
  EXPECT_EQ(with({1, 2, std::nan(""), 0, 5}, {"a", "b", "", "a", "7"}), whole);
  EXPECT_NE(with({2, 1, std::nan(""), 0, 5}, {"b", "a", "", "a", "7"}), whole);  // two rows changed places
  EXPECT_NE(with({1, 2, std::nan(""), 0}, {"a", "b", "", "a"}), whole);
  EXPECT_NE(with({1, 2, 0, std::nan(""), 5}, {"a", "b", "", "a", "7"}), whole);
  EXPECT_NE(with({1, 2, std::nan(""), 0, 5.5}, {"a", "b", "", "a", "7"}), whole);
  EXPECT_NE(with({1, 2, std::nan(""), 0, 5}, {"a", "B", "", "a", "7"}), whole);
  EXPECT_NE(taken({kTable}, {"c", "x"}).hash, whole.hash);
  EXPECT_EQ(test::refusal_of([] { (void)taken({kTable}, {"y"}); }), "fingerprint: has no column \"y\"");
}

}  // namespace
}  // namespace limen::train
