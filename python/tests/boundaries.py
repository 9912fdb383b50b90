# SPDX-License-Identifier: MIT
"""Boundaries of given rules, and rows that lie on and just beside their numbers."""

import json

import limen
import numpy as np

# What engines read, round or order differently: neighbours of powers of two and ten, the ends of the range of double and of
# single precision, numbers too small to be normal, both zeros, and decimals that are no doubles.
HARD_NUMBERS = [
    0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1e-320, 1.1754943508222875e-38, 1e-45,
    0.1, 0.3, 0.1 + 0.2, 1 / 3, 0.7, 2 / 3, 0.9999999999999999, 1.0, 1.0000000000000002, 9007199254740993.0, 9007199254740991.0,
    16777217.0, 123456789012345680.0, 1e15, 1e16, 1e22, 1e23, 8.41e21, 3.4028234663852886e38, 1e300, 1e308, 1.7976931348623157e308,
    4.35, 0.000035689, 2.675, 1.005, 5e-5, 0.5, 0.25, 0.12345678901234568,
]  # fmt: skip


def _document(levels):
    found = limen.fit_boundary([0, 1, 1], [0.1, 0.6, 0.8], [0.5, 0.5, 0.5], min_precision=0.9, method="st").to_dict()
    found["binning"]["levels"] = levels
    return found


def make_boundary(edges, thresholds, review=None):
    """thresholds: None where nothing is positive."""
    found = _document(len(thresholds))
    found["rule"] = {"uncertainty_edges": list(map(float, edges)), "score_thresholds": list(thresholds)}
    if review is not None:
        found["review"] = {
            "score_thresholds": review, "max_rate": 1, "rate": 0, "reviewed": 0, "positives": 0, "recall": 1, "optimal": False,
        }  # fmt: skip
    return limen.Boundary.from_json(json.dumps(found))


def make_segments(own, pooled=None, unseen="never flagged", column="market"):
    """own: {value: (edges, thresholds)}; pooled: (values, edges, thresholds)."""
    found = _document(1)
    found["version"] = 2
    counts = {"rows": 3, "positives": 2, "flagged": 2, "true_positives": 2}
    values = []
    for value in sorted(own, key=str.encode):
        edges, thresholds = own[value]
        values.append({"value": value, "uncertainty_edges": edges, "score_thresholds": thresholds, **counts})
        counts = dict.fromkeys(counts, 0)
    pool = None
    if pooled is not None:
        names, edges, thresholds = pooled
        names = sorted(names, key=str.encode)
        pool = {"values": names, "uncertainty_edges": edges, "score_thresholds": thresholds, **counts}
    found["binning"]["levels"] = sum(len(part["score_thresholds"]) for part in [*values, *([pool] if pool else [])])
    found["rule"] = {"segment": {"column": column, "each": False, "values": values, "pooled": pool, "unseen": unseen}}
    return limen.Boundary.from_json(json.dumps(found))


def numbers_of(random, count):
    """Distinct finite numbers: hard ones, and others of many sizes and digits."""
    sizes = 10.0 ** random.integers(-12, 12, count)
    drawn = random.normal(size=count) * sizes
    short = np.round(random.random(count), random.integers(1, 6))
    single = random.random(count).astype(np.float32).astype(np.float64)
    hard = np.array(HARD_NUMBERS)
    return np.unique(np.concatenate([hard, -hard, drawn, short, single]))


def random_boundary(random, numbers, levels):
    edges = np.sort(random.choice(numbers, levels - 1, replace=False))
    thresholds = [None if random.random() < 0.1 else float(random.choice(numbers)) for _ in range(levels)]
    return make_boundary(edges, thresholds)


def rows_beside(random, numbers, rows, dtype=np.float64):
    """Numbers of boundaries, and what is just above and below them."""
    column = random.choice(numbers, rows)
    with np.errstate(over="ignore"):
        column = column.astype(dtype)
        towards = random.choice(np.array([-np.inf, 0, np.inf]), rows).astype(dtype)
        return np.where(towards == 0, column, np.nextafter(column, towards))


def expected_of(boundary, score, uncertainty, segment=None):
    """(decision, level) by the C++ library: decision -1 where it refuses the row, level -2 likewise."""
    fine = np.isfinite(score) & np.isfinite(uncertainty)
    if segment is not None:
        fine &= np.array([value is not None for value in segment])
    decision = np.full(len(score), -1, np.int64)
    parts = {} if segment is None else {"segment": np.asarray(segment, dtype=object)[fine]}
    decision[fine] = boundary.decide(score[fine], uncertainty[fine], **parts)
    has_level = np.isfinite(uncertainty)
    if segment is not None:
        has_level &= np.array([value is not None for value in segment])
        parts = {"segment": np.asarray(segment, dtype=object)[has_level]}
    level = np.full(len(score), -2, np.int64)
    level[has_level] = boundary.level(uncertainty[has_level], **parts)
    return decision, level
