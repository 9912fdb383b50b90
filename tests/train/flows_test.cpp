// SPDX-License-Identifier: MIT
// The hand-written flows and loss against the same formulas in plain torch with autograd.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "kernels.h"
#include "latent_norm.h"
#include "limen/base/random.h"

namespace {

using limen::CounterRandom;
using limen::train::Kernels;
using limen::train::PosteriorView;

struct Flows {
  int latent = 0;
  int flows = 0;
  std::vector<double> center = {};
  std::vector<double> alpha = {};
  std::vector<double> u = {};

  Flows(int width, int count, std::uint64_t seed) : latent(width), flows(count) {
    CounterRandom random(seed, 0);
    for (int at = 0; at < 2 * count * width; ++at) center.push_back(random.normal());
    for (int at = 0; at < 2 * count; ++at) {
      alpha.push_back(0.1 + 2 * random.uniform());
      u.push_back(0.1 + 4 * random.uniform());
    }
  }
  [[nodiscard]] PosteriorView view(double regularizer = 0.1) const {
    return {
        {latent, flows, center.data(), alpha.data(), u.data()}, {1, 0.5}, {std::log(300.), std::log(40.)}, regularizer};
  }
};

std::vector<float> latents(std::size_t size, std::uint64_t seed) {
  CounterRandom random(seed, 1);
  std::vector<float> values;
  for (std::size_t at = 0; at < size; ++at) values.push_back(static_cast<float>(random.normal()));
  return values;
}

at::Tensor tensor(const std::vector<double>& values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<double*>(values.data()), shape, at::kDouble).clone().requires_grad_(true);
}

at::Tensor latent_tensor(const std::vector<float>& values, std::int64_t width) {
  const auto rows = static_cast<std::int64_t>(values.size()) / width;
  return at::from_blob(const_cast<float*>(values.data()), {rows, width}, at::kFloat)
      .to(at::kDouble)
      .requires_grad_(true);
}

struct Reference {
  at::Tensor center, alpha, u;

  explicit Reference(const Flows& f)
      : center(tensor(f.center, {2, f.flows, f.latent})),
        alpha(tensor(f.alpha, {2, f.flows})),
        u(tensor(f.u, {2, f.flows})) {}

  [[nodiscard]] at::Tensor map(const at::Tensor& z, int c, int k) const {
    const at::Tensor difference = z - center[c][k];
    const at::Tensor r = (difference.square().sum(1, true) + 1e-12).sqrt();
    return z + (u[c][k] - alpha[c][k]) / (alpha[c][k] + r) * difference;
  }
  // ln p(z | c) with the determinants as products of eigenvalues.
  [[nodiscard]] at::Tensor log_density(at::Tensor z, int c) const {
    at::Tensor total = at::zeros({z.size(0)}, at::kDouble);
    for (int k = 0; k < center.size(1); ++k) {
      const at::Tensor square = (z - center[c][k]).square().sum(1);
      const at::Tensor r = (square + 1e-12).sqrt();
      const at::Tensor h = 1 / (alpha[c][k] + r);
      const at::Tensor beta = u[c][k] - alpha[c][k];
      total = total + static_cast<double>(z.size(1) - 1) * (1 + beta * h).log() +
              (1 + beta * h - beta * h * h * square / r).log();
      z = map(z, c, k);
    }
    return total - 0.5 * z.square().sum(1) - 0.5 * static_cast<double>(z.size(1)) * std::log(2 * std::numbers::pi);
  }
};

std::vector<double> log_densities(const Kernels& kernels, const Flows& flows, const std::vector<float>& latent) {
  const std::size_t rows = latent.size() / static_cast<std::size_t>(flows.latent);
  std::vector<double> out(5 * rows);
  std::vector<double> density(2 * rows);
  std::vector<double> scratch(kernels.posterior_scratch(flows.view().flow));
  kernels.posterior_predict(flows.view(), latent.data(), rows,
                            {&out[0], &out[rows], &out[2 * rows], &out[3 * rows], &out[4 * rows]}, density.data(),
                            scratch.data());
  return density;
}

