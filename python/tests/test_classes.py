# SPDX-License-Identifier: MIT
import json
import pickle

import limen
import numpy as np
import pytest


def drawn(rows, seed, doubt=True):
    """Three classes whose scores tell less where uncertainty is high."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, rows)
    uncertainty = random.random(rows)
    logits = random.random((rows, 3)) * 3
    logits[np.arange(rows), y] += 3 * (1 - uncertainty) if doubt else 1.5
    scores = np.exp(logits)
    return np.array(["a", "b", "c"])[y], scores / scores.sum(axis=1, keepdims=True), uncertainty


def test_claims_follow_the_rule_and_the_file_reads_back(tmp_path):
    y, scores, uncertainty = drawn(3000, 1)
    bounds = {"a": 0.8, "b": 0.7, "c": 0.6}
    for claims in ("one", "several"):
        found = limen.fit_classes(y, scores, uncertainty, min_precision=bounds, claims=claims, method="exact", levels=3)
        claimed = found.claimed(scores, uncertainty)
        evaluation = found.evaluate(y, scores, uncertainty)
        for at, name in enumerate("abc"):
            fit = found[name]
            own = fit.boundary.decide(scores[:, at], uncertainty)
            if claims == "one":
                own &= scores.argmax(axis=1) == at
            np.testing.assert_array_equal(claimed[:, at], own)
            assert (y[own] == name).mean() == pytest.approx(evaluation[name].precision)
            assert evaluation[name].precision >= bounds[name]
            assert (own & (y == name)).sum() / (y == name).sum() == pytest.approx(fit.recall)
            assert fit.recall == pytest.approx(evaluation[name].recall)
        found.save(tmp_path / "c.json")
        assert limen.ClassBoundaries.load(tmp_path / "c.json") == found == pickle.loads(pickle.dumps(found))
        if claims == "one":
            decided = found.decide(scores, uncertainty)
            assert set(decided) == {"", "a", "b", "c"}
            np.testing.assert_array_equal(decided != "", claimed.any(axis=1))
        else:
            with pytest.raises(ValueError, match="several classes may claim a row"):
                found.decide(scores, uncertainty)


def test_the_program_fits_and_applies_the_same(program, tmp_path):
    pandas = pytest.importorskip("pandas")
    y, scores, uncertainty = drawn(3000, 2)
    frame = pandas.DataFrame(scores, columns=["score_a", "score_b", "score_c"])
    frame["uncertainty"] = uncertainty
    frame["label"] = y
    frame.to_csv(tmp_path / "h.csv", index=False)
    found = limen.fit_classes(
        y, scores, uncertainty, min_precision={"a": 0.8, "b": 0.7, "c": 0.9999}, confidence_level=0.9
    )
    written = json.loads(
        program("fit", tmp_path / "h.csv", "--class-precision", "a=0.8,b=0.7,c=0.9999", "--confidence", "0.9", "--json")
    )
    assert written == found.to_dict()
    assert found["c"].boundary is None
    assert "cannot be certified" in found["c"].why
    found.save(tmp_path / "c.json")
    program("apply", tmp_path / "c.json", tmp_path / "h.csv", "-o", tmp_path / "d.csv")
    decided = pandas.read_csv(tmp_path / "d.csv", keep_default_na=False)["decision"]
    assert decided.tolist() == found.decide(scores, uncertainty).tolist()


def test_result():
    y, scores, _ = drawn(1000, 3)
    found = limen.fit_classes(y, scores, min_precision=0.7, confidence_level=0.9, joint=True)
    assert found.classes == ["a", "b", "c"]
    assert (found.claims, found.confidence_level, found.joint) == ("one", 0.9, True)
    assert "certified with confidence 0.9 for all at once" in repr(found)
    assert "all classes at once" in found._repr_html_()
    assert found["a"].boundary.guarantee["confidence"] == pytest.approx(1 - 0.1 / 3)
    pytest.importorskip("pandas")
    assert found.to_pandas().loc["a", "min_precision"] == 0.7
    with pytest.raises(KeyError, match="'x' is not a class; classes: a, b, c"):
        found["x"]
    # Labels that are numbers, and one that is none of the classes.
    number = np.where(y == "a", 0, np.where(y == "b", 1, 7))
    some = limen.fit_classes(number, scores[:, :2], min_precision=0.7, classes=[0, 1])
    assert some.classes == ["0", "1"]
    assert set(some.decide(scores[:, :2])) <= {"", "0", "1"}


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"min_precision": {"a": 0.9, "b": 0.9, "x": 0.9}}, 'no row is of class "x"'),
        ({"min_precision": {"a": 0.9, "b": 0.9}}, "scores has 3 columns, there are 2 classes: a, b"),
        (
            {"classes": ["a", "b", "c"], "min_precision": {"a": 0.9, "b": 0.9, "c": 0.9, "d": 1}},
            "min_precision has 'd'",
        ),
        ({"classes": ["a", "b", "c"], "min_precision": {"a": 0.9, "b": 0.9}}, "no bound for class 'c'"),
        ({"classes": ["a", "b", "b"]}, 'class "b" is there twice'),
        ({"min_precision": 0}, 'min_precision of class "a" is 0, must be above 0'),
        ({"min_precision": 1.5}, "min_precision is 1.5, must be between 0 and 1"),
        ({"claims": "all"}, 'claims "all" is not one of one, several'),
        ({"joint": True}, "joint is about certified promises"),
        ({"confidence_level": 2}, "confidence is 2, must be between 0 and 1"),
        ({"uncertainty": None, "method": "exact"}, "method exact needs uncertainty"),
        ({"uncertainty": np.zeros((100, 2))}, r"uncertainty has shape \(100, 2\), must be"),
        ({"scores": np.zeros(100)}, r"scores has shape \(100,\), must be"),
        ({"scores": np.full((100, 3), np.nan)}, "score"),
        ({"y": np.full(100, np.nan)}, r"y\[0\] is not a label"),
    ],
)
def test_bad_parameters(keywords, message):
    y, scores, uncertainty = drawn(100, 0)
    given = {"y": y, "scores": scores, "uncertainty": uncertainty, "min_precision": 0.5, **keywords}
    with pytest.raises(ValueError, match=message):
        limen.fit_classes(**given)


def test_no_class_can_keep_its_promise():
    y, scores, _ = drawn(200, 5)
    with pytest.raises(limen.NotCertifiableError, match="no class can keep its promise: a: a precision of 1 cannot"):
        limen.fit_classes(y, scores, min_precision=1, confidence_level=0.9)
    with pytest.raises(limen.InfeasibleError, match="no class can keep its promise"):
        limen.fit_classes(y, np.zeros_like(scores), min_precision=0.99)


@pytest.mark.parametrize(("name", "bound"), [("wine", 0.75), ("digits", 0.85)])
def test_each_class_keeps_its_certified_promise_on_real_rows(name, bound):
    """The rows are the population, a third of them, drawn again and again, the hold-out: of the certified classes no more miss
    their bound on the population than 1 - confidence, and three standard errors."""
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "digits":
        # Small, middle and large digits by a few pixels: classes that are not easily told apart, and many equal scores.
        X, y = X[:, 10:54:4], np.digitize(y, [3, 7])
        model = RandomForestClassifier(30, random_state=0)
    else:
        X = (X[:, :4] - X[:, :4].mean(0)) / X[:, :4].std(0)
        model = LogisticRegression(max_iter=2000)
    scores = cross_val_predict(model, X, y, cv=3, method="predict_proba")
    confidence = 0.8
    random = np.random.default_rng(0)
    certified = missed = 0
    for _ in range(100):
        holdout = np.zeros(len(y), bool)
        holdout[random.choice(len(y), len(y) // 3, replace=False)] = True
        try:
            found = limen.fit_classes(
                y[holdout], scores[holdout], min_precision=bound, confidence_level=confidence, num_threads=1
            )
        except limen.NotCertifiableError:
            continue
        for label, figures in found.evaluate(y, scores).items():
            if found[label].boundary is not None:
                certified += 1
                missed += figures.precision < bound
    assert certified > 100
    assert missed <= (1 - confidence) * certified + 3 * np.sqrt(confidence * (1 - confidence) * certified)
