// SPDX-License-Identifier: MIT
// Compiled twice; LIMEN_KERNELS names the table of functions.
#include "kernels.h"

#include "lanes.h"

namespace limen::train {
namespace {

constexpr double kRadiusEpsilon = 1e-12;
// Products of k and of m of this many flows stay in the range of double.
constexpr int kFlowsPerLog = 8;
// ln of the evidence is cut here: sums and products of a few of them stay finite.
constexpr double kLargestLog = 600;

// What the way back needs of one flow.
struct FlowStep {
  Lanes r, inverse_r, s, k, m;
};

// Layout of the scratch space: per class the states z_0 .. z_K and the steps, then the sums of the gradients by lane.
struct Scratch {
  Lanes* state[2];
  FlowStep* step[2];
  Lanes* center;  // [2][K][D]
  Lanes* alpha;   // [2][K]
  Lanes* u;
  Lanes* gradient;  // [D], of z_k
  Lanes* latent;    // [D], of z_0, both classes
};

std::size_t posterior_scratch(const FlowView& flow) {
  const auto d = static_cast<std::size_t>(flow.latent);
  const auto k = static_cast<std::size_t>(flow.flows);
  const std::size_t lanes = 2 * (k + 1) * d + 2 * 5 * k + 2 * k * d + 4 * k + 2 * d;
  return lanes * kLanes + kLanes;
}

Scratch layout(const FlowView& flow, double* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  auto* next = reinterpret_cast<Lanes*>((address + sizeof(Lanes) - 1) / sizeof(Lanes) * sizeof(Lanes));
  const auto take = [&next](int size) {
    Lanes* part = next;
    next += size;
    return part;
  };
  Scratch scratch = {};
  for (int c = 0; c < 2; ++c) {
    scratch.state[c] = take((flow.flows + 1) * flow.latent);
    scratch.step[c] = reinterpret_cast<FlowStep*>(take(5 * flow.flows));
  }
  scratch.center = take(2 * flow.flows * flow.latent);
  scratch.alpha = take(2 * flow.flows);
  scratch.u = take(2 * flow.flows);
  scratch.gradient = take(flow.latent);
  scratch.latent = take(flow.latent);
  return scratch;
}

// Rows past the end repeat the last one; the caller gives them no weight.
void load(const float* latent, std::size_t row, std::size_t rows, int width, Lanes* state) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::size_t from =
        row + static_cast<std::size_t>(lane) < rows ? row + static_cast<std::size_t>(lane) : rows - 1;
    const float* values = latent + from * static_cast<std::size_t>(width);
    for (int d = 0; d < width; ++d) state[d][lane] = static_cast<double>(values[d]);
  }
}

// ln p(z | c) of the rows in scratch.state[c][0].
Lanes forward(const FlowView& flow, int c, const Scratch& scratch) {
  const int width = flow.latent;
  Lanes log_k = {};
  Lanes log_m = {};
  Lanes product_k = splat(1);
  Lanes product_m = splat(1);
  for (int k = 0; k < flow.flows; ++k) {
    const double* center = flow.center + (c * flow.flows + k) * width;
    const double alpha = flow.alpha[c * flow.flows + k];
    const double u = flow.u[c * flow.flows + k];
    const Lanes* z = scratch.state[c] + k * width;
    Lanes* out = scratch.state[c] + (k + 1) * width;
    Lanes square = splat(kRadiusEpsilon);
    for (int d = 0; d < width; ++d) square += (z[d] - center[d]) * (z[d] - center[d]);
    FlowStep& step = scratch.step[c][k];
    step.r = sqrt(square);
    step.inverse_r = 1 / step.r;
    step.s = 1 / (step.r + alpha);
    step.k = (step.r + u) * step.s;
    // m over a common denominator, where nothing cancels.
    step.m =
        (step.r * (step.r + 2 * alpha) + (u * alpha + (u - alpha) * kRadiusEpsilon * step.inverse_r)) * step.s * step.s;
    for (int d = 0; d < width; ++d) out[d] = center[d] + step.k * (z[d] - center[d]);
    product_k *= step.k;
    product_m *= step.m;
    if ((k + 1) % kFlowsPerLog == 0 || k + 1 == flow.flows) {
      log_k += log(product_k);
      log_m += log(product_m);
      product_k = splat(1);
      product_m = splat(1);
    }
  }
  const Lanes* last = scratch.state[c] + flow.flows * width;
  Lanes square = {};
  for (int d = 0; d < width; ++d) square += last[d] * last[d];
  return (width - 1) * log_k + log_m - 0.5 * square - width * kHalfLogTwoPi;
}

