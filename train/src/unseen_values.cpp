// SPDX-License-Identifier: MIT
#include "unseen_values.h"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <cmath>

#include "learnt_evidence.h"
#include "limen/uncertainty/beta.h"

namespace limen::train::detail {

std::vector<double> unseen_rows(const FeatureShape& shape, const FeatureRows& training) {
  std::vector<double> rows(shape.num_categorical(), 0.0);
  const CodeRows codes = evidence_codes(shape, training, RowsOf::kOthers);
  for (std::size_t at = 0; at < codes.codes.size(); ++at) {
    if (codes.codes[at] == CodeRows::kUnseen) rows[at % rows.size()] += 1;
  }
  return rows;
}

std::vector<double> unseen_log_odds(const FeatureShape& shape, const FeatureRows& rows,
                                    const std::vector<double>& unseen_rows, double training_rows) {
  std::vector<double> sums(rows.num_rows, 0.0);
  const std::size_t features = shape.num_categorical();
  if (features == 0) return sums;
  const CodeRows codes = evidence_codes(shape, rows, RowsOf::kOthers);
  for (std::size_t at = 0; at < codes.codes.size(); ++at) {
    if (codes.codes[at] != CodeRows::kUnseen) continue;
    const double unseen = unseen_rows[at % features];
    sums[at / features] += std::min(0.0, std::log((unseen + 1) / (std::max(0.0, training_rows - unseen) + 1)));
  }
  return sums;
}

void lower_evidence(const HeadOptions& head, const std::vector<double>& log_odds, NetworkOutput& output) {
  using boost::math::digamma;
  const auto [prior0, prior1] = head.prior;
  for (std::size_t row = 0; row < log_odds.size(); ++row) {
    if (log_odds[row] == 0) continue;
    const double factor = std::exp(log_odds[row]);
    const double p = output.score[row];
    const double before = output.evidence[row];
    // The rows of each class; postnet's score has the prior in it, that of natpn has not.
    const bool natural = head.kind == Head::kNatpn;
    const double found1 = std::max(0.0, natural ? p * (before - prior0 - prior1) : p * before - prior1);
    const double found0 = std::max(0.0, natural ? (1 - p) * (before - prior0 - prior1) : (1 - p) * before - prior0);
    const double alpha1 = prior1 + factor * found1;
    const double alpha0 = prior0 + factor * found0;
    const double sum = alpha1 + alpha0;
    const double mean = alpha1 / sum;
    output.evidence[row] = std::min(sum, before);
    output.entropy[row] = beta_entropy(alpha1, alpha0);
    output.variance[row] = mean * (1 - mean) / (sum + 1);
    const double label = -mean * std::log(mean) - (1 - mean) * std::log1p(-mean);
    const double expected = digamma(sum + 1) - mean * digamma(alpha1 + 1) - (1 - mean) * digamma(alpha0 + 1);
    output.mutual_information[row] = std::max(0.0, label - expected);
  }
}

}  // namespace limen::train::detail
