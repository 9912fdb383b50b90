// SPDX-License-Identifier: MIT
#include "limen/count/samples.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "limen/base/error.h"
#include "limen/base/multiversion.h"

namespace limen {
namespace {

/// Sums of weights and of their squares stay finite.
constexpr double kLargestWeight = 1e290;

template <typename Real>
struct BlockRange {
  Range<Real> range;
  bool finite;
};

/// One running range per lane, and finiteness in integers: the compiler may not reorder comparisons of floating point
/// numbers, and so would not vectorise a single range.
template <typename Real, typename Bits>
[[gnu::always_inline]] inline BlockRange<Real> range_in_lanes(const Real* values, std::size_t size) {
  constexpr Bits kLargest = std::bit_cast<Bits>(std::numeric_limits<Real>::max());
  constexpr Bits kWithoutSign = std::numeric_limits<Bits>::max();
  constexpr std::size_t kLanes = 64 / sizeof(Real);
  std::array<Real, kLanes> low;
  std::array<Real, kLanes> high;
  std::array<Bits, kLanes> not_finite{};
  low.fill(Range<Real>{}.low);
  high.fill(Range<Real>{}.high);
  const auto add = [&](std::size_t lane, Real value) {
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
    not_finite[lane] |= (std::bit_cast<Bits>(value) & kWithoutSign) > kLargest ? Bits{1} : Bits{0};
  };
  std::size_t row = 0;
  for (; row + kLanes <= size; row += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, values[row + lane]);
  }
  for (; row < size; ++row) add(0, values[row]);
  return {{*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())},
          *std::max_element(not_finite.begin(), not_finite.end()) == 0};
}

LIMEN_MULTIVERSION BlockRange<float> range_of_block(const float* values, std::size_t size) {
  return range_in_lanes<float, std::int32_t>(values, size);
}

LIMEN_MULTIVERSION BlockRange<double> range_of_block(const double* values, std::size_t size) {
  return range_in_lanes<double, std::int64_t>(values, size);
}

LIMEN_MULTIVERSION bool any_not_label(const std::uint8_t* label, std::size_t size) {
  std::uint8_t any = 0;
  for (std::size_t row = 0; row < size; ++row) any = static_cast<std::uint8_t>(any | (label[row] & 0xFE));
  return any != 0;
}

/// First row for which `bad` holds, or `size`. `any_bad` says whether a block has one; almost always it has not.
template <typename AnyBad, typename Bad>
std::size_t first_bad_row(std::size_t size, AnyBad any_bad, Bad bad) {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, size, 1 << 16), size,
      [&](const tbb::blocked_range<std::size_t>& range, std::size_t first) {
        if (range.begin() >= first || !any_bad(range.begin(), range.size())) return first;
        std::size_t row = range.begin();
        while (!bad(row)) ++row;
        return std::min(first, row);
      },
      [](std::size_t a, std::size_t b) { return std::min(a, b); });
}

void check_length(std::size_t length, std::size_t rows, const char* name) {
  if (length != rows) {
    throw InvalidInput(
        "samples", std::string(name) + " has " + std::to_string(length) + " rows, label has " + std::to_string(rows));
  }
}

[[noreturn]] void refuse(const char* function, const char* name, std::size_t row, const std::string& value,
                         const char* needed) {
  throw InvalidInput(function, std::string(name) + "[" + std::to_string(row) + "] is " + value + ", must be " + needed);
}

}  // namespace

Range<double> finite_range(RealSpan column, const char* function, const char* name) {
  return column.visit([&](auto values) {
    tbb::enumerable_thread_specific<Range<double>> parts;
    const std::size_t row = first_bad_row(
        values.size(),
        [&](std::size_t begin, std::size_t size) {
          const auto block = range_of_block(values.data() + begin, size);
          parts.local().add({static_cast<double>(block.range.low), static_cast<double>(block.range.high)});
          return !block.finite;
        },
        [&](std::size_t at) { return !std::isfinite(values[at]); });
    if (row < values.size()) refuse(function, name, row, std::isnan(values[row]) ? "NaN" : "infinite", "finite");
    Range<double> range;
    for (const Range<double>& part : parts) range.add(part);
    return range;
  });
}

SampleRanges validate(const Samples& samples) {
  const std::size_t rows = samples.size();
  check_length(samples.score.size(), rows, "score");
  check_length(samples.uncertainty.size(), rows, "uncertainty");
  const SampleRanges ranges{finite_range(samples.score, "samples", "score"),
                            finite_range(samples.uncertainty, "samples", "uncertainty")};
  const std::size_t bad_label = first_bad_row(
      rows, [&](std::size_t begin, std::size_t size) { return any_not_label(samples.label.data() + begin, size); },
      [&](std::size_t row) { return samples.label[row] > 1; });
  if (bad_label < rows) refuse("samples", "label", bad_label, std::to_string(samples.label[bad_label]), "0 or 1");
  if (samples.weight.empty()) return ranges;
  check_length(samples.weight.size(), rows, "weight");
  const auto is_bad = [&](std::size_t row) {
    return !(samples.weight[row] >= 0 && samples.weight[row] <= kLargestWeight);
  };
  const std::size_t bad_weight = first_bad_row(
      rows,
      [&](std::size_t begin, std::size_t size) {
        bool any = false;
        for (std::size_t row = begin; row < begin + size; ++row) any |= is_bad(row);
        return any;
      },
      is_bad);
  if (bad_weight < rows) {
    const double weight = samples.weight[bad_weight];
    refuse("samples", "weight", bad_weight, weight > kLargestWeight ? "above 1e290" : std::to_string(weight),
           "between 0 and 1e290");
  }
  return ranges;
}

}  // namespace limen