struct Gradients {
  double loss = 0;
  std::vector<float> latent = {};
  std::vector<double> center = {};
  std::vector<double> alpha = {};
  std::vector<double> u = {};
};

Gradients loss_of(const Kernels& kernels, const Flows& flows, const PosteriorView& view,
                  const std::vector<float>& latent, const std::vector<std::uint8_t>& label, bool likelihood) {
  Gradients g = {0, std::vector<float>(latent.size()), std::vector<double>(flows.center.size()),
                 std::vector<double>(flows.alpha.size()), std::vector<double>(flows.u.size())};
  std::vector<double> scratch(kernels.posterior_scratch(view.flow));
  g.loss = kernels.posterior_loss(view, latent.data(), label.data(), label.size(), 1.0, likelihood,
                                  {g.latent.data(), g.center.data(), g.alpha.data(), g.u.data()}, scratch.data());
  return g;
}

std::vector<std::uint8_t> labels(std::size_t rows) {
  std::vector<std::uint8_t> label;
  for (std::size_t row = 0; row < rows; ++row) label.push_back(row % 3 == 0 ? 1 : 0);
  return label;
}

void expect_near(const at::Tensor& expected, const double* got, double tolerance, const char* what) {
  const at::Tensor flat = expected.contiguous().flatten();
  for (std::int64_t at = 0; at < flat.numel(); ++at) {
    const double value = flat[at].item<double>();
    EXPECT_NEAR(got[at], value, tolerance * std::max(1.0, std::abs(value))) << what << " " << at;
  }
}

class EveryKernel : public testing::TestWithParam<bool> {
 protected:
  const Kernels& kernels = GetParam() ? limen::train::kernels() : limen::train::plain_kernels();
};
INSTANTIATE_TEST_SUITE_P(, EveryKernel, testing::Bool(),
                         [](const auto& param) { return param.param ? "best" : "plain"; });

TEST_P(EveryKernel, LogDeterminantIsThatOfTheJacobian) {
  for (const int width : {1, 2, 3, 5}) {
    const Flows flows(width, 1, static_cast<std::uint64_t>(width));
    const Reference reference(flows);
    const std::vector<float> latent = latents(static_cast<std::size_t>(7 * width), 3);
    const std::vector<double> density = log_densities(kernels, flows, latent);
    for (int c = 0; c < 2; ++c) {
      const at::Tensor z = latent_tensor(latent, width);
      const at::Tensor mapped = reference.map(z, c, 0);
      for (std::int64_t row = 0; row < z.size(0); ++row) {
        std::vector<at::Tensor> jacobian;
        for (int d = 0; d < width; ++d) {
          jacobian.push_back(torch::autograd::grad({mapped[row][d]}, {z}, {}, true)[0][row]);
        }
        const double log_det = at::stack(jacobian).det().abs().log().item<double>();
        const double base =
            (-0.5 * mapped[row].square().sum()).item<double>() - 0.5 * width * std::log(2 * std::numbers::pi);
        EXPECT_NEAR(density[static_cast<std::size_t>(2 * row + c)] - base, log_det, 1e-11) << width << " " << row;
      }
    }
  }
}

TEST_P(EveryKernel, DensitiesIntegrateToOne) {
  const Flows line(1, 4, 5);
  const Flows plane(2, 4, 6);
  // Wide enough for the normal tails that the flows move by at most a few units; midpoints.
  const double from = -14;
  const double to = 14;
  std::vector<float> latent;
  const int fine = 20000;
  for (int at = 0; at < fine; ++at) latent.push_back(static_cast<float>(from + (to - from) * (at + 0.5) / fine));
  const int coarse = 700;
  std::vector<float> pairs;
  for (int x = 0; x < coarse; ++x) {
    for (int y = 0; y < coarse; ++y) {
      pairs.push_back(static_cast<float>(from + (to - from) * (x + 0.5) / coarse));
      pairs.push_back(static_cast<float>(from + (to - from) * (y + 0.5) / coarse));
    }
  }
  const std::vector<double> on_line = log_densities(kernels, line, latent);
  const std::vector<double> on_plane = log_densities(kernels, plane, pairs);
  for (std::size_t c = 0; c < 2; ++c) {
    double sum = 0;
    for (std::size_t at = c; at < on_line.size(); at += 2) sum += std::exp(on_line[at]) * (to - from) / fine;
    EXPECT_NEAR(sum, 1, 1e-5);
    sum = 0;
    const double area = (to - from) / coarse * (to - from) / coarse;
    for (std::size_t at = c; at < on_plane.size(); at += 2) sum += std::exp(on_plane[at]) * area;
    // A centre with u < alpha is a kink of the density: the midpoint rule is of low order there.
    EXPECT_NEAR(sum, 1, 2e-3);
  }
}

