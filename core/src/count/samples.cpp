// SPDX-License-Identifier: MIT
#include "limen/count/samples.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
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

/// Whether any of the values is infinite or NaN, without branches, in integers.
template <typename Real, typename Bits>
[[gnu::always_inline]] inline bool any_not_finite_in(const Real* values, std::size_t size) {
  constexpr Bits kLargest = std::bit_cast<Bits>(std::numeric_limits<Real>::max());
  constexpr Bits kWithoutSign = std::numeric_limits<Bits>::max();
  Bits any = 0;
  for (std::size_t row = 0; row < size; ++row) {
    any |= (std::bit_cast<Bits>(values[row]) & kWithoutSign) > kLargest ? Bits{1} : Bits{0};
  }
  return any != 0;
}

LIMEN_MULTIVERSION bool any_not_finite(const float* values, std::size_t size) {
  return any_not_finite_in<float, std::int32_t>(values, size);
}

LIMEN_MULTIVERSION bool any_not_finite(const double* values, std::size_t size) {
  return any_not_finite_in<double, std::int64_t>(values, size);
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

void check_finite(RealSpan column, const char* function, const char* name) {
  column.visit([&](auto values) {
    const std::size_t row = first_bad_row(
        values.size(), [&](std::size_t begin, std::size_t size) { return any_not_finite(values.data() + begin, size); },
        [&](std::size_t at) { return !std::isfinite(values[at]); });
    if (row < values.size()) refuse(function, name, row, std::isnan(values[row]) ? "NaN" : "infinite", "finite");
  });
}

void validate(const Samples& samples) {
  const std::size_t rows = samples.size();
  check_length(samples.score.size(), rows, "score");
  check_length(samples.uncertainty.size(), rows, "uncertainty");
  check_finite(samples.score, "samples", "score");
  check_finite(samples.uncertainty, "samples", "uncertainty");
  const std::size_t bad_label = first_bad_row(
      rows, [&](std::size_t begin, std::size_t size) { return any_not_label(samples.label.data() + begin, size); },
      [&](std::size_t row) { return samples.label[row] > 1; });
  if (bad_label < rows) refuse("samples", "label", bad_label, std::to_string(samples.label[bad_label]), "0 or 1");
  if (samples.weight.empty()) return;
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
}

}  // namespace limen
