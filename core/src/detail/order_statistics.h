// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/combinable.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "detail/key_map.h"

namespace limen::detail {

/// Unsigned integers in the order of the finite numbers they come from; -0 and +0 give the same key.
inline std::uint32_t ordered_key(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);
  return (bits & 0x8000'0000U) != 0 ? ~bits : bits | 0x8000'0000U;
}
inline std::uint64_t ordered_key(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  return (bits >> 63) != 0 ? ~bits : bits | (std::uint64_t{1} << 63);
}

/// Where a rank falls among sorted values: the value, and the run of values equal to it.
template <typename Real>
struct RankedValue {
  Real value;
  std::size_t run_begin;  ///< number of smaller values
  std::size_t run_end;    ///< number of values not larger
};

template <typename Real>
struct Range {
  Real low = std::numeric_limits<Real>::infinity();
  Real high = -std::numeric_limits<Real>::infinity();
};

/// On one thread.
Range<float> range_of_block(const float* values, std::size_t size);
Range<double> range_of_block(const double* values, std::size_t size);

template <typename Real>
Range<Real> range_of(std::span<const Real> values) {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, values.size(), 1 << 16), Range<Real>{},
      [&](const tbb::blocked_range<std::size_t>& rows, Range<Real> range) {
        const Range<Real> block = range_of_block(values.data() + rows.begin(), rows.size());
        return Range<Real>{std::min(range.low, block.low), std::max(range.high, block.high)};
      },
      [](Range<Real> a, Range<Real> b) {
        return Range<Real>{std::min(a.low, b.low), std::max(a.high, b.high)};
      });
}

/// Every n-th key, so that there are at most `most` of them.
template <typename Real>
auto sample_keys(std::span<const Real> values, std::size_t most) {
  std::vector<decltype(ordered_key(Real{}))> keys;
  const std::size_t step = values.size() / most + 1;
  for (std::size_t row = 0; row < values.size(); row += step) keys.push_back(ordered_key(values[row]));
  return keys;
}

/// The values at the given ranks (0-based, increasing, below values.size()) of the sorted values, without sorting them:
/// one pass that counts into buckets of about equal depth, one that collects only the buckets that hold a rank.
template <typename Real>
std::vector<RankedValue<Real>> values_at_ranks(std::span<const Real> values, std::span<const std::size_t> ranks) {
  if (values.size() < (std::size_t{1} << 17)) {
    // Too few for counters to pay.
    std::vector<Real> sorted(values.begin(), values.end());
    for (Real& value : sorted) value += Real{0};
    std::sort(sorted.begin(), sorted.end());
    std::vector<RankedValue<Real>> result;
    for (const std::size_t rank : ranks) {
      const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), sorted[rank]);
      result.push_back({sorted[rank], static_cast<std::size_t>(first - sorted.begin()),
                        static_cast<std::size_t>(last - sorted.begin())});
    }
    return result;
  }
  const Range<Real> range = range_of(values);
  const KeyMap map(ordered_key(range.low), ordered_key(range.high), sample_keys(values, std::size_t{1} << 16), 4096);
  const std::size_t num_buckets = map.num_buckets();
  const tbb::blocked_range<std::size_t> all(0, values.size(), 1 << 16);

  tbb::combinable<std::vector<std::uint64_t>> partial_counts(
      [&] { return std::vector<std::uint64_t>(num_buckets, 0); });
  tbb::parallel_for(all, [&](const tbb::blocked_range<std::size_t>& rows) {
    std::uint64_t* const counts = partial_counts.local().data();
    for (std::size_t row = rows.begin(); row < rows.end(); ++row) ++counts[map.bucket_of(ordered_key(values[row]))];
  });
  std::vector<std::uint64_t> counts(num_buckets, 0);
  partial_counts.combine_each([&](const std::vector<std::uint64_t>& part) {
    for (std::size_t bucket = 0; bucket < num_buckets; ++bucket) counts[bucket] += part[bucket];
  });

  // Buckets that hold a rank, in order; `before` = number of values in lower buckets.
  struct Hit {
    std::size_t bucket;
    std::size_t before;
  };
  std::vector<Hit> hits;
  std::vector<std::uint8_t> wanted(num_buckets, 0);
  std::size_t before = 0;
  std::size_t next = 0;
  for (std::size_t bucket = 0; bucket < num_buckets && next < ranks.size(); ++bucket) {
    if (ranks[next] < before + counts[bucket]) {
      hits.push_back({bucket, before});
      wanted[bucket] = 1;
      while (next < ranks.size() && ranks[next] < before + counts[bucket]) ++next;
    }
    before += counts[bucket];
  }

  tbb::combinable<std::vector<Real>> partial_values;
  tbb::parallel_for(all, [&](const tbb::blocked_range<std::size_t>& rows) {
    std::vector<Real>& part = partial_values.local();
    for (std::size_t row = rows.begin(); row < rows.end(); ++row) {
      if (wanted[map.bucket_of(ordered_key(values[row]))] != 0) part.push_back(values[row] + Real{0});
    }
  });
  std::vector<Real> collected;
  partial_values.combine_each(
      [&](const std::vector<Real>& part) { collected.insert(collected.end(), part.begin(), part.end()); });
  tbb::parallel_sort(collected.begin(), collected.end());

  std::vector<RankedValue<Real>> result;
  std::size_t hit = 0;
  std::size_t offset = 0;  // of the current hit's bucket in `collected`
  for (const std::size_t rank : ranks) {
    while (rank >= hits[hit].before + counts[hits[hit].bucket]) offset += counts[hits[hit++].bucket];
    const Real value = collected[offset + (rank - hits[hit].before)];
    const auto [first, last] = std::equal_range(collected.begin(), collected.end(), value);
    const auto place = [&](auto at) {
      return hits[hit].before + static_cast<std::size_t>(at - collected.begin()) - offset;
    };
    result.push_back({value, place(first), place(last)});
  }
  return result;
}

/// Smallest value above `limit`, if any.
template <typename Real>
std::optional<Real> smallest_above(std::span<const Real> values, Real limit) {
  constexpr Real kNone = std::numeric_limits<Real>::infinity();
  const Real smallest = tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, values.size(), 1 << 16), kNone,
      [&](const tbb::blocked_range<std::size_t>& range, Real least) {
        for (std::size_t row = range.begin(); row < range.end(); ++row) {
          const Real candidate = values[row] > limit ? values[row] : kNone;
          least = candidate < least ? candidate : least;
        }
        return least;
      },
      [](Real a, Real b) { return std::min(a, b); });
  return smallest == kNone ? std::nullopt : std::optional(smallest + Real{0});
}

}  // namespace limen::detail
