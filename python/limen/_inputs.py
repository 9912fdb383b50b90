# SPDX-License-Identifier: MIT
"""What callers give, as the arrays that the compiled half takes: one-dimensional, without gaps, of a type it knows."""

from __future__ import annotations

import datetime
import numbers
import operator
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from limen import _core

Table = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _is_dictionary(values: Any) -> bool:
    return hasattr(getattr(values, "type", None), "index_type")


def _as_array(values: Any, name: str) -> np.ndarray:
    """A numpy array of any type: without a copy where the container allows it."""
    if isinstance(values, np.ma.MaskedArray):
        masked = np.flatnonzero(np.ma.getmaskarray(values))
        if masked.size:
            raise ValueError(f"{name}[{masked[0]}] is masked, must be a number")
        return values.data
    if not isinstance(values, np.ndarray):
        numpy_dtype = getattr(getattr(values, "dtype", None), "numpy_dtype", None)
        if isinstance(numpy_dtype, np.dtype) and hasattr(values, "isna"):  # a nullable column of pandas
            missing = np.flatnonzero(np.asarray(values.isna()))
            if missing.size:
                raise ValueError(f"{name}[{missing[0]}] is missing, must be a number")
            return values.to_numpy(dtype=numpy_dtype)
        if type(values).__module__.partition(".")[0] == "pyarrow":
            if _is_dictionary(values):  # whose missing values to_numpy() takes for the last text
                values = values.cast(values.type.value_type)
            chunked = hasattr(values, "chunks")
            values = values.to_numpy() if chunked else values.to_numpy(zero_copy_only=False)
        elif hasattr(values, "to_numpy"):
            values = values.to_numpy()
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name}: {error}") from None
    return array


def _numbers(values: Any, name: str, needed: str) -> np.ndarray:
    """A one-dimensional array of real numbers, in the byte order of the machine."""
    array = _as_array(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}, must be one-dimensional")
    if array.dtype.kind in "OUST":
        for row, value in enumerate(array):
            if _is_missing(value):
                raise ValueError(f"{name}[{row}] is missing, must be {needed}")
            if isinstance(value, (str, bytes)) or not isinstance(value, (numbers.Real, Decimal, np.bool_)):
                raise ValueError(f"{name}[{row}] is {_shown(value)}, must be {needed}")
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} has type {array.dtype}, must be numbers")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _shown(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def real_array(values: Any, name: str) -> np.ndarray:
    """float32 and float64 as they are, other numbers as float64."""
    array = _numbers(values, name, "a number")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return np.ascontiguousarray(array)


def double_array(values: Any, name: str) -> np.ndarray:
    return np.ascontiguousarray(_numbers(values, name, "a number"), dtype=np.float64)


def label_array(values: Any, name: str = "y") -> np.ndarray:
    """Labels 0 and 1 of any numeric type as bytes; bool and uint8 without a copy."""
    array = _numbers(values, name, "0 or 1")
    if array.dtype == np.bool_:
        return np.ascontiguousarray(array).view(np.uint8)
    array = np.ascontiguousarray(
        array if array.dtype.itemsize <= 8 and array.dtype != np.float16 else array.astype(float)
    )
    if array.dtype == np.uint8:
        return array
    label = np.empty(array.shape, np.uint8)
    row = _core.copy_labels(array, label)
    if row >= 0:
        raise ValueError(f"{name}[{row}] is {_shown(array[row])}, must be 0 or 1")
    return label


def partial_label_array(values: Any, name: str = "y") -> np.ndarray:
    """Labels 0 and 1 as bytes, 2 where they are missing: None, nan and the missing values of pandas, polars, Arrow."""
    numbers_or_texts = key_column(values, name)
    if not isinstance(numbers_or_texts, np.ndarray):
        distinct, codes = numbers_or_texts
        if distinct:
            row = int(np.flatnonzero(codes >= 0)[0])
            raise ValueError(f"{name}[{row}] is {_shown(distinct[codes[row]])}, must be 0, 1 or missing")
        return np.full(len(codes), 2, np.uint8)
    missing = np.isnan(numbers_or_texts)
    bad = np.flatnonzero(~missing & (numbers_or_texts != 0) & (numbers_or_texts != 1))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] is {_shown(numbers_or_texts[bad[0]])}, must be 0, 1 or missing")
    return np.where(missing, 2, numbers_or_texts).astype(np.uint8)


def id_column(values: Any, name: str) -> Any:
    """As key_column; whole numbers too large for float64 as texts, so that no two become one."""
    array = np.asarray(values) if isinstance(values, (list, tuple)) else _as_array(values, name)
    if array.dtype.kind in "iu" and array.size and (int(array.max()) > 2**53 or int(array.min()) < -(2**53)):
        return key_column([str(value) for value in array.tolist()], name)
    return key_column(values, name)


def table(y: Any, score: Any, uncertainty: Any, sample_weight: Any = None) -> Table:
    weight = None if sample_weight is None else double_array(sample_weight, "sample_weight")
    return label_array(y), real_array(score, "score"), real_array(uncertainty, "uncertainty"), weight


