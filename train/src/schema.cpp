// SPDX-License-Identifier: MIT
#include "limen/train/schema.h"

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::train {
namespace {

Schema criteo() {
  Schema schema{.name = "criteo", .header = false, .separator = '\t', .columns = {"label"}};
  schema.features.label = "label";
  for (int number = 1; number <= 13; ++number) schema.features.numeric.push_back("I" + std::to_string(number));
  for (int number = 1; number <= 26; ++number) schema.features.categorical.push_back("C" + std::to_string(number));
  for (const auto* names : {&schema.features.numeric, &schema.features.categorical}) {
    schema.columns.insert(schema.columns.end(), names->begin(), names->end());
  }
  return schema;
}

Schema avazu() {
  Schema schema{.name = "avazu", .columns = {"id", "click", "hour"}};
  schema.features.label = "click";
  schema.features.drop = {"id"};
  schema.features.date = {{"hour", DateFormat::kYymmddhh}};
  schema.features.categorical = {"C1",           "banner_pos",  "site_id",         "site_domain", "site_category",
                                 "app_id",       "app_domain",  "app_category",    "device_id",   "device_ip",
                                 "device_model", "device_type", "device_conn_type"};
  for (int number = 14; number <= 21; ++number) schema.features.categorical.push_back("C" + std::to_string(number));
  schema.columns.insert(schema.columns.end(), schema.features.categorical.begin(), schema.features.categorical.end());
  return schema;
}

/// The files of the benchmark (BARS): comma, header, label first. Numbers are scaled already, categories are numbers.
Schema criteo_x1() {
  Schema schema = criteo();
  schema.name = "criteo-x1";
  schema.header = true;
  schema.separator = ',';
  schema.features.scaling = Scaling::kLinear;
  schema.features.min_count = 1;
  return schema;
}

Schema avazu_x1() {
  Schema schema{.name = "avazu-x1", .columns = {"label"}};
  schema.features.label = "label";
  for (int number = 1; number <= 22; ++number) schema.features.categorical.push_back("feat_" + std::to_string(number));
  schema.columns.insert(schema.columns.end(), schema.features.categorical.begin(), schema.features.categorical.end());
  schema.features.min_count = 1;
  return schema;
}

}  // namespace

Schema schema_preset(std::string_view name) {
  if (name == "criteo") return criteo();
  if (name == "avazu") return avazu();
  if (name == "criteo-x1") return criteo_x1();
  if (name == "avazu-x1") return avazu_x1();
  throw InvalidInput("schema_preset", quoted(name) + " is not known, must be criteo, avazu, criteo-x1 or avazu-x1");
}

std::vector<std::string> schema_presets() { return {"criteo", "avazu", "criteo-x1", "avazu-x1"}; }

}  // namespace limen::train
