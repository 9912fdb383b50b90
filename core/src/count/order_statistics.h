// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/combinable.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "count/key_map.h"
#include "limen/base/uninitialized_vector.h"
#include "limen/count/levels.h"

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
  std::size_t run_begin;                    ///< number of smaller values
  std::size_t run_end;                      ///< number of values not larger
  std::optional<Real> next = std::nullopt;  ///< the smallest larger value, where it was seen on the way
};

template <typename Real>
struct Range {
  Real low = std::numeric_limits<Real>::infinity();
  Real high = -std::numeric_limits<Real>::infinity();
};

/// On one thread.
Range<float> range_of_block(const float* values, std::size_t size);
Range<double> range_of_block(const double* values, std::size_t size);

/// inside[row] = whether low <= values[row] <= high. On one thread.
void mark_inside(const float* values, std::size_t size, Range<float> range, std::uint8_t* inside);
void mark_inside(const double* values, std::size_t size, Range<double> range, std::uint8_t* inside);

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

/// values_at_ranks by sorting, for few values.
template <typename Real>
std::vector<RankedValue<Real>> sorted_at_ranks(std::span<const Real> values, std::span<const std::size_t> ranks) {
  std::vector<Real> sorted(values.begin(), values.end());
  for (Real& value : sorted) value += Real{0};
  std::sort(sorted.begin(), sorted.end());
  std::vector<RankedValue<Real>> result;
  for (const std::size_t rank : ranks) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), sorted[rank]);
    result.push_back({sorted[rank], static_cast<std::size_t>(first - sorted.begin()),
                      static_cast<std::size_t>(last - sorted.begin()),
                      last == sorted.end() ? std::nullopt : std::optional(*last)});
  }
  return result;
}

/// values_at_ranks by counting: one pass counts into buckets of about equal depth, one collects only the buckets that
/// hold a rank.
template <typename Real>
std::vector<RankedValue<Real>> counted_at_ranks(std::span<const Real> values, std::span<const std::size_t> ranks) {
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
    const bool next_is_there = static_cast<std::size_t>(last - collected.begin()) < offset + counts[hits[hit].bucket];
    result.push_back({value, place(first), place(last), next_is_there ? std::optional(*last) : std::nullopt});
  }
  return result;
}

/// Values from `low` to `high`, among which the ranks from `first_rank` on are looked for.
template <typename Real>
struct Bracket {
  Real low;
  Real high;
  std::size_t first_rank;  ///< index in the list of ranks
};

/// Where a sample says that the ranks must be, with room to spare.
template <typename Real>
struct Brackets {
  std::vector<Bracket<Real>> list;  ///< disjoint and increasing
  double share = 0;                 ///< of the sample that is in them
};

template <typename Real>
Brackets<Real> brackets_of(std::span<const Real> values, std::span<const std::size_t> ranks) {
  constexpr std::size_t kSample = std::size_t{1} << 17;
  constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
  std::vector<Real> sample;
  const std::size_t step = values.size() / kSample + 1;
  for (std::size_t row = 0; row < values.size(); row += step) sample.push_back(values[row] + Real{0});
  tbb::parallel_sort(sample.begin(), sample.end());
  // The standard deviation of a rank's place in a random sample is at most half the root of its size: three of them.
  const auto room = static_cast<std::size_t>(1.5 * std::sqrt(static_cast<double>(sample.size())));
  Brackets<Real> brackets;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    const std::size_t place = ranks[at] / step;
    const Real low = place < room ? -kInfinity : sample[place - room];
    const Real high = place + room < sample.size() ? sample[place + room] : kInfinity;
    if (!brackets.list.empty() && low <= brackets.list.back().high) {
      brackets.list.back().high = high;
    } else {
      brackets.list.push_back({low, high, at});
    }
  }
  for (const Bracket<Real>& bracket : brackets.list) {
    const auto inside = std::upper_bound(sample.begin(), sample.end(), bracket.high) -
                        std::lower_bound(sample.begin(), sample.end(), bracket.low);
    brackets.share += static_cast<double>(inside) / static_cast<double>(sample.size());
  }
  return brackets;
}

