# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from limen import _core, _html, _inputs, _words


def _count(value: float) -> int | float:
    """Whole counts as int; sums of weights as they are."""
    return int(value) if value == int(value) and abs(value) < 9e15 else value


def _write_whole(path: str | os.PathLike, text: str) -> None:
    """Writes a file whole or not at all: one that was there stays until the new one is complete."""
    path = os.path.realpath(path)
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(part)
        raise


@dataclasses.dataclass(frozen=True)
class Holdout:
    """What a fit saw and reached on its hold-out. With weights, all but ``rows`` are sums of weights."""

    rows: int
    weighted: bool
    weight: float
    positives: float
    flagged: float
    true_positives: float
    precision: float
    recall: float
    objective_value: float
    objective_bound: float
    optimal: bool


@dataclasses.dataclass(frozen=True)
class Reviewed:
    """What a review comes to on the hold-out: rows that are not flagged but sent to a person.

    With weights, ``rows`` and ``positives`` are sums of weights. Whatever is guaranteed of a boundary concerns the rows
    that it flags; these figures are of the hold-out only.
    """

    rows: float
    positives: float
    rate: float
    """Reviewed rows, as a fraction of all."""
    recall: float
    """Positives that are flagged or reviewed, as a fraction of all."""
    optimal: bool
    """Whether it is proved that no other review on the same levels and bins is better."""


@dataclasses.dataclass(frozen=True)
class ReviewEvaluation:
    """What a review comes to on labelled rows, with exact intervals; nan where there is nothing to divide by."""

    reviewed: float
    positives: float
    rate: float
    rate_interval: tuple[float, float]
    precision: float
    """Positives among the reviewed rows."""
    precision_interval: tuple[float, float]
    recall: float
    """Positives that are flagged or reviewed, as a fraction of all."""
    recall_interval: tuple[float, float]


_NESTED = ("levels", "review", "segments", "unseen_segment_rows", "confidence_level")


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation:
    """Decisions counted against labels, sums of weights where rows have weights.

    ``precision`` and its interval are nan where nothing is flagged, ``recall`` and its interval where nothing is
    positive. Intervals are exact (Clopper-Pearson). ``levels`` holds the same for each uncertainty level, ``review`` what
    goes to a person, where the boundary has a review.
    """

    rows: float
    positives: float
    flagged: float
    true_positives: float
    precision: float
    precision_interval: tuple[float, float]
    recall: float
    recall_interval: tuple[float, float]
    levels: tuple[Evaluation, ...] = ()
    review: ReviewEvaluation | None = None
    segments: dict[str | None, Evaluation] = dataclasses.field(default_factory=dict, hash=False)
    """The same for each segment of a boundary that has some; None: the values that were too rare to stand alone."""
    unseen_segment_rows: int = 0
    """Rows of segments that the hold-out did not have."""
    confidence_level: float = 0.95
    """Of the intervals."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, with the levels as a list."""
        result = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name not in _NESTED
        }
        if self.levels:
            result["levels"] = [level.to_dict() for level in self.levels]
        if self.review:
            result["review"] = dataclasses.asdict(self.review)
        if self.segments:
            result["segments"] = [{"segment": value, **part.to_dict()} for value, part in self.segments.items()]
            result["unseen_segment_rows"] = self.unseen_segment_rows
        return result

    def to_pandas(self):
        """A DataFrame with a row for all rows together and one for each level or segment."""
        import pandas

        parts = self._parts()
        records = []
        for part in parts.values():
            record = part.to_dict()
            for nested in _NESTED:
                record.pop(nested, None)
            for name in ("precision", "recall"):
                record[f"{name}_low"], record[f"{name}_high"] = record.pop(f"{name}_interval")
            records.append(record)
        return pandas.DataFrame(records, index=list(parts))

    def _parts(self) -> dict[str, Evaluation]:
        parts = {"all": self, **{f"level {at}": level for at, level in enumerate(self.levels)}}
        return parts | {"others" if value is None else value: part for value, part in self.segments.items()}

    def __repr__(self) -> str:
        inside = [_words.many(len(part), noun) for part, noun in ((self.levels, "level"), (self.segments, "segment"))]
        return (
            f"<limen.Evaluation: {_words.rows(self.rows)}, {_words.count(self.positives)} positive; "
            f"{_words.count(self.flagged)} flagged, {self._reached()}"
            + "".join(f"; {text}" for text in inside if not text.startswith("0 "))
            + ">"
        )

    def _reached(self) -> str:
        parts = []
        for name in ("precision", "recall"):
            ends = _words.interval(getattr(self, f"{name}_interval"))
            parts.append(f"{name} {_words.share(getattr(self, name))}" + ("" if ends == "-" else f" ({ends})"))
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        header = ("", "rows", "positives", "flagged", "true positives", "precision", "recall")
        lines = [
            (
                name,
                *(_words.count(getattr(part, field)) for field in ("rows", "positives", "flagged", "true_positives")),
                _html.figure(part.precision, part.precision_interval),
                _html.figure(part.recall, part.recall_interval),
            )
            for name, part in self._parts().items()
        ]
        notes = [f"In brackets: exact (Clopper-Pearson) {_words.percent(self.confidence_level)} intervals."]
        if review := self.review:
            notes.append(
                f"Review: {_words.count(review.reviewed)} rows go to a person ({review.rate:.1%}), "
                f"{_words.count(review.positives)} of them positive; recall with them {_words.share(review.recall)}."
            )
        if self.unseen_segment_rows:
            notes.append(f"{_words.rows(self.unseen_segment_rows)} of segments that the hold-out did not have.")
        flagged = f"{_words.count(self.flagged)} of {_words.rows(self.rows)} are flagged"
        return _html.block(f"{flagged}: {self._reached()}", _html.table(header, lines), notes=notes)


