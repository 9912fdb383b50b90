# SPDX-License-Identifier: MIT
import json

import limen
import numpy as np
import pytest
from rows import make_rows


def boundaries(**keywords):
    rows = make_rows(20_000, seed=1)
    one = limen.fit_boundary(*rows, min_precision=0.7, method="st")
    return one, limen.fit_boundary(*rows, min_precision=0.7, **{"levels": 3, **keywords})


def columns_of(rows, seed=3):
    y, score, uncertainty = rows
    random = np.random.default_rng(seed)
    return {
        "kind": np.where(random.random(len(y)) < 0.2 + 0.5 * uncertainty, "new", "known"),
        "noise": random.integers(0, 5, len(y)).astype(float),
        "gap": [None if at % 7 == 0 else f"v{at % 3}" for at in range(len(y))],
    }


def test_sets_are_those_of_the_decisions_and_of_the_program(program, tmp_path):
    pandas = pytest.importorskip("pandas")
    one, two = boundaries()
    rows = make_rows(10_000, seed=2)
    y, score, uncertainty = rows
    columns = columns_of(rows)
    found = limen.swaps(one, two, *rows, columns=pandas.DataFrame(columns))
    old, new = one.decide(score, uncertainty), two.decide(score, uncertainty)
    assert (found.taken_in.rows, found.taken_in.positives) == ((new & ~old).sum(), (new & ~old & y).sum())
    assert (found.left_out.rows, found.left_out.positives) == ((old & ~new).sum(), (old & ~new & y).sum())
    assert found.first.rows - found.left_out.rows + found.taken_in.rows == found.second.rows
    assert found.first.positives - found.left_out.positives + found.taken_in.positives == found.second.positives
    assert sum(level.taken_in.rows for level in found.levels) == found.taken_in.rows > 0
    assert sum(cell.left_out.rows for cell in found.cells) == found.left_out.rows > 0
    kind = found.column("kind")
    assert kind.population.tolist() == [(columns["kind"] == value).sum() for value in kind.values]
    assert kind.taken_in.tolist() == [(columns["kind"][new & ~old] == value).sum() for value in kind.values]
    assert found.columns[0].name == "kind"
    assert kind.taken_in_test.adjusted_p < 1e-4
    assert found.column("noise").taken_in_test.adjusted_p > 0.01

    one.save(tmp_path / "one.json")
    two.save(tmp_path / "two.json")
    table = pandas.DataFrame({"score": score, "uncertainty": uncertainty, "label": y.astype(int), **columns})
    table.to_csv(tmp_path / "rows.csv", index=False)
    written = json.loads(
        program("swaps", tmp_path / "one.json", tmp_path / "two.json", tmp_path / "rows.csv", "--all-columns", "--json")
    )
    assert written["taken_in"]["positives"] == found.taken_in.positives
    assert written["taken_in"]["positivity_interval"] == list(found.taken_in.interval)
    assert [column["column"] for column in written["columns"]] == [column.name for column in found.columns]
    for column, entry in zip(found.columns, written["columns"], strict=True):
        assert entry["left_out"]["p_value"] == column.left_out_test.p_value
        assert [value["taken_in"] for value in entry["values"]] == column.taken_in.tolist()


def test_result():
    one, two = boundaries()
    rows = make_rows(5_000, seed=4)
    found = limen.swaps(one, two, *rows, columns=columns_of(rows), values=3, score_bins=4)
    assert repr(found).startswith("<limen.Swaps: ")
    assert "positives" in repr(found)
    assert "taken in" in found._repr_html_()
    assert len(found.score_edges) == 3
    pytest.importorskip("pandas")
    sets = found.to_pandas()
    assert sets.loc["second", "rows"] == sets.loc["first", "rows"] - found.left_out.rows + found.taken_in.rows
    assert len(found.to_pandas("levels")) == len(found.levels)
    assert len(found.to_pandas("cells")) == len(found.cells)
    assert len(found.to_pandas("columns")) == 6
    shares = found.column("gap").to_pandas()
    assert sorted(shares.index) == ["(missing)", "v0", "v1", "v2"]
    np.testing.assert_allclose(shares.sum(), 1)
    with pytest.raises(ValueError, match="what is 'x', must be"):
        found.to_pandas("x")
    with pytest.raises(KeyError, match="'x' was not looked at"):
        found.column("x")


def test_without_labels_and_without_swaps():
    one, two = boundaries()
    _, score, uncertainty = make_rows(3_000, seed=5)
    found = limen.swaps(one, two, None, score, uncertainty)
    assert found.taken_in.rows > 0
    assert found.taken_in.positives is None
    assert "positives" not in repr(found)
    same = limen.swaps(one, one, None, score, uncertainty, columns={"x": score})
    assert (same.taken_in.rows, same.left_out.rows, same.cells) == (0, 0, ())
    assert same.columns[0].taken_in_test.p_value is None
    assert np.isnan(same.columns[0].shares()["taken_in"]).all()


def test_display():
    pytest.importorskip("matplotlib").use("Agg")
    one, two = boundaries()
    rows = make_rows(5_000, seed=4)
    found = limen.swaps(one, two, *rows, columns=columns_of(rows))
    display = limen.SwapDisplay.from_swaps(found)
    assert len(display.cells_) == len(found.cells)
    assert len(display.bars_) == 6
    assert display.column == "kind"
    widths = [bar.get_width() for bar in display.bars_["taken_in"]]
    np.testing.assert_allclose(widths, found.column("kind").shares()["taken_in"])
    alone = limen.SwapDisplay.from_predictions(one, two, *rows)
    assert alone.figure_.axes == [alone.ax_]
    never = limen.Boundary.from_json(two.to_json())
    limen.SwapDisplay.from_predictions(never, one, None, *rows[1:], columns={"x": rows[1]})
    again = display.plot(ax=display.ax_[0])
    assert again.ax_ is again.figure_.axes[0] and again.bars_ == {}


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"score_bins": 0}, "score_bins is 0, must be 1 to 100"),
        ({"values": 51}, "values is 51, must be 2 to 50"),
        ({"candidates": 1}, "candidates is 1, must be 64 to 1048576"),
        ({"confidence_level": 1}, "confidence_level is 1.0, must be between 0 and 1"),
        ({"columns": {"x": [1]}}, "columns has 1 rows, score has 100"),
        ({"y": [0, 1]}, "score has 100 rows, y has 2"),
        ({"score": [np.nan] * 100}, "score"),
    ],
)
def test_bad_parameters(keywords, message):
    one, two = boundaries()
    y, score, uncertainty = make_rows(100)
    given = {"y": y, "score": score, "uncertainty": uncertainty, **keywords}
    with pytest.raises(ValueError, match=message):
        limen.swaps(one, two, **given)


def test_boundaries_are_needed():
    one, _ = boundaries()
    with pytest.raises(TypeError, match="second is a str, must be a limen.Boundary"):
        limen.swaps(one, "x", *make_rows(10))
