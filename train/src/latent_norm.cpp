// SPDX-License-Identifier: MIT
#include "latent_norm.h"

#include <cmath>

namespace limen::train {

LatentNorm::LatentNorm(std::size_t width) : mean(width, 0.0F), variance(width, 1.0F) {
  if (width == 0) return;
  parameters.add("norm.scale", {static_cast<std::int64_t>(width)}, false);
  parameters.add("norm.shift", {static_cast<std::int64_t>(width)}, false);
}

void LatentNorm::forward(std::span<float> rows) {
  const std::size_t width = mean.size();
  const auto count = static_cast<double>(rows.size() / width);
  batch_mean_.assign(width, 0.0);
  batch_variance_.assign(width, 0.0);
  normalized_.resize(rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) batch_mean_[at % width] += static_cast<double>(rows[at]);
  for (double& sum : batch_mean_) sum /= count;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const double difference = static_cast<double>(rows[at]) - batch_mean_[at % width];
    batch_variance_[at % width] += difference * difference;
  }
  for (double& sum : batch_variance_) sum /= count;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::size_t d = at % width;
    const double value = (static_cast<double>(rows[at]) - batch_mean_[d]) / std::sqrt(batch_variance_[d] + kEpsilon);
    normalized_[at] = static_cast<float>(value);
    rows[at] = static_cast<float>(scale(d) * value + shift(d));
  }
}

void LatentNorm::backward(std::span<float> gradient, std::span<float> weight_gradient) const {
  const std::size_t width = mean.size();
  const auto count = static_cast<double>(gradient.size() / width);
  std::vector<double> sum(width, 0.0);
  std::vector<double> product(width, 0.0);
  for (std::size_t at = 0; at < gradient.size(); ++at) {
    sum[at % width] += static_cast<double>(gradient[at]);
    product[at % width] += static_cast<double>(gradient[at]) * static_cast<double>(normalized_[at]);
  }
  for (std::size_t d = 0; d < width; ++d) {
    weight_gradient[d] += static_cast<float>(product[d]);
    weight_gradient[width + d] += static_cast<float>(sum[d]);
  }
  for (std::size_t at = 0; at < gradient.size(); ++at) {
    const std::size_t d = at % width;
    const double centred =
        static_cast<double>(gradient[at]) - (sum[d] + static_cast<double>(normalized_[at]) * product[d]) / count;
    gradient[at] = static_cast<float>(scale(d) * centred / std::sqrt(batch_variance_[d] + kEpsilon));
  }
}

void LatentNorm::learn(std::size_t num_rows) {
  const double unbiased = num_rows > 1 ? static_cast<double>(num_rows) / static_cast<double>(num_rows - 1) : 1.0;
  for (std::size_t d = 0; d < mean.size(); ++d) {
    mean[d] += static_cast<float>(kMomentum * (batch_mean_[d] - static_cast<double>(mean[d])));
    variance[d] += static_cast<float>(kMomentum * (unbiased * batch_variance_[d] - static_cast<double>(variance[d])));
  }
}

void LatentNorm::predict(std::span<float> rows) const {
  const std::size_t width = mean.size();
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::size_t d = at % width;
    const double value = (static_cast<double>(rows[at]) - static_cast<double>(mean[d])) /
                         std::sqrt(static_cast<double>(variance[d]) + kEpsilon);
    rows[at] = static_cast<float>(scale(d) * value + shift(d));
  }
}

}  // namespace limen::train
