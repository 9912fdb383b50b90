// SPDX-License-Identifier: MIT
#include "uncertainty/law_checks.h"

#include <string>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::detail {

void check_columns(const char* function, const CodeRows& rows, const char* name, std::size_t num_columns) {
  if (rows.num_columns != num_columns) {
    throw InvalidInput(function, std::string(name) + " has " + std::to_string(rows.num_columns) +
                                     " columns, must have " + std::to_string(num_columns));
  }
  if (num_columns > 0 && rows.codes.size() % num_columns != 0) {
    throw InvalidInput(function, std::string(name) + " has " + std::to_string(rows.codes.size()) +
                                     " codes, must be a multiple of its " + std::to_string(num_columns) + " columns");
  }
}

void check_scores(const char* function, std::span<const double> score, std::size_t num_rows) {
  if (score.size() != num_rows) {
    throw InvalidInput(function,
                       "score has " + std::to_string(score.size()) + " rows, must have " + std::to_string(num_rows));
  }
  for (std::size_t row = 0; row < score.size(); ++row) {
    if (score[row] >= 0 && score[row] <= 1) continue;
    throw InvalidInput(function,
                       "score[" + std::to_string(row) + "] is " + number_text(score[row]) + ", must be from 0 to 1");
  }
}

}  // namespace limen::detail
