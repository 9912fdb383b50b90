# SPDX-License-Identifier: MIT
"""Several classes, each with its own promise."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from limen import _core, _html, _inputs, _words
from limen._boundary import Boundary, Evaluation, _evaluation, _write_whole
from limen._errors import InfeasibleError, NotCertifiableError
from limen._fit import Number


@dataclasses.dataclass(frozen=True)
class ClassFit:
    """One class: its promise, and the boundary that keeps it on the hold-out."""

    name: str
    min_precision: float
    boundary: Boundary | None
    """Of the rows that the class may claim: its figures are of these. None: the class claims nothing."""
    why: str
    """Where there is no boundary: one sentence."""
    rows: int
    eligible: int
    """Rows that the class may claim."""
    positives: float
    """Rows of the class, in all."""
    precision: float
    """On the hold-out; nan where nothing is claimed."""
    recall: float
    """On the hold-out, of all rows of the class."""


class ClassBoundaries:
    """Boundaries of several classes, one for each; made by :func:`limen.fit_classes`, read by :meth:`load`.

    With ``claims="one"`` a row is claimed by the class of its highest score, of equal scores the one listed first, or by
    none; with ``"several"`` every class decides every row by itself.
    """

    __slots__ = ("_fitted",)
    _fitted: _core.ClassBoundaries

    def __init__(self) -> None:
        raise TypeError("ClassBoundaries are made by limen.fit_classes, ClassBoundaries.from_json or .load")

    @classmethod
    def _of(cls, fitted: _core.ClassBoundaries) -> ClassBoundaries:
        made = object.__new__(cls)
        object.__setattr__(made, "_fitted", fitted)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ClassBoundaries cannot be changed: {name}")

    @property
    def claims(self) -> str:
        return self._fitted.claims

    @property
    def confidence_level(self) -> float | None:
        """As asked for: of each class, or with ``joint`` of all of them at once. None: nothing is certified."""
        return self._fitted.confidence

    @property
    def joint(self) -> bool:
        return self._fitted.joint

    @property
    def classes(self) -> list[str]:
        """Names, in the order of the columns of scores."""
        return [entry.name for entry in self._fitted.classes]

    @property
    def fits(self) -> dict[str, ClassFit]:
        """What was reached for each class."""
        found = {}
        for entry in self._fitted.classes:
            boundary = None if entry.boundary is None else Boundary._of(entry.boundary)
            found[entry.name] = ClassFit(
                entry.name,
                entry.min_precision,
                boundary,
                entry.why,
                entry.rows,
                entry.eligible,
                entry.positives,
                float("nan") if boundary is None else boundary.precision,
                entry.recall,
            )
        return found

    def __getitem__(self, name: str) -> ClassFit:
        try:
            return self.fits[str(name)]
        except KeyError:
            raise KeyError(f"{name!r} is not a class; classes: {', '.join(self.classes)}") from None

    def claimed(self, scores: Any, uncertainty: Any = None) -> np.ndarray:
        """Which classes claim each row.

        Parameters
        ----------
        scores : array-like of shape (n, K)
        uncertainty : array-like of shape (n,) or (n, K), or None
            As in the fit.

        Returns
        -------
        ndarray of bool, shape (n, K)
        """
        columns = _score_columns(scores)
        self._check_columns(columns)
        rows = self._fitted.decide(columns, _uncertainty_columns(uncertainty, len(columns)))
        return np.column_stack(rows).astype(bool)

    def decide(self, scores: Any, uncertainty: Any = None) -> np.ndarray:
        """The name of the class that claims each row, or ``""``; for ``claims="several"`` see :meth:`claimed`.

        Returns
        -------
        ndarray of str, shape (n,)
        """
        if self.claims != "one":
            raise ValueError("several classes may claim a row: use claimed(), one column for each class")
        claimed = self.claimed(scores, uncertainty)
        names = np.array(["", *self.classes])
        return names[np.where(claimed.any(axis=1), claimed.argmax(axis=1) + 1, 0)]

    def evaluate(
        self, y: Any, scores: Any, uncertainty: Any = None, *, sample_weight: Any = None, confidence_level: float = 0.95
    ) -> dict[str, Evaluation]:
        """Precision and recall of each class on labelled rows, with exact intervals; recall is of all rows of the class."""
        columns = _score_columns(scores)
        self._check_columns(columns)
        weight = None if sample_weight is None else _inputs.double_array(sample_weight, "sample_weight")
        figures = self._fitted.evaluate(
            columns,
            _uncertainty_columns(uncertainty, len(columns)),
            _label_index(y, self.classes),
            weight,
            float(confidence_level),
        )
        confidence = float(confidence_level)
        return {name: _evaluation(found, confidence) for name, found in zip(self.classes, figures, strict=True)}

    def _check_columns(self, columns: list) -> None:
        if len(columns) != len(self.classes):
            raise ValueError(f"scores has {len(columns)} columns, there are {len(self.classes)} classes")

    def to_json(self) -> str:
        """The text of the file that ``limen apply`` takes. Numbers read back exactly."""
        return self._fitted.to_json()

    def to_dict(self) -> dict[str, Any]:
        return json.loads(self.to_json())

    @classmethod
    def from_json(cls, text: str | bytes) -> ClassBoundaries:
        """Reads what :meth:`to_json` writes. ValueError says what is wrong with the text."""
        if isinstance(text, (bytes, bytearray)):
            text = bytes(text).decode("utf-8", "replace")
        return cls._of(_core.ClassBoundaries.from_json(text))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the file, whole or not at all."""
        _write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike) -> ClassBoundaries:
        """Reads a file of this package or of the program."""
        with open(path, "rb") as file:
            text = file.read()
        try:
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {str(error).removeprefix('classes: ')}") from None

    def __reduce__(self):
        return type(self).from_json, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        return self._fitted == other._fitted if isinstance(other, ClassBoundaries) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_json())

    def to_pandas(self):
        """A DataFrame with a row for each class."""
        import pandas

        records = []
        for fit in self.fits.values():
            record = dataclasses.asdict(dataclasses.replace(fit, boundary=None))
            record["boundary"] = None if fit.boundary is None else fit.boundary.method
            records.append(record)
        return pandas.DataFrame(records).set_index("name").rename(columns={"boundary": "method"})

    def __repr__(self) -> str:
        parts = []
        for name, fit in self.fits.items():
            reached = "claims nothing" if fit.boundary is None else f"{fit.precision:.4f}, recall {fit.recall:.4f}"
            parts.append(f"{name} >= {fit.min_precision:g}: {reached}")
        certified = "" if self.confidence_level is None else f"; certified with confidence {self.confidence_level:g}"
        each = "" if not certified else " for all at once" if self.joint else " for each class"
        return f"<limen.ClassBoundaries: {'; '.join(parts)}{certified}{each}>"

    def _repr_html_(self) -> str:
        lines = []
        for name, fit in self.fits.items():
            none = fit.boundary is None
            lines.append(
                (
                    name,
                    "-" if none else _words.method(fit.boundary.method),
                    f">= {fit.min_precision:g}",
                    "-" if none else _words.share(fit.precision),
                    _words.share(fit.recall),
                    _words.count(fit.positives),
                    "-" if none else _words.count(fit.boundary.holdout.flagged),
                    fit.why,
                )
            )
        claiming = sum(fit.boundary is not None for fit in self.fits.values())
        by = "the class of its highest score alone" if self.claims == "one" else "every class whose boundary it meets"
        decision = f"{claiming} of {len(lines)} {'class' if len(lines) == 1 else 'classes'} claim rows; a row is claimed by {by}"
        header = ("class", "how", "precision asked for", "precision", "recall", "positives", "claimed", "")
        notes = []
        if self.confidence_level is not None:
            each = "all classes at once" if self.joint else "each class"
            notes.append(f"Certified with confidence {_words.percent(self.confidence_level)} for {each}.")
        caption = "precision and recall on the hold-out, in-sample"
        return _html.block(decision, _html.table(header, lines, caption, text_columns=2), notes=notes)


