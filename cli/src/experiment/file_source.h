// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiment/config.h"
#include "limen/train/train_table.h"

namespace limen::cli::experiment {

/// A part's table, or one of its tables, as rows for training: a share of them, labels by what is negative. Throws
/// InvalidInput for a label or time column that is not there.
[[nodiscard]] train::FrameSource file_source(const FileData& data, const std::vector<std::string>& paths);

/// A hash of all bytes of a part's files; 0 for data that are not in files. Throws IoError.
[[nodiscard]] std::uint64_t data_fingerprint(const Data& data);

}  // namespace limen::cli::experiment
