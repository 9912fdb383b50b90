# SPDX-License-Identifier: MIT
import copy
import json
import pickle

import limen
import numpy as np
import pytest
from rows import make_rows

ROWS = make_rows(3000, seed=1)
WEIGHT = np.random.default_rng(2).random(3000)


@pytest.fixture(scope="module")
def boundary():
    return limen.fit_boundary(*ROWS, min_precision=0.7, levels=4)


def test_it_tells_where_it_came_from_and_what_it_reached(boundary):
    y, score, uncertainty = ROWS
    flagged = boundary.decide(score, uncertainty)
    holdout = boundary.holdout
    assert (holdout.rows, holdout.weighted, holdout.positives) == (3000, False, y.sum())
    assert (holdout.flagged, holdout.true_positives) == (flagged.sum(), (flagged & y).sum())
    assert boundary.precision == holdout.precision == (flagged & y).sum() / flagged.sum() >= 0.7
    assert boundary.recall == holdout.recall == (flagged & y).sum() / y.sum()
    assert (boundary.method, boundary.objective) == ("exact", "most recall with precision >= 0.7")
    assert (boundary.bins, boundary.binning, boundary.levels) == ("all", "equi-weight", 4)
    assert (boundary.optimal, boundary.gap) == (True, 0)
    assert (boundary.score_column, boundary.uncertainty_column) == ("score", "uncertainty")
    assert repr(boundary) == (
        "<limen.Boundary: most recall with precision >= 0.7; exact, 4 levels, every distinct score; "
        f"hold-out of 3000 rows: precision {boundary.precision:.4f}, recall {boundary.recall:.4f}, "
        "proved optimal on it>"
    )


def test_a_heuristic_admits_its_gap():
    boundary = limen.fit_boundary(*ROWS, min_precision=0.7, method="gmt", bins=50, sample_weight=WEIGHT)
    best = limen.fit_boundary(*ROWS, min_precision=0.7, method="exact", bins=50, sample_weight=WEIGHT)
    reached, possible = boundary.holdout.true_positives, best.holdout.true_positives
    assert not boundary.optimal
    assert 0 < possible - reached <= boundary.gap
    assert boundary.bins == 50
    assert boundary.holdout.weighted
    assert repr(boundary).endswith(f", gap {boundary.gap:.6g}>")
    assert "at most 50 score bins; hold-out of 3000 rows (by weight)" in repr(boundary)


def test_decisions_follow_the_rule_as_numpy_would_apply_it(boundary):
    _, score, uncertainty = make_rows(5000, seed=9)
    edges, thresholds = boundary.uncertainty_edges, boundary.score_thresholds
    level = np.searchsorted(edges, uncertainty, side="right")
    decision = boundary.decide(score, uncertainty)
    assert decision.dtype == np.bool_
    assert (decision == (score >= thresholds[level])).all()
    assert (boundary.level(uncertainty) == level).all()
    assert set(level) == {0, 1, 2, 3}
    on_the_edge = boundary.decide([thresholds[1]] * 2, [edges[0], np.nextafter(edges[0], -1)])
    assert on_the_edge[0]
    assert boundary.decide([], []).shape == (0,)


def test_a_level_without_a_threshold_is_never_positive():
    # The uncertain half is noise: no precision of 1 there.
    y = [1, 1, 0, 0, 0, 1, 0, 1]
    score = [0.9, 0.8, 0.2, 0.1, 0.9, 0.8, 0.7, 0.6]
    uncertainty = [0, 0, 0, 0, 1, 1, 1, 1]
    boundary = limen.fit_boundary(y, score, uncertainty, min_precision=1, levels=2)
    assert 0.2 < boundary.score_thresholds[0] <= 0.8
    assert np.isnan(boundary.score_thresholds[1])
    assert boundary.decide([1e300, 1e300], [0, 1]).tolist() == [True, False]


def test_evaluation_of_nothing_flagged_is_nan():
    boundary = limen.fit_boundary([0, 1], [0.0, 1.0], [0, 0], min_precision=1, levels=1)
    found = boundary.evaluate([0, 0], [0.1, 0.2], [0, 0])
    assert (found.rows, found.positives, found.flagged) == (2, 0, 0)
    assert np.isnan([found.precision, *found.precision_interval, found.recall, *found.recall_interval]).all()


def test_evaluation_narrows_with_less_confidence(boundary):
    wide, narrow = (boundary.evaluate(*ROWS, confidence_level=level) for level in (0.99, 0.5))
    assert wide.precision == narrow.precision == boundary.precision
    assert wide.precision_interval[0] < narrow.precision_interval[0] < wide.precision
    assert wide.precision < narrow.precision_interval[1] < wide.precision_interval[1]
    frame = wide.to_pandas()
    assert frame.index.tolist() == ["all", "level 0", "level 1", "level 2", "level 3"]
    assert frame["flagged"].iloc[1:].sum() == frame["flagged"].iloc[0] == boundary.holdout.flagged
    with pytest.raises(ValueError, match="confidence is 1.5"):
        boundary.evaluate(*ROWS, confidence_level=1.5)


