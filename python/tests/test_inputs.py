# SPDX-License-Identifier: MIT
import datetime
import decimal
import fractions
import tracemalloc

import limen
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from limen import _core, _inputs
from rows import make_rows

Y, SCORE, UNCERTAINTY = make_rows(400, seed=1)
EXPECTED = limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.6)


def strided(values):
    return np.repeat(values, 3)[::3]


REALS = {
    "list": list,
    "strided": strided,
    "reversed": lambda values: values[::-1].copy()[::-1],
    "column": lambda values: np.column_stack([values, values])[:, 1],
    "big-endian": lambda values: values.astype(">f8"),
    "longdouble": lambda values: values.astype(np.longdouble),
    "object": lambda values: values.astype(object),
    "Decimal": lambda values: [decimal.Decimal(value) for value in values],
    "pandas": pandas.Series,
    "pandas, other index": lambda values: pandas.Series(values, index=np.arange(len(values))[::-1]),
    "pandas Float64": lambda values: pandas.Series(values, dtype="Float64"),
    "pandas arrow": lambda values: pandas.Series(values, dtype=pandas.ArrowDtype(pyarrow.float64())),
    "pandas index": pandas.Index,
    "polars": polars.Series,
    "pyarrow": pyarrow.array,
    "pyarrow, sliced": lambda values: pyarrow.array(np.concatenate([[5.0], values]))[1:],
    "pyarrow, chunked": lambda values: pyarrow.chunked_array([values[:100], values[100:]]),
    "masked, nothing hidden": np.ma.masked_array,
}


@pytest.mark.parametrize("kind", REALS)
def test_numbers_of_any_container(kind):
    make = REALS[kind]
    assert limen.fit_boundary(Y, make(SCORE), make(UNCERTAINTY), min_precision=0.6) == EXPECTED
    assert EXPECTED.decide(make(SCORE), make(UNCERTAINTY)).tolist() == EXPECTED.decide(SCORE, UNCERTAINTY).tolist()
    weight = make(np.ones(400))
    weighted = limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.6, sample_weight=weight)
    assert weighted.score_thresholds.tolist() == EXPECTED.score_thresholds.tolist()


LABELS = {
    **{str(np.dtype(kind)): np.dtype(kind).type for kind in "?bBhHiIlLefdg"},
    "list of bool": lambda values: values.tolist(),
    "list of int": lambda values: [int(value) for value in values],
    "strided": strided,
    "big-endian": lambda values: values.astype(">i4"),
    "object": lambda values: values.astype(object),
    "pandas boolean": lambda values: pandas.Series(values, dtype="boolean"),
    "pandas Int8": lambda values: pandas.Series(values.astype(int), dtype="Int8"),
    "polars": polars.Series,
    "pyarrow bool": pyarrow.array,
    "pyarrow int": lambda values: pyarrow.array(values.astype(np.int8)),
    "pyarrow chunked": lambda values: pyarrow.chunked_array([values[:7], values[7:]]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type(kind):
    make = LABELS[kind]
    y = make(Y) if not isinstance(make, type) else Y.astype(make)
    assert limen.fit_boundary(y, SCORE, UNCERTAINTY, min_precision=0.6) == EXPECTED


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.uint16, np.bool_])
def test_other_numbers_are_widened(dtype):
    values = (SCORE * 3).astype(dtype)
    assert limen.fit_boundary(Y, values, UNCERTAINTY, min_precision=0.2) == limen.fit_boundary(
        Y, values.astype(np.float64), UNCERTAINTY, min_precision=0.2
    )


