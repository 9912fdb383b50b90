// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace limen::table {

/// Arrow IPC is read in its file and its stream form, and written in the file form.
enum class Format { kCsv, kTsv, kParquet, kArrow };

enum class Packing { kNone, kGzip, kZstd, kBzip2, kLz4 };

/// What a file's name says about its content.
struct NamedFormat {
  Format format = Format::kCsv;
  Packing packing = Packing::kNone;  ///< of text only; Parquet and Arrow files pack their columns themselves
};

/// By the extension, in any case: .csv and .tsv, also with .gz, .zst, .bz2 or .lz4 behind; .parquet, .pq; .arrow,
/// .feather, .ipc. Unset for any other name.
[[nodiscard]] std::optional<NamedFormat> format_of_name(std::string_view path);

/// What to write under a name: as it says, or in the `given` format with the name's packing. Stdout ("-") and targets
/// that are not regular files, such as /dev/null, have no name: `unnamed` is their format. Throws InvalidInput
/// (Cause::kUnknownFormat) with the known extensions for any other name that says nothing, and for packed Parquet or
/// Arrow files.
[[nodiscard]] NamedFormat output_format(const std::string& path, std::optional<Format> given = std::nullopt,
                                        Format unnamed = Format::kCsv);

[[nodiscard]] constexpr bool is_text(Format format) { return format == Format::kCsv || format == Format::kTsv; }
[[nodiscard]] constexpr char separator_of(Format format) { return format == Format::kTsv ? '\t' : ','; }

}  // namespace limen::table