TEST_P(EveryKernel, LossAndGradientsAgreeWithAutograd) {
  for (const bool likelihood : {false, true}) {
    // 13 rows: three full blocks of lanes and one row; 9 flows: more than go into one logarithm.
    const Flows flows(8, 9, 11);
    const PosteriorView view = flows.view(0.3);
    const std::vector<float> latent = latents(13 * 8, 12);
    const std::vector<std::uint8_t> label = labels(13);
    const Gradients got = loss_of(kernels, flows, view, latent, label, likelihood);

    const Reference reference(flows);
    const at::Tensor z = latent_tensor(latent, 8);
    at::Tensor loss = at::zeros({}, at::kDouble);
    const at::Tensor density[2] = {reference.log_density(z, 0), reference.log_density(z, 1)};
    if (likelihood) {
      for (std::size_t row = 0; row < label.size(); ++row)
        loss = loss - density[label[row]][static_cast<std::int64_t>(row)];
    } else {
      const at::Tensor a0 = view.prior[0] + (density[0] + view.log_count[0]).exp();
      const at::Tensor a1 = view.prior[1] + (density[1] + view.log_count[1]).exp();
      const at::Tensor s = a0 + a1;
      const at::Tensor entropy = a0.lgamma() + a1.lgamma() - s.lgamma() - (a0 - 1) * a0.digamma() -
                                 (a1 - 1) * a1.digamma() + (s - 2) * s.digamma();
      for (std::size_t row = 0; row < label.size(); ++row) {
        const auto at = static_cast<std::int64_t>(row);
        loss = loss + s[at].digamma() - (label[row] != 0 ? a1 : a0)[at].digamma() - view.regularizer * entropy[at];
      }
    }
    EXPECT_NEAR(got.loss, loss.item<double>(), 1e-10 * std::abs(got.loss));
    const auto expected = torch::autograd::grad({loss}, {z, reference.center, reference.alpha, reference.u});
    const std::vector<double> latent_gradient(got.latent.begin(), got.latent.end());
    expect_near(expected[0], latent_gradient.data(), 1e-6, "latent");  // handed over in single precision
    expect_near(expected[1], got.center.data(), 1e-9, "center");
    expect_near(expected[2], got.alpha.data(), 1e-9, "alpha");
    expect_near(expected[3], got.u.data(), 1e-9, "u");
  }
}

TEST_P(EveryKernel, GradientsAgreeWithFiniteDifferences) {
  Flows flows(3, 4, 21);
  const std::vector<float> latent = latents(6 * 3, 22);
  const std::vector<std::uint8_t> label = labels(6);
  const Gradients got = loss_of(kernels, flows, flows.view(), latent, label, false);
  constexpr double kStep = 1e-6;
  const auto check = [&](std::vector<double>& values, const std::vector<double>& gradient) {
    for (std::size_t at = 0; at < values.size(); ++at) {
      const double kept = values[at];
      values[at] = kept + kStep;
      const double above = loss_of(kernels, flows, flows.view(), latent, label, false).loss;
      values[at] = kept - kStep;
      const double below = loss_of(kernels, flows, flows.view(), latent, label, false).loss;
      values[at] = kept;
      // The loss is of the order of 10: its rounding over the step gives 1e-9, the third derivative 1e-12.
      EXPECT_NEAR(gradient[at], (above - below) / (2 * kStep), 1e-7 * std::max(1.0, std::abs(gradient[at]))) << at;
    }
  };
  check(flows.center, got.center);
  check(flows.alpha, got.alpha);
  check(flows.u, got.u);
}

