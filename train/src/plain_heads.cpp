// SPDX-License-Identifier: MIT
#include "plain_heads.h"

#include <cmath>
#include <numbers>

#include "density_head.h"
#include "latent_norm.h"

namespace limen::train {
namespace {

at::Tensor log_one_plus_exp(const at::Tensor& x) {
  return at::softplus(x, 1, 40);
}  // x itself above 40, where double ends

/// Cuts a logarithm so that sums and products of a few of its exponentials stay finite. The derivative stays that at
/// the cut: with none a row beyond it would never come back.
at::Tensor cut(const at::Tensor& x) {
  constexpr double kLargestLog = 600;
  return x + (x.clamp(-kLargestLog, kLargestLog) - x).detach();
}

// Formulas whose terms of the order of x ln x cancel are computed from Stirling's series above this, where the first
// terms that are left out are below 1e-10.
constexpr double kLarge = 1e5;

/// ln Gamma(x) - (x - n) psi(x) + x - 0.5 ln(2 pi) - 0.5.
at::Tensor entropy_term(const at::Tensor& x, double n) {
  const at::Tensor small = x.clamp_max(kLarge);
  const at::Tensor direct =
      small.lgamma() - (small - n) * small.digamma() + small - (0.5 * std::log(2 * std::numbers::pi) + 0.5);
  return at::where(x < kLarge, direct, (n - 0.5) * x.log() + (1. / 6 - 0.5 * n) / x);
}

/// Of Beta(a, b): ln B(a, b) - (a - 1) psi(a) - (b - 1) psi(b) + (a + b - 2) psi(a + b), with what is of the order of
/// a + b put into terms where it cancels.
at::Tensor beta_entropy(const at::Tensor& a, const at::Tensor& b) {
  return entropy_term(a, 1) + entropy_term(b, 1) - entropy_term(a + b, 2) +
         (0.5 * std::log(2 * std::numbers::pi) + 0.5);
}

/// psi(x + 1) - ln x, about 1 / (2 x).
at::Tensor digamma_above_log(const at::Tensor& x) {
  return at::where(x < kLarge, (x + 1).digamma() - x.log(), 1 / (2 * x) - 1 / (12 * x * x));
}

/// Entropy of a coin, in nats.
at::Tensor coin_entropy(const at::Tensor& p) { return -at::xlogy(p, p) - at::xlogy(1 - p, 1 - p); }

std::vector<double> numbers_of(const at::Tensor& x) {
  const at::Tensor host = x.to(at::kCPU, at::kDouble).contiguous();
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}

}  // namespace

at::Tensor plain_log_density(at::Tensor z, const at::Tensor& center, const at::Tensor& a, const at::Tensor& b) {
  constexpr double kRadiusEpsilon = 1e-12;  // keeps the gradient finite at a centre
  constexpr double kSmallest = 1e-12;       // softplus underflows
  const auto width = static_cast<double>(z.size(1));
  at::Tensor log_determinant = at::zeros({z.size(0)}, z.options());
  for (std::int64_t flow = 0; flow < center.size(0); ++flow) {
    const at::Tensor alpha = log_one_plus_exp(a[flow]).clamp_min(kSmallest);
    const at::Tensor beta = log_one_plus_exp(b[flow]).clamp_min(kSmallest) - alpha;
    const at::Tensor difference = z - center[flow];
    const at::Tensor square = difference.square().sum(1);
    const at::Tensor r = (square + kRadiusEpsilon).sqrt();
    const at::Tensor h = 1 / (alpha + r);
    // The eigenvalues of the Jacobian: across the radius, D - 1 times, and along it.
    const at::Tensor across = 1 + beta * h;
    const at::Tensor along = 1 + beta * h - beta * h * h * square / r;
    log_determinant = log_determinant + (width - 1) * across.log() + along.log();
    z = z + (beta * h).unsqueeze(1) * difference;
  }
  return log_determinant - 0.5 * z.square().sum(1) - 0.5 * width * std::log(2 * std::numbers::pi);
}

PlainPosterior plain_posterior(const HeadOptions& options, std::array<double, 2> class_counts,
                               const PlainWeights& weights, const at::Tensor& z) {
  const at::Tensor center = weights.at("flow.center").to(at::kDouble);
  const at::Tensor a = weights.at("flow.a").to(at::kDouble);
  const at::Tensor b = weights.at("flow.b").to(at::kDouble);
  PlainPosterior posterior;
  if (options.kind == Head::kPostnet) {
    // A density for each class: alpha_c = prior_c + N_c p(z | c).
    for (std::size_t c = 0; c < 2; ++c) {
      const auto at = static_cast<std::int64_t>(c);
      const double log_count = std::log(std::max(class_counts[c], 1e-300));
      posterior.log_density[c] = plain_log_density(z, center[at], a[at], b[at]);
      posterior.alpha[c] = options.prior[c] + cut(posterior.log_density[c] + log_count).exp();
    }
    posterior.score = posterior.alpha[1] / (posterior.alpha[0] + posterior.alpha[1]);
    return posterior;
  }
  // One density for the evidence n, and a linear layer for the probability p: alpha_1 = prior_1 + n p.
  const at::Tensor log_density = plain_log_density(z, center[0], a[0], b[0]);
  const at::Tensor evidence = cut(log_density + log_budget(options.budget, options.latent)).exp();
  const at::Tensor logit =
      cut(at::matmul(z, weights.at("logit.weight").to(at::kDouble)) + weights.at("logit.bias").to(at::kDouble));
  posterior.log_density = {log_density, log_density};
  posterior.score = at::sigmoid(logit);
  posterior.alpha = {options.prior[0] + evidence * at::sigmoid(-logit), options.prior[1] + evidence * posterior.score};
  return posterior;
}

at::Tensor plain_beta_loss(const PlainPosterior& posterior, const at::Tensor& label, double regularizer) {
  const auto& [negative, positive] = posterior.alpha;
  const at::Tensor cross_entropy =
      (negative + positive).digamma() - (1 - label) * negative.digamma() - label * positive.digamma();
  return cross_entropy - regularizer * beta_entropy(positive, negative);
}

at::Tensor plain_likelihood_loss(const PlainPosterior& posterior, const at::Tensor& label) {
  return -at::where(label > 0, posterior.log_density[1], posterior.log_density[0]);
}

at::Tensor plain_logit_loss(const at::Tensor& logit, const at::Tensor& label) {
  return log_one_plus_exp(logit) - label * logit;
}

at::Tensor plain_norm(const at::Tensor& z, const at::Tensor& mean, const at::Tensor& variance,
                      const PlainWeights& weights) {
  const at::Tensor scale = 1 + weights.at("norm.scale").to(at::kDouble);
  return (z - mean) / (variance + LatentNorm::kEpsilon).sqrt() * scale + weights.at("norm.shift").to(at::kDouble);
}

NetworkOutput plain_output(const PlainPosterior& posterior) {
  const auto& [negative, positive] = posterior.alpha;
  const at::Tensor both = negative + positive;
  const at::Tensor mean = positive / both;
  const at::Tensor rest = negative / both;
  // H(mean) - E[H(p)] with the logarithms of the parameters put together.
  const at::Tensor mutual =
      mean * digamma_above_log(positive) + rest * digamma_above_log(negative) - digamma_above_log(both);
  return {.score = numbers_of(posterior.score),
          .entropy = numbers_of(beta_entropy(positive, negative)),
          .evidence = numbers_of(both),
          .variance = numbers_of(mean * rest / (both + 1)),
          .mutual_information = numbers_of(mutual.clamp_min(0))};
}

NetworkOutput plain_output(const at::Tensor& passes) {
  const at::Tensor mean = passes.mean(0);
  const at::Tensor entropy = coin_entropy(mean);
  return {.score = numbers_of(mean),
          .entropy = numbers_of(entropy),
          .evidence = {},
          .variance = numbers_of((passes - mean).square().mean(0)),
          .mutual_information = numbers_of((entropy - coin_entropy(passes).mean(0)).clamp_min(0))};
}

}  // namespace limen::train
