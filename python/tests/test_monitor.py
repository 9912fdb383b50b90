# SPDX-License-Identifier: MIT
import json
import pickle

import limen
import numpy as np
import pandas
import polars
import pytest


def boundary(**goal):
    """Scores from 0.5 on are flagged: of the hold-out 10%, nine of ten of them positive."""
    y = np.repeat([1, 0, 0, 1], [90, 10, 890, 10])
    score = np.repeat([0.9, 0.5, 0.1, 0.1], [90, 10, 890, 10])
    return limen.fit_boundary(y, score, np.zeros(1000), method="st", **(goal or {"min_precision": 0.9}))


def rows(size, precision, seed=0):
    random = np.random.default_rng(seed)
    flagged = random.random(size) < 0.1
    y = random.random(size) < np.where(flagged, precision, 0.01)
    return np.where(flagged, 0.9, 0.1), np.zeros(size), y.astype(int)


def test_a_promise_holds_and_breaks():
    monitor = limen.Monitor(boundary())
    assert monitor.verdict == "not enough yet"
    assert monitor.report.more_needed > 100
    assert monitor.report.figure is None
    assert monitor.update(*rows(40_000, 0.93))
    report = monitor.report
    assert report.verdict == "holds so far"
    assert 0.85 < report.figure_low < report.figure < report.figure_high
    assert "holds so far; precision 0.92" in repr(monitor)
    score, uncertainty, y = rows(40_000, 0.8, seed=1)
    monitor.update(score, uncertainty, y, time=np.repeat(["monday", "tuesday"], 20_000))
    report = monitor.report
    assert (report.verdict, report.constraint, report.bound) == ("broken", "precision", 0.9)
    assert report.broken.since.time == "monday"
    assert 39_000 < report.broken.since.row < 42_000 < 80_000 == report.rows
    assert report.p_value <= 0.05
    assert report.broken.figure == pytest.approx(0.8, abs=0.02)
    assert "broken since" in monitor._repr_html_()
    assert json.loads(json.dumps(report.to_dict()))["broken"]["since"]["time"] == "monday"


def test_labels_come_late_in_any_form():
    score, uncertainty, y = rows(2000, 0.9)
    whole = limen.Monitor(boundary())
    whole.update(score, uncertainty, y)
    unknown = np.full(2000, np.nan)
    half = np.where(np.arange(2000) % 2 == 0, y, np.nan)
    for form in (
        lambda v: v,
        pandas.Series,
        polars.Series,
        lambda v: [None if np.isnan(one) else int(one) for one in v],
    ):
        late = limen.Monitor(boundary())
        late.update(score, uncertainty, id=np.arange(2000))
        late.update(score, uncertainty, form(unknown), id=np.arange(2000))
        late.update(score, uncertainty, form(half), id=[str(at) for at in range(2000)])
        assert late.report.labelled == 1000
        late.update(score, uncertainty, y.astype(bool), id=pandas.Series(np.arange(2000)))
        assert late.report.rows == 2000
        assert late.report.labelled == 2000
        assert late.report.figure == whole.report.figure


def test_large_ids_stay_apart():
    monitor = limen.Monitor(boundary())
    score, uncertainty, y = rows(100, 0.9)
    for offset in (0, 100):
        monitor.update(score, uncertainty, y, id=2**60 + offset + np.arange(100))
    assert monitor.report.rows == 200
    monitor.update(score, uncertainty, y, id=[2**60 + at for at in range(100)])
    assert monitor.report.rows == 200
    assert monitor.report.repeated == 100


def test_the_same_rows_are_counted_once_when_asked():
    monitor = limen.Monitor(boundary())
    assert monitor.update([0.9], [0.0], [1])
    assert monitor.update([0.9], [0.0], [1])
    assert monitor.update([0.9], [0.0], [1], once=True)
    assert not monitor.update([0.9], [0.0], [1], once=True)
    assert monitor.report.rows == 3


def test_the_state_is_that_of_the_program(program):
    fitted = boundary()
    fitted.save(program.folder / "b.json")
    score, uncertainty, y = rows(5000, 0.9)
    frame = pandas.DataFrame({"score": score, "uncertainty": uncertainty, "label": y, "id": np.arange(5000)})
    frame.to_csv(program.folder / "x.csv", index=False)
    monitor = limen.Monitor(fitted)
    monitor.update(score, uncertainty, y, id=np.arange(5000), once=True)
    monitor.save(program.folder / "python.json")
    written = program("monitor", "b.json", "x.csv", "--id", "id", "--state", "s.json", "--json")
    assert (program.folder / "s.json").read_text() == (program.folder / "python.json").read_text() == monitor.to_json()
    assert json.loads(written) == monitor.report.to_dict()
    loaded = limen.Monitor.load(program.folder / "s.json", fitted)
    assert not loaded.update(score, uncertainty, y, id=np.arange(5000), once=True)
    assert pickle.loads(pickle.dumps(loaded)).to_json() == monitor.to_json()
    assert loaded.boundary == fitted


def test_every_constraint_and_a_reference():
    score, uncertainty, y = rows(3000, 0.9)
    for goal, constraint, tested in [
        ({"min_recall": 0.5}, "recall", y.sum()),
        ({"max_false_positive_rate": 0.02}, "false-positive rate", 3000 - y.sum()),
        ({"max_flag_rate": 0.2}, "flag rate", 3000),
    ]:
        monitor = limen.Monitor(boundary(**goal), alpha=0.01, tolerance=0.1)
        monitor.add_reference(score, uncertainty)
        monitor.update(score, uncertainty, y)
        report = monitor.report
        assert (report.constraint, report.tested, report.alpha, report.tolerance) == (constraint, tested, 0.01, 0.1)
        assert report.flag_rate.reference_rows == 3000
        assert report.flag_rate.drift is None


def test_weights():
    monitor = limen.Monitor(boundary(), max_weight=4)
    monitor.update([0.9, 0.9], [0, 0], [1, 0], sample_weight=[3, 1])
    assert monitor.report.figure == 0.75


def test_refusals(tmp_path):
    fitted = boundary()
    with pytest.raises(TypeError, match="boundary is a str, must be a limen.Boundary"):
        limen.Monitor("b.json")
    with pytest.raises(ValueError, match="promises nothing"):
        limen.Monitor(boundary(cost=(1, 5)))
    with pytest.raises(ValueError, match="alpha is 95, must be above 0 and below 1"):
        limen.Monitor(fitted, alpha=95)
    monitor = limen.Monitor(fitted)
    with pytest.raises(ValueError, match=r"y\[1\] is 2.0, must be 0, 1 or missing"):
        monitor.update([0.9, 0.9], [0, 0], [1, 2])
    with pytest.raises(ValueError, match=r"y\[0\] is 'yes', must be 0, 1 or missing"):
        monitor.update([0.9], [0], ["yes"])
    with pytest.raises(ValueError, match="label has 1 values, score has 2"):
        monitor.update([0.9, 0.9], [0, 0], [1], once=True)
    with pytest.raises(ValueError, match="must be finite"):
        monitor.update([np.nan], [0])
    with pytest.raises(ValueError, match="max_weight"):
        monitor.update([0.9], [0], [1], sample_weight=[1])
    assert monitor.report.rows == 0
    text = monitor.to_json()
    with pytest.raises(ValueError, match="is damaged"):
        limen.Monitor.from_json(text.replace('"rows":0', '"rows":1', 1), fitted)
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(ValueError, match=r"s.json: is of another boundary"):
        limen.Monitor.load(tmp_path / "s.json", boundary(min_precision=0.8))
