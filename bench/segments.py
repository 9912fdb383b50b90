# SPDX-License-Identifier: MIT
"""Segments on simulated hold-outs: how often a certified bound is missed, how rare a value may be, what auto does.

    .venv/bin/python bench/segments.py [RUNS]

Scores are uniform, and a row of score s in segment k is positive with probability a_k + b_k s, so that the precision of
every threshold is known. Prints the tables of docs/algorithms/segments.md.
"""

import sys

import limen
import numpy as np

CONFIDENCE = 0.95
BOUND = 0.75
SEGMENTS = {"a": (0.10, 0.88, 0.40), "b": (0.00, 0.85, 0.30), "c": (0.20, 0.78, 0.15), "d": (0.35, 0.62, 0.10)}
RARE = {f"r{at:02d}": (0.05 + 0.02 * at, 0.85, 0.05 / 10) for at in range(10)}


def draw(rows, random, laws):
    names = np.array(list(laws), dtype=object)
    share = np.array([law[2] for law in laws.values()])
    at = random.choice(len(names), size=rows, p=share / share.sum())
    low, slope = (np.array([law[part] for law in laws.values()])[at] for part in (0, 1))
    score = random.uniform(size=rows)
    return (random.uniform(size=rows) < low + slope * score).astype(np.uint8), score, names[at]


def flagged_and_positive(threshold, low, slope, share):
    """Shares of all rows that a threshold flags, and of those that are positive; of a rule of one level."""
    if np.isnan(threshold):
        return 0.0, 0.0
    threshold = min(max(threshold, 0.0), 1.0)
    flagged = share * (1 - threshold)
    return flagged, flagged * (low + slope * (1 + threshold) / 2)


def truth(boundary, laws):
    """(flagged, positive, all positives) of each segment of a boundary, and of all together, in deployment."""
    parts = {}
    for segment in boundary.segments:
        values = segment.values if segment.value is not None else [v for v in laws if v in segment.values or boundary.unseen == "as pooled" and v not in {w for s in boundary.segments for w in s.values}]  # fmt: skip
        sums = [flagged_and_positive(segment.score_thresholds[0], *laws[value]) for value in values]
        parts[segment.value] = np.sum(sums, axis=0) if sums else np.zeros(2)
    return parts, np.sum(list(parts.values()), axis=0)


def positives(laws):
    return sum(share * (low + slope / 2) for low, slope, share in laws.values())


def certified(runs, rows, laws, min_rows):
    missed = {}
    issued = {}
    recall = []
    together_missed = together_issued = 0
    for run in range(runs):
        random = np.random.default_rng(run)
        y, score, segment = draw(rows, random, laws)
        common = dict(segment=segment, min_precision=BOUND, confidence_level=CONFIDENCE, random_state=run, segment_min_rows=min_rows)  # fmt: skip
        try:
            each = limen.fit_boundary(y, score, each=True, method="st", **common)
            parts, _ = truth(each, laws)
            for part in each.segments:
                name = "pool" if part.value is None else part.value
                issued[name] = issued.get(name, 0) + (part.status == "certified")
                if part.status == "certified":
                    flagged, positive = parts[part.value]
                    missed[name] = missed.get(name, 0) + (positive < BOUND * flagged)
        except limen.InfeasibleError:
            pass
        try:
            both = limen.fit_boundary(y, score, method="exact", **common)
            _, (flagged, positive) = truth(both, laws)
            together_issued += 1
            together_missed += positive < BOUND * flagged
            recall.append(positive / positives(laws))
        except limen.InfeasibleError:
            pass
    error = np.sqrt((1 - CONFIDENCE) * CONFIDENCE / runs)
    print(f"\n{rows:,} rows, {runs} hold-outs, confidence {CONFIDENCE}; misses allowed {1 - CONFIDENCE:.3f} (+ 3 standard errors: {1 - CONFIDENCE + 3 * error:.3f})")  # fmt: skip
    print("| promise | certified | missed |\n|---|---|---|")
    for name in sorted(issued):
        print(f"| each: {name} | {issued[name] / runs:.3f} | {missed.get(name, 0) / runs:.3f} |")
    print(f"| all together | {together_issued / runs:.3f} | {together_missed / runs:.3f} |")


def rare_values(runs):
    """Recall and precision in deployment by --segment-min-rows, of values of many sizes; uncertified."""
    sizes = 0.5 ** np.arange(1, 11)
    random = np.random.default_rng(0)
    laws = {f"v{at:02d}": (random.uniform(0, 0.3), random.uniform(0.6, 0.7), size) for at, size in enumerate(sizes)}
    laws = {name: (low, slope, share / sizes.sum()) for name, (low, slope, share) in laws.items()}
    print("\n| min rows | precision - bound | recall |\n|---|---|---|")
    for min_rows in (1, 50, 100, 200, 500, 1000, 2000, 4000):
        found = []
        for run in range(runs):
            y, score, segment = draw(10000, np.random.default_rng(1000 + run), laws)
            boundary = limen.fit_boundary(y, score, segment=segment, min_precision=BOUND, method="exact", segment_min_rows=min_rows)  # fmt: skip
            _, (flagged, positive) = truth(boundary, laws)
            found.append((positive / flagged - BOUND, positive / positives(laws)))
        low, recall = np.mean(found, axis=0)
        print(f"| {min_rows:,} | {low:+.4f} | {recall:.4f} |")


def choice(runs):
    """How often auto takes segments that are noise, and segments that tell something."""
    print("\n| rows | segments | noise: taken | different: taken | recall, auto | recall, one threshold |\n|---|---|---|---|---|---|")
    for rows in (2000, 10000):
        for count in (3, 20):
            taken = {"noise": 0, "different": 0}
            recalls = []
            for run in range(runs):
                random = np.random.default_rng(run)
                laws = {f"s{at}": (0.3 * random.uniform(), 0.65, 1 / count) for at in range(count)}
                for kind in taken:
                    used = laws if kind == "different" else dict.fromkeys(laws, (0.15, 0.65, 1 / count))
                    y, score, segment = draw(rows, random, used)
                    try:
                        found = limen.fit_boundary(y, score, segment=segment, min_precision=0.7, segment_min_rows=50)
                    except limen.InfeasibleError:
                        continue
                    taken[kind] += found.segments is not None
                    if kind != "different":
                        continue
                    single = limen.fit_boundary(y, score, score, min_precision=0.7, method="st").score_thresholds[0]
                    one = np.sum([flagged_and_positive(single, *law) for law in used.values()], axis=0)
                    if found.segments is None:
                        ours = one
                    else:
                        _, ours = truth(found, used)
                    recalls.append((ours[1] / positives(used), one[1] / positives(used)))
            auto, one = np.mean(recalls, axis=0)
            print(f"| {rows:,} | {count} | {taken['noise'] / runs:.3f} | {taken['different'] / runs:.3f} | {auto:.4f} | {one:.4f} |")  # fmt: skip


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    certified(runs, 2000, SEGMENTS, 100)
    certified(runs, 6000, {**SEGMENTS, **RARE}, 400)
    rare_values(max(20, runs // 10))
    choice(max(20, runs // 25))
