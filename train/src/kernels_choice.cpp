// SPDX-License-Identifier: MIT
#include "kernels.h"

namespace limen::train {

extern const Kernels kPlainKernels;
#ifdef LIMEN_AVX2_KERNELS
extern const Kernels kAvx2Kernels;
#endif

const Kernels& plain_kernels() { return kPlainKernels; }

const Kernels& kernels() {
#ifdef LIMEN_AVX2_KERNELS
  static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (wide) return kAvx2Kernels;
#endif
  return kPlainKernels;
}

}  // namespace limen::train