def test_read_only_arrays_are_taken_as_they_are():
    arrays = [values.copy() for values in (Y, SCORE, UNCERTAINTY)]
    for array in arrays:
        array.flags.writeable = False
    assert limen.fit_boundary(*arrays, min_precision=0.6) == EXPECTED


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_contiguous_numbers_and_byte_labels_are_not_copied(dtype):
    score, uncertainty, weight = SCORE.astype(dtype), UNCERTAINTY.astype(dtype), np.ones(400)
    for y in (Y, Y.astype(np.uint8)):
        table = _inputs.table(y, score, uncertainty, weight)
        for given, used in zip((y, score, uncertainty, weight), table, strict=True):
            assert np.shares_memory(given, used)
    series = pandas.Series(score)
    assert np.shares_memory(_inputs.real_array(series, "score"), series.to_numpy())
    assert np.shares_memory(_inputs.real_array(pyarrow.array(score), "score"), score)
    # The compiled half refuses what it would have to copy.
    strided_table = (*table[:2], strided(uncertainty), None)
    with pytest.raises(TypeError):
        _core.fit_boundary(strided_table, "min_precision", [(3, 5)], "exact", 3, None, "equi-weight", 0)
    series = polars.Series(score)
    assert np.shares_memory(_inputs.real_array(series, "score"), series.to_numpy())


def test_a_fit_allocates_nothing_for_its_rows():
    # numpy reports its arrays to tracemalloc. 100,000 rows copied once would be 400 kB and more.
    y, score, uncertainty = make_rows(100_000, seed=2, dtype=np.float32)
    boundary = limen.fit_boundary(y, score, uncertainty, min_precision=0.6)
    tracemalloc.start()
    try:
        limen.fit_boundary(y, score, uncertainty, min_precision=0.6)
        boundary.evaluate(y, score, uncertainty)
        assert tracemalloc.get_traced_memory()[1] < 50_000
        boundary.decide(score, uncertainty)
        assert 100_000 < tracemalloc.get_traced_memory()[1] < 150_000  # a byte for each decision
    finally:
        tracemalloc.stop()


def fit(y=Y, score=SCORE, uncertainty=UNCERTAINTY, **keywords):
    return limen.fit_boundary(y, score, uncertainty, **{"min_precision": 0.6, **keywords})


def changed(values, row, value, dtype=object):
    values = np.array(values, dtype=dtype)
    values[row] = value
    return values


