#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boundaries certified for precision: Limen beside every method of MAPIE's BinaryClassificationController.

    bench/certified.py CACHE_FOLDER RESULTS.json [--sets adult,bank,...] [--seeds 50] [--without-limen | --paired]

Reads the predictions that bench/certified_predictions.py wrote. Each rule is chosen on the hold-out rows of a seed and judged on its
test rows. MAPIE's lists of thresholds are quantiles of the hold-out scores, evenly spaced in the logarithm of the share of rows flagged,
from 30 rows to 40% of them (so they begin above the best region and end below it), 50, 100, 200 and 1000 of them, and go to

- bonferroni and bonferroni_holm;
- fixed_sequence, and FWERFixedSequenceTesting with 2, 5, 10 and 20 starts;
- split_fixed_sequence that learns its order on 10, 25 and 50% of the hold-out, with binary=True and False.

Best of MAPIE, for each set, bound and confidence: that method and list, of all these, which has the highest mean recall over the seeds
among those within their level, chosen in hindsight. "hindsight start" is no method of MAPIE: its fixed_sequence, on lists that begin
at 0.1 to 10% of rows flagged, of which the best is taken knowing the test rows; it tells what the right start would be worth.

Missed: share of seeds whose test precision is below the bound. A test set is finite: a rule whose true precision is just above the bound
is now and then counted too, on small sets as often as one that misses. So "missed, less test noise" takes the test precisions of the
seeds as normal and takes the binomial variance of a test set of that size from their variance. Within their level: this share is at most
1 - confidence + 2 standard errors. Nothing: seeds in which nothing was certified; these have recall 0.

For the tables MAPIE's own functions get the counts of all thresholds at once (ltt_procedure); --check compares that with the
controller, threshold by threshold. Seconds and memory are of the controller itself, and of limen.fit_boundary, in a process of its own.
"""

import argparse
import collections
import json
import pathlib
import resource
import subprocess
import sys
import time
import warnings
from statistics import NormalDist

import numpy as np
import real_sets

CONFIDENCES = (0.9, 0.95)
LIST_LENGTHS = (50, 100, 200, 1000)
STARTS = (2, 5, 10, 20)
LEARNING_SHARES = (0.1, 0.25, 0.5)
FEWEST_FLAGGED, MOST_FLAGGED = 30, 0.4
HINDSIGHT_STARTS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
BETAS = np.logspace(-25, 0, 1000)  # MAPIE's default
LIMEN_METHODS = ("st", "auto")


def thresholds_of(score, count, first_share):
    """From many rows flagged to few, ascending as MAPIE wants them."""
    flagged = np.geomspace(max(first_share * len(score), FEWEST_FLAGGED), MOST_FLAGGED * len(score), count)
    return np.unique(np.sort(score)[::-1][np.round(flagged).astype(int) - 1])


class Counts:
    """Flagged rows and positives among them, for any threshold."""

    def __init__(self, y, score):
        order = np.argsort(-score, kind="stable")
        self.descending = -score[order]
        self.positives = np.concatenate([[0], np.cumsum(y[order])])

    def at(self, thresholds):
        flagged = np.searchsorted(self.descending, -np.asarray(thresholds, float), side="right")
        return flagged, self.positives[flagged]

    def risks(self, thresholds):
        """As BinaryRisk gives them for precision: 1 - precision, and rows it is counted on."""
        flagged, hits = self.at(thresholds)
        return (1 - hits / flagged)[np.newaxis], flagged.astype(float)[np.newaxis]


def learn_order(counts, thresholds, bound, binary):
    """What learn_fixed_sequence_order does, for one risk."""
    from mapie.risk_control.methods import compute_hoeffding_bentkus_p_value

    risk, rows = counts.risks(thresholds)
    p_values = compute_hoeffding_bentkus_p_value(risk[0], rows[0], np.array([1 - bound]), binary)[:, 0]
    nearest = np.argmin(np.abs(p_values[np.newaxis] - BETAS[:, np.newaxis]), axis=1)
    return thresholds[list(dict.fromkeys(nearest.tolist()))]


def lowest_valid(counts, thresholds, bound, confidence, method):
    """The lowest threshold that MAPIE finds valid, which has the highest recall; None if there is none."""
    from mapie.risk_control._base_controller import ltt_procedure

    risk, rows = counts.risks(thresholds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        valid, _ = ltt_procedure(risk, np.array([[1 - bound]]), 1 - confidence, rows, True, fwer_method=method)
    return min(thresholds[valid[0]], default=None)


def mapie_methods():
    from mapie.risk_control.fwer_control import FWERFixedSequenceTesting

    yield "bonferroni", "bonferroni", None
    yield "bonferroni_holm", "bonferroni_holm", None
    yield "fixed_sequence", "fixed_sequence", None
    for starts in STARTS:
        yield f"fixed_sequence, {starts} starts", FWERFixedSequenceTesting(starts), None
    for share in LEARNING_SHARES:
        for binary in (False, True):
            yield f"split_fixed_sequence, {share:.0%}, binary={binary}", "split_fixed_sequence", (share, binary)


def learning_rows(rows, share):
    return round(share * rows)  # the rows come in random order: the first of them learn


def mapie_thresholds(data, bound):
    """(method, confidence, threshold or None) for each of MAPIE's methods and lists."""
    y, score = data["y_h"], data["score_h"]
    everything = Counts(y, score)
    parts = {}
    for share in LEARNING_SHARES:
        cut = learning_rows(len(y), share)
        parts[share] = (
            Counts(y[:cut], score[:cut]),
            Counts(y[cut:], score[cut:]),
            min(score[:cut].max(), score[cut:].max()),
        )
    for length in LIST_LENGTHS:
        thresholds = thresholds_of(score, length, 0)
        for name, method, split in mapie_methods():
            counts, order = everything, thresholds
            if split is not None:
                learning, counts, highest = parts[split[0]]
                # A threshold above every score of a part has no p-value, and stops MAPIE's learning.
                order = learn_order(learning, thresholds[thresholds <= highest], bound, split[1])
            for confidence in CONFIDENCES:
                yield f"{name}; {length} thresholds", confidence, lowest_valid(counts, order, bound, confidence, method)
    for start in HINDSIGHT_STARTS:
        for length in (50, 200):
            thresholds = thresholds_of(score, length, start)
            for confidence in CONFIDENCES:
                found = lowest_valid(everything, thresholds, bound, confidence, "fixed_sequence")
                yield f"hindsight start {start:.1%}; {length} thresholds", confidence, found


