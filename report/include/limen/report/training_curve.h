// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace limen::report {

/// One epoch of a network's training.
struct TrainingEpoch {
  int epoch = 0;  ///< from 1
  std::string stage = {};
  double train_loss = 0;
  // On the validation rows; unset in stages that do not look at them.
  std::optional<double> valid_loss = std::nullopt;
  std::optional<double> average_precision = std::nullopt;
  std::optional<double> roc_auc = std::nullopt;
};

/// How one network learned.
struct TrainingCurve {
  std::string name;
  std::optional<int> selected = std::nullopt;  ///< the epoch whose weights were kept
  std::vector<TrainingEpoch> epochs;
};

}  // namespace limen::report
