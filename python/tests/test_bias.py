# SPDX-License-Identifier: MIT
import io
import json

import limen
import numpy as np
import pytest
from rows import Page


def test_curves_are_those_of_the_program(program):
    pandas = pytest.importorskip("pandas")
    written = program("bias", "--tau", "3,10", "--evidence", "0.5,50", "--points", "11", "--xi", "0.1", "--csv")
    frame = limen.bias(tau=[3, 10], evidence=[0.5, 50], score=np.linspace(0, 1, 11), xi=0.1).to_pandas()
    pandas.testing.assert_frame_equal(frame, pandas.read_csv(io.StringIO(written)), check_dtype=False, rtol=1e-14)
    assert frame["bias"].isna().sum() == 20  # the model's prior keeps its scores away from the ends


def test_simulation_is_that_of_the_program(program):
    asked = ("--tau", "3", "--evidence", "4,100", "--simulate", "5000", "--points", "6", "--seed", "7")
    written = json.loads(program("bias", *asked, "--json"))
    found = limen.bias(tau=3, evidence=[4, 100], simulate=5000, cells=6, seed=7).simulated
    points = [point for curve in written["curves"] for point in curve["points"]]
    for name in ("regions", "score", "expected_positivity", "true_positivity", "test_positivity_se"):
        assert getattr(found, name).tolist() == [point[name] for point in points]
    assert found.evidence.tolist() == [4] * 5 + [100] * 6
    assert found.to_pandas().shape == (11, 10)
    assert repr(found) == "<limen.BiasSimulation: 10000 regions in 11 cells>"


def test_result():
    # tau 1, n 10: train 0.38, expected (0.38 + 0.25 * 0.4) / 1.4
    found = limen.bias(tau=1, evidence=10, score=[0.4, 0.99])
    assert found.train_positivity[0] == pytest.approx(0.38)
    assert found.expected_positivity[0] == pytest.approx(0.48 / 1.4)
    assert found.bias[0] == pytest.approx(0.08 / 1.4)
    assert np.isnan(found.bias[1])
    assert found.lambda_[0] == pytest.approx(0.4)
    assert found.gamma[0] == pytest.approx(0.2)
    assert found.nu == 2
    assert limen.bias(model_strength=0, score=[0.5]).nu == float("inf")
    assert len(found) == 2
    assert repr(found) == "<limen.Bias: tau 1; evidence 10; 2 scores>"
    assert found.to_dict()["expected_positivity"][0] == found.expected_positivity[0]
    assert found.to_dict()["simulated"] is None
    page = Page(found._repr_html_())
    assert page.tables == [[["score", "n 10"], ["0.4", "0.3429"], ["0.99", "-"]]]
    assert page.paragraphs[0] == ("Expected positivity differs most at score 0.4 with n 10 and tau 1: it is 0.3429.")
    assert len(Page(limen.bias(tau=[1, 2], evidence=[1, 2, 3])._repr_html_()).tables) == 2


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"tau": 0}, "bias: tau is 0, must be > 0"),
        ({"tau": [3, 1e10]}, "bias: tau is 1e[+]10, must be 1e-9 to 1e9"),
        ({"evidence": 0}, "bias: evidence is 0, must be > 0 and at most 1e12"),
        ({"xi": 1}, "bias: xi is 1, must be between 0 and 1, both excluded"),
        ({"omega": -1}, "bias: omega is -1, must be 0 to 1"),
        ({"score": [0.5, 2]}, "bias: score is 2, must be 0 to 1"),
        ({"score": [0.5, None]}, r"score\[1\] is missing, must be a number"),
        ({"simulate": 1}, "simulate_bias: regions is 1, must be 2 to 1e9"),
        ({"evidence": 2.5, "simulate": 100}, "bias: evidence is 2.5, must be a whole number to simulate"),
    ],
)
def test_what_is_out_of_range_is_refused(keywords, message):
    with pytest.raises(ValueError, match=message):
        limen.bias(**keywords)


def test_plain_correction():
    score = np.array([0, 0.25, 0.5, 0.999, 1])
    found = limen.correct_undersampling(score, tau=4)
    np.testing.assert_allclose(found, score / (score + 4 * (1 - score)), rtol=1e-15)
    assert found[0] == 0
    assert found[-1] == 1
    single = limen.correct_undersampling(score.astype(np.float32), tau=4)
    np.testing.assert_allclose(single, found, rtol=1e-4)
    assert single.dtype == np.float64


def test_correction_with_evidence_is_the_theorem():
    score, evidence = np.array([0.2, 0.5, 0.8]), 30.0
    priors = {"xi": 0.1, "prior_strength": 8, "omega": 0.3, "model_strength": 1}
    found = limen.correct_undersampling(score, tau=5, evidence=np.full(3, evidence), **priors)
    np.testing.assert_array_equal(
        found, limen.bias(tau=5, evidence=evidence, score=score, **priors).expected_positivity
    )
    by_default = limen.correct_undersampling(score, tau=5, evidence=[30] * 3, xi=0.1, prior_strength=8)
    np.testing.assert_array_equal(
        by_default, limen.bias(tau=5, evidence=30, score=score, xi=0.1, prior_strength=8).expected_positivity
    )
    one = limen.correct_undersampling(score, tau=5, evidence=[30] * 3, xi=0.1, prior_strength=8, num_threads=1)
    np.testing.assert_array_equal(one, by_default)


