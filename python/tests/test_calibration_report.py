# SPDX-License-Identifier: MIT
import io
import json
import pickle

import limen
import numpy as np
import pytest
from rows import Page

DATA = limen.simulate(prior=(1.5, 8.5), tau=5, regions=5_000, holdout_rows=20_000, test_rows=20_000, seed=3)


@pytest.fixture
def files(tmp_path):
    """Hold-out and test as files with the very numbers of the arrays."""
    paths = []
    for name in ("holdout", "test"):
        y, score, uncertainty = getattr(DATA, name).columns
        path = tmp_path / f"{name}.csv"
        rows = zip(y.tolist(), score.tolist(), uncertainty.tolist(), strict=True)
        lines = (f"{s!r},{u!r},{label}" for label, s, u in rows)
        path.write_text("score,uncertainty,label\n" + "\n".join(lines) + "\n")
        paths.append(str(path))
    return paths


def test_report_is_that_of_the_program(program, files, tmp_path):
    holdout, test = files
    path = tmp_path / "c.json"
    asked = ("--tau", "5", "--bins", "8", "--bootstrap", "30", "--bootstrap-seed", "4", "--seed", "4")
    written = json.loads(program("calibrate", holdout, "--test", test, *asked, "-o", str(path), "--json"))
    report = limen.calibration_report(*DATA.holdout.columns, test=DATA.test, tau=5, bins=8, n_resamples=30, seed=4)
    assert (
        list(report) == [column["name"] for column in written["columns"]] == ["raw", "tau", "ist", "mist", "shrunken"]
    )
    assert report.to_json() == path.read_text()
    assert report.chosen == written["chosen"]
    for column in written["columns"]:
        found = report[column["name"]]
        for name in ("ece", "ece_by_level", "brier", "log_loss", "roc_auc", "average_precision"):
            assert getattr(found, name) == (column[name]["value"], *column[name]["band"])
        for name in ("ece_at", "cumulative_ece"):
            assert getattr(found, name).value.tolist() == [point["value"] for point in column[name]]
            assert getattr(found, name).high.tolist() == [point["band"][1] for point in column[name]]
    assert report.cumulative_by_chance.tolist() == written["by_chance"]["cumulative_ece"]


def test_calibrators_are_those_of_the_program_bit_for_bit(program, files, tmp_path):
    holdout, test = files
    path, out = tmp_path / "c.json", tmp_path / "out.csv"
    program("calibrate", holdout, "-o", str(path), "--bootstrap", "0")
    rows = np.column_stack([DATA.holdout.score, DATA.holdout.uncertainty])
    for name, parameters in (("ist", {"levels": 1}), ("mist", {}), ("shrunken", {"shrinkage": "auto"})):
        fitted = limen.LevelIsotonic(**parameters).fit(rows, DATA.holdout.y)
        read = limen.LevelIsotonic.load(path, calibrator=name)
        probability = fitted.calibrate(DATA.test.score, DATA.test.uncertainty)
        np.testing.assert_array_equal(read.calibrate(DATA.test.score, DATA.test.uncertainty), probability)
        own = tmp_path / "own.json"
        fitted.save(own)
        program("apply", str(own), test, "-o", str(out))
        np.testing.assert_array_equal(np.genfromtxt(out, delimiter=",", skip_header=1)[:, -1], probability)
        again = limen.LevelIsotonic.load(own)
        assert again.to_json() == fitted.to_json() == own.read_text()
        np.testing.assert_array_equal(again.calibrate(DATA.test.score, DATA.test.uncertainty), probability)
        assert pickle.loads(pickle.dumps(again)).to_json() == again.to_json()


def test_bad_files_and_calibrators_are_named(tmp_path):
    fitted = limen.LevelIsotonic(levels=2).fit([[0.1, 0], [0.2, 1], [0.3, 0]], [0, 1, 1])
    with pytest.raises(ValueError, match='has no isotonic calibrator "ist"'):
        limen.LevelIsotonic.from_json(fitted.to_json(), calibrator="ist")
    with pytest.raises(ValueError, match='"platt" is no calibrator'):
        limen.LevelIsotonic.from_json(fitted.to_json(), calibrator="platt")
    bad = tmp_path / "bad.json"
    bad.write_text(fitted.to_json().replace('"version": 1', '"version": 2'))
    with pytest.raises(ValueError, match="bad.json: has version 2, this program reads up to 1; update limen"):
        limen.LevelIsotonic.load(bad)
    with pytest.raises(Exception, match="not fitted"):
        limen.LevelIsotonic().to_json()


def test_report_by_cross_validation_with_evidence():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    evidence = rng.integers(0, 50, len(DATA.holdout.y))
    report = limen.calibration_report(
        *DATA.holdout.columns, tau=5, evidence=evidence, xi=0.15, prior_strength=10, n_resamples=20, levels=2, bins=4
    )
    assert report.cross_validated and list(report) == ["raw", "tau", "evidence", "ist", "mist", "shrunken"]
    assert repr(report).startswith("<limen.CalibrationReport: raw, tau, evidence, ist, mist, shrunken on 20000 rows")
    frame = report.to_pandas()
    assert frame.shape == (6, 37) and frame["ece_low"].notna().all()
    assert frame["roc_auc_less_raw"].isna().tolist() == [True] + [False] * 5
    curves = report.curves_to_pandas()
    assert isinstance(curves, pandas.DataFrame) and len(curves) == 6 * 5
    assert curves.groupby("calibrator")["ece_at"].count().tolist() == [4] * 6
    page = Page(report._repr_html_())
    assert "calibration on 20,000 rows (hold-out, by cross-validation)" in page.paragraphs
    assert page.tables[0][1][1].startswith(f"{report['raw'].ece[0]:.4f}")
    assert limen.correct_undersampling(DATA.holdout.score, tau=5).mean() == pytest.approx(
        (report["tau"].mean_probability * report.reliability.rows).sum() / 20_000
    )


