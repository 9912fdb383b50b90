// SPDX-License-Identifier: MIT
#include "limen/theory/undersampling_correction.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "limen/base/parallel.h"
#include "theory/checks.h"

namespace limen {
namespace {

constexpr const char* kFunction = "correct_undersampling";

void check_rows(const char* name, RealSpan values, double highest, const char* needed) {
  values.visit([&](auto rows) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto value = static_cast<double>(rows[row]);
      if (!(value >= 0 && value <= highest)) {
        detail::refuse(kFunction, std::string(name) + "[" + std::to_string(row) + "]", value, needed);
      }
    }
  });
}

void check_threads(int num_threads) {
  if (num_threads < 0 || num_threads > 4096) detail::refuse(kFunction, "num_threads", num_threads, "0 to 4096");
}

// Calls function(begin, end) for parts of the rows, on several threads.
template <typename Function>
void for_rows(std::size_t num_rows, std::size_t grain, int num_threads, Function&& function) {
  tbb::task_arena arena(detail::arena_size(num_threads));
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, num_rows, grain),
                      [&](const auto& range) { function(range.begin(), range.end()); });
  });
}

}  // namespace

std::vector<double> correct_undersampling(RealSpan score, double tau, int num_threads) {
  detail::check_range(kFunction, "tau", tau);
  check_threads(num_threads);
  check_rows("score", score, 1, "0 to 1");
  std::vector<double> corrected(score.size());
  score.visit([&](auto rows) {
    for_rows(rows.size(), 1 << 14, num_threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const auto value = static_cast<double>(rows[row]);
        corrected[row] = value / (value + tau * (1 - value));
      }
    });
  });
  return corrected;
}

std::vector<double> correct_undersampling(RealSpan score, RealSpan evidence, const BiasParameters& parameters,
                                          int num_threads) {
  validate(parameters);
  check_threads(num_threads);
  if (evidence.size() != score.size()) {
    throw InvalidInput(Where{.function = kFunction, .field = "evidence"},
                       "has " + std::to_string(evidence.size()) + " rows, score has " + std::to_string(score.size()));
  }
  check_rows("score", score, 1, "0 to 1");
  check_rows("evidence", evidence, 1e12, "0 to 1e12");
  std::vector<double> corrected(score.size());
  for_rows(score.size(), 1 << 8, num_threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const bool as_before = row > begin && score[row] == score[row - 1] && evidence[row] == evidence[row - 1];
      corrected[row] = as_before ? corrected[row - 1]
                                 : expected_positivity(posterior_given_score(score[row], evidence[row], parameters));
    }
  });
  return corrected;
}

}  // namespace limen
