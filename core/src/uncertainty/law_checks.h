// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "limen/uncertainty/code_rows.h"

// What fitting a law and using it ask of rows. Throw InvalidInput with the function's name.
namespace limen::detail {

/// name: what messages call the rows.
void check_columns(const char* function, const CodeRows& rows, const char* name, std::size_t num_columns);
/// One in [0, 1] for each row.
void check_scores(const char* function, std::span<const double> score, std::size_t num_rows);

}  // namespace limen::detail
