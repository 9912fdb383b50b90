// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace limen {

/// Exact binomial tests on whole counts: certification, planning and paired comparisons decide with these.
///
/// Trials: 0 to 2^53. Tails are regularised incomplete beta functions (Boost.Math, extended precision inside). Their
/// relative error, against 50 digits, for counts within six standard deviations of the mean: below 1e-13 up to 10^7
/// trials, 1e-10 up to 10^10, 2e-9 at 10^12 and 2e-4 at 2^53, where a double is too coarse for the probability itself.

/// P(X >= successes), X binomial: the p-value of "the probability is at most this" against a larger one. 1 for
/// successes <= 0, 0 for successes > trials. Never falls with the probability, never rises with `successes`. Throws
/// InvalidInput unless 0 <= trials <= 2^53 and 0 <= probability <= 1.
[[nodiscard]] double binomial_upper_tail(std::int64_t successes, std::int64_t trials, double probability);

/// P(X <= successes): the p-value of "the probability is at least this" against a smaller one. Otherwise as above.
[[nodiscard]] double binomial_lower_tail(std::int64_t successes, std::int64_t trials, double probability);

/// The fewest successes whose upper tail is at most `level`: the test of "at most this probability" rejects from here
/// on. Unset where even all successes do not reject. About ten tails. Throws InvalidInput, also unless 0 < level < 1.
[[nodiscard]] std::optional<std::int64_t> fewest_rejecting(std::int64_t trials, double probability, double level);

/// The most successes whose lower tail is at most `level`: the test of "at least this probability" rejects up to here.
/// Unset where even 0 successes do not reject.
[[nodiscard]] std::optional<std::int64_t> most_rejecting(std::int64_t trials, double probability, double level);

/// One-sided Clopper-Pearson limits: the probability is at least the lower (at most the upper) one with this
/// confidence. Exactly 0 for no success (1 for nothing but successes, also of no trials). Two-sided: intervals.h.
/// Throws InvalidInput unless 0 <= successes <= trials <= 2^53 and 0 < confidence < 1.
[[nodiscard]] double proportion_lower_limit(std::int64_t successes, std::int64_t trials, double confidence);
[[nodiscard]] double proportion_upper_limit(std::int64_t successes, std::int64_t trials, double confidence);

}  // namespace limen
