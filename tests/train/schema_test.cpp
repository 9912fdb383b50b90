// SPDX-License-Identifier: MIT
#include "limen/train/schema.h"

#include <gtest/gtest.h>

#include "support/refusal.h"

namespace limen::train {
namespace {

using test::refusal_of;

TEST(SchemaPreset, DescribesCriteo) {
  const Schema schema = schema_preset("criteo");
  EXPECT_FALSE(schema.header);
  EXPECT_EQ(schema.separator, '\t');
  ASSERT_EQ(schema.columns.size(), 40U);
  EXPECT_EQ(schema.columns[0], "label");
  EXPECT_EQ(schema.columns[1], "I1");
  EXPECT_EQ(schema.columns[13], "I13");
  EXPECT_EQ(schema.columns[14], "C1");
  EXPECT_EQ(schema.columns[39], "C26");
  EXPECT_EQ(schema.features.numeric.size(), 13U);
  EXPECT_EQ(schema.features.categorical.size(), 26U);
  validate(schema.features);
}

TEST(SchemaPreset, DescribesAvazu) {
  const Schema schema = schema_preset("avazu");
  EXPECT_TRUE(schema.header);
  EXPECT_EQ(schema.separator, ',');
  EXPECT_EQ(schema.columns.size(), 24U);
  EXPECT_EQ(schema.features.label, "click");
  EXPECT_EQ(schema.features.drop, std::vector<std::string>{"id"});
  EXPECT_EQ(schema.features.date.at("hour"), DateFormat::kYymmddhh);
  EXPECT_EQ(schema.features.categorical.size(), 21U);
  validate(schema.features);
}

TEST(SchemaPreset, DescribesTheFilesOfTheBenchmark) {
  const Schema criteo = schema_preset("criteo-x1");
  EXPECT_TRUE(criteo.header);
  EXPECT_EQ(criteo.separator, ',');
  EXPECT_EQ(criteo.columns, schema_preset("criteo").columns);
  EXPECT_EQ(criteo.features.min_count, 1);
  const Schema avazu = schema_preset("avazu-x1");
  EXPECT_EQ(avazu.columns.size(), 23U);
  EXPECT_EQ(avazu.columns.front(), "label");
  EXPECT_EQ(avazu.columns.back(), "feat_22");
  EXPECT_EQ(avazu.features.categorical.size(), 22U);
  validate(criteo.features);
  validate(avazu.features);
}

TEST(SchemaPreset, RefusesOtherNames) {
  EXPECT_EQ(refusal_of([] { (void)schema_preset("kaggle"); }),
            "schema_preset: \"kaggle\" is not known, must be criteo, avazu, criteo-x1 or avazu-x1");
  for (const std::string& name : schema_presets()) EXPECT_EQ(schema_preset(name).name, name);
}

}  // namespace
}  // namespace limen::train