def whole_number(value: Any, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {_shown(value)}, must be a whole number") from None
    if abs(number) >= 2**31:
        raise ValueError(f"{name} is {number}, which is too large")
    return number


def text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {_shown(value)}, must be a text")
    return value


def threads(num_threads: Any) -> int:
    return 0 if num_threads is None else whole_number(num_threads, "num_threads")


def bins_of(bins: Any) -> Any:
    return bins if bins is None or isinstance(bins, str) else whole_number(bins, "bins")


def fraction(value: Any, name: str) -> tuple[int, int]:
    """The exact fraction that a number is written as: 0.9 is 9/10, as at a shell."""
    if isinstance(value, numbers.Rational) and not isinstance(value, (bool, np.bool_)):
        numerator, denominator = int(value.numerator), int(value.denominator)
        if not 0 <= numerator < 10**18 or denominator > 10**18:
            raise ValueError(f"{name} is {_shown(value)}, must be a number >= 0 of at most 18 digits")
        return numerator, denominator
    if isinstance(value, np.floating):
        value = np.format_float_positional(value, unique=True, trim="-") if np.isfinite(value) else float(value)
    elif not isinstance(value, (float, Decimal, str)):
        raise TypeError(f"{name} is {_shown(value)}, must be a number")
    try:
        return _core.parse_rational(str(value))
    except ValueError as error:
        needed = str(error).partition(" is not ")[2]
        raise ValueError(f"{name} is {value}, must be {needed}") from None


def bound(value: Any, name: str) -> tuple[int, int]:
    numerator, denominator = fraction(value, name)
    if numerator > denominator:
        percent = numerator / denominator
        hint = f"; {percent:g}% is {percent / 100:g}" if percent <= 100 else ""
        raise ValueError(f"{name} is {value}, must be between 0 and 1{hint}")
    return numerator, denominator


def bounds(values: Any, name: str) -> list:
    if isinstance(values, (numbers.Real, Decimal, Fraction, str)):
        values = [values]
    return [bound(value, name) for value in values]


def goal(**given: Any) -> tuple[str, Sequence[tuple[int, int]]]:
    """The one goal that was given, with its numbers."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        listed = ", ".join(given)
        raise ValueError(f"{'no goal' if not names else ' and '.join(names)} given: give exactly one of {listed}")
    name = names[0]
    value = given[name]
    if name == "cost":
        try:
            false_positive, false_negative = value
        except (TypeError, ValueError):
            raise ValueError(
                f"cost is {_shown(value)}, must be (cost of a false positive, cost of a false negative)"
            ) from None
        return name, [fraction(false_positive, "cost[0]"), fraction(false_negative, "cost[1]")]
    return name, [fraction(value, name) if name == "f_beta" else bound(value, name)]


def key_column(values: Any, name: str) -> Any:
    """A key column for ``_core.Evidence``: numbers as float64 (nan: missing), else distinct texts and a code for each row.

    Texts stay texts; bool and numbers are numbers. None, nan and the missing values of pandas, polars and Arrow are
    missing.
    """
    if isinstance(values, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(values)
        values = np.array(
            [None if hides else value for hides, value in zip(hidden, values.data, strict=True)], dtype=object
        )
    numpy_dtype = getattr(getattr(values, "dtype", None), "numpy_dtype", None)
    if isinstance(numpy_dtype, np.dtype) and numpy_dtype.kind in "fiub" and hasattr(values, "isna"):
        array = values.to_numpy(dtype=np.float64, na_value=np.nan)
    elif type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "to_numpy"):
        array = values.to_numpy()
    else:
        array = _as_array(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}, must be one-dimensional")
    if array.dtype.kind in "fiub":
        return np.ascontiguousarray(array, dtype=np.float64)
    if array.dtype.kind not in "OUST":
        raise ValueError(f"{name} has type {array.dtype}, must be numbers or texts")
    items = [None if _is_missing(value) else value for value in array.tolist()]
    present = [value for value in items if value is not None and value == value]
    if present and not any(isinstance(value, str) for value in present):
        if all(isinstance(value, (numbers.Real, Decimal)) for value in present):
            return np.array([np.nan if value is None else float(value) for value in items])
    texts = _core.number_texts(items)
    if isinstance(texts, int):
        raise ValueError(f"{name}[{texts}] is {_shown(items[texts])}, must be a text like those before it or missing")
    return texts


def group_ids(values: Any, rows: int) -> np.ndarray | None:
    """A hash for each row's group, the same as the program's for the group's text; None for None."""
    if values is None:
        return None
    texts, code = as_texts(key_column(values, "groups"))
    if len(code) != rows:
        raise ValueError(f"groups has {len(code)} entries, y has {rows}")
    missing = code < 0
    if missing.any():
        raise ValueError(f"groups[{int(missing.argmax())}] is missing: every row needs a group")
    return _core.text_hashes(texts)[code] if rows else np.empty(0, np.uint64)


def segment_texts(values: Any, rows: int) -> tuple[list[str], np.ndarray]:
    """The segment of each row: distinct texts, as the program reads them, and a code for each row."""
    texts, code = as_texts(name_column(values, "segment"))
    if len(code) != rows:
        raise ValueError(f"segment has {len(code)} entries, score has {rows}")
    missing = code < 0
    if missing.any():
        raise ValueError(f"segment[{int(missing.argmax())}] is missing: every row needs a segment")
    return list(texts), np.ascontiguousarray(code, dtype=np.int32)


def segment_table(y: Any, score: Any, uncertainty: Any, sample_weight: Any = None) -> tuple:
    """As table; the uncertainty may be None."""
    if uncertainty is not None:
        return table(y, score, uncertainty, sample_weight)
    label, scores, _, weight = table(y, score, score, sample_weight)
    return label, scores, None, weight


def as_texts(column: Any) -> tuple[list[str], np.ndarray]:
    """A column of key_column as texts: whole numbers without a point, others with the fewest digits."""
    if not isinstance(column, np.ndarray):
        return column
    distinct, code = np.unique(column[~np.isnan(column)], return_inverse=True)
    codes = np.full(len(column), -1, np.int32)
    codes[~np.isnan(column)] = code
    return [f"{value:.0f}" if value.is_integer() else repr(value) for value in (distinct + 0.0).tolist()], codes


# Tables: data frames of pandas and polars, Arrow tables, dicts of columns, arrays and lists of rows.


def as_table(X: Any) -> Any:
    """Lists of rows as an array, other tables as they are."""
    return np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else X


def table_names(X: Any, name: str) -> list[str]:
    """The names of the columns of a table; those of an array are x0, x1, ..."""
    if isinstance(X, dict):
        names = list(X)
    elif hasattr(X, "column_names"):  # Arrow
        names = X.column_names
    elif hasattr(X, "columns"):
        names = X.columns
    else:
        shape = np.shape(X)
        if len(shape) != 2:
            raise ValueError(f"{name} has shape {shape}, must be a table of rows and columns")
        names = [f"x{at}" for at in range(shape[1])]
    names = [str(column) for column in names]
    if len(set(names)) < len(names):
        twice = next(column for column in names if names.count(column) > 1)
        raise ValueError(f"{name} has several columns {twice!r}, must have one")
    return names


def is_array(X: Any) -> bool:
    """Whether the columns of a table have places only."""
    return not (isinstance(X, dict) or hasattr(X, "column_names") or hasattr(X, "columns"))


def num_rows(X: Any) -> int:
    if hasattr(X, "num_rows"):  # Arrow
        return X.num_rows
    return len(next(iter(X.values()), ())) if isinstance(X, dict) else len(X)


def values_in_table(X: Any, key: Any) -> Any:
    """The values of a column, by its name or place, in whatever container the table has it. Raises what that raises."""
    is_position = isinstance(key, (int, np.integer))
    if hasattr(X, "iloc"):
        return X.iloc[:, key] if is_position and key not in X.columns else X[key]
    if isinstance(X, dict):
        return X[key]
    if not is_array(X):  # polars, Arrow
        return X[:, key] if is_position and hasattr(X, "get_column") else X[key]
    return as_table(X)[:, key]


def table_column(values: Any, name: str) -> Any:
    """As key_column; dates and times are the texts that the program reads them as."""
    return key_column(_dates_as_texts(values), name)


def name_column(values: Any, name: str) -> Any:
    """As table_column; whole numbers too large for float64 as texts."""
    return id_column(_dates_as_texts(values), name)


def is_categorical(values: Any) -> bool:
    """Whether a column is declared to be categories: of pandas, or a dictionary of Arrow."""
    return getattr(getattr(values, "dtype", None), "name", "") == "category" or _is_dictionary(values)


def _dates_as_texts(values: Any) -> Any:
    """Dates as 2001-01-14, times as 2001-01-14 13:05:00, in UTC where they have a zone; other values as they are."""
    if isinstance(values, np.ma.MaskedArray):
        return values
    if type(values).__module__.partition(".")[0] == "pandas":
        is_object = isinstance(values.dtype, np.dtype) and values.dtype.kind == "O"
        if not is_object and getattr(values.dtype, "kind", "") != "M":
            return values
        is_slow = is_object or hasattr(values.dtype, "pyarrow_dtype")
        array = values.to_numpy(dtype=object if is_slow else "datetime64[s]")
    else:
        array = _as_array(values, "")
    if array.dtype.kind == "M":
        unit = np.datetime_data(array.dtype)[0]
        texts = np.datetime_as_string(array, unit="D" if unit in "YMWD" else "s", casting="unsafe").astype(object)
        return np.array([None if text == "NaT" else text.replace("T", " ") for text in texts.tolist()], dtype=object)
    if array.dtype == object and array.ndim == 1:
        items = [None if _is_missing(value) or value != value else value for value in array.tolist()]
        first = next((value for value in items if value is not None), None)
        if isinstance(first, datetime.date):
            texts = [_date_text(value) if isinstance(value, datetime.date) else value for value in items]
            return np.array(texts, dtype=object)
    return values


def _date_text(value: datetime.date) -> str:
    if not isinstance(value, datetime.datetime):
        return value.isoformat()
    if value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc)
    return value.strftime("%Y-%m-%d %H:%M:%S")
