// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limen/choose/choose.h"
#include "limen/count/batches.h"
#include "limen/count/counted_rows.h"
#include "limen/count/samples.h"
#include "limen/promise/walk.h"
#include "limen/solve/boundary.h"

namespace limen {

struct CertifyOptions {
  double confidence = 0.95;  ///< between 0 and 1, both excluded
  /// `auto`, `st`, `smooth`, `exact` or `joint`. `exact`: the hull chain of its levels, which is nested.
  Method method = Method::kAuto;
  std::optional<int> levels = std::nullopt;  ///< of the last three, 1 to 1000; unset: as many as suit (method.h)
  LevelsFrom levels_from = LevelsFrom::kTop;
  /// `exact` only: the levels lie between these edges, which must not depend on rows that are tested. Unset: the rows
  /// that learn say where they lie.
  std::optional<std::vector<double>> edges = std::nullopt;
  std::uint64_t seed = 0;  ///< of the split into rows that learn and rows that are tested
  /// Of the rows, how many learn; above 0, below 1. Unset: none for `st`, a quarter for the others, less of more than
  /// 40,000 rows.
  std::optional<double> learning_share = std::nullopt;
  /// Rows that are all positive are no mistake, as where they are those of one class among several: for a bound on
  /// precision, one threshold is tested on them like on any others.
  bool allow_all_positive = false;
  /// Threads used, 0 = all cores. The result does not depend on it.
  int num_threads = 0;
};

/// Throws InvalidInput that names field, value and range.
void validate(const CertifyOptions& options);

/// Of so many rows, the share that learns what two columns say, and the smaller one that tells first whether the second
/// column may say anything at all.
[[nodiscard]] double learning_share_of(std::uint64_t rows);
[[nodiscard]] double gate_share_of(std::uint64_t rows);

/// One boundary of the walk, on the rows that were tested.
struct CertifiedStep {
  Counts flagged;  ///< rows, whatever their weights
  /// Of "the bound is not kept". A bound on precision: of steps that are surely accepted only that it is at most 1 - C,
  /// and then this is 1 - C; that of the last accepted step is exact.
  double p_value = 1;
  bool accepted = false;
};

struct Certification {
  /// The last boundary that was accepted, with its guarantee. Unset: nothing could be certified.
  std::optional<Boundary> boundary;
  std::optional<Choice> choice;  ///< of `auto`, on the rows that learn
  Method method = Method::kSt;   ///< of the walk
  Walk walk;
  std::vector<CertifiedStep> steps;     ///< one for each step of the walk
  std::optional<std::size_t> accepted;  ///< step of the boundary
  Counts learning;                      ///< rows that learned
  Counts tested;                        ///< rows that were tested: all of them where nothing had to be learnt
  bool betting = false;                 ///< rows have weights or groups: a betting test, not the binomial one
  /// Where nothing could be certified: the bound that these rows come nearest to certifying, at this confidence. A
  /// hint for another run, no certificate: the rows were looked at. Unset: no row was tested.
  std::optional<double> attainable;
  /// And about how many labelled rows in all would be needed for the bound, with a chance of four in five. Unset: the
  /// figure on these rows is not better than the bound, so that more of them would not help.
  std::optional<std::int64_t> rows_needed;
  /// All rows (of the hold-out) and those that the boundary flags, by level. Empty where nothing was certified.
  struct Level {
    Counts all;
    Counts flagged;
  };
  std::vector<Level> levels;
};

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