// Adds to the gradients what a loss with derivative `weight` in ln p(z | c) gives.
void backward(const FlowView& flow, int c, Lanes weight, const Scratch& scratch) {
  const int width = flow.latent;
  Lanes* g = scratch.gradient;
  const Lanes* last = scratch.state[c] + flow.flows * width;
  for (int d = 0; d < width; ++d) g[d] = -weight * last[d];
  for (int k = flow.flows - 1; k >= 0; --k) {
    const int at = c * flow.flows + k;
    const double* center = flow.center + at * width;
    const double beta = flow.u[at] - flow.alpha[at];
    const FlowStep& step = scratch.step[c][k];
    const Lanes* z = scratch.state[c] + k * width;
    Lanes inner = {};
    for (int d = 0; d < width; ++d) inner += g[d] * (z[d] - center[d]);
    const Lanes w = step.r - kRadiusEpsilon * step.inverse_r;  // |z - c|^2 / r
    const Lanes k_bar = inner + weight * (width - 1) / step.k;
    const Lanes m_bar = weight / step.m;
    const Lanes s_bar = beta * (k_bar + m_bar * (1 - 2 * step.s * w));
    const Lanes alpha_bar = -step.s * step.s * s_bar;
    const Lanes beta_bar = step.s * (k_bar + m_bar * (1 - step.s * w));
    const Lanes r_bar =
        alpha_bar - m_bar * beta * step.s * step.s * (1 + kRadiusEpsilon * step.inverse_r * step.inverse_r);
    const Lanes radial = r_bar * step.inverse_r;
    for (int d = 0; d < width; ++d) {
      const Lanes difference_bar = step.k * g[d] + radial * (z[d] - center[d]);
      scratch.center[at * width + d] += g[d] - difference_bar;
      g[d] = difference_bar;
    }
    scratch.alpha[at] += alpha_bar - beta_bar;  // beta = u - alpha
    scratch.u[at] += beta_bar;
  }
  for (int d = 0; d < width; ++d) scratch.latent[d] += g[d];
}

// N_c p(z | c). The comparisons are such that NaN stays NaN.
Lanes evidence_of(Lanes log_density, double log_count) {
  Lanes x = log_density + log_count;
  x = x > kLargestLog ? splat(kLargestLog) : x;
  x = x < -kLargestLog ? splat(-kLargestLog) : x;
  return exp(x);
}

/// Loss E[cross entropy] - regularizer H of Betas, and its derivatives in their parameters.
struct BetaLoss {
  Lanes loss;
  Lanes in_alpha[2];
};

BetaLoss beta_loss(const Lanes alpha[2], const Lanes target[2], double regularizer) {
  const bool entropy = regularizer != 0;
  const Gamma gamma[2] = {prepare_gamma(alpha[0], entropy), prepare_gamma(alpha[1], entropy)};
  const Gamma both = prepare_gamma(alpha[0] + alpha[1], entropy);
  BetaLoss result;
  result.loss = digamma(both) - (target[0] * digamma(gamma[0]) + target[1] * digamma(gamma[1]));
  const Lanes both_trigamma = trigamma(both);
  if (entropy) {
    result.loss -= regularizer * (entropy_term(gamma[0], 1) + entropy_term(gamma[1], 1) - entropy_term(both, 2) +
                                  (kHalfLogTwoPi + 0.5));
  }
  for (int c = 0; c < 2; ++c) {
    const Lanes own = trigamma(gamma[c]);
    result.in_alpha[c] = both_trigamma - target[c] * own;
    // dH / da = (s - 2) psi'(s) - (a - 1) psi'(a).
    if (entropy) {
      result.in_alpha[c] -= regularizer * (scaled_trigamma(both) - scaled_trigamma(gamma[c]) - 2 * both_trigamma + own);
    }
  }
  return result;
}

