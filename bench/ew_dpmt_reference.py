# SPDX-License-Identifier: MIT
"""The paper's Algorithm 1 (EW-DPMT) as printed, in plain Python: the yardstick of the run-time table."""

import math
import statistics
import time


def make_cell(num_levels, num_bins):
    """The grid of bench_solvers.cpp: positives per bin of 100 rows, p[i][j] with j = 1 .. L counting scores upwards."""
    state = 12345
    p = []
    for level in range(num_levels):
        falling = []
        for bin_index in range(num_bins):
            state = (state * 1103515245 + 12345) % 2147483648
            noise = state / 2147483648.0 - 0.5
            rate = 0.98 - 1.6 * (bin_index / num_bins) - 0.02 * level + 0.1 * noise
            falling.append(int(100 * min(1.0, max(0.0, rate))))
        p.append(falling[::-1])
    return p


def ew_dpmt(p, total, sigma):
    """Returns (R*, b*): most positives with precision >= sigma, bins all holding total / (K L) rows."""
    K, L = len(p), len(p[0])
    R = [[-math.inf] * (K * L + 1) for _ in range(K)]
    b = [[None] * (K * L + 1) for _ in range(K)]
    pi = [[0] * (L + 1) for _ in range(K)]
    for i in range(K):
        for j in range(1, L + 1):
            pi[i][j] = pi[i][j - 1] + p[i][L - j]
    for m in range(L + 1):
        R[0][m] = pi[0][m]
        b[0][m] = [L - m]
    for i in range(1, K):
        for m in range((i + 1) * L + 1):
            best, best_j = -math.inf, 0
            for j in range(min(L, m) + 1):
                value = pi[i][j] + R[i - 1][m - j]
                if value > best:
                    best, best_j = value, j
            R[i][m] = best
            b[i][m] = b[i - 1][m - best_j] + [L - best_j]
    best_m = None
    for m in range(1, K * L + 1):
        if K * L / (m * total) * R[K - 1][m] >= sigma and (best_m is None or R[K - 1][m] > R[K - 1][best_m]):
            best_m = m
    return R[K - 1][best_m], b[K - 1][best_m]


def timed_cell(num_levels, num_bins, sigma=0.9):
    """(seconds, positives) of one cell; the median of five runs where they are short."""
    p = make_cell(num_levels, num_bins)
    seconds = []
    while not seconds or (len(seconds) < 5 and sum(seconds) < 1):
        start = time.perf_counter()
        positives, _ = ew_dpmt(p, 100 * num_levels * num_bins, sigma)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), positives
