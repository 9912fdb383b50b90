// SPDX-License-Identifier: MIT
#include "limen/table/predictions.h"

#include <algorithm>
#include <filesystem>

#include "csv.h"

namespace limen::table {
namespace {

Format format_of(const std::string& path, const ReadOptions& options) {
  if (options.format) return *options.format;
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return extension == ".tsv" ? Format::kTsv : Format::kCsv;
}

char separator_of(Format format) { return format == Format::kTsv ? '\t' : ','; }

}  // namespace

Predictions read_predictions(const std::string& path, const ReadOptions& options) {
  return detail::read_csv(path, separator_of(format_of(path, options)), options);
}

AppendResult append_decisions(const std::string& input, const std::string& output, const ReadOptions& options,
                              const std::function<void(const DecisionBatch&)>& decide) {
  return detail::append_csv(input, output, separator_of(format_of(input, options)), options, decide);
}

}  // namespace limen::table
