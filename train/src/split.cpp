// SPDX-License-Identifier: MIT
#include "limen/train/split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/base/text.h"

namespace limen::train {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Where hold-out and test begin on the scale from 0 to 1. A share of 0 at the end leaves nothing to rounding.
std::array<double, 2> cumulative(const std::array<double, 3>& fractions) {
  const double holdout_from = fractions[1] + fractions[2] == 0 ? 1 : fractions[0];
  const double test_from = fractions[2] == 0 ? 1 : fractions[0] + fractions[1];
  return {holdout_from, test_from};
}

/// The number of earliest rows, at an edge between two times of the sorted list, that is nearest to `target`.
/// At least `least` and at most `most`, both edges or ends of the list themselves; the best of those between.
std::size_t nearest_edge(const std::vector<double>& sorted, double target, std::size_t least, std::size_t most) {
  const auto at =
      static_cast<std::size_t>(std::clamp(std::floor(target), static_cast<double>(least), static_cast<double>(most)));
  if (at >= most) return most;
  const auto [begin, end] = std::equal_range(sorted.begin(), sorted.end(), sorted[at]);
  const std::size_t before = std::clamp(static_cast<std::size_t>(begin - sorted.begin()), least, most);
  const std::size_t behind = std::clamp(static_cast<std::size_t>(end - sorted.begin()), least, most);
  return target - static_cast<double>(before) <= static_cast<double>(behind) - target ? before : behind;
}

}  // namespace

void validate(const SplitOptions& options) {
  constexpr const char* kNames[] = {"training", "hold-out", "test"};
  double sum = 0;
  for (std::size_t part = 0; part < 3; ++part) {
    const double fraction = options.fractions[part];
    if (!(fraction >= 0 && fraction <= 1)) {
      throw InvalidInput("split",
                         std::string("share of ") + kNames[part] + " is " + number_text(fraction) + ", must be 0 to 1");
    }
    sum += fraction;
  }
  if (std::abs(sum - 1) > 1e-9) throw InvalidInput("split", "shares add up to " + number_text(sum) + ", must be 1");
  if (options.fractions[0] == 0) throw InvalidInput("split", "share of training is 0, must be above 0");
  if (!(options.tau >= 1 && options.tau <= 1e9)) {
    throw InvalidInput("split", "tau is " + number_text(options.tau) + ", must be 1 to 1e9");
  }
}

std::array<double, 3> parse_fractions(std::string_view text) {
  SplitOptions options{.fractions = {0, 0, 0}};
  std::size_t part = 0;
  std::string_view rest = text;
  for (bool more = true; more; ++part) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const NumberField value = parse_number(rest.substr(0, comma));
    more = comma < rest.size();
    if (value.status != FieldStatus::kOk || part > 2 || (!more && part == 0)) {
      throw InvalidInput(
          "split", "is " + quoted(text) + ", must be the shares of training, hold-out and test, such as 0.6,0.2,0.2");
    }
    options.fractions[part] = value.value;
    if (more) rest.remove_prefix(comma + 1);
  }
  validate(options);
  return options.fractions;
}

std::vector<Part> split_rows(std::uint64_t first_row, std::size_t num_rows, const SplitOptions& options) {
  validate(options);
  const auto [holdout_from, test_from] = cumulative(options.fractions);
  const TimeCuts cuts{.holdout_from = holdout_from, .test_from = test_from};
  const RowHash hash(options.seed, RowUse::kSplit);
  std::vector<Part> parts(num_rows);
  for (std::size_t row = 0; row < num_rows; ++row) parts[row] = cuts.part(hash.uniform(first_row + row));
  return parts;
}

TimeCuts time_cuts(std::span<const double> time, const SplitOptions& options) {
  validate(options);
  if (time.empty()) throw InvalidInput("time_cuts", "there are no rows, at least one was needed");
  for (std::size_t row = 0; row < time.size(); ++row) {
    if (!std::isfinite(time[row])) {
      throw InvalidInput("time_cuts",
                         "time[" + std::to_string(row) + "] is " + number_text(time[row]) + ", must be finite");
    }
  }
  std::vector<double> sorted(time.begin(), time.end());
  std::sort(sorted.begin(), sorted.end());
  const bool holdout = options.fractions[1] > 0;
  const bool test = options.fractions[2] > 0;
  const std::size_t num_parts = 1U + (holdout ? 1U : 0U) + (test ? 1U : 0U);

  // The first times from the front and from the back are reserved for the parts that must not be empty.
  const std::size_t num_rows = sorted.size();
  const auto block_end = [&](std::size_t at) {
    return static_cast<std::size_t>(std::upper_bound(sorted.begin(), sorted.end(), sorted[at]) - sorted.begin());
  };
  const auto block_begin = [&](std::size_t at) {
    return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), sorted[at]) - sorted.begin());
  };
  std::size_t last_edge = num_rows;  // training ends here at the latest
  for (std::size_t part = 1; part < num_parts && last_edge > 0; ++part) last_edge = block_begin(last_edge - 1);
  if (last_edge == 0) {
    throw InvalidInput("time_cuts", "there are too few different times for " + std::to_string(num_parts) +
                                        " parts: rows of one time stay together");
  }
  const auto rows = static_cast<double>(num_rows);
  const std::size_t train_end =
      num_parts == 1 ? num_rows : nearest_edge(sorted, options.fractions[0] * rows, block_end(0), last_edge);
  const std::size_t test_begin = !test      ? num_rows
                                 : !holdout ? train_end
                                            : nearest_edge(sorted, (options.fractions[0] + options.fractions[1]) * rows,
                                                           block_end(train_end), block_begin(num_rows - 1));
  const auto time_at = [&](std::size_t at) { return at < num_rows ? sorted[at] : kInfinity; };
  return {.holdout_from = time_at(train_end), .test_from = time_at(test_begin)};
}

std::vector<Part> split_by_time(std::span<const double> time, const SplitOptions& options) {
  const TimeCuts cuts = time_cuts(time, options);
  std::vector<Part> parts(time.size());
  std::transform(time.begin(), time.end(), parts.begin(), [&](double at) { return cuts.part(at); });
  return parts;
}

}  // namespace limen::train
