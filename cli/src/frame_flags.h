// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "limen/table/frames.h"

namespace limen::cli {

/// Flags that say how to read a table of raw columns.
struct FrameFlags {
  std::string format;
  std::string separator;
  bool no_header = false;
  std::vector<std::string> names;
  std::vector<std::string> categorical;
  std::vector<std::string> missing;
};
void add_frame_flags(CLI::App& verb, FrameFlags& flags);

/// The flags' read options with the progress display under this name.
[[nodiscard]] table::FrameReadOptions frame_options(const FrameFlags& flags, const std::string& name);

}  // namespace limen::cli