def _score_columns(scores: Any) -> list[np.ndarray]:
    if hasattr(scores, "columns") or hasattr(scores, "column_names") or isinstance(scores, dict):
        names = _inputs.table_names(scores, "scores")
        return [_inputs.real_array(_inputs.values_in_table(scores, name), f"scores[{name!r}]") for name in names]
    array = np.asarray(scores)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"scores has shape {array.shape}, must be (n, K), a column for each class")
    return [_inputs.real_array(np.ascontiguousarray(array[:, at]), f"scores[:, {at}]") for at in range(array.shape[1])]


def _uncertainty_columns(uncertainty: Any, num_classes: int) -> list[np.ndarray]:
    if uncertainty is None:
        return []
    array = np.asarray(uncertainty)
    if array.ndim == 1:
        return [_inputs.real_array(array, "uncertainty")]
    if array.ndim != 2 or array.shape[1] != num_classes:
        raise ValueError(f"uncertainty has shape {array.shape}, must be (n,) or (n, {num_classes})")
    return [
        _inputs.real_array(np.ascontiguousarray(array[:, at]), f"uncertainty[:, {at}]") for at in range(num_classes)
    ]


def _label_texts(y: Any) -> np.ndarray:
    array = np.asarray(y)
    if array.ndim != 1:
        raise ValueError(f"y has shape {array.shape}, must be one-dimensional")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise ValueError(f"y[{np.flatnonzero(~np.isfinite(array))[0]}] is not a label")
        if (array == np.floor(array)).all():
            array = array.astype(np.int64)
    elif array.dtype == object:
        for row, value in enumerate(array.tolist()):
            if value is None or value != value:
                raise ValueError(f"y[{row}] is {value}, must be a label")
    return array.astype(str)


