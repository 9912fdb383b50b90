# SPDX-License-Identifier: MIT
"""Segments in Python: conversion, results and errors; the algorithm is tested in C++."""

import os
import subprocess

import limen
import numpy as np
import pytest
from rows import Page

Y = [1, 1, 0, 1, 0, 0, 1, 0]
SCORE = [0.9, 0.8, 0.7, 0.6, 0.95, 0.85, 0.75, 0.65]
MARKET = ["DE"] * 4 + ["FR"] * 4


def simulated(rows, seed):
    """Three markets, each with its own law of the label."""
    random = np.random.default_rng(seed)
    market = random.choice(np.array(["DE", "FR", "IT"], dtype=object), size=rows, p=[0.5, 0.4, 0.1])
    score, uncertainty = random.uniform(size=(2, rows))
    low = {"DE": 0.0, "FR": 0.0, "IT": 0.3}
    slope = {"DE": 0.98, "FR": 0.7, "IT": 0.65}
    rate = np.array([low[m] + slope[m] * s for m, s in zip(market, score, strict=True)])
    return (random.uniform(size=rows) < rate).astype(int), score, uncertainty, market


def test_a_threshold_for_each_value_without_an_uncertainty():
    boundary = limen.fit_boundary(Y, SCORE, min_precision=0.75, segment=MARKET, method="exact", segment_min_rows=1)
    german, french = boundary.segments
    assert (german.value, german.score_thresholds, german.precision, german.recall) == ("DE", (0.6,), 0.75, 1.0)
    assert french.value == "FR" and np.isnan(french.score_thresholds[0]) and np.isnan(french.precision)
    assert boundary.optimal and boundary.recall == 0.75 and boundary.levels == 2 and not boundary.each
    assert boundary.unseen == "never flagged" and boundary.segment_column == "segment"
    flagged = boundary.decide([0.6, 0.59, 0.99, 0.99], segment=["DE", "DE", "FR", "PL"])
    assert flagged.tolist() == [True, False, False, False]
    assert boundary.level([0, 0], segment=["DE", "PL"]).tolist() == [0, -1]
    assert limen.Boundary.from_json(boundary.to_json()) == boundary
    found = boundary.evaluate([*Y, 1], [*SCORE, 0.9], segment=[*MARKET, "PL"])
    assert (found.flagged, found.true_positives, found.unseen_segment_rows) == (4, 3, 1)
    assert found.segments["DE"].flagged == 4 and found.segments["FR"].flagged == 0
    assert found.to_dict()["segments"][0]["segment"] == "DE"
    assert "DE" in str(boundary) and "never" in str(boundary) and "2 segments" in repr(boundary)
    lines = Page(boundary._repr_html_()).tables[0]
    assert [line[:3] for line in lines[1:]] == [["DE", "all rows", ">= 0.6"], ["FR", "all rows", "never"]]
    one = limen.fit_boundary(Y, SCORE, SCORE, min_precision=0.5, method="st")
    assert Page(one._repr_html_()).tables[0][1][:2] == ["0", "all rows"]
    pytest.importorskip("pandas")
    assert boundary.to_pandas()["segment"].tolist() == ["DE", "FR"]


def test_each_keeps_its_bound_or_flags_nothing():
    boundary = limen.fit_boundary(Y, SCORE, min_precision=0.75, segment=MARKET, each=True, segment_min_rows=1)
    assert [segment.status for segment in boundary.segments] == ["optimal", "infeasible"]
    assert boundary.each and boundary.segments[0].method == "st"
    with pytest.raises(limen.InfeasibleError, match="in any segment") as error:
        limen.fit_boundary(Y, SCORE, min_precision=1, segment=MARKET, each=True, segment_min_rows=9)
    assert error.value.best_attainable == pytest.approx(0.6)


def test_certified_together_and_each_by_itself():
    y, score, uncertainty, market = simulated(6000, 1)
    each = limen.fit_boundary(
        y, score, uncertainty, min_precision=0.7, segment=market, each=True, confidence_level=0.9, method="st"
    )
    assert {segment.value: segment.status for segment in each.segments}["DE"] == "certified"
    assert each.guarantee is None and each.segments[0].guarantee["confidence"] == 0.9
    both = limen.fit_boundary(
        y, score, uncertainty, min_precision=0.7, segment=market, confidence_level=0.9, method="exact", levels=2
    )
    assert both.guarantee["p_value"] <= 0.1 and len(both.segments[0].score_thresholds) == 2
    with pytest.raises(limen.NotCertifiableError, match="cannot be certified"):
        limen.fit_boundary(
            Y * 5, SCORE * 5, min_precision=0.99, segment=MARKET * 5, confidence_level=0.9, method="exact"
        )