TEST_P(EveryKernel, GradientAtACenterIsFinite) {
  Flows flows(2, 1, 31);
  flows.center = {0.5, 0.25, -1, 2};
  const Gradients got = loss_of(kernels, flows, flows.view(), {0.5F, 0.25F}, {1}, false);
  EXPECT_TRUE(std::isfinite(got.loss));
  for (const float value : got.latent) EXPECT_TRUE(std::isfinite(value));
  for (const double value : got.alpha) EXPECT_TRUE(std::isfinite(value));
}

TEST_P(EveryKernel, FarFromEverythingThePosteriorIsThePrior) {
  const Flows flows(4, 6, 41);
  const std::vector<float> latent(4, 1000.0F);
  double out[5];
  std::vector<double> scratch(kernels.posterior_scratch(flows.view().flow));
  kernels.posterior_predict(flows.view(), latent.data(), 1, {&out[0], &out[1], &out[2], &out[3], &out[4]}, nullptr,
                            scratch.data());
  EXPECT_DOUBLE_EQ(out[0], 0.5 / 1.5);  // prior (1, 0.5)
  EXPECT_DOUBLE_EQ(out[2], 1.5);
}

TEST_P(EveryKernel, HugeEvidenceStaysFinite) {
  Flows flows(1, 1, 51);
  PosteriorView view = flows.view();
  view.log_count[0] = view.log_count[1] = 1e6;
  double out[5];
  std::vector<double> scratch(kernels.posterior_scratch(view.flow));
  const float latent = 0.1F;
  kernels.posterior_predict(view, &latent, 1, {&out[0], &out[1], &out[2], &out[3], &out[4]}, nullptr, scratch.data());
  for (const double value : out) EXPECT_TRUE(std::isfinite(value));
  EXPECT_TRUE(std::isfinite(loss_of(kernels, flows, view, {latent}, {1}, false).loss));
}

TEST_P(EveryKernel, NaNMakesTheLossNaN) {
  const Flows flows(2, 2, 61);
  std::vector<float> latent = latents(10, 62);
  latent[7] = std::nanf("");
  EXPECT_TRUE(std::isnan(loss_of(kernels, flows, flows.view(), latent, labels(5), false).loss));
  EXPECT_TRUE(std::isnan(loss_of(kernels, flows, flows.view(), latent, labels(5), true).loss));
}

