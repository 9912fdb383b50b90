// SPDX-License-Identifier: MIT
// From a place z in latent space to a Beta posterior, what it says, and the losses. All in double; gradients by
// autograd. kernels.h has the same formulas, its source the same by hand.
#pragma once

#include <ATen/ATen.h>

#include <array>

#include "limen/train/options.h"
#include "network.h"
#include "plain_encoders.h"

namespace limen::train {

/// ln p(z) under radial flows that end in a standard normal (Rezende & Mohamed 2015). z: rows x D. center: flows x D;
/// a, b: flows; alpha = softplus(a), beta = softplus(b) - alpha, so that every a and b is a flow that can be inverted.
[[nodiscard]] at::Tensor plain_log_density(at::Tensor z, const at::Tensor& center, const at::Tensor& a,
                                           const at::Tensor& b);

/// Beta(alpha_1, alpha_0) of each row, and its score.
struct PlainPosterior {
  std::array<at::Tensor, 2> log_density = {};  ///< of the class; natpn has one for both
  std::array<at::Tensor, 2> alpha = {};        ///< of negatives and positives
  at::Tensor score = {};
};

/// Posterior Network (Charpentier et al. 2020) or Natural Posterior Network (Charpentier et al. 2022), as options.kind
/// says.
[[nodiscard]] PlainPosterior plain_posterior(const HeadOptions& options, std::array<double, 2> class_counts,
                                             const PlainWeights& weights, const at::Tensor& z);

/// Per row, with labels 0 or 1 in double: E_q[cross entropy] - regularizer H(q).
[[nodiscard]] at::Tensor plain_beta_loss(const PlainPosterior& posterior, const at::Tensor& label, double regularizer);
/// Per row: -ln p(z | label), of natpn -ln p(z).
[[nodiscard]] at::Tensor plain_likelihood_loss(const PlainPosterior& posterior, const at::Tensor& label);
/// Per row: cross entropy of a logit.
[[nodiscard]] at::Tensor plain_logit_loss(const at::Tensor& logit, const at::Tensor& label);

/// Batch norm of the latent space with these means and variances.
[[nodiscard]] at::Tensor plain_norm(const at::Tensor& z, const at::Tensor& mean, const at::Tensor& variance,
                                    const PlainWeights& weights);

/// What the rows' Betas say, on the processor.
[[nodiscard]] NetworkOutput plain_output(const PlainPosterior& posterior);
/// What passes with dropout say together: passes x rows probabilities.
[[nodiscard]] NetworkOutput plain_output(const at::Tensor& passes);

}  // namespace limen::train
