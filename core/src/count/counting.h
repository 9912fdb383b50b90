// SPDX-License-Identifier: MIT
// What the clients of CountedRows share: questions with checked answers, and values at ranks.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "limen/count/counted_rows.h"

namespace limen::detail {

/// Cuts of one question: enough for few passes, few enough for the text of a query.
inline constexpr std::size_t kMostCuts = 2048;
/// So many rows are asked for value by value; of more, counts of buckets.
inline constexpr std::size_t kMostValues = std::size_t{1} << 14;

/// The answer, by group, bucket and value, after checks: every cell once, of what was asked for, all rows counted.
[[nodiscard]] std::vector<CountCell> ask(const CountedRows& rows, const CountQuery& query);

/// At most parts - 1 cuts between the numbers from low to high, so that about equally many numbers of double precision
/// lie between two of them.
[[nodiscard]] std::vector<double> even_cuts(double low, double high, std::size_t parts);

/// The next larger number.
[[nodiscard]] double next_above(double value);

/// The equal values around a rank, and their neighbours.
struct ValueRun {
  double value;
  std::size_t begin;  ///< rank of the first
  std::size_t end;
  std::optional<double> previous = std::nullopt;
  std::optional<double> next = std::nullopt;
};

/// The values at these ranks (from 0 for the smallest, increasing) among the rows whose other column is at least
/// other_from. About log(rows) / log(2048) + 1 questions.
[[nodiscard]] std::vector<ValueRun> runs_at(const CountedRows& rows, CountedColumn column,
                                            std::optional<double> other_from, const std::vector<std::size_t>& ranks);

}  // namespace limen::detail
