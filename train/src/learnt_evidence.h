// SPDX-License-Identifier: MIT
#pragma once

#include "limen/train/feature_rows.h"
#include "limen/uncertainty/evidence_law.h"

namespace limen::train::detail {

enum class RowsOf { kTraining, kOthers };

/// What a law of evidence sees of rows: the tokens of their categorical features, those of knots too.
///
/// Of other rows than those of training a token 0 of a feature without knots is a value that training did not have, or
/// hardly, and so is a number beyond the last knots: no training row stands behind it.
[[nodiscard]] CodeRows evidence_codes(const FeatureShape& shape, const FeatureRows& rows, RowsOf of);

/// Training rows that stand behind each row by the law.
[[nodiscard]] std::vector<double> learnt_evidence(const EvidenceLaw& law, const CodeRows& rows);

}  // namespace limen::train::detail