BAD_INPUT = {
    "text label": (dict(y=["yes"] * 400), "y[0] is 'yes', must be 0 or 1"),
    "object label": (dict(y=changed(Y, 3, "no")), "y[3] is 'no', must be 0 or 1"),
    "missing label": (dict(y=changed(Y, 3, None)), "y[3] is missing, must be 0 or 1"),
    "label 2": (dict(y=changed(Y, 7, 2, int)), "y[7] is 2, must be 0 or 1"),
    "label 2 as a byte": (dict(y=changed(Y, 7, 2, np.uint8)), "y[7] is 2, must be 0 or 1"),
    "label -1": (dict(y=changed(Y, 7, -1, np.int8)), "y[7] is -1, must be 0 or 1"),
    "label 256": (dict(y=changed(Y, 399, 256, np.uint64)), "y[399] is 256, must be 0 or 1"),
    "label NaN": (dict(y=changed(Y, 7, np.nan, float)), "y[7] is nan, must be 0 or 1"),
    "label 0.5": (dict(y=changed(Y, 7, 0.5, np.float16)), "y[7] is 0.5, must be 0 or 1"),
    "nullable label": (
        dict(y=pandas.Series([None, *Y[1:]], dtype="boolean")),
        "y[0] is missing, must be a number",
    ),
    "complex label": (dict(y=Y.astype(complex)), "y has type complex128, must be numbers"),
    "no positives": (dict(y=np.zeros(400)), "fit_boundary: no row is positive; both classes are needed"),
    "no negatives": (dict(y=np.ones(400)), "fit_boundary: every row is positive; both classes are needed"),
    "empty": (dict(y=[], score=[], uncertainty=[]), "fit_boundary: there are no rows"),
    "score NaN": (dict(score=changed(SCORE, 5, np.nan, float)), "score[5] is NaN, must be finite"),
    "score inf": (dict(score=changed(SCORE, 5, np.inf, np.float32)), "score[5] is infinite, must be finite"),
    "score None": (dict(score=changed(SCORE, 5, None)), "score[5] is missing, must be a number"),
    "score NA": (dict(score=changed(SCORE, 5, pandas.NA)), "score[5] is missing, must be a number"),
    "nullable score": (
        dict(score=pandas.Series([*SCORE[:9], None, *SCORE[10:]], dtype="Float64")),
        "score[9] is missing, must be a number",
    ),
    "polars null": (dict(score=polars.Series([None, *SCORE[1:]])), "score[0] is NaN, must be finite"),
    "arrow null": (dict(score=pyarrow.array([None, *SCORE[1:]])), "score[0] is NaN, must be finite"),
    "score text": (dict(score=["0.5"] * 400), "score[0] is '0.5', must be a number"),
    "score bytes": (dict(score=[b"x"] * 400), "score[0] is b'x', must be a number"),
    "long text": (dict(score=["a" * 99] * 400), "score[0] is '" + "a" * 36 + "..., must be a number"),
    "score list": (dict(score=changed(SCORE, 5, [1])), "score[5] is [1], must be a number"),
    "score dates": (
        dict(score=[datetime.datetime(2020, 1, 1)] * 400),
        "score[0] is datetime.datetime(2020, 1, 1, 0, 0), must be a number",
    ),
    "score datetime64": (
        dict(score=np.zeros(400, "M8[s]")),
        "score has type datetime64[s], must be numbers",
    ),
    "score masked": (dict(score=np.ma.masked_array(SCORE, SCORE == SCORE[8])), "score[8] is masked, must be a number"),
    "score two-dimensional": (dict(score=SCORE[:, None]), "score has shape (400, 1), must be one-dimensional"),
    "score scalar": (dict(score=0.5), "score has shape (), must be one-dimensional"),
    "score frame": (
        dict(score=pandas.DataFrame({"a": SCORE})),
        "score has shape (400, 1), must be one-dimensional",
    ),
    "uncertainty NaN": (
        dict(uncertainty=changed(UNCERTAINTY, 0, np.nan, float)),
        "uncertainty[0] is NaN, must be finite",
    ),
    "short score": (dict(score=SCORE[1:]), "score has 399 rows, y has 400"),
    "short uncertainty": (dict(uncertainty=UNCERTAINTY[:7]), "uncertainty has 7 rows, y has 400"),
    "short y": (dict(y=[]), "score has 400 rows, y has 0"),
    "short weight": (dict(sample_weight=np.ones(3)), "sample_weight has 3 rows, y has 400"),
    "no weight": (dict(sample_weight=[]), "sample_weight has 0 rows, y has 400"),
    "negative weight": (
        dict(sample_weight=changed(np.ones(400), 2, -1, float)),
        "sample_weight[2] is -1.000000, must be between 0 and 1e290",
    ),
    "weight NaN": (
        dict(sample_weight=changed(np.ones(400), 2, np.nan, float)),
        "sample_weight[2] is nan, must be between 0 and 1e290",
    ),
    "weight text": (dict(sample_weight=["a"] * 400), "sample_weight[0] is 'a', must be a number"),
    "no goal": (dict(min_precision=None), "no goal given: give exactly one of min_precision, min_recall, "),
    "two goals": (dict(f_beta=1), "min_precision and f_beta given: give exactly one of "),
    "bound 1.5": (dict(min_precision=1.5), "min_precision is 1.5, must be between 0 and 1"),
    "bound 90": (dict(min_precision=90), "min_precision is 90, must be between 0 and 1"),
    "bound -0.1": (dict(min_precision=-0.1), "min_precision is -0.1, must be a non-negative decimal number"),
    "bound NaN": (dict(min_precision=np.nan), "min_precision is nan, must be a non-negative decimal number"),
    "bound inf": (dict(min_precision=np.inf), "min_precision is inf, must be a non-negative decimal number"),
    "bound text": (dict(min_precision="high"), "min_precision is high, must be a non-negative decimal number"),
    "bound tiny": (
        dict(min_precision=1e-300),
        "min_precision is 1e-300, must be a number below 1e18 of at most 18 digits after the point",
    ),
    "fraction -1/2": (
        dict(min_precision=fractions.Fraction(-1, 2)),
        "min_precision is Fraction(-1, 2), must be a number >= 0 of at most 18 digits",
    ),
    "cost of one": (
        dict(min_precision=None, cost=1),
        "cost is 1, must be (cost of a false positive, cost of a false negative)",
    ),
    "cost of three": (dict(min_precision=None, cost=(1, 2, 3)), "cost is (1, 2, 3), must be (cost of"),
    "cost of nothing": (dict(min_precision=None, cost=(0, 0)), "objective: both costs are 0, at least one must be > 0"),
    "beta 0": (dict(min_precision=None, f_beta=0), "objective: beta is 0, must be > 0"),
    "levels 0": (dict(levels=0), "fit_boundary: levels is 0, must be 1 to 1000"),
    "levels 1001": (dict(levels=1001), "fit_boundary: levels is 1001, must be 1 to 1000"),
    "levels huge": (dict(levels=10**30), "levels is 1000000000000000000000000000000, which is too large"),
    "bins 0": (dict(bins=0), "fit_boundary: bins is 0, must be 1 to 2^30"),
    "bins text": (dict(bins="many"), 'fit_boundary: bins is "many", must be a number or "all"'),
    "binning": (dict(binning="equal"), 'binning "equal" is not one of equi-weight, equi-span'),
    "method": (dict(method="best"), 'method "best" is not one of '),
    "threads": (dict(num_threads=-1), "fit_boundary: num_threads is -1, must be at least 1, or 0 for all cores"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_refused_by_name_and_value(case):
    keywords, message = BAD_INPUT[case]
    with pytest.raises(ValueError) as caught:
        fit(**keywords)
    assert str(caught.value).startswith(message)


BAD_TYPES = {
    "levels": (dict(levels=3.0), "levels is 3.0, must be a whole number"),
    "bins": (dict(bins=2.5), "bins is 2.5, must be a whole number"),
    "threads": (dict(num_threads="all"), "num_threads is 'all', must be a whole number"),
    "bound": (dict(min_precision=[0.9]), "min_precision is [0.9], must be a number"),
    "method": (dict(method=3), "method is 3, must be a text"),
    "binning": (dict(binning=None), "binning is None, must be a text"),
    "bound bool": (dict(min_precision=True), "min_precision is True, must be a number"),
}


@pytest.mark.parametrize("case", BAD_TYPES)
def test_options_of_a_wrong_type_are_refused(case):
    keywords, message = BAD_TYPES[case]
    with pytest.raises(TypeError) as caught:
        fit(**keywords)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "bound", [0.6, "0.6", "6e-1", decimal.Decimal("0.60"), fractions.Fraction(3, 5), np.float64(0.6), np.float32(0.6)]
)
def test_bounds_are_the_decimals_that_they_are_written_as(bound):
    assert fit(min_precision=bound) == EXPECTED


def test_a_bound_that_is_met_exactly_is_met():
    # 9 of the 10 rows with the highest scores are positive. As a double 0.9 is above 9/10.
    score = np.arange(20.0)[::-1]
    y = np.arange(20) < 9
    boundary = limen.fit_boundary(y, score, np.zeros(20), levels=1, min_precision=0.9)
    assert (boundary.holdout.flagged, boundary.precision) == (9, 1.0)
    y[[0, 9]] = [False, True]
    boundary = limen.fit_boundary(y, score, np.zeros(20), levels=1, min_precision=0.9)
    assert (boundary.holdout.flagged, boundary.holdout.true_positives) == (10, 9)
    third = fractions.Fraction(1, 3)
    boundary = limen.fit_boundary([1, 0, 0], [3.0, 3, 3], [0, 0, 0], levels=1, min_precision=third)
    assert boundary.holdout.flagged == 3
    assert boundary.to_dict()["objective"]["bound_fraction"] == "1/3"
