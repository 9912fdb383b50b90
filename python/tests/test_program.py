# SPDX-License-Identifier: MIT
"""The package and the program give the same results, bit for bit."""

import csv
import json

import limen
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from limen import _core, _inputs
from rows import make_rows, make_shops

GOALS = {
    "min_precision": ({"min_precision": 0.6}, ["--precision", "0.6"]),
    "min_recall": ({"min_recall": 0.35}, ["--recall", "0.35"]),
    "max_false_positive_rate": ({"max_false_positive_rate": 0.05}, ["--fpr", "0.05"]),
    "max_flag_rate": ({"max_flag_rate": 0.1}, ["--flag-rate", "0.1"]),
    "cost": ({"cost": (1, 2.5)}, ["--cost-fp", "1", "--cost-fn", "2.5"]),
    "f_beta": ({"f_beta": 0.5}, ["--fbeta", "0.5"]),
}


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_goal_gives_the_boundary_of_the_program(program, goal, weighted):
    keywords, flags = GOALS[goal]
    rows = make_rows(3000, seed=1)
    weight = np.random.default_rng(2).random(3000) * 3 if weighted else None
    file = program.write_table("h.csv", *rows, weight)
    column = ["--weight", "weight"] if weighted else []
    written = program("fit", file, *flags, *column, "--json")
    assert limen.fit_boundary(*rows, **keywords, sample_weight=weight).to_json() == written


@pytest.mark.parametrize("method", ["smooth", "exact", "st", "hr", "gmt", "mist", "ew-dpmt", "vw-dpmt"])
@pytest.mark.parametrize(("bins", "binning"), [(None, "equi-weight"), (40, "equi-span"), ("all", "equi-weight")])
def test_every_method_gives_the_boundary_of_the_program(program, method, bins, binning):
    rows = make_rows(2000, seed=3, ties=200)
    file = program.write_table("h.csv", *rows)
    flags = ["--method", method, "--levels", "4", "--binning", binning] + ([] if bins is None else ["--bins", bins])
    written = program("fit", file, "--precision", "0.4", *flags, "--json")
    boundary = limen.fit_boundary(*rows, min_precision=0.4, method=method, levels=4, bins=bins, binning=binning)
    assert boundary.to_json() == written


def test_single_precision_in_parquet(program):
    y, score, uncertainty = make_rows(5000, seed=4, dtype=np.float32)
    table = pyarrow.table({"label": y, "score": score, "uncertainty": uncertainty})
    pyarrow.parquet.write_table(table, program.folder / "h.parquet")
    written = program("fit", "h.parquet", "--precision", "0.7", "--levels", "5", "--json")
    assert limen.fit_boundary(y, score, uncertainty, min_precision=0.7, levels=5).to_json() == written


@pytest.mark.parametrize(
    ("method", "bins"), [("exact", None), ("exact", 1), ("gmt", None), ("mist", 1000), ("st", None)]
)
def test_infeasible_goals_have_the_message_of_the_program(program, method, bins):
    y, score, uncertainty = make_rows(4000, seed=5, ties=10)
    y = np.arange(4000) % 3 == 0  # score says nothing
    file = program.write_table("h.csv", y, score, uncertainty)
    flags = [] if bins is None else ["--bins", bins]
    message = program("fit", file, "--precision", "0.95", "--method", method, *flags, code=3)
    expected = message.removeprefix("limen: h.csv: ").rstrip("\n")
    expected = expected.replace("(--method exact --bins all may", '(method="exact", bins="all" may')
    with pytest.raises(limen.InfeasibleError) as caught:
        limen.fit_boundary(y, score, uncertainty, min_precision=0.95, method=method, bins=bins)
    assert str(caught.value) == expected
    assert f"{caught.value.best_attainable:.6g}" in expected
    assert 1 / 3 <= caught.value.best_attainable < 0.95


@pytest.mark.parametrize("weighted", [False, True])
def test_decide_and_evaluate(program, weighted):
    holdout, test = make_rows(2000, seed=6), make_rows(2500, seed=7)
    weight = np.random.default_rng(8).random(2500) if weighted else None
    boundary = limen.fit_boundary(*holdout, min_precision=0.6)
    boundary.save(program.folder / "b.json")
    file = program.write_table("t.csv", *test, weight)

    program("apply", "b.json", file, "-o", "d.csv")
    with open(program.folder / "d.csv") as lines:
        decided = [row["decision"] for row in csv.DictReader(lines)]
    assert boundary.decide(*test[1:]).astype(int).tolist() == list(map(int, decided))

    (expected,) = json.loads(
        program("evaluate", "b.json", file, "--json", *(["--weight", "weight"] if weighted else []))
    )
    found = boundary.evaluate(*test, sample_weight=weight).to_dict()
    levels = expected.pop("levels")
    for part, of in [(found, expected), *zip(found.pop("levels"), levels, strict=True)]:
        for name, value in part.items():
            assert list(np.atleast_1d(value)) == list(np.atleast_1d(of[name])), name


