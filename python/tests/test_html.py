# SPDX-License-Identifier: MIT
"""What results look like in a notebook, in a terminal and as data frames."""

import json

import limen
import numpy as np
import pytest
from limen import _html, _words
from rows import Page, make_rows

Y, SCORE, UNCERTAINTY = make_rows(4000)
TEST = make_rows(4000, seed=1)
HOSTILE = '<script>alert("1")</script>&\x1b[31m\u202ex'


def fit(**settings):
    return limen.fit_boundary(Y, SCORE, UNCERTAINTY, **{"min_precision": 0.8, **settings})


def results():
    one, two = fit(method="st"), fit(levels=3)
    rows = Y, SCORE, UNCERTAINTY
    return {
        "Boundary": two,
        "certified": fit(confidence_level=0.9),
        "review": fit(levels=2, review_rate=0.1),
        "smooth": fit(method="smooth"),
        "segments": limen.fit_boundary(
            *rows, min_precision=0.8, segment=np.where(SCORE > 0.5, "a", "b"), method="exact"
        ),
        "Evaluation": two.evaluate(*TEST),
        "Comparison": limen.compare(rows, TEST, min_precision=[0.8, 0.9], methods=["st", "exact"]),
        "Frontier": limen.frontier(*rows, min_precision=[0.6, 0.8], bootstrap=10),
        "Sweep": limen.sweep(*rows, min_precision=0.8, levels=[1, 2], bins=["all"], repetitions=1),
        "Swaps": limen.swaps(one, two, *TEST, columns={"x": TEST[1]}),
        "CalibrationReport": limen.calibration_report(*rows, n_resamples=5),
        "Plan": limen.plan(Y, SCORE, min_precision=0.8),
        "PlannedTest": limen.plan(min_precision=0.9, expect_precision=0.93, flag_rate=0.05),
        "Monitor": watched(two),
        "MonitorReport": watched(two).report,
        "PositivityMap": limen.positivity_map(*rows, levels=2, bins=3),
        "Bias": limen.bias(tau=3, evidence=[2, 10], score=[0.2, 0.5]),
        "Bootstrap": limen.bootstrap(two, *rows, replicates=10),
        "PairedComparison": limen.compare_boundaries(one, two, *TEST),
        "Information": limen.informs(*rows, min_precision=0.8),
        "ClassBoundaries": limen.fit_classes(
            np.where(Y, "cat", "dog"), np.column_stack([SCORE, 1 - SCORE]), UNCERTAINTY, min_precision=0.8
        ),
    }


def watched(boundary, y=TEST[0]):
    monitor = limen.Monitor(boundary)
    monitor.update(TEST[1], TEST[2], y)
    return monitor


RESULTS = results()


@pytest.mark.parametrize("name", RESULTS)
def test_a_page_has_one_sentence_first_and_whole_tables(name):
    page = Page(RESULTS[name]._repr_html_())
    assert page.tags[:3] == ["div", "p", "b"]
    sentence = page.paragraphs[0]
    assert sentence[0] == sentence[0].upper() and sentence.endswith(".") and "nan" not in sentence
    assert page.tables and all(len(table) > 1 for table in page.tables)
    for table in page.tables:
        assert all(len(row) <= len(table[0]) for row in table)
        assert "nan" not in str(table) and "None" not in str(table)
    # Colours are the page's own, light or dark.
    assert not {"style", "script", "font"} & set(page.tags)
    assert "color:#" not in RESULTS[name]._repr_html_()


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_short_in_a_terminal_and_a_frame_in_pandas(name):
    text = repr(RESULTS[name])
    assert len(text) < 420 and "\n" not in text and "array(" not in text
    pandas = pytest.importorskip("pandas")
    frame = RESULTS[name].to_pandas()
    assert isinstance(frame, (pandas.DataFrame, pandas.Series)) and len(frame)