def _evaluation(found: dict[str, Any], confidence: float) -> Evaluation:
    levels = tuple(_evaluation(level, confidence) for level in found.pop("levels", ()))
    review = found.pop("review", None)
    if review is not None:
        for name in ("reviewed", "positives"):
            review[name] = _count(review[name])
    for name in ("rows", "positives", "flagged", "true_positives"):
        found[name] = _count(found[name])
    segments = {value: _evaluation(part, confidence) for value, part in found.pop("segments", ())}
    return Evaluation(
        **found,
        levels=levels,
        review=None if review is None else ReviewEvaluation(**review),
        segments=segments,
        confidence_level=confidence,
    )


@dataclasses.dataclass(frozen=True)
class Segment:
    """The part of a boundary that is for one value of a category, or for those too rare to stand alone.

    Counts are of the hold-out, sums of weights where rows have weights.
    """

    value: str | None
    """None: the pool of rare values."""
    values: tuple[str, ...]
    """The values it is for: one, or those of the pool."""
    uncertainty_edges: tuple[float, ...]
    score_thresholds: tuple[float, ...]
    """One for each uncertainty level of the segment; nan: no row of the level is positive."""
    rows: float
    positives: float
    flagged: float
    true_positives: float
    method: str | None = None
    """Set, as is ``status``, where each segment keeps the bound by itself."""
    status: str | None = None
    """``"optimal"``, ``"feasible"``, ``"infeasible"``, ``"certified"`` or ``"not certified"``."""
    guarantee: dict[str, Any] | None = dataclasses.field(default=None, hash=False)
    """Of this segment alone, where it is certified."""

    @property
    def precision(self) -> float:
        """On the hold-out; nan where nothing is flagged."""
        return self.true_positives / self.flagged if self.flagged else float("nan")

    @property
    def recall(self) -> float:
        """On the hold-out; nan where nothing is positive."""
        return self.true_positives / self.positives if self.positives else float("nan")