@pytest.mark.parametrize("weighted", [False, True])
def test_compare(program, weighted):
    holdouts = [make_rows(1500, seed=seed) for seed in (10, 11, 12)]
    tests = [make_rows(1500, seed=seed) for seed in (20, 21, 22)]
    if weighted:
        random = np.random.default_rng(9)
        holdouts = [(*table, random.random(1500)) for table in holdouts]
        tests = [(*table, random.random(1500)) for table in tests]
    flags = ["--weight", "weight"] if weighted else []
    for at, (holdout, test) in enumerate(zip(holdouts, tests, strict=True)):
        flags += ["--holdout", program.write_table(f"h{at}.csv", *holdout)]
        flags += ["--test", program.write_table(f"t{at}.csv", *test)]
    written = program("compare", *flags, "--precision", "0.5,0.99", "--bins", "50", "--json")
    found = limen.compare(holdouts, tests, min_precision=[0.5, 0.99], bins=50)
    assert json.loads(json.dumps(found.to_dict()["summaries"])) == json.loads(written)
    assert len(found) == (18 if weighted else 20)
    frame = found.to_pandas()
    assert frame["matched_recall"].tolist() == [summary.matched_recall for summary in found]


@pytest.mark.parametrize("weighted", [False, True])
def test_frontier(program, weighted):
    rows = make_rows(1500, seed=30, ties=100)
    weight = np.random.default_rng(9).integers(0, 4, 1500).astype(float) if weighted else None
    file = program.write_table("h.csv", *rows, weight)
    flags = ["--weight", "weight"] if weighted else []
    written = json.loads(program("frontier", file, "--exact", "0.5,0.999", "--levels", "4", "--json", *flags))
    found = limen.frontier(*rows, min_precision=["0.5", "0.999"], levels=4, sample_weight=weight)
    for family in ("hull", "st"):
        curve = getattr(found, family)
        for name in ("flagged", "true_positives", "precision", "recall"):
            assert getattr(curve, name).tolist() == [point[name] for point in written[family]], (family, name)
    for point, expected in zip(found.exact, written["exact"], strict=True):
        assert (point.bound, point.feasible) == (expected["bound"], expected["status"] == "optimal")
        assert point.recall == (expected["recall"] or 0)
    assert set(found.to_pandas()["family"]) >= {"hull", "st"}


def test_simulate(program):
    flags = ["--prior", "1.5,8.5", "--tau", "5", "--regions", "500", "--evidence-limit", "300", "--seed", "7"]
    program("simulate", "-o", ".", *flags, "--holdout-rows", "3000", "--test-rows", "2000")
    found = limen.simulate(
        prior=(1.5, 8.5), tau=5, regions=500, evidence_limit=300, seed=7, holdout_rows=3000, test_rows=2000
    )
    for name, table in (("holdout", found.holdout), ("test", found.test)):
        frame = table.to_pandas()
        with open(program.folder / f"{name}.csv") as lines:
            rows = list(csv.reader(lines))
        assert rows[0] == list(frame.columns)
        assert len(rows) - 1 == len(frame)
        for at, column in enumerate(rows[0]):
            written = [row[at] for row in rows[1:]]
            if column != "region":
                written = list(map(float, written))
            assert frame[column].tolist() == written, column


@pytest.mark.parametrize("weighted", [False, True])
def test_evidence(program, weighted):
    random = np.random.default_rng(0)

    def make(rows):
        return {
            "city": [None if key == 9 else f"c{key}" for key in random.integers(0, 10, rows)],
            "age": [None if value < 0.05 else value for value in random.random(rows).tolist()],
            "y": random.integers(0, 2, rows).tolist(),
            "w": random.random(rows).tolist(),
        }

    train, data = make(800), make(300)
    data["city"][:5] = ["new", "c1", "new", "c2", None]
    files = [program.write_csv("train.csv", train), program.write_csv("data.csv", data)]
    flags = ["--weight", "w"] if weighted else []
    program(
        "evidence",
        *files,
        "--keys",
        "city,age",
        "--label",
        "y",
        "--rate",
        "--positives",
        "-o",
        "o.csv",
        "--bins",
        "6",
        *flags,
    )
    with open(program.folder / "o.csv") as lines:
        written = list(csv.DictReader(lines))

    def columns(frame):
        return [_inputs.key_column(frame[name], name) for name in ("city", "age")]

    weight = np.array(train["w"]) if weighted else None
    counted = _core.Evidence(["city", "age"], columns(train), _inputs.label_array(train["y"]), weight, 6, 2.0, 0)
    found = counted.query(columns(data), False, None, None)
    for name, column in {
        "evidence": "evidence",
        "positives": "positives",
        "rate": "score",
        "uncertainty": "uncertainty",
    }.items():
        assert found[name].tolist() == [float(row[column]) for row in written], name
    assert (found["keys_used"] < 2).any()
    assert (found["keys_used"] == 2).any()


