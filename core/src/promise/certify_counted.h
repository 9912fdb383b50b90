// SPDX-License-Identifier: MIT
#pragma once

#include "limen/count/counted_rows.h"
#include "limen/promise/certification.h"
#include "limen/solve/objective.h"

namespace limen::detail {

/// certify() of rows without weights and groups, wherever they are. Objective and options must be valid.
[[nodiscard]] Certification certify_counted(const CountedRows& rows, const Objective& objective,
                                            const CertifyOptions& options);

}  // namespace limen::detail
