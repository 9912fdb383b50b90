// SPDX-License-Identifier: MIT
#pragma once

#include "limen/report/study.h"

namespace limen::report {

/// Who refuses, in messages.
inline constexpr const char* kFunction = "report";

/// What the options say, before anything is computed.
[[nodiscard]] Study head_of(const StudyOptions& options);

[[nodiscard]] Objective with_bound(Objective objective, const Rational& bound);

}  // namespace limen::report