def law_columns(program, name):
    with open(program.folder / name) as lines:
        written = list(csv.DictReader(lines))
    return {column: [float(row[column]) for row in written] for column in ("evidence", "uncertainty", "mean")}


def found_by(law, rows):
    return {
        "evidence": law.evidence(rows).tolist(),
        "uncertainty": law.uncertainty(rows).tolist(),
        "mean": law.probability(rows, "score").tolist(),
    }


def test_law_of_evidence(program):
    train, data, _ = make_shops(1)
    new = {"shop": ["s1", "nowhere", None], "shade": ["red", "pink", None], "age": [1.0, None, 1e9], "plan": [1, 9, 2]}
    new |= {"number": [5, 6, 7], "score": [0.1, 0.2, 0.9], "label": [0, 1, 0]}
    files = [program.write_csv("train.csv", train), program.write_csv("data.csv", data)]
    program.write_csv("new.csv", new)
    printed = program("evidence", *files, "--drop", "plan", "-o", "o.csv", "--law-score", "mean", "--seed", "3")
    report = json.loads(
        program("evidence", *files, "--drop", "plan", "-o", "o2.csv", "--law-score", "mean", "--seed", "3", "--json")
    )
    program("evidence", files[0], "new.csv", "--validation", files[1], "--law-score", "mean", "-o", "n.csv")

    law = limen.uncertainty.Evidence(drop=["plan"], random_state=3).fit(train, data, "label", "score")
    assert not law.is_silent_
    assert found_by(law, data) == law_columns(program, "o.csv")
    assert law.why_ in printed
    assert f"columns: {', '.join(law.looked_at_)}\n" in printed
    assert f"they rise from row to row: {', '.join(law.rising_)}\n" in printed
    assert report["terms"] == [
        {"columns": list(term.columns), "weight": term.weight, "cells": term.cells} for term in law.terms_
    ]
    assert (report["status"], report["p_value"], report["gain_z"]) == (law.status_, law.p_value_, law.gain_z_)
    assert report["crossing"] == law.crossing_
    # Rows that the law was not learnt from, with values that training did not have.
    law = limen.uncertainty.Evidence().fit(train, data, "label", "score")
    assert found_by(law, new) == law_columns(program, "n.csv")


# Terms of numbers: the labels depend on how many training rows there are of the age and the plan.
def test_law_of_evidence_by_numbers_in_parquet(program):
    random = np.random.default_rng(4)

    def table(rows):
        day = np.datetime64("2020-01-01T00:00:00") + (random.gamma(1, 40, rows) // 10 * 864_000).astype("m8[s]")
        return {
            "age": np.where(random.random(rows) < 0.1, np.nan, random.gamma(2, 20, rows)).astype(np.float32),
            "plan": np.minimum(random.geometric(0.15, rows), 30).astype(np.int16),
            "vip": random.random(rows) < 0.1,
            "day": day,
            "region": pyarrow.array(random.geometric(0.05, rows)).dictionary_encode(),
        }

    train, data = table(3000), table(20_000)
    counts = dict(zip(*np.unique(train["plan"], return_counts=True), strict=True))
    few = np.array([counts.get(plan, 0) for plan in data["plan"]]) < 300
    data["score"] = random.random(20_000)
    data["y"] = (random.random(20_000) < np.where(few, 0.3 + 0.4 * data["score"], data["score"])).astype(int)
    tables = {}
    for name, columns in (("train", train), ("data", data)):
        tables[name] = pyarrow.table(columns)
        pyarrow.parquet.write_table(tables[name], program.folder / f"{name}.parquet")
    printed = program("evidence", "train.parquet", "data.parquet", "--label", "y", "--law-score", "mean", "-o", "o.csv")
    law = limen.uncertainty.Evidence().fit(tables["train"], tables["data"], "y", "score")
    assert law.looked_at_ == list(train)
    assert "plan" in law.columns_
    assert law.why_ in printed
    assert found_by(law, tables["data"]) == law_columns(program, "o.csv")
    for convert in (pyarrow.Table.to_pandas, as_polars):
        frames = [convert(tables[name]) for name in ("train", "data")]
        again = limen.uncertainty.Evidence().fit(*frames, "y", "score")
        assert found_by(again, frames[1]) == found_by(law, tables["data"]), convert


def as_polars(table):
    import polars

    return polars.from_arrow(table.set_column(4, "region", table["region"].cast("int64").cast("string")))


def test_a_silent_law_has_the_words_of_the_program(program):
    train, data, _ = make_shops(2)
    data["label"] = data.pop("chance")
    files = [program.write_csv("train.csv", train), program.write_csv("data.csv", data)]
    law = limen.uncertainty.Evidence().fit(train, data, "label", "score")
    assert law.is_silent_
    assert program("evidence", *files, "-o", "o.csv", code=3) == f"limen: data.csv: {law.why_} Nothing was written.\n"