TEST_P(EveryKernel, NaturalLossAndGradientsAgreeWithAutograd) {
  for (const bool likelihood : {false, true}) {
    const Flows flows(8, 9, 81);
    const std::vector<double> weight = {0.5, -1, 0.25, 2, -0.75, 0.1, 0, 1};
    const limen::train::NaturalView view = {flows.view().flow, {1, 0.5}, std::log(300.), 0.3, weight.data(), -0.4};
    const std::vector<float> latent = latents(13 * 8, 82);
    const std::vector<std::uint8_t> label = labels(13);
    Gradients got = {0, std::vector<float>(latent.size()), std::vector<double>(flows.center.size()),
                     std::vector<double>(flows.alpha.size()), std::vector<double>(flows.u.size())};
    std::vector<double> weight_gradient(8);
    double bias_gradient = 0;
    std::vector<double> scratch(kernels.posterior_scratch(view.flow));
    got.loss = kernels.natural_loss(
        view, latent.data(), label.data(), label.size(), 1.0, likelihood,
        {got.latent.data(), got.center.data(), got.alpha.data(), got.u.data(), weight_gradient.data(), &bias_gradient},
        scratch.data());

    const Reference reference(flows);
    const at::Tensor z = latent_tensor(latent, 8);
    const at::Tensor w = tensor(weight, {8});
    const at::Tensor bias = tensor({view.bias}, {1});
    const at::Tensor density = reference.log_density(z, 0);
    const at::Tensor p = at::sigmoid(at::matmul(z, w) + bias);
    const at::Tensor n = (density + view.log_budget).exp();
    at::Tensor loss = -density.sum();
    if (!likelihood) {
      const at::Tensor a0 = view.prior[0] + n * (1 - p);
      const at::Tensor a1 = view.prior[1] + n * p;
      const at::Tensor s = a0 + a1;
      const at::Tensor entropy = a0.lgamma() + a1.lgamma() - s.lgamma() - (a0 - 1) * a0.digamma() -
                                 (a1 - 1) * a1.digamma() + (s - 2) * s.digamma();
      loss = (s.digamma() - view.regularizer * entropy).sum();
      for (std::size_t row = 0; row < label.size(); ++row) {
        loss = loss - (label[row] != 0 ? a1 : a0)[static_cast<std::int64_t>(row)].digamma();
      }
    } else {
      loss = loss + 0 * (w.sum() + bias.sum());
    }
    EXPECT_NEAR(got.loss, loss.item<double>(), 1e-10 * std::abs(got.loss));
    const auto expected = torch::autograd::grad({loss}, {z, reference.center, reference.alpha, reference.u, w, bias});
    const std::vector<double> latent_gradient(got.latent.begin(), got.latent.end());
    expect_near(expected[0], latent_gradient.data(), 1e-6, "latent");
    expect_near(expected[1], got.center.data(), 1e-9, "center");
    expect_near(expected[2], got.alpha.data(), 1e-9, "alpha");
    expect_near(expected[3], got.u.data(), 1e-9, "u");
    expect_near(expected[4], weight_gradient.data(), 1e-9, "weight");
    expect_near(expected[5], &bias_gradient, 1e-9, "bias");

    std::vector<double> out(5 * 13);
    kernels.natural_predict(view, latent.data(), 13, {&out[0], &out[13], &out[26], &out[39], &out[52]}, nullptr,
                            scratch.data());
    expect_near(p, &out[0], 1e-12, "score");
    expect_near(1.5 + n, &out[26], 1e-10, "evidence");
  }
}

TEST_P(EveryKernel, EvidenceThatIsCutStillHasADerivative) {
  // Evidence far above the cut, for a row of the other class: with no derivative there it would never come back.
  Flows flows(2, 1, 91);
  PosteriorView view = flows.view(0);
  view.log_count[0] = 1000;
  const Gradients got = loss_of(kernels, flows, view, {0.5F, 0.25F}, {1}, false);
  EXPECT_GT(std::abs(got.latent[0]) + std::abs(got.latent[1]), 1e-3F);
}

TEST(LatentNorm, AgreesWithAutograd) {
  std::vector<float> rows = latents(15 * 3, 71);
  const at::Tensor z = latent_tensor(rows, 3);
  const at::Tensor scale = tensor({1.5, 0.5, -2}, {3});
  const at::Tensor shift = tensor({0.25, -1, 3}, {3});
  const at::Tensor centred = z - z.mean(0);
  const at::Tensor normal = centred / (centred.square().mean(0) + limen::train::LatentNorm::kEpsilon).sqrt();
  const at::Tensor out = scale * normal + shift;
  std::vector<float> gradient = latents(15 * 3, 72);
  const auto expected = torch::autograd::grad({out}, {z, scale, shift}, {latent_tensor(gradient, 3).detach()});
  limen::train::LatentNorm norm(3);
  const std::vector<float> weights = {0.5F, -0.5F, -3, 0.25F, -1, 3};  // scale less 1, shift
  std::copy(weights.begin(), weights.end(), norm.parameters.value.begin());
  norm.forward(rows);
  expect_near(out, std::vector<double>(rows.begin(), rows.end()).data(), 1e-5, "rows");
  std::vector<float> weight_gradient(6, 0.0F);
  norm.backward(gradient, weight_gradient);
  const std::vector<double> got(gradient.begin(), gradient.end());
  const std::vector<double> got_weights(weight_gradient.begin(), weight_gradient.end());
  expect_near(expected[0], got.data(), 1e-5, "norm");
  expect_near(expected[1], got_weights.data(), 1e-5, "scale");
  expect_near(expected[2], got_weights.data() + 3, 1e-5, "shift");
}

}  // namespace