def test_correction_recovers_the_positivity_of_simulated_regions():
    """The ideal model of the simulation is corrected to what its rows really have; the plain correction is not."""
    data = limen.simulate(
        prior=(1, 9), tau=5, regions=40_000, evidence_limit=30, holdout_rows=200_000, test_rows=0, seed=2
    )
    table = data.holdout
    # With prior (1, 1) in the score and at most 30 rows, evidence is what makes its mean and entropy: recover it.
    counts = np.arange(1, 31)
    known = {}
    for rows in counts:
        for positives in range(rows + 1):
            a1, a0 = 1 + positives, 1 + rows - positives
            known[round(a1 / (a1 + a0), 9), round(limen.uncertainty.beta_entropy(a1, a0), 9)] = rows
    keys = zip(table.score.round(9).tolist(), table.uncertainty.round(9).tolist(), strict=True)
    evidence = np.array([known[key] for key in keys], dtype=float)
    by_theorem = limen.correct_undersampling(table.score, tau=5, evidence=evidence, xi=0.1, prior_strength=10)
    plain = limen.correct_undersampling(table.score, tau=5)
    # A region's rows share its truth, so that 40,000 regions make the standard error: 0.09 / 200.
    assert by_theorem.mean() == pytest.approx(table.y.mean(), abs=0.003)
    few = evidence <= 10
    assert abs(by_theorem[few].mean() - table.y[few].mean()) < 0.3 * abs(plain[few].mean() - table.y[few].mean())
    assert ((by_theorem - table.true_positivity) ** 2).mean() < ((plain - table.true_positivity) ** 2).mean()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"score": [0.5, 1.5], "tau": 3}, r"correct_undersampling: score\[1\] is 1.5, must be 0 to 1"),
        ({"score": [0.5, float("nan")], "tau": 3}, r"correct_undersampling: score\[1\] is nan, must be 0 to 1"),
        ({"score": [0.5], "tau": -3}, "correct_undersampling: tau is -3, must be > 0"),
        ({"score": [0.5], "tau": 3, "xi": 0.1}, "xi has a meaning only with evidence"),
        ({"score": [0.5], "tau": 3, "evidence": [1]}, "evidence needs xi"),
        ({"score": [0.5], "tau": 3, "evidence": [1], "xi": 0.1}, "evidence needs prior_strength"),
        (
            {"score": [0.5], "tau": 3, "evidence": [1, 2], "xi": 0.1, "prior_strength": 4},
            "evidence has 2 rows, score has 1",
        ),
        (
            {"score": [0.5], "tau": 3, "evidence": [-1], "xi": 0.1, "prior_strength": 4},
            r"evidence\[0\] is -1, must be 0 to 1e12",
        ),
    ],
)
def test_what_cannot_be_corrected_is_refused(keywords, message):
    with pytest.raises(ValueError, match=message):
        limen.correct_undersampling(keywords.pop("score"), **keywords)


def test_display_draws_the_curves():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    display = limen.BiasDisplay.from_theory(tau=3, evidence=[2, 50], score=[0.3, 0.5, 0.7])
    found = limen.bias(tau=3, evidence=[2, 50], score=[0.3, 0.5, 0.7])
    for at, line in enumerate(display.lines_):
        np.testing.assert_array_equal(line.get_xdata(), [0.3, 0.5, 0.7])
        np.testing.assert_array_equal(line.get_ydata(), found.expected_positivity[3 * at : 3 * at + 3])
    assert [line.get_label() for line in display.lines_] == ["2 training rows (n = 2)", "50 training rows (n = 50)"]
    assert display.points_ == []
    title = " ".join(display.ax_.get_title().split())
    assert title.startswith(
        "Expected test positivity by model score negatives kept 1 in 3 (tau = 3) priors: xi = 0.25 in"
    )
    assert display.figure_ is display.ax_.figure
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("model score", "expected test positivity")
    both = limen.BiasDisplay.from_theory(tau=[1, 3], evidence=[2, 50], score=[0.5])
    assert [line.get_label() for line in both.lines_][1:3] == ["n = 50, tau = 1", "n = 2, tau = 3"]

    paper = limen.BiasDisplay.from_paper(tau=10, simulate=2_000)
    assert [line.get_label() for line in paper.lines_] == [
        "2 training rows (n = 2)",
        "10 training rows (n = 10)",
        "50 training rows (n = 50)",
        "all negatives kept (tau = 1)",
        "negatives kept 1 in 3 (tau = 3)",
        "negatives kept 1 in 10 (tau = 10)",
    ]
    assert [ax.get_title().splitlines()[1] for ax in paper.ax_] == [
        "negatives kept 1 in 10 (tau = 10)",
        "10 training rows (n = 10)",
    ]
    assert len(paper.points_) == 6
    drawn = paper.results[0].simulated
    own = drawn.evidence == 10
    np.testing.assert_array_equal(paper.points_[1].lines[0].get_ydata(), drawn.test_positivity[own])
    np.testing.assert_array_equal(paper.marks_[1].get_offsets()[:, 1], drawn.test_positivity[own])
    assert np.argmax(paper.marks_[1].get_sizes()) == np.argmax(drawn.regions[own])  # areas are by regions

    _, axes = plt.subplots(1, 2)
    again = paper.plot(ax=axes)
    assert again.ax_[0] is axes[0]
    assert len(again.lines_) == 6
    alone = paper.plot(ax=axes[0])
    assert alone.ax_ is axes[0] and len(alone.lines_) == 3
    assert "1 more panel not drawn" in alone.legends_[0].get_texts()[-1].get_text()
    with pytest.raises(ValueError, match=r"BiasDisplay: 3 axes, must be one \(result 1\) or 2"):
        paper.plot(ax=[*axes, axes[0]])
    plt.close("all")
