// SPDX-License-Identifier: MIT
#include "limen/base/text_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "limen/base/nearest_name.h"

namespace limen {
namespace {

TEST(TextIndex, NumbersTextsInTheOrderTheyComeLikeAMap) {
  std::mt19937 random(1);
  TextIndex index;
  std::map<std::string, std::int32_t> oracle;
  EXPECT_EQ(index.find("x"), TextIndex::kNone);
  for (int step = 0; step < 20'000; ++step) {
    const std::string text(random() % 3, static_cast<char>('a' + random() % 26));
    const std::string name = text + std::to_string(random() % 3'000);
    EXPECT_EQ(index.find(name), oracle.contains(name) ? oracle[name] : TextIndex::kNone);
    const auto next = static_cast<std::int32_t>(oracle.size());
    EXPECT_EQ(index.add(name), oracle.try_emplace(name, next).first->second);
  }
  ASSERT_EQ(index.texts().size(), oracle.size());
  for (const auto& [text, number] : oracle) EXPECT_EQ(index.texts()[static_cast<std::size_t>(number)], text);
  EXPECT_EQ(index.take_texts().size(), oracle.size());
  EXPECT_EQ(index.add(""), 0);
}

TEST(NearestName, FindsASlipAndNothingFarAway) {
  EXPECT_EQ(nearest_name("orgin", {"destination", "origin"}), "origin");
  EXPECT_EQ(nearest_name("dest", {"origin", "destination"}), "destination");
  EXPECT_EQ(nearest_name("weather", {"origin", "destination"}), "");
}

}  // namespace
}  // namespace limen
