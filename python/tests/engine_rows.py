# SPDX-License-Identifier: MIT
"""Rows of many shapes, for engines that count them."""

from __future__ import annotations

import warnings

import limen
import numpy as np

SHAPES = ("smooth", "tied", "magnitudes", "constant", "two", "single", "tiny")


def make_rows(shape: str, size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores, uncertainties. Positivity is s where u < 1/2 and s^3 elsewhere, for a hidden s."""
    random = np.random.default_rng(seed)
    s, u = random.uniform(size=size), random.uniform(size=size)
    y = (random.uniform(size=size) < np.where(u < 0.5, s, s**3)).astype(np.uint8)
    if shape == "tied":
        s, u = np.round(s * 50) / 50 - 0.5, np.round(u * 20) / 20
        s[(s == 0) & (np.arange(size) % 2 == 0)] = -0.0
        assert np.signbit(s[s == 0]).any() and not np.signbit(s[s == 0]).all()
    elif shape == "magnitudes":
        s, u = np.copysign(np.exp(600 * np.abs(s - 0.5)) * 1e-200, s - 0.5), -np.exp(-500 * u)
    elif shape == "constant":
        u = np.full(size, 3.0)
    elif shape == "two":
        u = np.where(u < 0.3, 1.0, 2.0)
    elif shape == "single":
        s, u = s.astype(np.float32), u.astype(np.float32)
    elif shape == "tiny":
        s = s * 5e-318
    else:
        assert shape == "smooth"
    return y, s, u


FITS = (
    {"min_precision": 0.8, "method": "st"},
    {"min_precision": "0.8", "method": "exact", "levels_from": "all"},
    {"min_precision": 0.8, "method": "exact", "levels": 5},
    {"min_precision": 0.8},
    {"max_flag_rate": 0.1},
    {"min_precision": 0.7, "confidence_level": 0.9},
    {"min_precision": 0.7, "confidence_level": 0.9, "method": "st"},
    {"min_precision": 0.7, "confidence_level": 0.9, "method": "smooth", "random_state": 3},
)


def fitted(function, *arguments, **options) -> list[str]:
    """The boundary's text, or the error's kind, and what was warned of: engines and memory must agree."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = function(*arguments, **options).to_json()
        except limen.InfeasibleError as error:
            found = type(error).__name__
    return [found, *(str(warning.message) for warning in warned if warning.category is UserWarning)]
