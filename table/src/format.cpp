// SPDX-License-Identifier: MIT
#include "limen/table/format.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table {
namespace {

constexpr std::array<std::pair<std::string_view, Format>, 7> kFormats = {{{".csv", Format::kCsv},
                                                                          {".tsv", Format::kTsv},
                                                                          {".parquet", Format::kParquet},
                                                                          {".pq", Format::kParquet},
                                                                          {".arrow", Format::kArrow},
                                                                          {".feather", Format::kArrow},
                                                                          {".ipc", Format::kArrow}}};
constexpr std::array<std::pair<std::string_view, Packing>, 4> kPackings = {
    {{".gz", Packing::kGzip}, {".zst", Packing::kZstd}, {".bz2", Packing::kBzip2}, {".lz4", Packing::kLz4}}};

// The kind of the extension that ends `name`, which is then cut off.
template <typename Kinds>
auto take_extension(std::string_view& name, const Kinds& kinds) -> std::optional<decltype(kinds[0].second)> {
  for (const auto& [extension, kind] : kinds) {
    if (name.size() <= extension.size()) continue;
    const std::string_view end = name.substr(name.size() - extension.size());
    if (!equals_ignoring_case(end, extension)) continue;
    name.remove_suffix(extension.size());
    return kind;
  }
  return std::nullopt;
}

std::string known_extensions() {
  std::string list;
  for (const auto& [extension, format] : kFormats) list += (list.empty() ? "" : ", ") + std::string(extension);
  list += "; .csv and .tsv also with";
  for (const auto& [extension, packing] : kPackings) list += " " + std::string(extension);
  return list;
}

bool has_no_name(const std::string& path) {
  struct stat status = {};
  return path == "-" || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

}  // namespace

std::optional<NamedFormat> format_of_name(std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  NamedFormat named;
  named.packing = take_extension(path, kPackings).value_or(Packing::kNone);
  const std::optional<Format> format = take_extension(path, kFormats);
  if (!format) return std::nullopt;
  named.format = *format;
  return named;
}

NamedFormat output_format(const std::string& path, std::optional<Format> given, Format unnamed) {
  if (has_no_name(path)) return {.format = given.value_or(unnamed)};
  std::optional<NamedFormat> named = format_of_name(path);
  if (!named && given) {
    std::string_view rest = path;
    named = NamedFormat{.packing = take_extension(rest, kPackings).value_or(Packing::kNone)};
  }
  if (named && given) named->format = *given;
  if (!named) {
    throw InvalidInput(shown_path(path, ""), "its name does not say its format; known are " + known_extensions(),
                       Cause::kUnknownFormat);
  }
  if (named->packing != Packing::kNone && !is_text(named->format)) {
    throw InvalidInput(shown_path(path, ""),
                       "Parquet and Arrow files are not packed a second time; known are " + known_extensions(),
                       Cause::kUnknownFormat);
  }
  return *named;
}

}  // namespace limen::table
