// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "count/order_statistics.h"
#include "count/strided_sample.h"
#include "limen/count/samples.h"

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

/// The edges of equal levels from rows that come in batches: give all of them to `add`, then call `end_pass`, and go
/// through them again until it says that the edges are known. Gives what uncertainty_edges gives on the rows together.
///
/// The first batch says where the edges should be, and values near there are kept; when the first batch was like the
/// rest, one pass is enough. Else the first pass has counted the rows in buckets, and the second one keeps the values
/// of those that hold an edge. Only when these are many, as in a sorted file, a pass in between counts again, in
/// buckets that suit all rows. Memory: 40 MB, or the distinct values of the buckets that hold an edge.
class UncertaintyRanks {
 public:
  explicit UncertaintyRanks(int levels) : levels_(levels) {}
  void add(RealSpan uncertainty);
  /// Whether the edges are known.
  [[nodiscard]] bool end_pass();
  [[nodiscard]] std::vector<double> edges() const;

 private:
  using Key = std::uint64_t;
  /// Keys from low to high that are kept, with the rows below it (and above the range before it) counted.
  struct KeptRange {
    Key low = 0;
    Key high = 0;
    std::size_t rows_between = 0;
    std::optional<Key> next_above = std::nullopt;  // smallest key above `high`
    std::vector<std::pair<Key, std::size_t>> keys = {};
  };
  enum class Pass { kFirst, kCount, kKeep };

  void start_first_pass(RealSpan uncertainty);
  void keep(Key key);
  void pool(KeptRange& range);
  [[nodiscard]] bool holds_all_ranks() const;
  [[nodiscard]] std::size_t keep_buckets_with_ranks();

  int levels_;
  Pass pass_ = Pass::kFirst;
  std::size_t rows_ = 0;
  std::vector<KeptRange> ranges_;  // rising, disjoint
  std::size_t num_kept_ = 0;
  bool keeps_ = false;
  std::optional<KeyMap<Key>> map_;
  std::vector<std::uint64_t> counts_;
  StridedSample<Key> sample_;
  Range<double> range_;
};

}  // namespace limen::detail
