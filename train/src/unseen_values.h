// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <vector>

#include "limen/train/feature_rows.h"
#include "limen/train/options.h"
#include "network.h"

namespace limen::train::detail {

/// For every categorical feature the training rows whose value counts as unseen (evidence_codes): those of rare values
/// that share a token.
[[nodiscard]] std::vector<double> unseen_rows(const FeatureShape& shape, const FeatureRows& training);

/// The logarithm of the odds, for each row and summed over its unseen values, that a training row has an unseen value
/// there; 0 for a row of known values. A feature with c of N such training rows: log((c + 1) / (N - c + 1)).
[[nodiscard]] std::vector<double> unseen_log_odds(const FeatureShape& shape, const FeatureRows& rows,
                                                  const std::vector<double>& unseen_rows, double training_rows);

/// Lowers the evidence of postnet and natpn by these odds. The density is then that of the latent space and of which
/// values are unseen: the network alone cannot tell, since it puts values that it never learned about in the midst of
/// those it knows. Entropy, variance and mutual information follow, the score stays.
void lower_evidence(const HeadOptions& head, const std::vector<double>& log_odds, NetworkOutput& output);

}  // namespace limen::train::detail
