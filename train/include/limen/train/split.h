// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace limen::train {

enum class Part : std::uint8_t { kTrain, kHoldout, kTest };

struct SplitOptions {
  /// Shares of training, hold-out and test rows. Each 0 to 1, together 1 (within 1e-9), training above 0.
  std::array<double, 3> fractions = {0.6, 0.2, 0.2};
  /// Negatives in training are kept at rate 1 / tau (base/undersampling.h). 1 to 1e9; 1 keeps all.
  double tau = 1;
  std::uint64_t seed = 0;
};

/// Throws InvalidInput naming field, value and range.
void validate(const SplitOptions& options);

/// "0.6,0.2,0.2", or two numbers for no test part. Throws InvalidInput.
[[nodiscard]] std::array<double, 3> parse_fractions(std::string_view text);

/// Random parts of rows first_row .. first_row + num_rows - 1 of a table.
///
/// The part of a row is a function of (seed, row) alone: a table may be split in batches of any size, in any order and
/// by any number of threads. Shares hold in expectation; a part with share 0 gets no row. O(num_rows).
[[nodiscard]] std::vector<Part> split_rows(std::uint64_t first_row, std::size_t num_rows, const SplitOptions& options);

/// Parts by time: training is before `holdout_from`, hold-out from there to before `test_from`, test the rest.
struct TimeCuts {
  double holdout_from = 0;
  double test_from = 0;

  [[nodiscard]] Part part(double time) const {
    return time < holdout_from ? Part::kTrain : time < test_from ? Part::kHoldout : Part::kTest;
  }
};

/// Cuts so that the earliest rows are for training and the latest for test, at the shares of `fractions`.
///
/// time: one value per row of the whole table, finite. Rows of one time are never in two parts: a cut lies between two
/// different times, at the one nearest to the share (the earlier one of two). A part whose share is above 0 but that
/// would get no row, because there are too few different times: InvalidInput. A part with share 0 gets no row.
/// O(n log n) time, one copy of `time`.
[[nodiscard]] TimeCuts time_cuts(std::span<const double> time, const SplitOptions& options);

/// The parts of all rows of a table by time_cuts.
[[nodiscard]] std::vector<Part> split_by_time(std::span<const double> time, const SplitOptions& options);

}  // namespace limen::train