def test_weights_have_no_bands_and_are_refused_by_resamples():
    weight = np.ones(len(DATA.holdout.y)) * 2
    report = limen.calibration_report(*DATA.holdout.columns, sample_weight=weight)
    assert np.isnan(report["ist"].ece[1]) and report.rows == 40_000
    with pytest.raises(ValueError, match="rows have weights, but the bootstrap draws rows"):
        limen.calibration_report(*DATA.holdout.columns, sample_weight=weight, n_resamples=10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": 0}, "tau is 0, must be > 0"),
        ({"tau": float("nan")}, "tau is nan, must be > 0"),
        ({"evidence": [1, 2, 3] * 2}, "evidence needs tau"),
        ({"tau": 2, "evidence": [1, 2, 3] * 2}, "evidence needs xi"),
        ({"tau": 2, "evidence": [1, 2, 3] * 2, "xi": 1, "prior_strength": 4}, "xi is 1, must be"),
        ({"tau": 2, "evidence": [1, -2, 3] * 2, "xi": 0.5, "prior_strength": 4}, r"evidence\[1\] is -2, must be"),
        ({"xi": 0.5}, "only with evidence"),
        ({"test_evidence": [1]}, "only with test"),
        ({"test": ([1], [0.5])}, "test has 2 columns"),
        ({"bins": 0}, "bins is 0, must be 1 to 1000"),
        ({"levels": 0}, "levels is 0"),
        ({"sample_weight": [0] * 6}, "no row has a weight above 0"),
        ({"n_resamples": 1}, "replicates is 1, must be 2 to 1000000"),
    ],
)
def test_what_the_report_refuses(change, message):
    given = {"n_resamples": 0, **change}
    with pytest.raises(ValueError, match=message):
        limen.calibration_report([0, 1, 1] * 2, [0.1, 0.5, 0.9] * 2, [0, 0, 1] * 2, **given)


def test_map_is_that_of_the_program(program, files):
    pandas = pytest.importorskip("pandas")

    written = pandas.read_csv(
        io.StringIO(program("inspect", files[0], "--map", "--levels", "4", "--bins", "6", "--csv"))
    )
    found = limen.positivity_map(*DATA.holdout.columns, levels=4, bins=6)
    pandas.testing.assert_frame_equal(found.to_pandas(), written, check_dtype=False, rtol=0, atol=0)
    assert repr(found) == "<limen.PositivityMap: 4 levels, 6 bins, 20000 rows>"
    assert found.grid().shape == (4, 6) and found.grid("rows").sum() == 20_000
    page = Page(found._repr_html_())
    assert page.paragraphs[0].startswith("Share of positives by score bin and uncertainty")
    assert [row[0] for row in page.tables[0]] == ["bin", *"654321"]
    assert page.tables[0][-1][1].startswith(f"{found.positivity[0]:.4f} [{found.positivity_low[0]:.4f} to ")
    assert page.tables[0][-1][1].endswith(f"], {found.rows[0]:,.0f}")
    edges = limen.positivity_map(*DATA.holdout.columns, uncertainty_edges=found.uncertainty_edges, bins=6)
    np.testing.assert_array_equal(edges.positivity, found.positivity)
    with pytest.raises(ValueError, match="bins is 0, must be 1 to 10000"):
        limen.positivity_map(*DATA.holdout.columns, bins=0)


def test_displays_draw_what_was_found():
    plt = pytest.importorskip("matplotlib.pyplot")
    display = limen.PositivityDisplay.from_predictions(*DATA.holdout.columns, levels=2, bins=5)
    assert len(display.lines_) == 2
    for level, line in enumerate(display.lines_):
        np.testing.assert_array_equal(line.get_ydata(), display.map.grid()[level])
    np.testing.assert_array_equal(display.mesh_.get_array(), display.map.grid())
    shown = limen.CalibrationDisplay.from_predictions(*DATA.holdout.columns, test=DATA.test, n_resamples=20)
    np.testing.assert_array_equal(shown.lines_["mist"].get_ydata(), shown.report["mist"].cumulative_ece.value)
    np.testing.assert_array_equal(shown.reliability_lines_["ist"].get_ydata(), shown.report.reliability.positivity)
    assert "raw" not in shown.lines_  # far above the others, here
    assert set(limen.CalibrationDisplay(report=shown.report).plot(columns=["raw", "ist"]).lines_) == {"raw", "ist"}
    assert display.plot(ax=plt.gca()).ax_ is plt.gca()
    assert display.lines_ == [] and len(display.texts_) == 10
    plt.close("all")


def test_few_rows_are_not_cross_validated():
    with pytest.raises(ValueError, match="there are 3 rows, too few for cross-validation; give more, or test rows"):
        limen.calibration_report([0, 1, 1], [0.1, 0.5, 0.9], [0, 0, 1])
    few = ([0, 1, 1], [0.1, 0.5, 0.9], [0, 0, 1])
    assert limen.calibration_report(*few, test=few, n_resamples=2)["ist"].ece[0] == 0