def test_auto_and_columns_of_other_libraries():
    y, score, uncertainty, market = simulated(6000, 3)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"market": market}).astype("category")
    found = limen.fit_boundary(y, score, uncertainty, min_precision=0.7, segment=frame["market"])
    assert found.segment_column == "market" and found.chosen_by["segment_p"] < 0.01
    noise = np.random.default_rng(0).integers(0, 4, size=len(y))
    left = limen.fit_boundary(y, score, uncertainty, min_precision=0.7, segment=noise)
    assert left.segments is None and "segments tell nothing" in left.chosen_by["why"]
    numbers = limen.fit_boundary(
        Y, SCORE, min_precision=0.75, segment=[7] * 4 + [8] * 4, segment_min_rows=1, method="exact"
    )
    assert numbers.segments[0].values == ("7",)


def test_errors_name_what_is_wrong():
    boundary = limen.fit_boundary(Y, SCORE, min_precision=0.75, segment=MARKET, method="exact", segment_min_rows=1)
    for call, message in [
        (lambda: boundary.decide([0.5]), "give segment"),
        (lambda: boundary.decide([0.5], segment=["DE", "DE"]), "segment has 2 entries, score has 1"),
        (lambda: boundary.decide([0.5], segment=[None]), r"segment\[0\] is missing"),
        (lambda: boundary.score_thresholds, "see Boundary.segments"),
        (lambda: boundary.uncertainty_edges, "see Boundary.segments"),
        (lambda: boundary.review([0.5], [0.5]), "has segments"),
        (lambda: limen.Monitor(boundary), "has segments"),
        (lambda: limen.fit_boundary(Y, SCORE, min_precision=0.5), "uncertainty is None"),
        (lambda: limen.fit_boundary(Y, SCORE, SCORE, min_precision=0.5, each=True), "each is for segments"),
        (lambda: limen.fit_boundary(Y, SCORE, segment=MARKET, min_precision=0.5, review_rate=0.1), "review"),
        (lambda: limen.fit_boundary(Y, SCORE, segment=MARKET[1:], min_precision=0.5), "segment has 7 entries"),
        (lambda: limen.fit_boundary(Y, SCORE, segment=MARKET, min_precision=0.5, segment_min_rows=0), "min_rows is 0"),
        (lambda: limen.fit_boundary(Y, SCORE, segment=MARKET, min_precision=0.5, levels=2), "need an uncertainty"),
        (lambda: limen.fit_boundary(Y, SCORE, segment=MARKET, f_beta=1, each=True), "no bound"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    plain = limen.fit_boundary(Y, SCORE, SCORE, min_precision=0.5, method="st")
    assert plain.segments is None and plain.unseen is None and not plain.each
    with pytest.raises(ValueError, match="has no segments"):
        plain.decide([0.5], [0.5], segment=["DE"])


def test_the_program_writes_the_same_file(tmp_path):
    program = os.environ.get("LIMEN_PROGRAM")
    if not program:
        pytest.skip("LIMEN_PROGRAM is not set")
    y, score, uncertainty, market = simulated(3000, 5)
    rows = zip(market, score.tolist(), uncertainty.tolist(), y.tolist(), strict=True)
    table = "segment,score,uncertainty,label\n" + "".join(f"{m},{s!r},{u!r},{label}\n" for m, s, u, label in rows)
    (tmp_path / "h.csv").write_text(table)
    for flags, options in [
        (["--method", "exact"], {"method": "exact"}),
        (["--levels", "2"], {"levels": 2}),
        (["--each"], {"each": True}),
        (["--confidence", "0.8"], {"confidence_level": 0.8}),
    ]:
        written = subprocess.run(
            [program, "fit", "h.csv", "--precision", "0.7", "--segment", "segment", "-o", "-", *flags],
            cwd=tmp_path, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        ours = limen.fit_boundary(y, score, uncertainty, min_precision=0.7, segment=market, **options)
        assert limen.Boundary.from_json(written) == ours, flags
