// SPDX-License-Identifier: MIT
#include "row_source.h"

#include <algorithm>
#include <string>
#include <utility>

#include "limen/base/error.h"

namespace limen::table::detail {

void append(Predictions& into, const Predictions& more) {
  into.score.append(more.score.span());
  into.uncertainty.append(more.uncertainty.span());
  into.label.insert(into.label.end(), more.label.begin(), more.label.end());
  into.weight.insert(into.weight.end(), more.weight.begin(), more.weight.end());
  into.rows_dropped += more.rows_dropped;
}

void require_rows(const std::vector<Input>& inputs, std::size_t rows_kept, std::size_t rows_dropped) {
  if (rows_kept > 0) return;
  const Input& first = inputs.front();
  std::string name = first.name;
  if (inputs.size() > 1) {
    name += " and " + std::to_string(inputs.size() - 1) + (inputs.size() == 2 ? " more file" : " more files");
  }
  if (rows_dropped > 0) {
    throw InvalidInput(name + ": no rows are left: all " + std::to_string(rows_dropped) +
                       " have a missing or bad value");
  }
  throw InvalidInput(name + (inputs.size() > 1       ? ": no rows"
                             : is_text(first.format) ? ": has a header but no rows"
                                                     : ": has no rows"));
}

FileProgress::FileProgress(const std::vector<Input>& inputs, Progress progress) : progress_(std::move(progress)) {
  const auto is_unknown = [](const Input& input) { return file_size(input) == 0; };
  if (std::ranges::any_of(inputs, is_unknown)) return;
  for (const Input& input : inputs) total_ += file_size(input);
}

Progress FileProgress::next(const Input& input) {
  const std::uint64_t before = before_;
  before_ += file_size(input);
  if (!progress_) return nullptr;
  return [progress = progress_, before, total = total_](std::uint64_t bytes, std::uint64_t) {
    progress(before + bytes, total == 0 ? 0 : std::max(total, before + bytes));
  };
}

}  // namespace limen::table::detail