def _label_index(y: Any, classes: Sequence[str]) -> np.ndarray:
    """The index of each row's class; -1 for labels that are none of the classes."""
    distinct, code = np.unique(_label_texts(y), return_inverse=True)
    known = {name: at for at, name in enumerate(classes)}
    return np.array([known.get(text, -1) for text in distinct.tolist()], np.int32)[code.ravel()]


def fit_classes(
    y: Any,
    scores: Any,
    uncertainty: Any = None,
    *,
    min_precision: Number | Mapping[Any, Number],
    classes: Sequence[Any] | None = None,
    claims: str = "one",
    confidence_level: float | None = None,
    joint: bool = False,
    method: str = "auto",
    levels: int | None = None,
    random_state: int = 0,
    sample_weight: Any = None,
    num_threads: int | None = None,
) -> ClassBoundaries:
    """Boundaries for several classes, each with the most recall that its own precision allows.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels. Those that are none of the classes are negatives for all of them.
    scores : array-like of shape (n, K)
        A score for each class, such as ``predict_proba`` gives.
    uncertainty : array-like of shape (n,) or (n, K), optional
        Of the rows, or of each class. None: every class has one threshold.
    min_precision : number or dict
        The promise of every class, or of each by its label.
    classes : sequence, optional
        Labels in the order of the columns of `scores`, such as ``classes_`` of a classifier. None: the keys of
        `min_precision`, else the sorted labels of `y`.
    claims : {"one", "several"}
        ``"one"``: a row may be claimed only by the class of its highest score (of equal scores: the first), so that none
        is claimed twice. ``"several"``: every class decides every row by itself.
    confidence_level : float, optional
        Certifies the promise of each class for deployment; with `joint` all of them at once.
    method, levels, random_state, sample_weight, num_threads :
        As in :func:`limen.fit_boundary`, for every class.

    Returns
    -------
    ClassBoundaries
        A class that no boundary serves claims nothing, and says why.

    Raises
    ------
    InfeasibleError
        No class can keep its promise; with `confidence_level` NotCertifiableError.

    Examples
    --------
    >>> import limen
    >>> y = ["cat", "cat", "dog", "dog", "cat", "dog"]
    >>> scores = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.2, 0.8], [0.1, 0.9]]
    >>> found = limen.fit_classes(y, scores, min_precision={"cat": 1, "dog": 0.5})
    >>> found.decide(scores).tolist()
    ['cat', 'cat', 'dog', '', 'dog', 'dog']
    >>> round(found["dog"].recall, 3)
    0.667
    """
    columns = _score_columns(scores)
    if classes is None:
        classes = list(min_precision) if isinstance(min_precision, Mapping) else np.unique(_label_texts(y)).tolist()
    names = _label_texts(np.asarray(classes)).tolist()
    if len(names) != len(columns):
        raise ValueError(f"scores has {len(columns)} columns, there are {len(names)} classes: {', '.join(names[:12])}")
    if isinstance(min_precision, Mapping):
        given = dict(zip(_label_texts(np.asarray(list(min_precision))).tolist(), min_precision.values(), strict=True))
        for name in given:
            if name not in names:
                raise ValueError(
                    f"min_precision has {name!r}, which is not one of the classes: {', '.join(names[:12])}"
                )
        for name in names:
            if name not in given:
                raise ValueError(f"min_precision has no bound for class {name!r}")
        bounds = [_inputs.bound(given[name], f"min_precision[{name!r}]") for name in names]
    else:
        bounds = [_inputs.bound(min_precision, "min_precision")] * len(names)
    label = _label_index(y, names)
    weight = None if sample_weight is None else _inputs.double_array(sample_weight, "sample_weight")
    found = ClassBoundaries._of(
        _core.fit_classes(
            columns,
            _uncertainty_columns(uncertainty, len(columns)),
            label,
            names,
            bounds,
            _inputs.text(claims, "claims"),
            _inputs.text(method, "method"),
            None if levels is None else _inputs.whole_number(levels, "levels"),
            None if confidence_level is None else float(confidence_level),
            bool(joint),
            random_state,
            weight,
            _inputs.threads(num_threads),
        )
    )
    if found._fitted.num_decided == 0:
        why = "; ".join(f"{name}: {fit.why}" for name, fit in found.fits.items())
        error = InfeasibleError if confidence_level is None else NotCertifiableError
        raise error(f"no class can keep its promise: {why}", float("nan"))
    return found
