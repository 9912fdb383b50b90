// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "limen/base/labels.h"
#include "limen/table/frames.h"
#include "limen/table/read_options.h"

namespace limen::cli {

/// Flags that say how to read a table, the same in every verb that reads one.
struct ReadFlags {
  std::string format;
  std::string separator;
  bool no_header = false;
  std::vector<std::string> names;
  std::vector<std::string> missing;
  bool drop_missing = false;
};
void add_read_flags(CLI::App& verb, ReadFlags& flags);
/// "csv", "tsv", "parquet", "arrow"; unset for an empty text.
[[nodiscard]] std::optional<table::Format> parse_format(const std::string& text);
/// With the progress display under this name; none when it is empty.
[[nodiscard]] table::ReadOptions read_options(const ReadFlags& flags, const std::string& name);

/// Flags that say which labels are positive, the same in every verb that reads labels; at most one of them is given.
struct LabelFlags {
  std::string positive;
  std::string positive_if;
};
void add_label_flags(CLI::App& verb, LabelFlags& flags);
[[nodiscard]] LabelRule label_rule(const LabelFlags& flags);

/// Flags of a table of raw columns.
struct FrameFlags : ReadFlags {
  std::vector<std::string> categorical;
};
void add_frame_flags(CLI::App& verb, FrameFlags& flags);

/// The flags' read options with the progress display under this name.
[[nodiscard]] table::FrameReadOptions frame_options(const FrameFlags& flags, const std::string& name);

}  // namespace limen::cli
