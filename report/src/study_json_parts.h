// SPDX-License-Identifier: MIT
// Parts of a study's JSON. Members are written one by one: an exception inside a braced list of JSON values is not
// destroyed rightly by every compiler.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "limen/report/study.h"

namespace limen::report {

using Json = nlohmann::ordered_json;

template <typename Value>
Json optional_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// [low, high].
[[nodiscard]] Json interval_json(double low, double high);

[[nodiscard]] Json method_json(const StudyMethod& method, const Study& study);
[[nodiscard]] Json certification_json(const StudyCertification& found, const Objective& objective, double confidence);

}  // namespace limen::report
