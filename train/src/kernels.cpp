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

double posterior_loss(const PosteriorView& view, const float* latent, const std::uint8_t* label, std::size_t rows,
                      double weight, bool likelihood, const PosteriorGradient& gradient, double* memory) {
  const FlowView& flow = view.flow;
  const int width = flow.latent;
  const int flows = flow.flows;
  const Scratch scratch = layout(flow, memory);
  for (int at = 0; at < 2 * flows * width; ++at) scratch.center[at] = Lanes{};
  for (int at = 0; at < 2 * flows; ++at) scratch.alpha[at] = scratch.u[at] = Lanes{};
  Lanes total = {};
  for (std::size_t row = 0; row < rows; row += kLanes) {
    Lanes valid = {};
    Lanes positive = {};
    for (int lane = 0; lane < kLanes; ++lane) {
      if (row + static_cast<std::size_t>(lane) >= rows) continue;
      valid[lane] = 1;
      positive[lane] = label[row + static_cast<std::size_t>(lane)];
    }
    const Lanes target[2] = {valid - positive, positive};
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
        total -= target[c] * log_density[c];
        derivative[c] = -weight * target[c];
      }
    } else {
      Lanes evidence[2];
      Gamma gamma[2];
      const bool entropy = view.regularizer != 0;
      for (int c = 0; c < 2; ++c) {
        evidence[c] = evidence_of(log_density[c], view.log_count[c]);
        gamma[c] = prepare_gamma(evidence[c] + view.prior[c], entropy);
      }
      const Gamma both = prepare_gamma(gamma[0].x + gamma[1].x, entropy);
      Lanes loss = digamma(both) - (target[0] * digamma(gamma[0]) + target[1] * digamma(gamma[1]));
      const Lanes both_trigamma = trigamma(both);
      if (entropy) {
        loss -= view.regularizer *
                (entropy_term(gamma[0], 1) + entropy_term(gamma[1], 1) - entropy_term(both, 2) + (kHalfLogTwoPi + 0.5));
      }
      total += valid * loss;
      for (int c = 0; c < 2; ++c) {
        const Lanes own = trigamma(gamma[c]);
        Lanes in_alpha = both_trigamma - target[c] * own;
        // dH / da = (s - 2) psi'(s) - (a - 1) psi'(a).
        if (entropy) {
          in_alpha -= view.regularizer * (scaled_trigamma(both) - scaled_trigamma(gamma[c]) - 2 * both_trigamma + own);
        }
        const LaneMask cut = log_density[c] + view.log_count[c] > kLargestLog;
        derivative[c] = cut ? Lanes{} : valid * (weight * evidence[c]) * in_alpha;
      }
    }
    backward(flow, 0, derivative[0], scratch);
    backward(flow, 1, derivative[1], scratch);
    for (int lane = 0; lane < kLanes && row + static_cast<std::size_t>(lane) < rows; ++lane) {
      float* out = gradient.latent + (row + static_cast<std::size_t>(lane)) * static_cast<std::size_t>(width);
      for (int d = 0; d < width; ++d) out[d] = static_cast<float>(scratch.latent[d][lane]);
    }
  }
  for (int at = 0; at < 2 * flows * width; ++at) gradient.center[at] += sum(scratch.center[at]);
  for (int at = 0; at < 2 * flows; ++at) {
    gradient.alpha[at] += sum(scratch.alpha[at]);
    gradient.u[at] += sum(scratch.u[at]);
  }
  return sum(total);
}

void posterior_predict(const PosteriorView& view, const float* latent, std::size_t rows, const PosteriorRows& out,
                       double* log_density, double* memory) {
  const Scratch scratch = layout(view.flow, memory);
  for (std::size_t row = 0; row < rows; row += kLanes) {
    load(latent, row, rows, view.flow.latent, scratch.state[0]);
    for (int d = 0; d < view.flow.latent; ++d) scratch.state[1][d] = scratch.state[0][d];
    Lanes density[2];
    Gamma gamma[2];
    for (int c = 0; c < 2; ++c) {
      density[c] = forward(view.flow, c, scratch);
      gamma[c] = prepare_gamma(evidence_of(density[c], view.log_count[c]) + view.prior[c], true);
    }
    const Gamma both = prepare_gamma(gamma[0].x + gamma[1].x, true);
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
      if (log_density != nullptr) {
        log_density[2 * at] = density[0][lane];
        log_density[2 * at + 1] = density[1][lane];
      }
    }
  }
}

void bias_relu(float* value, const float* bias, const float* mask, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, value += width) {
    // Written so that NaN passes.
    for (std::size_t at = 0; at < width; ++at) {
      const float sum = value[at] + bias[at];
      value[at] = sum < 0 ? 0 : sum;
    }
    if (mask == nullptr) continue;
    for (std::size_t at = 0; at < width; ++at) value[at] *= mask[at];
    mask += width;
  }
}

void add_bias(float* value, const float* bias, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, value += width) {
    for (std::size_t at = 0; at < width; ++at) value[at] += bias[at];
  }
}

void relu_backward(float* gradient, const float* value, float scale, float* bias, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, gradient += width, value += width) {
    for (std::size_t at = 0; at < width; ++at) {
      const float scaled = gradient[at] * scale;
      gradient[at] = value[at] > 0 ? scaled : 0;
      bias[at] += gradient[at];
    }
  }
}

void column_sums(const float* gradient, float* bias, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, gradient += width) {
    for (std::size_t at = 0; at < width; ++at) bias[at] += gradient[at];
  }
}

void add(float* sum, const float* value, std::size_t size) {
  for (std::size_t at = 0; at < size; ++at) sum[at] += value[at];
}

double square_norm(const float* value, std::size_t size) {
  double partial[8] = {};
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) {
      partial[lane] += static_cast<double>(value[at + lane]) * static_cast<double>(value[at + lane]);
    }
  }
  for (; at < size; ++at) partial[0] += static_cast<double>(value[at]) * static_cast<double>(value[at]);
  double sum = 0;
  for (const double part : partial) sum += part;
  return sum;
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
const Kernels LIMEN_KERNELS = {posterior_scratch, posterior_loss,
                               posterior_predict, bias_relu,
                               add_bias,          relu_backward,
                               column_sums,       add,
                               square_norm,       adam};

}  // namespace limen::train
