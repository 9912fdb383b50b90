// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limen/train/features.h"

namespace limen::train {

/// How the files of a known data set are read and which of their columns are what.
struct Schema {
  std::string name = {};
  bool header = true;                     ///< the first line holds the names
  char separator = ',';                   ///< between fields
  std::vector<std::string> columns = {};  ///< all columns in the order of the file
  FeatureOptions features = {};
};

/// "criteo" (display advertising challenge: no header, tabs; label, integers I1 to I13, categories C1 to C26) or
/// "avazu" (click-through rate challenge: header, commas; label click, id left out, hour as YYMMDDHH, the rest
/// categories); "criteo-x1" and "avazu-x1": the same data as the BARS benchmark has them (header, commas, label first;
/// numbers that are scaled already; for avazu feat_1 to feat_22), where every value has a token. Another name:
/// InvalidInput.
[[nodiscard]] Schema schema_preset(std::string_view name);

/// Names that schema_preset knows.
[[nodiscard]] std::vector<std::string> schema_presets();

}  // namespace limen::train
