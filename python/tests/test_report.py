# SPDX-License-Identifier: MIT
import html
import json
import re

import limen
import numpy as np
import pytest
from rows import make_rows

ROWS = make_rows(1500, seed=1)
TEST = make_rows(800, seed=2)


def in_page(page):
    """The study inside a page."""
    (text,) = re.findall(r'id="study">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_a_report_has_the_study_of_the_program(program):
    found = limen.report(*ROWS, min_precision=0.6, bounds=[0.5, 0.7], test=TEST, confidence_level=0.9, title="rows.csv")
    holdout = program.write_table("rows.csv", *ROWS)
    test = program.write_table("test.csv", *TEST)
    told = json.loads(
        program("report", holdout, "--test", test, "--precision=0.6", "--bounds=0.5,0.7", "--confidence=0.9", "--json")
    )
    same = [
        "goal", "bounds", "start", "decision", "methods", "rules", "positivity", "frontier", "gain", "choice",
        "certification", "sweep", "calibration", "swaps", "confidence", "certified_confidence",
    ]  # fmt: skip
    assert {key: found.study[key] for key in same} == {key: told[key] for key in same}
    assert found.study["bounds"] == [0.5, 0.6, 0.7]
    assert found.study["data"]["test"]["rows"] == 800


def test_cells_are_what_fit_boundary_gives():
    found = limen.report(*ROWS, min_precision=0.6, bounds=[0.7], methods=["exact", "mist"], levels=4, test=TEST).study
    assert [method["name"] for method in found["methods"]] == ["exact", "st", "mist"]
    for method in found["methods"]:
        for bound, cell in zip(found["bounds"], method["at"], strict=True):
            given = {} if method["name"] == "st" else {"levels": 4, "levels_from": "top"}
            boundary = limen.fit_boundary(*ROWS, min_precision=bound, method=method["name"], **given)
            rule = found["rules"][cell["rule"]]
            assert rule["edges"] == list(boundary.uncertainty_edges)
            judged = boundary.evaluate(*TEST)
            assert (cell["test"]["flagged"], cell["test"]["true_positives"]) == (judged.flagged, judged.true_positives)
            assert cell["holdout"]["recall"] == boundary.recall


def test_a_report_is_a_page_that_is_saved_and_shown(tmp_path):
    path = tmp_path / "report.html"
    title = "</script><script>alert('1')"
    found = limen.report(*ROWS, min_precision=0.6, bounds=0.7, methods="st", title=title, path=path)
    assert path.read_text() == found.html
    assert in_page(found.html) == found.study == json.loads(found.json)
    assert found.study["title"] == title
    assert "<script>alert" not in found.html
    shown = found._repr_html_()
    (inside,) = re.findall(r'^<iframe srcdoc="([^"]*)"', shown)
    assert html.unescape(inside) == found.html
    assert "<" not in inside
    assert found.decision in repr(found)
    other = tmp_path / "other.html"
    found.save(other)
    assert other.read_bytes() == path.read_bytes()


def test_a_report_is_the_same_for_any_threads():
    pages = [limen.report(*ROWS, min_precision=0.6, num_threads=threads).html for threads in (1, 4)]
    assert pages[0] == pages[1]
    timed = limen.report(*ROWS, min_precision=0.6, bounds=0.7, timings=True).study
    assert timed["methods"][0]["at"][0]["seconds"] > 0


def test_a_report_takes_weights_and_other_bounds():
    weight = np.random.default_rng(3).random(len(ROWS[0]))
    found = limen.report(*ROWS, max_flag_rate=0.1, bounds=[0.2], sample_weight=weight).study
    assert found["goal"] == {"maximize": "recall", "constraint": "flag-rate"}
    assert found["data"]["holdout"]["weighted"] and found["swaps"] is None
    assert found["methods"][0]["at"][0]["holdout"]["flagged"] <= 0.1 * weight.sum() * (1 + 1e-9)


def test_a_report_refuses_what_it_cannot_show():
    with pytest.raises(ValueError, match="one class only; both are needed"):
        limen.report(np.zeros(10), ROWS[1][:10], ROWS[2][:10], min_precision=0.6)
    with pytest.raises(ValueError, match="methods are none"):
        limen.report(*ROWS, min_precision=0.6, methods=[])
    with pytest.raises(ValueError, match='method "best" is not one of'):
        limen.report(*ROWS, min_precision=0.6, methods=["best"])
    with pytest.raises(ValueError, match="confidence is 2, must be between 0 and 1"):
        limen.report(*ROWS, min_precision=0.6, confidence_level=2)
    with pytest.raises(ValueError, match="test"):
        limen.report(*ROWS, min_precision=0.6, test=(1, 2))
    with pytest.raises(TypeError):
        limen.report(*ROWS, cost=(1, 2))
    with pytest.raises(ValueError, match="min_precision"):
        limen.report(*ROWS)
