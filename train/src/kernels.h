// SPDX-License-Identifier: MIT
// The inner loops, compiled once for the plain instruction set and once for AVX2 with FMA; kernels() picks at run time.
// Plain pointers only: no inline function of a library header may be compiled for two instruction sets under one name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace limen::train {

/// Densities in latent space, of two classes or of one, each a stack of radial flows that ends in a standard normal.
///
/// One flow with centre c, alpha > 0 and beta = u - alpha > -alpha (so that it is invertible) maps
///   z' = c + k (z - c),  k = 1 + beta s = (r + u) s,  s = 1 / (alpha + r),  r = sqrt(|z - c|^2 + eps),
/// and the determinant of its Jacobian is k^(D-1) m with m = 1 + beta s (1 - s |z - c|^2 / r). eps keeps the gradient
/// finite at the centre; with it in r the formula for m is still exact.
/// ln p(z | class) = ln N(z_K; 0, I) + sum of the log determinants. (Rezende & Mohamed 2015.)
struct FlowView {
  int latent = 0;                  ///< D
  int flows = 0;                   ///< K, per class
  const double* center = nullptr;  ///< [2][K][D]
  const double* alpha = nullptr;   ///< [2][K]
  const double* u = nullptr;       ///< [2][K]
};

/// Beta posterior of a row: alpha_c = prior_c + N_c p(z | c). Index 0: negatives.
struct PosteriorView {
  FlowView flow = {};
  double prior[2] = {1, 1};
  double log_count[2] = {0, 0};
  double regularizer = 0;
};

/// The Natural Posterior Network (Charpentier et al. 2022): one density of all rows, and a logit of its own, so that
/// the place in latent space need not tell the classes apart. alpha_1 = prior_1 + n p, alpha_0 = prior_0 + n (1 - p),
/// n = budget * p(z), p = sigmoid(weight . z + bias).
struct NaturalView {
  FlowView flow = {};  ///< of one class
  double prior[2] = {1, 1};
  double log_budget = 0;
  double regularizer = 0;
  const double* weight = nullptr;  ///< [D]
  double bias = 0;
};

/// Gradients are added to, in the layout of FlowView; `latent` is written.
struct PosteriorGradient {
  float* latent = nullptr;  ///< rows x D
  double* center = nullptr;
  double* alpha = nullptr;  ///< of the loss as a function of (center, alpha, u)
  double* u = nullptr;
  double* weight = nullptr;  ///< natural: [D]
  double* bias = nullptr;    ///< natural
};

/// Outputs per row.
struct PosteriorRows {
  double* score = nullptr;
  double* entropy = nullptr;
  double* evidence = nullptr;
  double* variance = nullptr;
  double* mutual_information = nullptr;
};

struct AdamStep {
  float rate = 0;            ///< learning rate over the first moment's bias correction
  float second_scale = 1;    ///< 1 / sqrt of the second moment's bias correction
  float decay = 0;           ///< learning rate times weight decay
  float gradient_scale = 1;  ///< of clipping
};

struct Kernels {
  /// Doubles of scratch space that the next two need.
  std::size_t (*posterior_scratch)(const FlowView& flow);
  /// Sum over rows of E_q[cross entropy] - regularizer H(q), and its gradients times `weight`. All in double. A row
  /// that is not finite makes the sum NaN. With `likelihood` the loss is -ln p(z | label) instead.
  double (*posterior_loss)(const PosteriorView& view, const float* latent, const std::uint8_t* label, std::size_t rows,
                           double weight, bool likelihood, const PosteriorGradient& gradient, double* scratch);
  /// Mean, entropy, total, variance and mutual information of the Beta of each row. log_density: rows x 2, or null.
  void (*posterior_predict)(const PosteriorView& view, const float* latent, std::size_t rows, const PosteriorRows& out,
                            double* log_density, double* scratch);
  /// The same for a Natural Posterior Network. With `likelihood` the loss is -ln p(z). The score is p, not the mean of
  /// the Beta: that is drawn to the prior where evidence is low, and its order with it. log_density: one a row, or
  /// null.
  double (*natural_loss)(const NaturalView& view, const float* latent, const std::uint8_t* label, std::size_t rows,
                         double weight, bool likelihood, const PosteriorGradient& gradient, double* scratch);
  void (*natural_predict)(const NaturalView& view, const float* latent, std::size_t rows, const PosteriorRows& out,
                          double* log_density, double* scratch);
  /// Adam (Kingma & Ba 2015) with decoupled weight decay (Loshchilov & Hutter 2019).
  void (*adam)(float* value, float* first, float* second, const float* gradient, std::size_t size,
               const AdamStep& step);
};

const Kernels& kernels();
/// Those of the plain instruction set, for tests.
const Kernels& plain_kernels();

inline constexpr double kAdamFirst = 0.9;
inline constexpr double kAdamSecond = 0.999;
inline constexpr float kAdamEpsilon = 1e-8F;

}  // namespace limen::train
