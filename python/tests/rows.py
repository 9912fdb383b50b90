# SPDX-License-Identifier: MIT
import numpy as np


def make_rows(rows, seed=0, dtype=np.float64, ties=None):
    """Labelled rows of a model that overrates what it is uncertain of; with ties: of so many distinct values."""
    random = np.random.default_rng(seed)
    score = random.random(rows) ** 2
    uncertainty = random.random(rows)
    if ties:
        score, uncertainty = np.round(score * ties) / ties, np.round(uncertainty * ties) / ties
    y = random.random(rows) < score ** (1 + uncertainty)
    return y, score.astype(dtype), uncertainty.astype(dtype)
