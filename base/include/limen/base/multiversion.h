// SPDX-License-Identifier: MIT
#pragma once

/// Compiles a hot loop for AVX2 beside the baseline and picks one at load time, instead of raising the baseline with
/// -march. Left out under sanitizers, whose runtime is not ready when the pick is made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LIMEN_MULTIVERSION __attribute__((target_clones("avx2", "default")))
#else
#define LIMEN_MULTIVERSION
#endif
