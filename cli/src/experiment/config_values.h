// SPDX-License-Identifier: MIT
#pragma once

#include "experiment/config.h"
#include "experiment/config_reader.h"

namespace limen::cli::experiment {

/// The members "data", "train" and "study" of a part. Throw InvalidInput, as ConfigReader does.
[[nodiscard]] Data read_data(ConfigReader reader);
[[nodiscard]] TrainSettings read_train(ConfigReader reader);
[[nodiscard]] Study read_study(ConfigReader reader);

/// Names of all methods.
[[nodiscard]] std::vector<std::string> method_words();

}  // namespace limen::cli::experiment
