# SPDX-License-Identifier: MIT
"""Parts of the compiled half that limen.uncertainty is made of."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from limen import _core, _inputs
from scipy import stats


def test_beta_entropy_is_that_of_scipy():
    a1, a0 = np.random.default_rng(0).random((2, 5000)) * 50 + 0.01
    np.testing.assert_allclose(_core.beta_entropy(a1, a0), stats.beta(a1, a0).entropy(), rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="beta_entropy: a1 has 1 values, a0 has 2"):
        _core.beta_entropy(np.ones(1), np.ones(2))
    with pytest.raises(ValueError, match="beta_entropy: "):
        _core.beta_entropy(np.ones(1), -np.ones(1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ensemble_measures_are_those_of_numpy(dtype):
    members = np.random.default_rng(1).random((5, 2000)).astype(dtype)
    members[:, 0] = [0, 0, 1, 1, 1]
    found = _core.ensemble(list(members))
    wide = members.astype(np.float64)

    def entropy(p):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(-p * np.log(p)) + np.nan_to_num(-(1 - p) * np.log(1 - p))

    np.testing.assert_allclose(found["mean"], wide.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(found["variance"], wide.var(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["entropy"], entropy(wide.mean(axis=0)), rtol=1e-12)
    disagreement = entropy(wide.mean(axis=0)) - entropy(wide).mean(axis=0)
    np.testing.assert_allclose(found["mutual_information"], disagreement, atol=1e-14)
    with pytest.raises(ValueError, match="ensemble_measures: member 1, row 2 is 1.5"):
        _core.ensemble([np.zeros(3), np.array([0, 0, 1.5])])


TEXTS = (["b", "a"], [0, 1, -1, 0])
TEXT_KEYS = {
    "list": ["b", "a", None, "b"],
    "object": np.array(["b", "a", np.nan, "b"], dtype=object),
    "pandas": pandas.Series(["b", "a", None, "b"]),
    "pandas string": pandas.Series(["b", "a", None, "b"], dtype="string"),
    "pandas category": pandas.Series(["b", "a", None, "b"], dtype="category"),
    "polars": polars.Series(["b", "a", None, "b"]),
    "pyarrow": pyarrow.array(["b", "a", None, "b"]),
    "pyarrow chunked": pyarrow.chunked_array([["b", "a"], [None, "b"]]),
}
NUMBER_KEYS = {
    "float": np.array([1.5, 2, np.nan]),
    "list": [1.5, 2, None],
    "float32": np.array([1.5, 2, np.nan], np.float32),
    "pandas Float64": pandas.Series([1.5, 2, None], dtype="Float64"),
    "polars": polars.Series([1.5, 2, None]),
    "pyarrow": pyarrow.array([1.5, 2, None]),
    "object": np.array([1.5, 2, None], dtype=object),
    "masked": np.ma.masked_array([1.5, 2, 9], [False, False, True]),
}


@pytest.mark.parametrize("kind", TEXT_KEYS)
def test_text_keys(kind):
    distinct, code = _inputs.key_column(TEXT_KEYS[kind], "key")
    assert (distinct, code.tolist()) == TEXTS


@pytest.mark.parametrize("kind", NUMBER_KEYS)
def test_number_keys(kind):
    np.testing.assert_array_equal(_inputs.key_column(NUMBER_KEYS[kind], "key"), [1.5, 2, np.nan])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array(["a", 1], dtype=object), "key[1] is 1, must be a text"),
        (np.zeros((2, 2)), "key has shape (2, 2), must be one-dimensional"),
        (np.zeros(2, "M8[s]"), "key has type datetime64[s], must be numbers or texts"),
        (np.array([{}], dtype=object), "key[0] is {}, must be a text"),
    ],
)
def test_other_keys_are_refused(values, message):
    with pytest.raises(ValueError) as caught:
        _inputs.key_column(values, "key")
    assert str(caught.value).startswith(message)


# City a: 3 rows, 2 positive; b: 1 row, positive. All: 4 rows, 3 positive.
def test_evidence_counts_training_rows_and_backs_off():
    keys = _inputs.key_column(["a", "a", "a", "b"], "city")
    counted = _core.Evidence(["city"], [keys], np.array([1, 1, 0, 1], np.uint8), None, 32, 0.0, 0)
    assert (counted.num_rows, counted.num_positives, counted.num_cells) == (4, 3, 2)
    found = counted.query([_inputs.key_column(["b", "a", "c", None], "city")], False, None, None)
    assert found["evidence"].tolist() == [1, 3, 4, 4]
    assert found["positives"].tolist() == [1, 2, 3, 3]
    assert found["rate"].tolist() == [1, 2 / 3, 0.75, 0.75]
    assert found["keys_used"].tolist() == [1, 1, 0, 0]
    assert found["uncertainty"].tolist() == [-np.log(2), -np.log(4), 1 - 4 / 5, 1 - 4 / 5]
    own = counted.query([keys], True, np.array([1, 1, 0, 1], np.uint8), None)
    assert own["evidence"].tolist() == [2, 2, 2, 3]
    assert own["rate"].tolist() == [0.5, 0.5, 1, 2 / 3]
    with pytest.raises(ValueError, match='evidence: key "b" has 1 rows, "a" has 2'):
        _core.Evidence(["a", "b"], [np.zeros(2), np.zeros(1)], None, None, 32, 2.0, 0)