def test_text_is_escaped_and_shows_what_does_not_print():
    text = _html.escape(HOSTILE)
    assert text == "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;\ufffd[31m\ufffdx"
    page = Page(
        _html.block(HOSTILE, _html.table([HOSTILE], [[_html.Cell(HOSTILE, HOSTILE)]], HOSTILE), notes=[HOSTILE])
    )
    shown = HOSTILE.replace("\x1b", "\ufffd").replace("\u202e", "\ufffd")
    assert page.paragraphs == [shown + ".", shown, shown]  # sentence, caption, note
    assert page.tables == [[[shown], [f"{shown} {shown}"]]]
    assert set(page.tags) == {"div", "p", "b", "table", "caption", "thead", "tr", "th", "tbody", "td", "small"}


def test_hostile_columns_classes_and_segments_stay_text():
    described = fit(levels=2).to_dict()
    described["columns"] = {"score": HOSTILE.replace("\x1b", ""), "uncertainty": "<b>u</b>"}
    boundary = limen.Boundary.from_json(json.dumps(described))
    segments = limen.fit_boundary(
        Y, SCORE, UNCERTAINTY, min_precision=0.8, method="exact", segment=np.where(SCORE > 0.5, HOSTILE, "b")
    )
    classes = limen.fit_classes(
        np.where(Y, HOSTILE, "dog"), np.column_stack([SCORE, 1 - SCORE]), UNCERTAINTY,
        min_precision={HOSTILE: 0.8, "dog": 0.8},
    )  # fmt: skip
    swaps = limen.swaps(fit(method="st"), fit(levels=3), *TEST, columns={HOSTILE: TEST[1]})
    for result in (
        boundary,
        segments,
        segments.evaluate(Y, SCORE, UNCERTAINTY, segment=np.full(len(Y), HOSTILE)),
        classes,
        swaps,
    ):
        page = Page(result._repr_html_())
        assert "script" not in page.tags and page.tags.count("div") == 1
        assert '<script>alert("1")</script>' in str(page.paragraphs) + str(page.tables)
        assert "\x1b" not in result._repr_html_() and "\u202e" not in result._repr_html_()


def test_very_long_tables_say_how_much_is_left_out():
    (table,) = Page(_html.table(["n"], [[at] for at in range(100)])).tables
    assert table[1] == ["0"] and table[-1] == ["99"]
    assert table[12] == ["... 78 more ..."] and len(table) == 1 + 22 + 1


def test_boundary_page_has_the_rule_and_what_was_reached():
    boundary = RESULTS["Boundary"]
    page = Page(boundary._repr_html_())
    low, high = boundary.score_thresholds.min(), boundary.score_thresholds.max()
    assert page.paragraphs[0] == (
        "Most recall with precision >= 0.8: a row is flagged where score reaches the threshold "
        f"({low:.6g} to {high:.6g}) of its level of uncertainty."
    )
    rule, figures = page.tables
    assert rule[0] == ["level", "uncertainty", "flagged where score"]
    assert [line[1] for line in rule[1:]] == _words.level_names(boundary.uncertainty_edges)
    assert [line[2] for line in rule[1:]] == [f">= {threshold:.6g}" for threshold in boundary.score_thresholds]
    seen = boundary.holdout
    assert figures[1] == [
        "on the hold-out, in-sample", "4,000", f"{seen.positives:,}", f"{seen.flagged:,}", f"{seen.true_positives:,}",
        f"{seen.precision:.4f}", f"{seen.recall:.4f}",
    ]  # fmt: skip
    assert len(figures) == 2  # nothing is expected or certified of it
    assert "One threshold per level (exact), proved optimal on the hold-out." in page.paragraphs
    never = limen.fit_boundary(Y & (UNCERTAINTY < 0.6), SCORE, UNCERTAINTY, min_precision=0.8, levels=3)
    assert Page(never._repr_html_()).tables[0][-1][2] == "never"


