// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "limen/count/batches.h"
#include "limen/count/counted_rows.h"
#include "limen/count/samples.h"
#include "limen/promise/certification.h"
#include "limen/solve/objective.h"

namespace limen {

/// Throws InvalidInput that names field, value and range.
void validate(const CertifyOptions& options);

/// Of so many rows, the share that learns what two columns say, and the smaller one that tells first whether the second
/// column may say anything at all.
[[nodiscard]] double learning_share_of(std::uint64_t rows);
[[nodiscard]] double gate_share_of(std::uint64_t rows);

/// A boundary that keeps the bound of the objective's constraint (precision, recall, false-positive rate or flag rate)
/// in deployment, with probability at least `confidence` over the drawing of the hold-out, for any model and any
/// distribution of rows, as long as rows are drawn independently like those of the hold-out.
///
/// One threshold is tested on all rows, because its order needs no learning. For two columns some of the rows learn:
/// `auto` chooses how to use the uncertainty, and the method's nested boundaries are learnt, with the step to begin at
/// and how far to go. The others are tested: along the walk each boundary is tested at level 1 - confidence, by an
/// exact binomial test, until the first one that is not accepted (fixed-sequence testing). The boundary before it is
/// the answer. docs/algorithms/certify.md has the proof.
///
/// group: empty, or an id (a hash) for each row: rows of a group learn together or are tested together, and the test is
/// on groups, of which none in deployment may have more rows (or weight) than the largest of the hold-out. Weights:
/// none in deployment may be larger than the largest of the hold-out. Both make the test one by betting.
///
/// Throws InvalidInput: bad samples or options, no rows, only one class, an objective without a constraint.
[[nodiscard]] Certification certify(const Samples& samples, const Objective& objective,
                                    const CertifyOptions& options = {}, std::span<const std::uint64_t> group = {});

/// The same of rows in batches, bit for bit, and of rows that are counted where they are; no weights. Rows may come in
/// any order: which of them learn is drawn from the counts of cells of score and uncertainty (certify.md). Three to ten
/// passes or questions.
[[nodiscard]] Certification certify(const SampleBatches& batches, const Objective& objective,
                                    const CertifyOptions& options = {});
[[nodiscard]] Certification certify(const CountedRows& rows, const Objective& objective,
                                    const CertifyOptions& options = {});

}  // namespace limen
