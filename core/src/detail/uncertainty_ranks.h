// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "detail/order_statistics.h"
#include "limen/samples.h"

namespace limen::detail {

/// Ranks (from 0) at which `rows` sorted rows are cut into equal levels; increasing, without repeats.
[[nodiscard]] std::vector<std::size_t> quantile_ranks(std::size_t rows, int levels);

/// The uncertainty that separates two levels at `rank`: a run of equal values around it goes to the level above (edge =
/// its value) or to the level below (edge = the next larger value), whichever moves fewer rows. `next` is called for
/// the next larger value only when it is needed; unset when there is none.
template <typename Real, typename Next>
std::optional<Real> edge_at(std::size_t rank, const RankedValue<Real>& run, const Next& next) {
  if (run.run_begin == 0 || run.run_end - rank < rank - run.run_begin) return next(run.value);
  return run.value;
}

/// The edges of equal levels from rows that come in batches: count all of them, say which ranks are wanted, collect all
/// of them again. Gives what uncertainty_edges gives on the rows together. Memory: the distinct values of the few
/// buckets that hold a rank.
class UncertaintyRanks {
 public:
  UncertaintyRanks();
  void count(RealSpan uncertainty);
  void want(std::vector<std::size_t> ranks);
  void collect(RealSpan uncertainty);
  [[nodiscard]] std::vector<double> edges() const;

 private:
  std::vector<std::uint64_t> counts_;  // rows per bucket of leading key bits
  std::vector<std::size_t> ranks_;
  std::vector<std::uint8_t> wanted_;                             // per bucket: holds a rank
  std::vector<std::uint8_t> followed_;                           // per bucket: the first with rows after a wanted one
  std::map<std::size_t, std::map<double, std::size_t>> values_;  // wanted bucket -> value -> rows
  std::map<std::size_t, double> smallest_;                       // followed bucket -> its smallest value
};

}  // namespace limen::detail