def test_boundary_page_tells_hold_out_expected_and_certified_apart():
    boundary = RESULTS["certified"]
    page = Page(boundary._repr_html_())
    lines = {line[0]: line[1:] for line in page.tables[1][1:]}
    guarantee, (low, high) = boundary.guarantee, boundary.expected["precision"]
    assert lines["on the rows that certify"][:2] == [f"{guarantee['rows']:,}", f"{guarantee['positives']:,}"]
    assert lines["on the rows that certify"][4] == f"{guarantee['true_positives'] / guarantee['flagged']:.4f}"
    assert lines["expected in deployment (about 95%)"][4] == f"{low:.3f} to {high:.3f}"
    (note,) = (text for text in page.paragraphs if "ertified" in text)
    assert note.startswith(f"Certified: precision >= 0.8 with confidence 90% (p = {guarantee['p_value']:.2g}).")
    reviewed = RESULTS["review"]
    page = Page(reviewed._repr_html_())
    assert [line[3] for line in page.tables[0][1:]] == [f">= {value:.6g}" for value in reviewed.review_thresholds]
    assert any(f"recall with them {reviewed.reviewed.recall:.4f}" in text for text in page.paragraphs)


def test_evaluation_page_has_counts_with_intervals_by_level():
    found = RESULTS["Boundary"].evaluate(*TEST, confidence_level=0.99)
    page = Page(found._repr_html_())
    assert page.paragraphs[0].startswith(
        f"{found.flagged:,} of 4,000 rows are flagged: precision {found.precision:.4f} ("
    )
    assert [line[0] for line in page.tables[0][1:]] == ["all", "level 0", "level 1", "level 2"]
    for line, part in zip(page.tables[0][1:], (found, *found.levels), strict=True):
        assert line[1:5] == [f"{value:,}" for value in (part.rows, part.positives, part.flagged, part.true_positives)]
        low, high = part.precision_interval
        assert line[5] == f"{part.precision:.4f} [{low:.4f} to {high:.4f}]"
    assert "In brackets: exact (Clopper-Pearson) 99% intervals." in page.paragraphs
    assert found.confidence_level == found.levels[0].confidence_level == 0.99
    assert "confidence_level" not in found.to_dict()
    assert repr(found) == (
        f"<limen.Evaluation: 4,000 rows, {found.positives:,} positive; {found.flagged:,} flagged, precision "
        f"{found.precision:.4f} ({found.precision_interval[0]:.4f} to {found.precision_interval[1]:.4f}), recall "
        f"{found.recall:.4f} ({found.recall_interval[0]:.4f} to {found.recall_interval[1]:.4f}); 3 levels>"
    )
    nothing = RESULTS["Boundary"].evaluate([0, 0], [0, 0], [0, 0])
    assert Page(nothing._repr_html_()).tables[0][1][5:] == ["-", "-"]
    assert "precision -, recall -" in repr(nothing)


def test_comparison_page_names_the_best_and_the_infeasible():
    y = Y & (SCORE < 0.97)  # the highest scores are all negative
    found = limen.compare((y, SCORE, UNCERTAINTY), TEST, min_precision=[0.5, 0.999], methods=["st", "exact", "auto"])
    page = Page(found._repr_html_())
    best = max((summary for summary in found if summary.bound == 0.5), key=lambda summary: summary.matched_recall)
    words = {"st": "one threshold", "exact": "one threshold per level (exact)"}
    assert page.paragraphs[0].startswith("At precision 0.5 the most recall on test has ")
    assert f"{best.matched_recall:.4f}" in page.paragraphs[0]
    assert len(page.tables) == 2 and "partly by luck" in str(page.paragraphs)
    st = found.get("st", 0.5)
    low, high = st.trials[0].test_recall_interval
    line = page.tables[0][1]
    if st.infeasible:
        assert line[:2] == [words["st"], "infeasible"]
    else:
        assert line[0] == words["st"] and line[4] == f"{st.test_recall:.4f} [{low:.4f} to {high:.4f}]"
    infeasible = [summary for summary in found if summary.bound == 0.999 and summary.infeasible]
    assert infeasible
    named = [line for line in page.tables[1] if line[1] == "infeasible"]
    assert len(named) == len(infeasible)
    assert named[0][0] in words.values()
    assert repr(found) == "<limen.Comparison: st, exact, auto at precision >= 0.5, 0.999; 1 pair of hold-out and test>"
    frame = pytest.importorskip("pandas") and found.get("st", 0.5).to_pandas()
    assert frame["test_flagged"].tolist() == [st.trials[0].test_flagged]


