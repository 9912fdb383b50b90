// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "detail/json_fields.h"
#include "limen/train/model.h"

namespace limen::train {

[[nodiscard]] nlohmann::ordered_json to_json(const ModelOptions& options);
/// machine: also threads, device and network, which do not change the model.
[[nodiscard]] nlohmann::ordered_json to_json(const TrainOptions& options, bool machine);
[[nodiscard]] nlohmann::ordered_json to_json(const EpochReport& report);
[[nodiscard]] nlohmann::ordered_json to_json(const ModelCard& card);

/// Each checks every field; InvalidInput names the member.
[[nodiscard]] EpochReport read_epoch_report(const detail::JsonFields& fields);
[[nodiscard]] ModelCard read_card(const detail::JsonFields& fields);

}  // namespace limen::train
