// SPDX-License-Identifier: MIT
#include "input.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return text;
}

bool is_pattern(const std::string& path) {
  struct stat status = {};
  return path.find_first_of("*?[") != std::string::npos && ::lstat(path.c_str(), &status) != 0;
}

// In order of the bytes of the names, which glob(3) leaves to the locale.
std::vector<std::string> matches(const std::string& pattern) {
  ::glob_t found = {};
  const int error = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (error == GLOB_NOSPACE) throw std::bad_alloc();
  if (paths.empty()) throw IoError(IoError::Access::kRead, shown_path(pattern, ""), "matches no file");
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

std::optional<Format> format_of_extension(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, Format>, 7> kFormats = {{
      {".csv", Format::kCsv},
      {".tsv", Format::kTsv},
      {".parquet", Format::kParquet},
      {".pq", Format::kParquet},
      {".arrow", Format::kArrow},
      {".feather", Format::kArrow},
      {".ipc", Format::kArrow},
  }};
  std::filesystem::path rest = lower_case(path);
  if (rest.extension() == ".gz") rest = rest.stem();
  for (const auto& [extension, format] : kFormats) {
    if (rest.extension() == extension) return format;
  }
  return std::nullopt;
}

std::vector<Input> resolve_inputs(const std::vector<std::string>& paths, std::optional<Format> format,
                                  const TextLayout& layout) {
  if (paths.empty()) throw InvalidInput("no input file is given");
  std::vector<Input> inputs;
  const auto add = [&](const std::string& path) {
    const std::optional<Format> by_extension = path == "-" ? std::nullopt : format_of_extension(path);
    inputs.push_back({.path = path,
                      .name = shown_path(path, "<stdin>"),
                      .format = format.value_or(by_extension.value_or(Format::kCsv)),
                      .layout = layout});
  };
  for (const std::string& path : paths) {
    if (is_pattern(path)) {
      std::ranges::for_each(matches(path), add);
    } else {
      add(path);
    }
  }
  return inputs;
}

std::uint64_t file_size(const Input& input) {
  struct stat status = {};
  if (is_stdin(input) || ::stat(input.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace limen::table::detail
