// SPDX-License-Identifier: MIT
// What `fit` says about certified boundaries.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limen/fit.h"
#include "limen/promise/certify.h"
#include "options.h"

namespace limen::cli {

struct CertifyFlags {
  std::vector<std::string> confidence;  ///< as it was written; empty: not given
  std::uint64_t seed = 0;
};
/// --confidence, --seed, --group.
void add_certify_flags(CLI::App& verb, CertifyFlags& flags, TableFlags& table);
/// Unset without --confidence; method and levels are left to the caller.
[[nodiscard]] std::optional<CertifyOptions> make_certify_options(const CertifyFlags& flags);

/// "certified with 95% confidence: ...".
[[nodiscard]] std::string guarantee_text(const Boundary& boundary);
/// What the best single threshold reaches on the hold-out, which nothing is promised of.
[[nodiscard]] std::string given_up_text(const Boundary& boundary, const FitResult& single);
/// Prints why nothing could be certified, and what would help. The exit code.
int report_not_certifiable(const std::string& name, bool json, const Objective& objective,
                           const CertifyOptions& options, const Certification& found);

/// Whether the test rows are consistent with the guarantee: a sentence, and the p-value of "the bound is kept".
struct GuaranteeCheck {
  double p_value = 1;
  std::string text;
};
[[nodiscard]] GuaranteeCheck check_guarantee(const Boundary& boundary, const Confusion& test);

}  // namespace limen::cli