/// values_at_ranks in one pass that collects the values near the ranks, as a sample places them. Empty when the sample
/// misled, as that of values in some rhythm can, or when there are too many ranks for a pass to be quick.
template <typename Real>
std::vector<RankedValue<Real>> collected_at_ranks(std::span<const Real> values, std::span<const std::size_t> ranks) {
  constexpr std::size_t kMostBrackets = 32;
  constexpr std::size_t kBlock = 1024;
  constexpr std::size_t kTogether = 16 * 1024;  // rows whose values are collected together
  const Brackets<Real> found = brackets_of(values, ranks);
  const std::vector<Bracket<Real>>& brackets = found.list;
  if (brackets.size() > kMostBrackets) return {};
  // A value above an odd number of these is in a bracket.
  std::vector<double> edges;
  for (const Bracket<Real>& bracket : brackets) {
    edges.push_back(bracket.low);
    edges.push_back(std::nextafter(bracket.high, std::numeric_limits<Real>::infinity()));
  }
  const LevelFinder<Real> finder(edges);
  using Counts = std::array<std::array<std::size_t, 2 * kMostBrackets + 1>, 2>;  // two, so that rows do not wait
  tbb::combinable<Counts> partial_counts([] { return Counts{}; });
  UninitializedVector<Real> near(
      static_cast<std::size_t>(static_cast<double>(values.size()) * std::min(1.0, 1.05 * found.share + 0.001)));
  std::atomic<std::size_t> num_near = 0;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, values.size(), kTogether),
                    [&](const tbb::blocked_range<std::size_t>& rows) {
                      Counts& part = partial_counts.local();
                      std::array<std::uint8_t, kBlock> place;
                      std::array<Real, kTogether> collected;
                      for (std::size_t first = rows.begin(); first < rows.end(); first += collected.size()) {
                        const std::size_t end = std::min(first + collected.size(), rows.end());
                        std::size_t size = 0;
                        for (std::size_t begin = first; begin < end; begin += kBlock) {
                          const std::size_t block = std::min(kBlock, end - begin);
                          finder.find(values.data() + begin, block, place.data());
                          for (std::size_t row = 0; row < block; ++row) {
                            ++part[row % 2][place[row]];
                            collected[size] = values[begin + row] + Real{0};
                            size += place[row] % 2;
                          }
                        }
                        const std::size_t at = num_near.fetch_add(size);
                        if (at + size <= near.size()) std::copy_n(collected.begin(), size, near.data() + at);
                      }
                    });
  if (num_near > near.size()) return {};
  near.resize(num_near);
  std::vector<std::size_t> counts(edges.size() + 1, 0);
  partial_counts.combine_each([&](const Counts& part) {
    for (std::size_t at = 0; at < counts.size(); ++at) counts[at] += part[0][at] + part[1][at];
  });

  // The ranks among the values near them: without those between the brackets.
  std::vector<std::size_t> near_ranks;
  std::vector<std::size_t> left_out;  // per rank
  std::size_t before = 0;             // values below the bracket
  std::size_t between = 0;            // of them outside of brackets
  for (std::size_t at = 0; at < brackets.size(); ++at) {
    before += counts[2 * at];
    between += counts[2 * at];
    const std::size_t end_rank = at + 1 < brackets.size() ? brackets[at + 1].first_rank : ranks.size();
    for (std::size_t rank = brackets[at].first_rank; rank < end_rank; ++rank) {
      if (ranks[rank] < before || ranks[rank] >= before + counts[2 * at + 1]) return {};
      near_ranks.push_back(ranks[rank] - between);
      left_out.push_back(between);
    }
    before += counts[2 * at + 1];
  }
  std::vector<RankedValue<Real>> result = counted_at_ranks<Real>(std::span<const Real>(near), near_ranks);
  std::size_t bracket = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    while (bracket + 1 < brackets.size() && brackets[bracket + 1].first_rank <= rank) ++bracket;
    RankedValue<Real>& ranked = result[rank];
    ranked.run_begin += left_out[rank];
    ranked.run_end += left_out[rank];
    if (ranked.next && *ranked.next > brackets[bracket].high) ranked.next.reset();
  }
  return result;
}

/// The values at the given ranks (0-based, increasing, below values.size()) of the sorted values, without sorting them.
template <typename Real>
std::vector<RankedValue<Real>> values_at_ranks(std::span<const Real> values, std::span<const std::size_t> ranks) {
  if (values.size() < (std::size_t{1} << 17)) return sorted_at_ranks(values, ranks);
  std::vector<RankedValue<Real>> result = collected_at_ranks(values, ranks);
  return result.empty() ? counted_at_ranks(values, ranks) : result;
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