/// Labels of the rows from `row` on: which lanes hold a row, and its class.
struct LaneLabels {
  Lanes valid;
  Lanes target[2];

  LaneLabels(const std::uint8_t* label, std::size_t row, std::size_t rows) : valid{} {
    Lanes positive = {};
    for (int lane = 0; lane < kLanes; ++lane) {
      if (row + static_cast<std::size_t>(lane) >= rows) continue;
      valid[lane] = 1;
      positive[lane] = label[row + static_cast<std::size_t>(lane)];
    }
    target[0] = valid - positive;
    target[1] = positive;
  }
};

void clear_gradients(const FlowView& flow, int classes, const Scratch& scratch) {
  for (int at = 0; at < classes * flow.flows * flow.latent; ++at) scratch.center[at] = Lanes{};
  for (int at = 0; at < classes * flow.flows; ++at) scratch.alpha[at] = scratch.u[at] = Lanes{};
}

void add_gradients(const FlowView& flow, int classes, const Scratch& scratch, const PosteriorGradient& gradient) {
  for (int at = 0; at < classes * flow.flows * flow.latent; ++at) gradient.center[at] += sum(scratch.center[at]);
  for (int at = 0; at < classes * flow.flows; ++at) {
    gradient.alpha[at] += sum(scratch.alpha[at]);
    gradient.u[at] += sum(scratch.u[at]);
  }
}

void store_latent(const Scratch& scratch, std::size_t row, std::size_t rows, int width, float* latent) {
  for (int lane = 0; lane < kLanes && row + static_cast<std::size_t>(lane) < rows; ++lane) {
    float* out = latent + (row + static_cast<std::size_t>(lane)) * static_cast<std::size_t>(width);
    for (int d = 0; d < width; ++d) out[d] = static_cast<float>(scratch.latent[d][lane]);
  }
}

/// What a Beta says of the rows from `row` on.
void store_beta(const Lanes alpha[2], std::size_t row, std::size_t rows, const PosteriorRows& out) {
  const Gamma gamma[2] = {prepare_gamma(alpha[0], true), prepare_gamma(alpha[1], true)};
  const Gamma both = prepare_gamma(alpha[0] + alpha[1], true);
  const Lanes score = gamma[1].x / both.x;
  const Lanes rest = gamma[0].x / both.x;
  const Lanes entropy =
      entropy_term(gamma[0], 1) + entropy_term(gamma[1], 1) - entropy_term(both, 2) + (kHalfLogTwoPi + 0.5);
  const Lanes variance = score * rest / (both.x + 1);
  // H(mean) - E[H] with the logarithms of the parameters put together: nothing of the order of 1 is left to cancel.
  const Lanes mutual =
      score * digamma_above_log(gamma[1]) + rest * digamma_above_log(gamma[0]) - digamma_above_log(both);
  for (int lane = 0; lane < kLanes && row + static_cast<std::size_t>(lane) < rows; ++lane) {
    const std::size_t at = row + static_cast<std::size_t>(lane);
    out.score[at] = score[lane];
    out.entropy[at] = entropy[lane];
    out.evidence[at] = both.x[lane];
    out.variance[at] = variance[lane];
    out.mutual_information[at] = mutual[lane] < 0 ? 0 : mutual[lane];
  }
}

