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

}  // namespace

Schema schema_preset(std::string_view name) {
  if (name == "criteo") return criteo();
  if (name == "avazu") return avazu();
  throw InvalidInput("schema_preset", "" + quoted(name) + " is not known, must be criteo or avazu");
}

std::vector<std::string> schema_presets() { return {"criteo", "avazu"}; }

}  // namespace limen::train
