// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "batch.h"
#include "file_reader.h"
#include "limen/table/read_options.h"
#include "limen/table/table_files.h"
#include "read_limits.h"

namespace limen::table::detail {

/// The rows of several files, one after the other, as batches of typed columns: what every consumer reads from. Files
/// are decoded on all cores; what comes out, and the first error, do not depend on their number.
class BatchSource {
 public:
  /// What is wanted of a file, by the names of its columns; all files must give columns of the same kinds.
  using Choose = std::function<Selection(FileReader&)>;
  static constexpr std::size_t kAllRows = std::numeric_limits<std::size_t>::max();

  BatchSource(const TableFiles& files, const ReadOptions& options, const Limits& limits);

  /// Calls `look` with each file, not started yet. Stdin, which can be read only once, stays open for next().
  void for_each_file(const std::function<void(FileReader&)>& look);

  void start(Choose choose) { choose_ = std::move(choose); }

  /// The next rows, at least `rows` unless the files end; unset after the last ones. A batch may have no rows, only
  /// dropped ones. Throws InvalidInput (Cause::kFileChanged) when a file is not what it was, whatever else is wrong.
  [[nodiscard]] std::optional<Batch> next(std::size_t rows);

  /// Hands all batches of at least `rows` rows over to `visit`, in the calling thread, while the next is being read.
  void for_each(std::size_t rows, const std::function<void(Batch&)>& visit);

  /// All rows that next() has handed over.
  [[nodiscard]] const RowCounts& counts() const { return counts_; }
  /// The labels of a rule that names the positive one, among all rows so far.
  [[nodiscard]] const LabelsSeen& labels() const { return labels_; }
  /// Refuses files that have no rows, all together.
  void require_rows() const;
  [[nodiscard]] Format format_of(const KnownFile& file) const;

 private:
  [[nodiscard]] std::unique_ptr<FileReader> open(const std::shared_ptr<KnownFile>& file) const;
  void open_next();
  void read(Batch& into, std::size_t rows);
  void add(Batch& into, Unit& unit, bool is_all);

  TableFiles files_;
  ReadOptions options_;
  Limits limits_;
  Choose choose_;
  std::uint64_t total_bytes_ = 0;   // 0: not known
  std::uint64_t bytes_before_ = 0;  // of the files before the one at hand
  std::size_t next_file_ = 0;
  std::unique_ptr<FileReader> stdin_;  // opened by for_each_file()
  std::unique_ptr<FileReader> reader_;
  Selection selection_;  // of the file at hand
  std::vector<Values> empty_;
  std::uint64_t rows_of_file_ = 0;
  RowCounts counts_;
  LabelsSeen labels_;
};

}  // namespace limen::table::detail
