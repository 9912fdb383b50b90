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

/// The values at the given ranks (0-based, increasing, below values.size()) of the sorted values, without sorting them:
/// one counting pass over the leading bits of the keys, one pass that collects only the buckets that hold a rank.
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
  constexpr int kKeyBits = static_cast<int>(8 * sizeof(Real));
  constexpr int kBucketBits = sizeof(Real) == 4 ? 16 : 18;
  constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;
  const auto bucket_of = [](Real value) {
    return static_cast<std::size_t>(ordered_key(value) >> (kKeyBits - kBucketBits));
  };
  const tbb::blocked_range<std::size_t> all(0, values.size(), 1 << 16);

  tbb::combinable<std::vector<std::uint64_t>> partial_counts([&] { return std::vector<std::uint64_t>(kBuckets, 0); });
  tbb::parallel_for(all, [&](const tbb::blocked_range<std::size_t>& range) {
    std::vector<std::uint64_t>& counts = partial_counts.local();
    for (std::size_t row = range.begin(); row < range.end(); ++row) ++counts[bucket_of(values[row])];
  });
  std::vector<std::uint64_t> counts(kBuckets, 0);
  partial_counts.combine_each([&](const std::vector<std::uint64_t>& part) {
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) counts[bucket] += part[bucket];
  });

  // Buckets that hold a rank, in order; `before` = number of values in lower buckets.
  struct Hit {
    std::size_t bucket;
    std::size_t before;
  };
  std::vector<Hit> hits;
  std::vector<std::uint8_t> wanted(kBuckets, 0);
  std::size_t before = 0;
  std::size_t next = 0;
  for (std::size_t bucket = 0; bucket < kBuckets && next < ranks.size(); ++bucket) {
    if (ranks[next] < before + counts[bucket]) {
      hits.push_back({bucket, before});
      wanted[bucket] = 1;
      while (next < ranks.size() && ranks[next] < before + counts[bucket]) ++next;
    }
    before += counts[bucket];
  }

  tbb::combinable<std::vector<Real>> partial_values;
  tbb::parallel_for(all, [&](const tbb::blocked_range<std::size_t>& range) {
    std::vector<Real>& part = partial_values.local();
    for (std::size_t row = range.begin(); row < range.end(); ++row) {
      if (wanted[bucket_of(values[row])] != 0) part.push_back(values[row] + Real{0});
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

template <typename Real>
struct Range {
  Real low = std::numeric_limits<Real>::infinity();
  Real high = -std::numeric_limits<Real>::infinity();
};

template <typename Real>
Range<Real> range_of(std::span<const Real> values) {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, values.size(), 1 << 16), Range<Real>{},
      [&](const tbb::blocked_range<std::size_t>& rows, Range<Real> range) {
        for (std::size_t row = rows.begin(); row < rows.end(); ++row) {
          range.low = std::min(range.low, values[row]);
          range.high = std::max(range.high, values[row]);
        }
        return range;
      },
      [](Range<Real> a, Range<Real> b) {
        return Range<Real>{std::min(a.low, b.low), std::max(a.high, b.high)};
      });
}

}  // namespace limen::detail
