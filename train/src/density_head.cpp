// SPDX-License-Identifier: MIT
#include "density_head.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace limen::train {
namespace {

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

// softplus underflows far below 0; a flow needs alpha and u above 0.
constexpr double kSmallest = 1e-12;

/// Posterior Network (Charpentier et al. 2020): a density for each class, alpha_c = prior_c + N_c p(z | c).
class PosteriorHead final : public DensityHead {
 public:
  PosteriorHead(const HeadOptions& options, std::array<double, 2> class_counts, std::uint64_t seed)
      : flows_(options, 2, seed, parameters) {
    view_.regularizer = options.regularizer;
    for (std::size_t c = 0; c < 2; ++c) {
      view_.prior[c] = options.prior[c];
      view_.log_count[c] = std::log(std::max(class_counts[c], 1e-300));
    }
    prepare();
  }

  void prepare() override {
    flows_.prepare(parameters);
    view_.flow = flows_.view();
  }
  std::size_t scratch_size() const override { return kernels().posterior_scratch(view_.flow); }
  double loss(const float* latent, const std::uint8_t* label, std::size_t rows, double weight, bool likelihood,
              std::span<double> gradient, float* latent_gradient, double* scratch) const override {
    PosteriorGradient parts = flows_.gradient_of(gradient);
    parts.latent = latent_gradient;
    return kernels().posterior_loss(view_, latent, label, rows, weight, likelihood, parts, scratch);
  }
  void predict(const float* latent, std::size_t rows, const PosteriorRows& out, double* scratch) const override {
    kernels().posterior_predict(view_, latent, rows, out, nullptr, scratch);
  }
  std::vector<float> weight_gradient(std::span<const double> gradient) const override {
    std::vector<float> result(gradient.size());
    flows_.to_weights(gradient, parameters, result);
    return result;
  }

 private:
  FlowWeights flows_;
  PosteriorView view_ = {};
};

/// Natural Posterior Network (Charpentier et al. 2022): one density, and a linear layer for the probability.
class NaturalHead final : public DensityHead {
 public:
  NaturalHead(const HeadOptions& options, std::uint64_t seed)
      : flows_(options, 1, seed, parameters), weight_(static_cast<std::size_t>(options.latent)) {
    const double bound = 1 / std::sqrt(static_cast<double>(options.latent));
    at_weight_ = parameters.add("logit.weight", {options.latent}, false);
    at_bias_ = parameters.add("logit.bias", {1}, false);
    set_uniform(parameters, at_weight_, bound, seed);
    view_.regularizer = options.regularizer;
    view_.log_budget = log_budget(options.budget, options.latent);
    for (std::size_t c = 0; c < 2; ++c) view_.prior[c] = options.prior[c];
    prepare();
  }

  void prepare() override {
    flows_.prepare(parameters);
    view_.flow = flows_.view();
    for (std::size_t d = 0; d < weight_.size(); ++d) {
      weight_[d] = static_cast<double>(parameters.value[at_weight_ + d]);
    }
    view_.weight = weight_.data();
    view_.bias = static_cast<double>(parameters.value[at_bias_]);
  }
  std::size_t scratch_size() const override { return kernels().posterior_scratch(view_.flow); }
  double loss(const float* latent, const std::uint8_t* label, std::size_t rows, double weight, bool likelihood,
              std::span<double> gradient, float* latent_gradient, double* scratch) const override {
    PosteriorGradient parts = flows_.gradient_of(gradient);
    parts.latent = latent_gradient;
    parts.weight = &gradient[at_weight_];
    parts.bias = &gradient[at_bias_];
    return kernels().natural_loss(view_, latent, label, rows, weight, likelihood, parts, scratch);
  }
  void predict(const float* latent, std::size_t rows, const PosteriorRows& out, double* scratch) const override {
    kernels().natural_predict(view_, latent, rows, out, nullptr, scratch);
  }
  std::vector<float> weight_gradient(std::span<const double> gradient) const override {
    std::vector<float> result(gradient.begin(), gradient.end());
    flows_.to_weights(gradient, parameters, result);
    return result;
  }

 private:
  FlowWeights flows_;
  NaturalView view_ = {};
  std::vector<double> weight_;
  std::size_t at_weight_ = 0;
  std::size_t at_bias_ = 0;
};

}  // namespace

double log_budget(Budget budget, int latent) {
  switch (budget) {
    case Budget::kConstant:
      return 0;
    case Budget::kExpHalf:
      return 0.5 * latent;
    case Budget::kExp:
      return latent;
    case Budget::kNormal:
      break;
  }
  return 0.5 * std::log(4 * std::numbers::pi) * latent;
}

std::unique_ptr<DensityHead> make_density_head(const HeadOptions& options, std::array<double, 2> class_counts,
                                               std::uint64_t seed) {
  if (options.kind == Head::kNatpn) return std::make_unique<NaturalHead>(options, ~seed);
  return std::make_unique<PosteriorHead>(options, class_counts, ~seed);
}

FlowWeights::FlowWeights(const HeadOptions& options, int classes, std::uint64_t seed, Parameters& parameters) {
  at_center_ = parameters.add("flow.center", {classes, options.flows, options.latent}, false);
  at_a_ = parameters.add("flow.a", {classes, options.flows}, false);
  at_b_ = parameters.add("flow.b", {classes, options.flows}, false);
  const double bound = 1 / std::sqrt(static_cast<double>(options.latent));
  for (const std::size_t offset : {at_center_, at_a_, at_b_}) set_uniform(parameters, offset, bound, seed);
  const auto flows = static_cast<std::size_t>(classes) * static_cast<std::size_t>(options.flows);
  center_.resize(flows * static_cast<std::size_t>(options.latent));
  alpha_.resize(flows);
  u_.resize(flows);
  view_.latent = options.latent;
  view_.flows = options.flows;
}

void FlowWeights::prepare(const Parameters& parameters) {
  for (std::size_t at = 0; at < center_.size(); ++at) {
    center_[at] = static_cast<double>(parameters.value[at_center_ + at]);
  }
  for (std::size_t at = 0; at < alpha_.size(); ++at) {
    alpha_[at] = std::max(softplus(static_cast<double>(parameters.value[at_a_ + at])), kSmallest);
    u_[at] = std::max(softplus(static_cast<double>(parameters.value[at_b_ + at])), kSmallest);
  }
}

FlowView FlowWeights::view() const {
  FlowView view = view_;
  view.center = center_.data();
  view.alpha = alpha_.data();
  view.u = u_.data();
  return view;
}

PosteriorGradient FlowWeights::gradient_of(std::span<double> numbers) const {
  return {.center = &numbers[at_center_], .alpha = &numbers[at_a_], .u = &numbers[at_b_]};
}

void FlowWeights::to_weights(std::span<const double> numbers, const Parameters& parameters,
                             std::span<float> gradient) const {
  for (std::size_t at = at_center_; at < at_center_ + center_.size(); ++at) {
    gradient[at] = static_cast<float>(numbers[at]);
  }
  for (const std::size_t offset : {at_a_, at_b_}) {
    for (std::size_t at = offset; at < offset + alpha_.size(); ++at) {
      gradient[at] = static_cast<float>(numbers[at] * sigmoid(static_cast<double>(parameters.value[at])));
    }
  }
}

}  // namespace limen::train