def test_frontier_page_has_gains_with_bands():
    rows = Y, SCORE, UNCERTAINTY
    found = limen.frontier(*rows, min_precision=[0.6, 0.8], bootstrap=20, confidence_level=0.9)
    page = Page(found._repr_html_())
    single = limen.fit_boundary(*rows, min_precision=0.6, method="st").recall
    np.testing.assert_allclose(found.st_recall([0.6]), single)
    point = found.exact[0]
    line = page.tables[0][1]
    assert line[0] == ">= 0.6" and line[1] == f"{point.flagged:,}"
    low, high = point.gain_interval
    assert line[6] == f"{point.recall / single - 1:+.1%} [{low:+.1%} to {high:+.1%}]"
    assert "In brackets: 90% of resamples." in page.paragraphs
    assert repr(found).startswith("<limen.Frontier: 3 levels, 4,000 rows; ")
    assert np.isnan(found.st_recall([2])).all()
    frame = pytest.importorskip("pandas") and found.st.to_pandas()
    np.testing.assert_array_equal(frame["recall"], found.st.recall)


def test_monitor_page_gives_the_verdict_first():
    report = RESULTS["MonitorReport"]
    page = Page(report._repr_html_())
    assert page.paragraphs[0] == f"{report.verdict.capitalize()}: precision >= 0.8."
    line = dict(zip(*page.tables[0], strict=True))
    assert line["so far"] == f"{report.figure:.4f}" and line["tested"] == f"{report.tested:,}"
    assert line["at all times (95%)"] == f"{report.figure_low:.4f} to {report.figure_high:.4f}"
    broken = watched(RESULTS["Boundary"], TEST[0] & False)
    assert ", broken since row " in Page(broken._repr_html_()).paragraphs[0]
    pytest.importorskip("pandas")
    assert broken.to_pandas()["broken_since_row"] == broken.report.broken.since.row
    assert report.to_pandas()["tested"] == report.tested


def test_swaps_page_has_both_boundaries_in_words():
    found = RESULTS["Swaps"]
    page = Page(found._repr_html_())
    precision, recall = found.reached("second")
    evaluated = found.boundaries[1].evaluate(*TEST)
    assert (precision, recall) == (pytest.approx(evaluated.precision), pytest.approx(evaluated.recall))
    assert f"recall {found.reached('first')[1]:.4f} to {recall:.4f} on these rows." in page.paragraphs[0]
    assert [line[0] for line in page.tables[0][1:]] == [
        "first: one threshold", "left out", "taken in", "second: one threshold per level (exact)",
    ]  # fmt: skip
    unlabelled = limen.swaps(*found.boundaries, None, *TEST[1:])
    assert unlabelled.reached("first") is None
    assert Page(unlabelled._repr_html_()).tables[0][0] == ["", "rows"]


def test_level_names_are_told_apart():
    assert _words.level_names([]) == ["all rows"]
    assert _words.level_names([0.5]) == ["below 0.5", "0.5 and above"]
    # Three digits would call both edges 0.123.
    assert _words.level_names([0.12341, 0.12349]) == ["below 0.1234", "0.1234 to 0.1235", "0.1235 and above"]


def test_frames_have_the_rule_and_both_parts():
    pytest.importorskip("pandas")
    boundary = RESULTS["Boundary"]
    frame = boundary.to_pandas()
    np.testing.assert_array_equal(frame["score_threshold"], boundary.score_thresholds)
    assert frame["uncertainty_from"].tolist() == [-np.inf, *boundary.uncertainty_edges]
    np.testing.assert_array_equal(
        RESULTS["review"].to_pandas()["review_threshold"], RESULTS["review"].review_thresholds
    )
    data = limen.simulate(holdout_rows=30, test_rows=20, regions=5)
    assert data.to_pandas()["part"].value_counts().to_dict() == {"holdout": 30, "test": 20}
    found = RESULTS["Information"].to_pandas()
    assert found["p_value"] == RESULTS["Information"].p_value and found["gain_low"] <= found["gain_high"]
