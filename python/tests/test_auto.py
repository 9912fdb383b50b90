# SPDX-License-Identifier: MIT
"""The choice between one threshold and uses of the uncertainty."""

import limen
import numpy as np
import pytest


def rows_with(effect, size=8000, seed=1):
    random = np.random.default_rng(seed)
    logit, uncertainty = 1.5 * random.normal(size=size) - 1, random.uniform(-1, 1, size)
    y = random.random(size) < 1 / (1 + np.exp(-logit - effect * uncertainty))
    return y, 1 / (1 + np.exp(-logit)), uncertainty


def test_noise_ends_at_one_threshold_and_says_why():
    rows = rows_with(0)
    boundary = limen.fit_boundary(*rows, min_precision=0.7)
    assert (boundary.method, boundary.levels) == ("st", 1)
    assert boundary.score_thresholds == limen.fit_boundary(*rows, min_precision=0.7, method="st").score_thresholds
    assert boundary.chosen_by["information_p"] > 0.01
    assert "tells nothing" in boundary.chosen_by["why"]
    assert [(entry["method"], entry["levels"]) for entry in boundary.chosen_by["candidates"]] == [
        ("st", 1), ("smooth", 32), ("exact", 2), ("exact", 4), ("exact", 8), ("exact", 16), ("joint", 4),
    ]  # fmt: skip
    low, high = boundary.expected["precision"]
    assert low < 0.7 < high + 0.05


def test_an_informative_column_is_used_and_gains_on_fresh_rows():
    rows, fresh = rows_with(2), rows_with(2, size=40_000, seed=2)
    boundary = limen.fit_boundary(*rows, min_precision=0.7)
    assert boundary.method in ("smooth", "exact")
    assert boundary.levels_from == "top"
    single = limen.fit_boundary(*rows, min_precision=0.7, method="st")
    ours, st = boundary.evaluate(*fresh), single.evaluate(*fresh)
    assert ours.recall > 1.1 * st.recall
    low, high = boundary.expected["recall"]
    assert low - 0.05 < ours.recall < high + 0.05
    assert limen.Boundary.from_json(boundary.to_json()) == boundary


def test_other_methods_have_no_choice_to_tell_of():
    boundary = limen.fit_boundary(*rows_with(1), min_precision=0.7, levels=3)
    assert (boundary.method, boundary.chosen_by, boundary.expected) == ("exact", None, None)


def test_informs_tells_p_value_and_gain():
    nothing = limen.informs(*rows_with(0), min_precision=0.7)
    assert not nothing.informs
    assert nothing.gain_interval[0] < 0.02
    found = limen.informs(*rows_with(2), min_precision=0.7)
    assert found.informs
    assert found.p_value <= 1e-3
    assert 0 < found.gain_interval[0] < found.gain < found.gain_interval[1]
    assert "better than one threshold" in found.why
    with pytest.raises(ValueError):
        limen.informs([0, 1], [0.1, np.nan], [0, 0], min_precision=0.7)


@pytest.mark.parametrize("way", ["up", "down"])
def test_thresholds_are_monotone_when_asked(way):
    y, score, uncertainty = rows_with(2, 4000, seed=3)
    free = limen.fit_boundary(y, score, uncertainty, min_precision=0.6, levels=5)
    boundary = limen.fit_boundary(y, score, uncertainty, min_precision=0.6, levels=5, monotone=way)
    thresholds = [np.inf if t is None else t for t in boundary.score_thresholds]
    assert thresholds == sorted(thresholds, reverse=way == "down")
    assert boundary.method == "exact" and boundary.optimal
    assert boundary.recall <= free.recall
    assert limen.Boundary.from_json(boundary.to_json()) == boundary
    with pytest.raises(ValueError, match="monotone thresholds need method exact or joint"):
        limen.fit_boundary(y, score, uncertainty, min_precision=0.6, method="smooth", monotone=way)


def test_levels_and_bins_are_found_when_asked():
    y, score, uncertainty = rows_with(2, 4000, seed=3)
    swept = limen.sweep(y, score, uncertainty, min_precision=0.6)
    boundary = limen.fit_boundary(y, score, uncertainty, min_precision=0.6, levels="auto", bins="auto")
    assert boundary.method == "exact"
    assert len(boundary.score_thresholds) == swept.smallest.levels
    with pytest.raises(ValueError, match="not for method smooth"):
        limen.fit_boundary(y, score, uncertainty, min_precision=0.6, levels="auto", method="smooth")


def test_compare_judges_auto_beside_the_others():
    holdout, test = rows_with(2, 4000, seed=3), rows_with(2, 4000, seed=4)
    found = limen.compare(holdout, test, min_precision=0.6, methods=["st", "auto"])
    chosen = limen.fit_boundary(*holdout, min_precision=0.6)
    auto = found.get("auto")
    assert auto.trials[0].method == chosen.method
    assert auto.trials[0].test_flagged == chosen.evaluate(*test).flagged
    assert auto.missed == int(auto.test_precision < 0.6)