def _segment(found: dict[str, Any]) -> Segment:
    value = found.get("value")
    return Segment(
        value=value,
        values=(value,) if value is not None else tuple(found["values"]),
        uncertainty_edges=tuple(found["uncertainty_edges"]),
        score_thresholds=tuple(float("nan") if t is None else t for t in found["score_thresholds"]),
        **{name: found[name] for name in ("rows", "positives", "flagged", "true_positives")},
        **{name: found.get(name) for name in ("method", "status", "guarantee")},
    )


class Boundary:
    """A fitted decision boundary: one score threshold for each uncertainty level.

    A row's level is the number of ``uncertainty_edges`` at or below its uncertainty. The row is positive if its score
    is at or above the level's threshold. Boundaries are immutable; :func:`limen.fit_boundary` makes them, and
    :meth:`from_json` and :meth:`load` read them.

    Examples
    --------
    >>> import limen
    >>> score = [0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6]
    >>> uncertainty = [0.1, 0.8, 0.1, 0.9, 0.2, 0.7, 0.2, 0.8]
    >>> boundary = limen.fit_boundary([1, 1, 1, 0, 1, 0, 0, 0], score, uncertainty, min_precision=0.9, levels=2)
    >>> boundary.score_thresholds
    array([0.65, 0.85])
    >>> boundary.decide([0.75, 0.75], [0.1, 0.9])
    array([ True, False])
    >>> limen.Boundary.from_json(boundary.to_json()) == boundary
    True
    """

    __slots__ = ("_fitted",)
    _fitted: _core.Boundary

    def __init__(self) -> None:
        raise TypeError("a Boundary is made by limen.fit_boundary, Boundary.from_json or Boundary.load")

    @classmethod
    def _of(cls, fitted: _core.Boundary) -> Boundary:
        boundary = object.__new__(cls)
        object.__setattr__(boundary, "_fitted", fitted)
        return boundary

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Boundary cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Boundary cannot be changed: {name}")

    # The rule.

    @property
    def uncertainty_edges(self) -> np.ndarray:
        """Increasing uncertainties at which the next level begins; one fewer than there are levels.

        ValueError where the boundary has segments, each of which has its own.
        """
        self._refuse_segments("uncertainty_edges")
        return self._fitted.uncertainty_edges

    @property
    def score_thresholds(self) -> np.ndarray:
        """The lowest positive score of each level; nan: no row of the level is positive.

        ``score >= score_thresholds[level]`` is the decision, as no number is at or above nan. ValueError where the
        boundary has segments, each of which has its own.
        """
        self._refuse_segments("score_thresholds")
        return self._fitted.score_thresholds

    @property
    def levels(self) -> int:
        """Number of uncertainty levels, of all segments together where the boundary has segments.

        Fewer than asked for where uncertainty has too many equal values.
        """
        if self.segments is not None:
            return sum(len(segment.score_thresholds) for segment in self.segments)
        return len(self._fitted.uncertainty_edges) + 1

    @property
    def levels_from(self) -> str:
        """Whose quantiles of uncertainty the edges are: ``"top"``, the rows near the decision, or ``"all"``."""
        return self._fitted.levels_from

    def _refuse_segments(self, name: str) -> None:
        if self._fitted.has_segments:
            raise ValueError(f"the boundary has segments, each with its own {name}: see Boundary.segments")

    @property
    def segments(self) -> tuple[Segment, ...] | None:
        """The rule for each value of a category, the pool of rare ones last; None without segments."""
        if not self._fitted.has_segments:
            return None
        found = self.to_dict()["rule"]["segment"]
        return tuple(_segment(part) for part in [*found["values"], *([found["pooled"]] if found["pooled"] else [])])

    @property
    def segment_column(self) -> str | None:
        """Name of the column of segments, for tables; None without segments."""
        return self.to_dict()["rule"]["segment"]["column"] if self._fitted.has_segments else None

    @property
    def each(self) -> bool:
        """Whether each segment keeps the bound by itself."""
        return self._fitted.has_segments and self.to_dict()["rule"]["segment"]["each"]

    @property
    def unseen(self) -> str | None:
        """How rows of segments that the hold-out did not have are decided: ``"as pooled"`` or ``"never flagged"``."""
        return self.to_dict()["rule"]["segment"]["unseen"] if self._fitted.has_segments else None

    def decide(self, score: Any, uncertainty: Any = None, *, segment: Any = None) -> np.ndarray:
        """Whether each row is positive.

        Parameters
        ----------
        score, uncertainty : array-like of shape (n,)
            Finite numbers. float32 and float64 are read as they are. A boundary with segments that have no uncertainty
            levels needs no uncertainty.
        segment : array-like of shape (n,), optional
            The value of the category, for a boundary with segments; see :attr:`unseen` for other values.

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        return self._decide(score, uncertainty, None, segment)

    def review(self, score: Any, uncertainty: Any) -> np.ndarray:
        """Whether each row is to be sent to a person: it is not flagged, but at or above its review threshold.

        Parameters
        ----------
        score, uncertainty : array-like of shape (n,)
            Finite numbers. float32 and float64 are read as they are.

        Returns
        -------
        ndarray of bool, shape (n,)
            False for the rows that :meth:`decide` flags. ValueError where the boundary was fitted without a review.
        """
        score = _inputs.real_array(score, "score")
        uncertainty = _inputs.real_array(uncertainty, "uncertainty")
        review = np.empty(score.shape, np.bool_)
        self._fitted.review(score, uncertainty, review.view(np.uint8))
        return review

    @property
    def review_thresholds(self) -> np.ndarray | None:
        """The lowest reviewed score of each level; nan: nothing of the level is reviewed. None without a review."""
        if not self._fitted.has_review:
            return None
        thresholds = self.to_dict()["review"]["score_thresholds"]
        return np.array([np.nan if threshold is None else threshold for threshold in thresholds])

    @property
    def reviewed(self) -> Reviewed | None:
        """What the review comes to on the hold-out; None without a review."""
        if not self._fitted.has_review:
            return None
        found = self.to_dict()["review"]
        return Reviewed(found["reviewed"], found["positives"], found["rate"], found["recall"], found["optimal"])

    def level(self, uncertainty: Any, *, segment: Any = None) -> np.ndarray:
        """The uncertainty level of each row, from 0 (most certain), in its segment where the boundary has segments.

        -1: rows of segments that the hold-out did not have and that are never flagged.
        """
        uncertainty = _inputs.real_array(uncertainty, "uncertainty")
        level = np.empty(uncertainty.shape, np.int32)
        self._decide(np.zeros(uncertainty.shape, np.float32), uncertainty, level, segment)
        return level

    def _texts(self, segment: Any, rows: int) -> Any:
        """The segments of rows, where the boundary has some, else None."""
        if not self._fitted.has_segments:
            if segment is not None:
                raise ValueError("segment is given, but the boundary has no segments")
            return None
        if segment is None:
            raise ValueError(f"the boundary has segments ({self.segment_column!r}): give segment, one value a row")
        return _inputs.segment_texts(segment, rows)

    def _needs_uncertainty(self, uncertainty: Any) -> None:
        if uncertainty is None and self._fitted.uses_uncertainty:
            raise ValueError("uncertainty is None, must be one number a row: the boundary has uncertainty levels")

    def _decide(self, score: Any, uncertainty: Any, level: np.ndarray | None, segment: Any = None) -> np.ndarray:
        score = _inputs.real_array(score, "score")
        texts = self._texts(segment, len(score))
        self._needs_uncertainty(uncertainty)
        if uncertainty is not None:
            uncertainty = _inputs.real_array(uncertainty, "uncertainty")
        decision = np.empty(score.shape, np.bool_)
        if texts is None:
            self._fitted.decide(score, uncertainty, decision.view(np.uint8), level)
        else:
            _core.decide_segments(self._fitted, score, uncertainty, texts, decision.view(np.uint8), level)
        return decision

    def evaluate(
        self,
        y: Any,
        score: Any,
        uncertainty: Any = None,
        *,
        segment: Any = None,
        sample_weight: Any = None,
        confidence_level: float = 0.95,
    ) -> Evaluation:
        """Precision and recall on labelled rows, with exact intervals, in all and for each level or segment.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels, 0 and 1 or bool.
        score, uncertainty : array-like of shape (n,)
        segment : array-like of shape (n,), optional
            As for :meth:`decide`.
        sample_weight : array-like of shape (n,), optional
        confidence_level : float
            Of the two-sided intervals.

        Returns
        -------
        Evaluation
        """
        self._needs_uncertainty(uncertainty)
        rows = _inputs.segment_table(y, score, uncertainty, sample_weight)
        texts = self._texts(segment, len(rows[1]))
        confidence = float(confidence_level)
        if texts is not None:
            return _evaluation(_core.evaluate_segments(self._fitted, rows, texts, confidence), confidence)
        return _evaluation(self._fitted.evaluate(rows, confidence), confidence)

    # Where it came from and what it reached.

    @property
    def method(self) -> str:
        """The solver, such as ``"exact"``."""
        return self._fitted.method

    @property
    def objective(self) -> str:
        """The goal in words, such as ``"most recall with precision >= 0.9"``."""
        return self._fitted.objective

    @property
    def binning(self) -> str:
        """``"equi-weight"`` or ``"equi-span"``."""
        return self._fitted.binning

    @property
    def bins(self) -> int | str:
        """Score bins of each level at most; ``"all"``: every distinct score."""
        return "all" if self._fitted.bins is None else self._fitted.bins

    @property
    def holdout(self) -> Holdout:
        """What the fit saw and reached on its hold-out."""
        summary = self._fitted.holdout
        found = {field.name: getattr(summary, field.name) for field in dataclasses.fields(Holdout)}
        for name in ("weight", "positives", "flagged", "true_positives"):
            found[name] = _count(found[name])
        return Holdout(**found)

    @property
    def precision(self) -> float:
        """On the hold-out; 0 where nothing is flagged."""
        return self._fitted.holdout.precision

    @property
    def recall(self) -> float:
        """On the hold-out."""
        return self._fitted.holdout.recall

    @property
    def gap(self) -> float:
        """How much better the best boundary on the same levels and bins can be at most; 0 where proved optimal.

        In what the goal optimises: true positives, precision, cost or F-beta.
        """
        return abs(self._fitted.holdout.objective_bound - self._fitted.holdout.objective_value)

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no boundary on the same levels and bins is better on this hold-out."""
        return self._fitted.holdout.optimal

    @property
    def chosen_by(self) -> dict[str, Any] | None:
        """How ``method="auto"`` chose; None for other methods.

        ``information_p``: p-value of the test whether uncertainty tells anything about the label beyond the score near
        the decision; ``candidates``: method, levels, relative gain over one threshold on rows left out and its standard
        error; ``why``: one sentence.
        """
        return self.to_dict().get("chosen_by")

    @property
    def expected(self) -> dict[str, Any] | None:
        """What to expect in deployment: ``precision`` and ``recall``, each a range of about 95%, from rows left out.

        On the hold-out itself a boundary looks better than it is; this is apart from it. None unless ``method="auto"``.
        """
        return self.to_dict().get("expected")

    @property
    def guarantee(self) -> dict[str, Any] | None:
        """What is certified for deployment: constraint, bound, confidence, and the counts and p-value behind it.

        None unless the boundary was fitted with ``confidence_level``.
        """
        return self.to_dict().get("guarantee")

    @property
    def score_column(self) -> str:
        """Name of the score column, for tables."""
        return self._fitted.score_column

    @property
    def uncertainty_column(self) -> str:
        """Name of the uncertainty column, for tables."""
        return self._fitted.uncertainty_column

    # To and from files.

    def to_json(self) -> str:
        """The boundary as the text of a boundary file, as ``limen fit`` writes it. Numbers read back exactly."""
        return self._fitted.to_json()

    def to_dict(self) -> dict[str, Any]:
        """The members of the boundary file."""
        return json.loads(self.to_json())

    @classmethod
    def from_json(cls, text: str | bytes) -> Boundary:
        """Reads what :meth:`to_json` writes. ValueError says what is wrong with the text."""
        if isinstance(text, (bytes, bytearray)):
            text = bytes(text).decode("utf-8", "replace")
        return cls._of(_core.Boundary.from_json(text))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the boundary file, whole or not at all: a file that was there stays until the new one is complete."""
        _write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Boundary:
        """Reads a boundary file, of this package or of the program."""
        with open(path, "rb") as file:
            text = file.read()
        try:
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {str(error).removeprefix('boundary: ')}") from None

    # Where the data is: the same decisions, bit for bit.

    def to_sql(
        self,
        score: str | None = None,
        uncertainty: str | None = None,
        *,
        segment: str | None = None,
        dialect: str = "ansi",
        what: str = "decision",
        table: str | Sequence[str] | None = None,
    ) -> str:
        """The rule as SQL.

        Parameters
        ----------
        score, uncertainty, segment : str, optional
            Names of the columns, quoted as they are; None: those of the boundary.
        dialect : {"ansi", "spark", "duckdb", "postgres", "bigquery", "snowflake", "trino"}
        what : {"decision", "level", "reason", "review", "query"}
            An expression: 1 or 0, the level, a text with the level and the threshold that was met or missed, 1 where a row
            goes to a person; or a query that adds all of them to the columns of a table. NULL where :meth:`decide` refuses
            a row: a value that is missing, NaN or infinite.
        table : str or sequence of str, optional
            For a query; points of a str are between schema and table, a sequence holds the parts as they are.

        Examples
        --------
        >>> import limen
        >>> boundary = limen.fit_boundary([0, 1, 1], [0.1, 0.6, 0.8], [0.5, 0.5, 0.5], min_precision=0.9)
        >>> print(boundary.to_sql("score", "spread", dialect="spark"))
        CASE WHEN CAST(`score` AS DOUBLE) BETWEEN -1.7976931348623157e+308D AND 1.7976931348623157e+308D
         AND CAST(`spread` AS DOUBLE) BETWEEN -1.7976931348623157e+308D AND 1.7976931348623157e+308D
        THEN CASE WHEN CAST(`score` AS DOUBLE) >= 0.4D THEN 1 ELSE 0 END
        END
        """
        parts = [] if table is None else table.split(".") if isinstance(table, str) else list(table)
        return _core.to_sql(self._fitted, dialect, what, score, uncertainty, segment, parts)

    def to_c(self, *, name: str = "limen_decide") -> str:
        """The rule as a header of C99 and C++: ``static inline int name(double score, double uncertainty)``.

        1, 0, or -1 where a number is NaN or infinite; ``name_level`` and, with a review, ``name_review`` beside it. A
        boundary with segments takes ``const char* segment`` too.
        """
        return _core.to_c_header(self._fitted, name)

    def to_onnx(
        self,
        *,
        score: str = "score",
        uncertainty: str = "uncertainty",
        segment: str = "segment",
        dtype: Any = np.float64,
        as_column: bool = False,
        opset: int = 19,
        ir_version: int | None = None,
    ) -> bytes:
        """The rule as the bytes of an ONNX model; :func:`limen.onnx.to_model` gives an ``onnx.ModelProto``.

        Parameters
        ----------
        score, uncertainty, segment : str
            Names of the inputs. Outputs are ``decision`` (1, 0, or -1 where a number is NaN or infinite) and ``level``.
        dtype : numpy.float64 or numpy.float32
            Of the inputs. They are compared in double precision.
        as_column : bool
            Shape of inputs and outputs: (n, 1), not (n,).
        opset, ir_version : int
            Versions of the operators (13 to 25, with segments 19 at least) and of the format. To be merged, two models must
            have the same.
        """
        kind = np.dtype(dtype)
        if kind not in (np.float32, np.float64):
            raise ValueError(f"to_onnx: dtype is {kind.name}, must be float32 or float64")
        return _core.to_onnx(
            self._fitted, score, uncertainty, segment, kind == np.float32, as_column, opset, ir_version
        )

    def __reduce__(self):
        return type(self).from_json, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        return self._fitted == other._fitted if isinstance(other, Boundary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        holdout = self.holdout
        weighted = " (by weight)" if holdout.weighted else ""
        if holdout.optimal:
            proof = ", proved optimal on it"
        else:
            proof = "" if self.method == "smooth" else f", gap {self.gap:.6g}"
        if expected := self.expected:
            (low, high), (least, most) = expected["precision"], expected["recall"]
            proof += f"; expected: precision {low:.3f} to {high:.3f}, recall {least:.3f} to {most:.3f}"
        if guarantee := self.guarantee:
            proof = f"; certified with confidence {guarantee['confidence']:g} on {guarantee['rows']} rows of it"
        if reviewed := self.reviewed:
            proof += f"; review of {100 * reviewed.rate:.3g}% of rows: recall {reviewed.recall:.4f} with it"
        plural = "" if self.levels == 1 else "s"
        if (segments := self.segments) is not None:
            of = "in each of" if self.each else "on"
            proof += f"; {of} {len(segments)} segments of {self.segment_column!r}, other values {self.unseen}"
            if certified := sum(segment.guarantee is not None for segment in segments):
                proof += f", {certified} certified by itself"
        bins = "every distinct score" if self.bins == "all" else f"at most {self.bins} score bins"
        return (
            f"<limen.Boundary: {self.objective}; {self.method}, {self.levels} level{plural}, {bins}; "
            f"hold-out of {holdout.rows} rows{weighted}: precision {holdout.precision:.4f}, "
            f"recall {holdout.recall:.4f}{proof}>"
        )

    def to_pandas(self):
        """A DataFrame of the rule: a row for each level, of each segment where there are some.

        ``uncertainty_from`` and ``uncertainty_below`` are infinite at the ends, a threshold is nan where nothing is
        flagged.

        Examples
        --------
        >>> import limen
        >>> score, uncertainty = [0.9, 0.9, 0.8, 0.8, 0.7, 0.7], [0.1, 0.8, 0.1, 0.9, 0.2, 0.7]
        >>> boundary = limen.fit_boundary([1, 1, 1, 0, 1, 0], score, uncertainty, min_precision=0.9, levels=2)
        >>> boundary.to_pandas()[["level", "uncertainty_below", "score_threshold"]].values.tolist()
        [[0.0, 0.4, 0.697], [1.0, inf, 0.85]]
        """
        import pandas

        records = []
        for segment in self.segments or (self,):
            edges = [-np.inf, *segment.uncertainty_edges, np.inf]
            for level, threshold in enumerate(segment.score_thresholds):
                record = {
                    "level": level,
                    "uncertainty_from": edges[level],
                    "uncertainty_below": edges[level + 1],
                    "score_threshold": threshold,
                }
                if isinstance(segment, Segment):
                    record = {"segment": segment.value, **record}
                elif self.review_thresholds is not None:
                    record["review_threshold"] = self.review_thresholds[level]
                records.append(record)
        return pandas.DataFrame(records)

    def _cells(self) -> list[tuple[str, ...]]:
        """A header, and a line for each level, of each segment where there are some."""

        def at_least(threshold: float) -> str:
            return "never" if threshold != threshold else f">= {threshold:.6g}"

        if (segments := self.segments) is None:
            review = self.review_thresholds
            lines = [("level", "uncertainty", "flagged where score", *(() if review is None else ("reviewed where",)))]
            for at, name in enumerate(_words.level_names(self.uncertainty_edges)):
                reviewed = () if review is None else (at_least(review[at]),)
                lines.append((str(at), name, at_least(self.score_thresholds[at]), *reviewed))
            return lines
        lines = [("segment", "uncertainty", "flagged where score", "rows", "flagged", "precision", "recall", "status")]
        for segment in segments:
            name = (
                f"others ({len(segment.values)} rare values)" if segment.value is None else _words.clean(segment.value)
            )
            of_segment = (
                _words.count(segment.rows),
                _words.count(segment.flagged),
                _words.share(segment.precision),
                _words.share(segment.recall),
                segment.status or "",
            )
            for at, level in enumerate(_words.level_names(segment.uncertainty_edges)):
                rule = (level, at_least(segment.score_thresholds[at]))
                lines.append((name, *rule, *of_segment) if at == 0 else ("", *rule))
        return lines

    def __str__(self) -> str:
        """As repr; with segments also a line for each of them."""
        if self.segments is None:
            return repr(self)
        lines = self._cells()
        widths = [max(len(line[at]) for line in lines if at < len(line)) for at in range(len(lines[0]))]
        table = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False)) for line in lines]
        return "\n".join([repr(self), *(line.rstrip() for line in table)])

    def _decision(self) -> str:
        """What is done with a row, in one sentence."""
        rule = "its score reaches the threshold of its segment"
        if self.segments is None:
            thresholds = self.score_thresholds[~np.isnan(self.score_thresholds)]
            if len(thresholds) == 0:
                return f"{self.objective}: no row is flagged"
            if self.levels == 1:
                rule = f"{self.score_column} >= {thresholds[0]:.6g}"
            else:
                ends = f"{thresholds.min():.6g} to {thresholds.max():.6g}"
                rule = f"{self.score_column} reaches the threshold ({ends}) of its level of {self.uncertainty_column}"
        return f"{self.objective}: a row is flagged where {rule}"

    def _repr_html_(self) -> str:
        holdout = self.holdout
        header, *lines = self._cells()
        shown = ("positives", "flagged", "true_positives")
        size = _words.count(holdout.weight) if holdout.weighted else _words.count(holdout.rows)
        figures = [
            (
                "on the hold-out, in-sample" + (" (by weight)" if holdout.weighted else ""),
                size,
                *(_words.count(getattr(holdout, name)) for name in shown),
                _words.share(holdout.precision if holdout.flagged else None),
                _words.share(holdout.recall),
            )
        ]
        if guarantee := self.guarantee:
            counts = [guarantee.get(name) for name in ("rows", *shown)]
            figures.append(
                (
                    "on the rows that certify",
                    *("-" if value is None else _words.count(value) for value in counts),
                    _words.share(counts[3] / counts[2]) if counts[3] is not None and counts[2] else "-",
                    _words.share(counts[3] / counts[1]) if counts[3] is not None and counts[1] else "-",
                )
            )
        if expected := self.expected:
            ranges = (_words.interval(expected[name], ".3f") for name in ("precision", "recall"))
            figures.append(("expected in deployment (about 95%)", "", "", "", "", *ranges))
        notes = []
        if guarantee:
            p_value = guarantee.get("p_value")
            notes.append(
                _words.sentence(_words.certified(guarantee) + ("" if p_value is None else f" (p = {p_value:.2g})"))
                + f" Valid for {guarantee['valid_for']}."
            )
        method = _words.method(self.method)
        proof = "proved optimal on the hold-out" if holdout.optimal else ""
        notes.append(_words.sentence(", ".join(part for part in (method, proof) if part)))
        if chosen := self.chosen_by:
            notes.append(_words.sentence(f"chosen because {chosen['why']}"))
        if reviewed := self.reviewed:
            notes.append(
                f"Review: {reviewed.rate:.3g} of all rows go to a person; recall with them {_words.share(reviewed.recall)}."
            )
        if self.segments is not None:
            notes.append(f"Segments of {_words.clean(self.segment_column)}; other values: {self.unseen}.")
        return _html.block(
            self._decision(),
            _html.table(header, lines, text_columns=2),
            _html.table(("", "rows", "positives", "flagged", "true positives", "precision", "recall"), figures),
            notes=notes,
        )
