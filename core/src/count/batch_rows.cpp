// SPDX-License-Identifier: MIT
#include "count/batch_rows.h"

#include <tbb/parallel_reduce.h>

#include <bit>

#include "limen/base/error.h"
#include "limen/base/random.h"

namespace limen::detail {
SampleRanges check_and_add(const Samples& samples, BatchFingerprint& fingerprint) {
  const SampleRanges ranges = validate(samples);
  if (!samples.weight.empty()) throw InvalidInput("fit_boundary", "rows in batches cannot have weights");
  struct Sums {
    std::uint64_t positives = 0;
    std::uint64_t hash = 0;
  };
  const Sums sums = samples.score.visit([&](auto score) {
    return samples.uncertainty.visit([&](auto uncertainty) {
      return tbb::parallel_reduce(
          tbb::blocked_range<std::size_t>(0, samples.size(), kBlockRows), Sums{},
          [&](const tbb::blocked_range<std::size_t>& range, Sums part) {
            for (std::size_t row = range.begin(); row < range.end(); ++row) {
              const std::uint64_t score_bits = ordered_key(static_cast<double>(score[row]));
              const std::uint64_t uncertainty_bits = ordered_key(static_cast<double>(uncertainty[row]));
              part.hash += mix(mix(score_bits) ^ std::rotl(uncertainty_bits, 32) ^ samples.label[row]);
              part.positives += samples.label[row];
            }
            return part;
          },
          [](Sums a, Sums b) {
            return Sums{a.positives + b.positives, a.hash + b.hash};
          });
    });
  });
  fingerprint.rows += samples.size();
  fingerprint.positives += sums.positives;
  fingerprint.hash += sums.hash;
  return ranges;
}

void uncertainties_from(const Samples& samples, double score, std::vector<double>& top) {
  top.clear();
  for (std::size_t row = 0; row < samples.size(); ++row) {
    if (samples.score[row] >= score) top.push_back(samples.uncertainty[row]);
  }
}

void require_same_rows(const BatchFingerprint& first, const BatchFingerprint& now) {
  if (first == now) return;
  throw InvalidInput("fit_boundary", "the rows changed from one pass over the batches to the next",
                     Cause::kFileChanged);
}

}  // namespace limen::detail
