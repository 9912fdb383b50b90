// SPDX-License-Identifier: MIT
#include "posterior_head.h"

#include <algorithm>
#include <cmath>

#include "limen/base/random.h"

namespace limen::train {
namespace {

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

// softplus underflows far below 0; a flow needs alpha and u above 0.
constexpr double kSmallest = 1e-12;

}  // namespace

PosteriorHead::PosteriorHead(const HeadOptions& options, std::array<double, 2> class_counts, std::uint64_t seed)
    : latent_(static_cast<std::size_t>(options.latent)), flows_(static_cast<std::size_t>(options.flows)) {
  parameters.add("flow.center", {2, options.flows, options.latent}, false);
  a_ = parameters.add("flow.a", {2, options.flows}, false);
  b_ = parameters.add("flow.b", {2, options.flows}, false);
  const double bound = 1 / std::sqrt(static_cast<double>(options.latent));
  for (const std::size_t offset : {std::size_t{0}, a_, b_}) {
    set_uniform(parameters, offset, bound, ~seed);
  }
  center_.resize(2 * flows_ * latent_);
  alpha_.resize(2 * flows_);
  u_.resize(2 * flows_);
  view_.flow.latent = options.latent;
  view_.flow.flows = options.flows;
  view_.regularizer = options.regularizer;
  for (std::size_t c = 0; c < 2; ++c) {
    view_.prior[c] = options.prior[c];
    view_.log_count[c] = std::log(std::max(class_counts[c], 1e-300));
  }
  prepare();
}

void PosteriorHead::prepare() {
  for (std::size_t at = 0; at < center_.size(); ++at) center_[at] = static_cast<double>(parameters.value[at]);
  for (std::size_t at = 0; at < alpha_.size(); ++at) {
    alpha_[at] = std::max(softplus(static_cast<double>(parameters.value[a_ + at])), kSmallest);
    u_[at] = std::max(softplus(static_cast<double>(parameters.value[b_ + at])), kSmallest);
  }
}

PosteriorView PosteriorHead::view() const {
  PosteriorView view = view_;
  view.flow.center = center_.data();
  view.flow.alpha = alpha_.data();
  view.flow.u = u_.data();
  return view;
}

std::size_t PosteriorHead::gradient_size() const { return parameters.value.size(); }

PosteriorGradient PosteriorHead::gradient_of(std::span<double> numbers, float* latent) const {
  return {.latent = latent, .center = numbers.data(), .alpha = numbers.data() + a_, .u = numbers.data() + b_};
}

std::vector<float> PosteriorHead::weight_gradient(std::span<const double> numbers) const {
  std::vector<float> gradient(numbers.begin(), numbers.end());
  for (std::size_t at = a_; at < gradient.size(); ++at) {
    gradient[at] = static_cast<float>(numbers[at] * sigmoid(static_cast<double>(parameters.value[at])));
  }
  return gradient;
}

void LatentNorm::forward(std::span<float> rows) {
  const std::size_t width = mean.size();
  const auto count = static_cast<double>(rows.size() / width);
  batch_mean.assign(width, 0.0);
  batch_variance.assign(width, 0.0);
  for (std::size_t at = 0; at < rows.size(); ++at) batch_mean[at % width] += static_cast<double>(rows[at]);
  for (double& sum : batch_mean) sum /= count;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const double difference = static_cast<double>(rows[at]) - batch_mean[at % width];
    batch_variance[at % width] += difference * difference;
  }
  for (double& sum : batch_variance) sum /= count;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::size_t d = at % width;
    rows[at] =
        static_cast<float>((static_cast<double>(rows[at]) - batch_mean[d]) / std::sqrt(batch_variance[d] + kEpsilon));
  }
}

void LatentNorm::backward(std::span<const float> rows, std::span<float> gradient) const {
  const std::size_t width = mean.size();
  const auto count = static_cast<double>(rows.size() / width);
  std::vector<double> sum(width, 0.0);
  std::vector<double> product(width, 0.0);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    sum[at % width] += static_cast<double>(gradient[at]);
    product[at % width] += static_cast<double>(gradient[at]) * static_cast<double>(rows[at]);
  }
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::size_t d = at % width;
    const double centred =
        static_cast<double>(gradient[at]) - (sum[d] + static_cast<double>(rows[at]) * product[d]) / count;
    gradient[at] = static_cast<float>(centred / std::sqrt(batch_variance[d] + kEpsilon));
  }
}

void LatentNorm::learn(std::size_t num_rows) {
  const double unbiased = num_rows > 1 ? static_cast<double>(num_rows) / static_cast<double>(num_rows - 1) : 1.0;
  for (std::size_t d = 0; d < mean.size(); ++d) {
    mean[d] += static_cast<float>(kMomentum * (batch_mean[d] - static_cast<double>(mean[d])));
    variance[d] += static_cast<float>(kMomentum * (unbiased * batch_variance[d] - static_cast<double>(variance[d])));
  }
}

void LatentNorm::predict(std::span<float> rows) const {
  const std::size_t width = mean.size();
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::size_t d = at % width;
    rows[at] = static_cast<float>((static_cast<double>(rows[at]) - static_cast<double>(mean[d])) /
                                  std::sqrt(static_cast<double>(variance[d]) + kEpsilon));
  }
}

}  // namespace limen::train
