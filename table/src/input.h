// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "limen/table/predictions.h"

namespace limen::table::detail {

/// See ReadOptions.
using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

/// How text is laid out; see FrameReadOptions.
struct TextLayout {
  std::optional<char> separator = std::nullopt;
  bool has_header = true;
  std::vector<std::string> names = {};
};

/// One file to read, or stdin.
struct Input {
  std::string path;
  std::string name;  ///< the path as messages show it
  Format format = Format::kCsv;
  TextLayout layout = {};
};

[[nodiscard]] inline bool is_text(Format format) { return format == Format::kCsv || format == Format::kTsv; }
[[nodiscard]] inline char separator_of(Format format) { return format == Format::kTsv ? '\t' : ','; }
[[nodiscard]] inline char separator_of(const Input& input) {
  return input.layout.separator.value_or(separator_of(input.format));
}
[[nodiscard]] inline bool is_stdin(const Input& input) { return input.path == "-"; }

/// The format that an extension stands for, unset when it stands for none.
[[nodiscard]] std::optional<Format> format_of_extension(const std::string& path);

/// The files that the paths and patterns stand for; see read_predictions. Throws IoError for a pattern without a match.
[[nodiscard]] std::vector<Input> resolve_inputs(const std::vector<std::string>& paths, std::optional<Format> format,
                                                const TextLayout& layout = {});

/// Bytes of a regular file, 0 for anything else and when it is not there.
[[nodiscard]] std::uint64_t file_size(const Input& input);

}  // namespace limen::table::detail
