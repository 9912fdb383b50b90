// SPDX-License-Identifier: MIT
#include "limen/theory/simulate.h"

#include <cmath>
#include <cstddef>

#include "limen/uncertainty/beta.h"
#include "theory/checks.h"
#include "theory/samplers.h"

namespace limen {
namespace {

using detail::Generator;

std::int64_t sample_evidence(Generator& generator, const SimulationOptions& options) {
  const double rows = options.evidence_scale * std::pow(generator.uniform(), -1 / options.evidence_tail);
  const auto limit = static_cast<double>(options.evidence_limit);
  return rows < limit ? static_cast<std::int64_t>(rows) : options.evidence_limit;
}

// Negatives thrown away, one in every draw with probability q = (1 - s)(1 - 1 / tau), until `kept` draws are kept: a
// Poisson count whose mean is Gamma(kept) q / (1 - q). Independent of the labels of the draws kept.
std::int64_t sample_dropped(Generator& generator, std::int64_t kept, double positivity, double tau) {
  if (tau <= 1 || kept == 0) return 0;
  // q / (1 - q), multiplied by tau above and below: 1 - q cancels badly for a large tau.
  const double odds = (1 - positivity) * (tau - 1) / (tau * positivity + (1 - positivity));
  return detail::sample_poisson(generator, detail::sample_gamma(generator, static_cast<double>(kept)) * odds);
}

Region sample_region(Generator& generator, const SimulationOptions& options) {
  Region region;
  const double s = detail::sample_beta(generator, options.prior_positive, options.prior_negative);
  const std::int64_t evidence = sample_evidence(generator, options);
  const double train_positivity = detail::undersampled_positivity(s, options.tau);
  region.true_positivity = s;
  region.train_positives = detail::sample_binomial(generator, evidence, train_positivity);
  region.train_negatives = evidence - region.train_positives;
  region.dropped_negatives = sample_dropped(generator, evidence, s, options.tau);
  const double alpha1 = options.model_prior_positive + static_cast<double>(region.train_positives);
  const double alpha0 = options.model_prior_negative + static_cast<double>(region.train_negatives);
  region.score = alpha1 / (alpha1 + alpha0);
  region.uncertainty = beta_entropy(alpha1, alpha0);
  return region;
}

SimulatedRows sample_rows(Generator& generator, const std::vector<Region>& regions, std::int64_t num_rows) {
  SimulatedRows rows;
  rows.region.reserve(static_cast<std::size_t>(num_rows));
  rows.label.reserve(static_cast<std::size_t>(num_rows));
  const auto num_regions = static_cast<std::uint32_t>(regions.size());
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const std::uint32_t region = generator.below(num_regions);
    rows.region.push_back(static_cast<std::int32_t>(region));
    rows.label.push_back(generator.uniform() < regions[region].true_positivity ? 1 : 0);
  }
  return rows;
}

constexpr const char* kFunction = "simulate";

}  // namespace

void validate(const SimulationOptions& options) {
  detail::check_range(kFunction, "prior_positive", options.prior_positive);
  detail::check_range(kFunction, "prior_negative", options.prior_negative);
  detail::check_range(kFunction, "model_prior_positive", options.model_prior_positive);
  detail::check_range(kFunction, "model_prior_negative", options.model_prior_negative);
  detail::check_range(kFunction, "tau", options.tau);
  if (options.regions < 1 || options.regions > std::int64_t{1} << 31)
    detail::refuse(kFunction, "regions", options.regions, "1 to 2^31");
  detail::check_range(kFunction, "evidence_scale", options.evidence_scale);
  detail::check_range(kFunction, "evidence_tail", options.evidence_tail);
  if (options.evidence_limit < 0 || options.evidence_limit > 1'000'000'000) {
    detail::refuse(kFunction, "evidence_limit", options.evidence_limit, "0 to 1e9");
  }
  if (options.holdout_rows < 0) detail::refuse(kFunction, "holdout_rows", options.holdout_rows, "0 or more");
  if (options.test_rows < 0) detail::refuse(kFunction, "test_rows", options.test_rows, "0 or more");
}

Simulation simulate(const SimulationOptions& options) {
  validate(options);
  Simulation result;
  Generator region_stream(options.seed, 0);
  result.regions.reserve(static_cast<std::size_t>(options.regions));
  for (std::int64_t index = 0; index < options.regions; ++index) {
    result.regions.push_back(sample_region(region_stream, options));
  }
  Generator holdout_stream(options.seed, 1);
  result.holdout = sample_rows(holdout_stream, result.regions, options.holdout_rows);
  Generator test_stream(options.seed, 2);
  result.test = sample_rows(test_stream, result.regions, options.test_rows);
  return result;
}

}  // namespace limen
