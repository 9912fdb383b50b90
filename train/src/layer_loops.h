// SPDX-License-Identifier: MIT
// Loops over the numbers of a layer. Kernels of their own for each instruction set brought 0.1 to 1.5% of a training
// step each (bench_kernels), so they are left to the compiler.
#pragma once

#include <cstddef>

namespace limen::train {

/// value = max(value + bias, 0), times mask when there is one; rows x width.
inline void bias_relu(float* value, const float* bias, const float* mask, std::size_t rows, std::size_t width) {
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

inline void add_bias(float* value, const float* bias, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, value += width) {
    for (std::size_t at = 0; at < width; ++at) value[at] += bias[at];
  }
}

/// gradient = value > 0 ? gradient * scale : 0, where value is what bias_relu left; its column sums are added to
/// `bias`.
inline void relu_backward(float* gradient, const float* value, float scale, float* bias, std::size_t rows,
                          std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, gradient += width, value += width) {
    for (std::size_t at = 0; at < width; ++at) {
      const float scaled = gradient[at] * scale;
      gradient[at] = value[at] > 0 ? scaled : 0;
      bias[at] += gradient[at];
    }
  }
}

inline void column_sums(const float* gradient, float* bias, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, gradient += width) {
    for (std::size_t at = 0; at < width; ++at) bias[at] += gradient[at];
  }
}

inline void add(float* sum, const float* value, std::size_t size) {
  for (std::size_t at = 0; at < size; ++at) sum[at] += value[at];
}

/// Summed in eight parts, which a compiler may add side by side.
inline double square_norm(const float* value, std::size_t size) {
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

}  // namespace limen::train