def controller_threshold(data, bound, confidence, name):
    """The same by the controller itself."""
    from mapie.risk_control import BinaryClassificationController

    method, _, length = name.removesuffix(" thresholds").rpartition("; ")
    y, score = data["y_h"], data["score_h"]
    thresholds = thresholds_of(score, int(length), 0)
    fwer_method, split = {each: rest for each, *rest in mapie_methods()}[method]
    cut = learning_rows(len(y), split[0]) if split else 0
    if split:
        thresholds = thresholds[thresholds <= min(score[:cut].max(), score[cut:].max())]
    controller = BinaryClassificationController(
        lambda X: np.column_stack([1 - X[:, 0], X[:, 0]]),
        risk="precision",
        target_level=bound,
        confidence_level=confidence,
        best_predict_param_choice="recall",
        list_predict_params=thresholds,
        fwer_method=fwer_method,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if split:
            controller.learn_fixed_sequence_order(score[:cut, np.newaxis], y[:cut], binary=split[1])
        controller.calibrate(score[cut:, np.newaxis], y[cut:])
    return controller.best_predict_param


def limen_flags(data, bound, confidence, method):
    """Test rows flagged; None where nothing can be certified (or, without a confidence, reached)."""
    import limen

    certify = {} if confidence is None else {"confidence_level": confidence}
    try:
        rule = limen.fit_boundary(
            data["y_h"], data["score_h"], data["u_h"], min_precision=bound, method=method, **certify
        )
    except limen.InfeasibleError:
        return None
    return np.asarray(rule.decide(data["score_t"], data["u_t"]), dtype=bool)


def judge(y, flagged):
    """Recall, precision (None if nothing is flagged) and rows flagged."""
    hits, count = int(np.count_nonzero(y & flagged)), int(np.count_nonzero(flagged))
    return hits / int(y.sum()), hits / count if count else None, count


def judge_threshold(counts, positives, threshold):
    flagged, hits = (0, 0) if threshold is None else (int(value) for value in counts.at(threshold))
    return hits / positives, hits / flagged if flagged else None, flagged


def judge_seed(path, bounds, with_limen, with_mapie=True):
    """{"bound/confidence/method": (recall, precision, rows flagged)}"""
    data = np.load(path)
    y = data["y_t"] == 1
    counts, positives = Counts(data["y_t"], data["score_t"]), int(y.sum())
    found = {}
    for bound in bounds:
        for name, confidence, threshold in mapie_thresholds(data, bound) if with_mapie else ():
            found[f"{bound}/{confidence}/{name}"] = judge_threshold(counts, positives, threshold)
        naive = Counts(data["y_h"], data["score_h"])
        every = np.unique(data["score_h"])
        flagged, hits = naive.at(every)
        kept = every[hits >= bound * flagged]
        for confidence in CONFIDENCES:
            found[f"{bound}/{confidence}/naive"] = judge_threshold(counts, positives, min(kept, default=None))
            for method in LIMEN_METHODS if with_limen else ():
                flags = limen_flags(data, bound, confidence, method)
                found[f"{bound}/{confidence}/limen, {method}"] = judge(
                    y, np.zeros(len(y), bool) if flags is None else flags
                )
    return found


def summarize(trials, bound, confidence):
    recalls = [recall for recall, _, _ in trials]
    precisions = np.array([precision for _, precision, _ in trials if precision is not None])
    flagged = np.array([flagged for _, precision, flagged in trials if precision is not None])
    missed_less_noise = 0.0
    if len(precisions) > 1:
        noise = np.mean(precisions * (1 - precisions) / flagged)
        spread = np.sqrt(max(np.var(precisions, ddof=1) - noise, noise / 100))
        share = NormalDist(precisions.mean(), spread).cdf(bound)
        missed_less_noise = float(share * len(precisions) / len(trials))
    allowed = 1 - confidence + 2 * np.sqrt(confidence * (1 - confidence) / len(trials))
    return {
        "recall": float(np.mean(recalls)),
        "precision": float(precisions.mean()) if len(precisions) else None,
        "missed": float(np.count_nonzero(precisions < bound) / len(trials)),
        "missed_less_noise": missed_less_noise,
        "nothing": float(np.mean([recall == 0 for recall in recalls])),
        "within_level": bool(missed_less_noise <= allowed),
    }


def measure(cache, name, bound, confidence, method):
    """Median seconds of seeds 0 to 4 for choosing the rule, and the most memory it added, in MiB, in a process of its own."""
    command = [sys.executable, __file__, str(cache), "-", "--measure", json.dumps([name, bound, confidence, method])]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure_here(cache, name, bound, confidence, method):
    data = [dict(np.load(cache / f"{name}_{seed}.npz")) for seed in range(5)]
    if method.startswith("limen, "):
        import limen  # noqa: F401, loading is not counted

        def choose(rows):
            limen_flags(rows | {"score_t": rows["score_t"][:1], "u_t": rows["u_t"][:1]}, bound, confidence, method[7:])
    else:
        import mapie.risk_control  # noqa: F401

        def choose(rows):
            controller_threshold(rows, bound, confidence, method)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for rows in data:
        start = time.perf_counter()
        choose(rows)
        seconds.append(time.perf_counter() - start)
    print(json.dumps([float(np.median(seconds)), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024]))


def check(cache, sets):
    compared = 0
    for name in sets:
        data = np.load(cache / f"{name}_0.npz")
        bound = real_sets.SETS[name][-1][0]
        for method, confidence, threshold in mapie_thresholds(data, bound):
            if method.startswith("hindsight") or "1000" in method:
                continue
            expected = controller_threshold(data, bound, confidence, method)
            if expected != threshold:
                raise SystemExit(f"{name} {bound} {confidence} {method}: {threshold}, the controller {expected}")
            compared += 1
    print(f"{compared} thresholds are those of the controller")


def print_table(results, with_limen):
    figures = " recall | precision | missed | less noise | nothing |"
    columns = f"| set | bound | confidence | best of MAPIE |{figures} its default | hindsight start | naive |"
    if with_limen:
        columns += "".join(f" limen, {method}:{figures} over MAPIE |" for method in LIMEN_METHODS)
    print(columns + "\n|" + "---|" * (columns.count("|") - 1))
    for row in results:
        best = row["best_of_mapie"]
        cells = [row["set"], row["bound"], row["confidence"], best["method"], *cells_of(best)]
        cells += [cells_of(row[name])[0] for name in ("default_of_mapie", "hindsight_start")]
        cells += [cells_of(row["methods"]["naive"])[0]]
        for method in LIMEN_METHODS if with_limen else ():
            ours = row["methods"][f"limen, {method}"]
            over = f"{100 * (ours['recall'] / best['recall'] - 1):+.1f}%" if best["recall"] else ""
            cells += [*cells_of(ours), over]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    if with_limen:
        print_paired(results)


def print_paired(results):
    print("\nlimen, auto less limen, st: mean difference of test recall, and t of the paired test over the splits")
    for row in results:
        auto, single = (
            np.array([trial[0] for trial in row["trials"][f"limen, {method}"]], float) for method in ("auto", "st")
        )
        difference = auto - single
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        t = difference.mean() / error if error > 0 else 0.0
        print(f"  {row['set']} {row['bound']} {row['confidence']}: {difference.mean():+.4f} of {single.mean():.4f}, t {t:+.2f}")


def cells_of(summary):
    if summary is None:
        return [""] * 5
    precision = "" if summary["precision"] is None else f"{summary['precision']:.4f}"
    shares = [f"{summary[name]:.0%}" for name in ("missed", "missed_less_noise", "nothing")]
    return [f"{summary['recall']:.4f}", precision, *shares]


def best_of(methods, accept):
    kept = [
        {"method": name, **summary} for name, summary in methods.items() if accept(name) and summary["within_level"]
    ]
    return max(kept, key=lambda summary: summary["recall"], default=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cache", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--sets", default=",".join(real_sets.SETS))
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--without-limen", action="store_true", help="leave out limen's columns")
    parser.add_argument("--paired", action="store_true", help="limen's auto beside its st alone, without MAPIE")
    parser.add_argument(
        "--check", action="store_true", help="compare thresholds with those of MAPIE's controller, and end"
    )
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure_here(arguments.cache, *json.loads(arguments.measure))
        return
    sets = arguments.sets.split(",")
    if arguments.check:
        check(arguments.cache, sets)
        return
    if arguments.paired:
        rows = []
        for name in sets:
            bounds = real_sets.SETS[name][-1]
            seeds = [
                judge_seed(arguments.cache / f"{name}_{seed}.npz", bounds, True, False)
                for seed in range(arguments.seeds)
            ]
            for bound in bounds:
                for confidence in CONFIDENCES:
                    trials = {
                        f"limen, {method}": [seed[f"{bound}/{confidence}/limen, {method}"] for seed in seeds]
                        for method in LIMEN_METHODS
                    }
                    rows.append({"set": name, "bound": bound, "confidence": confidence, "trials": trials})
        print_paired(rows)
        return
    import mapie

    with_limen = not arguments.without_limen
    print(f"MAPIE {mapie.__version__}, {arguments.seeds} seeds\n")
    rows = []
    for name in sets:
        bounds = real_sets.SETS[name][-1]
        trials = collections.defaultdict(list)
        for seed in range(arguments.seeds):
            for key, trial in judge_seed(arguments.cache / f"{name}_{seed}.npz", bounds, with_limen).items():
                trials[key].append(trial)
        for bound in bounds:
            for confidence in CONFIDENCES:
                prefix = f"{bound}/{confidence}/"
                of_methods = {
                    key.removeprefix(prefix): list_ for key, list_ in trials.items() if key.startswith(prefix)
                }
                methods = {method: summarize(list_, bound, confidence) for method, list_ in of_methods.items()}
                row = {
                    "set": name,
                    "bound": bound,
                    "confidence": confidence,
                    "seeds": arguments.seeds,
                    "best_of_mapie": best_of(methods, lambda m: not m.startswith(("hindsight", "limen", "naive"))),
                    "default_of_mapie": best_of(methods, lambda m: m.startswith("bonferroni_holm")),
                    "hindsight_start": best_of(methods, lambda m: m.startswith("hindsight")),
                    "methods": methods,
                }
                kept = {"naive"} | {row[name]["method"] for name in ("best_of_mapie", "hindsight_start") if row[name]}
                kept |= {f"limen, {method}" for method in LIMEN_METHODS} & set(methods)
                row["trials"] = {method: of_methods[method] for method in sorted(kept)}
                timed = [row["best_of_mapie"]["method"]] + sorted(
                    kept & {f"limen, {method}" for method in LIMEN_METHODS}
                )
                row["seconds_and_mebibytes"] = {m: measure(arguments.cache, name, bound, confidence, m) for m in timed}
                rows.append(row)
        arguments.results.write_text(json.dumps({"mapie": mapie.__version__, "rows": rows}, indent=1) + "\n")
    print_table(rows, with_limen)


if __name__ == "__main__":
    main()