double posterior_loss(const PosteriorView& view, const float* latent, const std::uint8_t* label, std::size_t rows,
                      double weight, bool likelihood, const PosteriorGradient& gradient, double* memory) {
  const FlowView& flow = view.flow;
  const int width = flow.latent;
  const Scratch scratch = layout(flow, memory);
  clear_gradients(flow, 2, scratch);
  Lanes total = {};
  for (std::size_t row = 0; row < rows; row += kLanes) {
    const LaneLabels labels(label, row, rows);
    load(latent, row, rows, width, scratch.state[0]);
    for (int d = 0; d < width; ++d) {
      scratch.state[1][d] = scratch.state[0][d];
      scratch.latent[d] = Lanes{};
    }
    const Lanes log_density[2] = {forward(flow, 0, scratch), forward(flow, 1, scratch)};
    Lanes derivative[2];  // in ln p(z | c)
    if (likelihood) {
      for (int c = 0; c < 2; ++c) {
        // A density that is not finite where its class is not asked for must still be seen.
        total -= labels.target[c] * log_density[c];
        derivative[c] = -weight * labels.target[c];
      }
    } else {
      Lanes evidence[2];
      Lanes alpha[2];
      for (int c = 0; c < 2; ++c) {
        evidence[c] = evidence_of(log_density[c], view.log_count[c]);
        alpha[c] = evidence[c] + view.prior[c];
      }
      const BetaLoss loss = beta_loss(alpha, labels.target, view.regularizer);
      total += labels.valid * loss.loss;
      // Where the evidence is cut its derivative is that at the cut: with none a row would never come back.
      for (int c = 0; c < 2; ++c) derivative[c] = labels.valid * (weight * evidence[c]) * loss.in_alpha[c];
    }
    backward(flow, 0, derivative[0], scratch);
    backward(flow, 1, derivative[1], scratch);
    store_latent(scratch, row, rows, width, gradient.latent);
  }
  add_gradients(flow, 2, scratch, gradient);
  return sum(total);
}

void posterior_predict(const PosteriorView& view, const float* latent, std::size_t rows, const PosteriorRows& out,
                       double* log_density, double* memory) {
  const Scratch scratch = layout(view.flow, memory);
  for (std::size_t row = 0; row < rows; row += kLanes) {
    load(latent, row, rows, view.flow.latent, scratch.state[0]);
    for (int d = 0; d < view.flow.latent; ++d) scratch.state[1][d] = scratch.state[0][d];
    Lanes alpha[2];
    for (int c = 0; c < 2; ++c) {
      const Lanes density = forward(view.flow, c, scratch);
      alpha[c] = evidence_of(density, view.log_count[c]) + view.prior[c];
      for (int lane = 0; log_density != nullptr && lane < kLanes && row + static_cast<std::size_t>(lane) < rows;
           ++lane) {
        log_density[2 * (row + static_cast<std::size_t>(lane)) + static_cast<std::size_t>(c)] = density[lane];
      }
    }
    store_beta(alpha, row, rows, out);
  }
}

/// p and 1 - p of the rows in `z`, each accurate where it is small.
struct Coin {
  Lanes p;
  Lanes q;

  Coin(const NaturalView& view, const Lanes* z) {
    Lanes logit = splat(view.bias);
    for (int d = 0; d < view.flow.latent; ++d) logit += view.weight[d] * z[d];
    logit = logit > kLargestLog ? splat(kLargestLog) : logit;
    logit = logit < -kLargestLog ? splat(-kLargestLog) : logit;
    const Lanes odds = exp(logit);
    p = odds / (1 + odds);
    q = 1 / (1 + odds);
  }
};

