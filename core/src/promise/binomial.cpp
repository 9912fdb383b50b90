// SPDX-License-Identifier: MIT
#include "limen/promise/binomial.h"

#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <string>

#include "limen/base/error.h"
#include "promise/first_count.h"

namespace limen {
namespace {

using detail::first_count;

constexpr std::int64_t kMostTrials = std::int64_t{1} << 53;

void check_trials(const char* function, std::int64_t trials) {
  if (trials < 0 || trials > kMostTrials) {
    throw InvalidInput(function, "trials is " + std::to_string(trials) + ", must be 0 to 2^53");
  }
}

void check_test(const char* function, std::int64_t trials, double probability) {
  check_trials(function, trials);
  if (!(probability >= 0 && probability <= 1)) {
    throw InvalidInput(function, "probability is " + std::to_string(probability) + ", must be 0 to 1");
  }
}

void check_inside(const char* function, const char* name, double value) {
  if (!(value > 0 && value < 1)) {
    throw InvalidInput(function, std::string(name) + " is " + std::to_string(value) + ", must be between 0 and 1");
  }
}

void check_limit(const char* function, std::int64_t successes, std::int64_t trials, double confidence) {
  check_trials(function, trials);
  if (successes < 0 || successes > trials) {
    throw InvalidInput(function, std::to_string(successes) + " successes among " + std::to_string(trials) + " trials");
  }
  check_inside(function, "confidence", confidence);
}

double upper_tail(std::int64_t successes, std::int64_t trials, double probability) {
  if (successes <= 0) return 1;
  if (successes > trials) return 0;
  return boost::math::ibeta(static_cast<double>(successes), static_cast<double>(trials - successes + 1), probability);
}

double lower_tail(std::int64_t successes, std::int64_t trials, double probability) {
  if (successes < 0) return 0;
  if (successes >= trials) return 1;
  return boost::math::ibetac(static_cast<double>(successes + 1), static_cast<double>(trials - successes), probability);
}

/// A count about two standard deviations from the mean.
std::int64_t guess_of(std::int64_t trials, double probability, double deviations) {
  const auto size = static_cast<double>(trials);
  return static_cast<std::int64_t>(size * probability + deviations * std::sqrt(size * probability * (1 - probability)));
}

}  // namespace

double binomial_upper_tail(std::int64_t successes, std::int64_t trials, double probability) {
  check_test("binomial_upper_tail", trials, probability);
  return upper_tail(successes, trials, probability);
}

double binomial_lower_tail(std::int64_t successes, std::int64_t trials, double probability) {
  check_test("binomial_lower_tail", trials, probability);
  return lower_tail(successes, trials, probability);
}

std::optional<std::int64_t> fewest_rejecting(std::int64_t trials, double probability, double level) {
  check_test("fewest_rejecting", trials, probability);
  check_inside("fewest_rejecting", "level", level);
  return first_count(trials, guess_of(trials, probability, 2),
                     [&](std::int64_t successes) { return upper_tail(successes, trials, probability) <= level; });
}

std::optional<std::int64_t> most_rejecting(std::int64_t trials, double probability, double level) {
  check_test("most_rejecting", trials, probability);
  check_inside("most_rejecting", "level", level);
  // Counted in failures, of which many reject.
  const auto failures = first_count(trials, trials - guess_of(trials, probability, -2), [&](std::int64_t failed) {
    return lower_tail(trials - failed, trials, probability) <= level;
  });
  if (!failures) return std::nullopt;
  return trials - *failures;
}

double proportion_lower_limit(std::int64_t successes, std::int64_t trials, double confidence) {
  check_limit("proportion_lower_limit", successes, trials, confidence);
  if (successes == 0) return 0;
  return boost::math::ibeta_inv(static_cast<double>(successes), static_cast<double>(trials - successes + 1),
                                1 - confidence);
}

double proportion_upper_limit(std::int64_t successes, std::int64_t trials, double confidence) {
  check_limit("proportion_upper_limit", successes, trials, confidence);
  if (successes == trials) return 1;
  return boost::math::ibetac_inv(static_cast<double>(successes + 1), static_cast<double>(trials - successes),
                                 1 - confidence);
}

}  // namespace limen