@pytest.mark.parametrize(
    ("score", "uncertainty", "message"),
    [
        ([0.5, np.nan], [0, 0], r"decide: score\[1\] is"),
        ([0.5, 0.5], [0, np.inf], r"decide: uncertainty\[1\] is"),
        ([0.5], [0, 0], "decide: score has 1 rows, uncertainty"),
        ([[0.5]], [0], r"score has shape \(1, 1\)"),
        (["a"], [0], r"score\[0\] is 'a', must be a number"),
    ],
)
def test_decide_refuses_bad_rows(boundary, score, uncertainty, message):
    with pytest.raises(ValueError, match=message):
        boundary.decide(score, uncertainty)


BOUNDARIES = {
    "plain": dict(min_precision=0.7),
    "weighted": dict(min_precision=0.7, sample_weight=WEIGHT / 3),
    "fraction": dict(max_flag_rate="0.123456789"),
    "cost": dict(cost=(0.1, 7)),
    "binned": dict(f_beta=2, bins=20, binning="equi-span", levels=7),
}


@pytest.mark.parametrize("case", BOUNDARIES)
def test_copies_and_files_are_equal_to_the_last_bit(case, tmp_path):
    boundary = limen.fit_boundary(*ROWS, **BOUNDARIES[case])
    boundary.save(tmp_path / "b.json")
    copies = [
        limen.Boundary.from_json(boundary.to_json()),
        limen.Boundary.from_json(boundary.to_json().encode()),
        limen.Boundary.load(tmp_path / "b.json"),
        limen.Boundary.load(str(tmp_path / "b.json")),
        copy.copy(boundary),
        copy.deepcopy(boundary),
        *(pickle.loads(pickle.dumps(boundary, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)),
    ]
    for other in copies:
        assert other == boundary
        assert hash(other) == hash(boundary)
        assert other.to_json() == boundary.to_json()
        assert other.score_thresholds.tobytes() == boundary.score_thresholds.tobytes()
        assert other.uncertainty_edges.tobytes() == boundary.uncertainty_edges.tobytes()
        assert other.holdout == boundary.holdout


def test_a_save_that_fails_leaves_the_old_file(boundary, tmp_path, monkeypatch):
    path = tmp_path / "b.json"
    path.write_text("old")

    def fail(*_):
        raise OSError("no room")

    with monkeypatch.context() as broken:
        broken.setattr("os.replace", fail)
        with pytest.raises(OSError, match="no room"):
            boundary.save(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.json"]
    boundary.save(path)
    assert limen.Boundary.load(path) == boundary


def test_boundaries_differ_when_any_part_does(boundary):
    parts = boundary.to_dict()
    assert parts == json.loads(boundary.to_json())
    parts["rule"]["score_thresholds"][0] = float(np.nextafter(parts["rule"]["score_thresholds"][0], 1))
    assert limen.Boundary.from_json(json.dumps(parts)) != boundary
    assert boundary != "boundary"
    assert limen.fit_boundary(*ROWS, min_precision=0.71, levels=4) != boundary


def test_a_boundary_cannot_be_changed(boundary):
    with pytest.raises(AttributeError, match="cannot be changed: method"):
        boundary.method = "st"
    with pytest.raises(AttributeError, match="cannot be changed: note"):
        boundary.note = "mine"
    with pytest.raises(AttributeError, match="cannot be changed: _fitted"):
        del boundary._fitted
    boundary.score_thresholds[:] = 0  # an own copy
    assert boundary.score_thresholds.any()
    with pytest.raises(TypeError, match="made by limen.fit_boundary"):
        limen.Boundary()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "boundary: is not a JSON file, or a damaged one"),
        ("{}", 'boundary: is not a boundary file: "format" must be "limen-boundary"'),
        (b"\xff\xfe", "boundary: is not a JSON file"),
    ],
)
def test_damaged_text_is_refused(text, message):
    with pytest.raises(ValueError) as caught:
        limen.Boundary.from_json(text)
    assert str(caught.value).startswith(message)


def test_damaged_files_are_refused_by_path(tmp_path):
    (tmp_path / "b.json").write_text("{")
    with pytest.raises(ValueError) as caught:
        limen.Boundary.load(tmp_path / "b.json")
    assert str(caught.value) == f"{tmp_path / 'b.json'}: is not a JSON file, or a damaged one"
    with pytest.raises(FileNotFoundError):
        limen.Boundary.load(tmp_path / "none.json")


def test_too_few_distinct_uncertainties_warn_once():
    y, score, _ = ROWS
    with pytest.warns(UserWarning, match="^uncertainty has too many equal values for 3 levels; 2 used$") as caught:
        boundary = limen.fit_boundary(y, score, np.arange(3000) % 2, min_precision=0.5, levels=3)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert boundary.levels == 2


def test_an_infeasible_goal_says_what_can_be_reached():
    with pytest.raises(limen.InfeasibleError) as caught:
        limen.fit_boundary([1, 0, 0, 1], [0.5, 0.5, 0.5, 0.5], [0, 0, 0, 0], min_precision=0.9, levels=1)
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, ValueError)
    assert (error.best_attainable, str(error)) == (0.5, str(caught.value))
