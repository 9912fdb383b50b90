// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "limen/uncertainty/code_rows.h"

namespace limen::detail {

/// Columns, ascending.
using Term = std::vector<std::size_t>;

/// The name of a row's cell (see CellCounts); unset where one of the values is unseen. codes: of all columns.
[[nodiscard]] std::optional<std::uint64_t> cell_key(const std::uint32_t* codes, std::span<const std::size_t> columns);

/// All cells of the training rows.
[[nodiscard]] CellCounts count_cells(const CodeRows& training, std::span<const std::size_t> columns);
/// Training rows in the cell of a row; 0 where there is none.
[[nodiscard]] std::uint32_t count_of(const CellCounts& cells, const std::uint32_t* codes,
                                     std::span<const std::size_t> columns);

/// Training rows that agree with each of some validation rows on the columns of a term, up to the cap; counted once for
/// each term. 2 bytes for each row and term.
class TermCounts {
 public:
  /// rows: those of the validation rows that are used. cap: at most 65535. Both tables must outlive the object.
  TermCounts(const CodeRows& training, const CodeRows& validation, std::span<const std::size_t> rows, std::int64_t cap);

  /// Counts the terms that were not counted yet, in parallel.
  void count(std::span<const Term> terms);
  /// One for each of `rows`. The term was counted.
  [[nodiscard]] std::span<const std::uint16_t> of(const Term& term) const { return counts_.at(term); }
  /// log(1 + count), by the count.
  [[nodiscard]] std::span<const double> log_counts() const { return log_counts_; }
  /// Columns that have more than one value in training or validation.
  [[nodiscard]] const std::vector<std::size_t>& columns() const { return columns_; }

 private:
  [[nodiscard]] std::vector<std::uint16_t> counted(const Term& term) const;

  const CodeRows& training_;
  const CodeRows& validation_;
  std::vector<std::size_t> rows_;
  std::vector<double> log_counts_;
  std::vector<std::size_t> columns_;
  std::map<Term, std::vector<std::uint16_t>> counts_;
};

}  // namespace limen::detail