double natural_loss(const NaturalView& view, const float* latent, const std::uint8_t* label, std::size_t rows,
                    double weight, bool likelihood, const PosteriorGradient& gradient, double* memory) {
  const FlowView& flow = view.flow;
  const int width = flow.latent;
  const Scratch scratch = layout(flow, memory);
  clear_gradients(flow, 1, scratch);
  // The flow of a second class is not there: its place takes the sums of the linear layer.
  Lanes* const weight_sum = scratch.state[1];
  Lanes bias_sum = {};
  for (int d = 0; d < width; ++d) weight_sum[d] = Lanes{};
  Lanes total = {};
  for (std::size_t row = 0; row < rows; row += kLanes) {
    const LaneLabels labels(label, row, rows);
    load(latent, row, rows, width, scratch.state[0]);
    for (int d = 0; d < width; ++d) scratch.latent[d] = Lanes{};
    const Lanes log_density = forward(flow, 0, scratch);
    if (likelihood) {
      total -= labels.valid * log_density;
      backward(flow, 0, -weight * labels.valid, scratch);
    } else {
      const Lanes* z = scratch.state[0];
      const Coin coin(view, z);
      const Lanes evidence = evidence_of(log_density, view.log_budget);
      const Lanes alpha[2] = {evidence * coin.q + view.prior[0], evidence * coin.p + view.prior[1]};
      const BetaLoss loss = beta_loss(alpha, labels.target, view.regularizer);
      total += labels.valid * loss.loss;
      const Lanes scaled = labels.valid * (weight * evidence);
      backward(flow, 0, scaled * (loss.in_alpha[1] * coin.p + loss.in_alpha[0] * coin.q), scratch);
      const Lanes in_logit = scaled * coin.p * coin.q * (loss.in_alpha[1] - loss.in_alpha[0]);
      for (int d = 0; d < width; ++d) {
        scratch.latent[d] += in_logit * view.weight[d];
        weight_sum[d] += in_logit * z[d];
      }
      bias_sum += in_logit;
    }
    store_latent(scratch, row, rows, width, gradient.latent);
  }
  add_gradients(flow, 1, scratch, gradient);
  for (int d = 0; d < width; ++d) gradient.weight[d] += sum(weight_sum[d]);
  *gradient.bias += sum(bias_sum);
  return sum(total);
}

void natural_predict(const NaturalView& view, const float* latent, std::size_t rows, const PosteriorRows& out,
                     double* log_density, double* memory) {
  const Scratch scratch = layout(view.flow, memory);
  for (std::size_t row = 0; row < rows; row += kLanes) {
    load(latent, row, rows, view.flow.latent, scratch.state[0]);
    const Lanes density = forward(view.flow, 0, scratch);
    const Coin coin(view, scratch.state[0]);
    const Lanes evidence = evidence_of(density, view.log_budget);
    const Lanes alpha[2] = {evidence * coin.q + view.prior[0], evidence * coin.p + view.prior[1]};
    store_beta(alpha, row, rows, out);
    for (int lane = 0; lane < kLanes && row + static_cast<std::size_t>(lane) < rows; ++lane) {
      const std::size_t at = row + static_cast<std::size_t>(lane);
      out.score[at] = coin.p[lane];
      if (log_density != nullptr) log_density[at] = density[lane];
    }
  }
}

void adam(float* value, float* first, float* second, const float* gradient, std::size_t size, const AdamStep& step) {
  const AdamStep s = step;
  for (std::size_t at = 0; at < size; ++at) {
    const float g = gradient[at] * s.gradient_scale;
    first[at] += (g - first[at]) * static_cast<float>(1 - kAdamFirst);
    second[at] += (g * g - second[at]) * static_cast<float>(1 - kAdamSecond);
    const float root = __builtin_sqrtf(second[at]) * s.second_scale + kAdamEpsilon;
    value[at] -= s.decay * value[at] + s.rate * first[at] / root;
  }
}

}  // namespace

extern const Kernels LIMEN_KERNELS;
const Kernels LIMEN_KERNELS = {posterior_scratch, posterior_loss,  posterior_predict,
                               natural_loss,      natural_predict, adam};

}  // namespace limen::train
