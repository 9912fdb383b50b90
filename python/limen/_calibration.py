# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from limen import _core, _html, _inputs, _words
from limen._boundary import _write_whole
from limen._parameters import Parameters, not_fitted
from limen._positivity import PositivityMap
from limen._studies import _whole


class LevelIsotonic(Parameters):
    """Isotonic calibration of the score, level of uncertainty by level of uncertainty.

    Each level has its own non-decreasing step function from score to probability. With ``levels=1`` it is plain isotonic
    regression on the score. Follows scikit-learn's conventions and does not need it.

    Parameters
    ----------
    levels : int
        Uncertainty levels, 1 to 1000.
    binning : {"equi-weight", "equi-span"}
        Levels of equally many rows, or equal intervals of uncertainty.
    shrinkage : float or "auto"
        Pulls each level towards the calibration by the score alone: every step counts as if so many more rows were in
        it, with the probabilities that the score alone gives to its rows. 0: each level by itself. ``"auto"``: what
        leaves rows left out with the least log loss, in cross-validation.

    Attributes
    ----------
    shrinkage_ : float
        The shrinkage used.
    uncertainty_edges_ : ndarray
        Where the next level begins.
    steps_ : list of (ndarray, ndarray)
        For each level the lowest score of each step, and its probability.
    classes_ : ndarray
        ``[0, 1]``.
    n_features_in_ : int
        2: score and uncertainty.
    feature_names_in_ : ndarray of str
        Names of the columns of a DataFrame.

    Examples
    --------
    >>> import limen
    >>> X = [[0.2, 0.1], [0.4, 0.1], [0.6, 0.1], [0.2, 0.9], [0.4, 0.9], [0.6, 0.9]]
    >>> calibrator = limen.LevelIsotonic(levels=2).fit(X, [0, 1, 1, 0, 0, 1])
    >>> calibrator.calibrate([0.4, 0.4], [0.1, 0.9])
    array([1., 0.])
    """

    def __init__(self, levels: int = 3, binning: str = "equi-weight", shrinkage: float | str = 0.0) -> None:
        self.levels = levels
        self.binning = binning
        self.shrinkage = shrinkage

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LevelIsotonic:
        """Fit on labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Score and uncertainty.
        y : array-like of shape (n,)
            Labels, 0 and 1 or bool.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        score, uncertainty = self._columns(X)
        rows = _inputs.table(y, score, uncertainty, sample_weight)
        if len(rows[0]) == 0:
            raise ValueError("X has no rows")
        is_auto = isinstance(self.shrinkage, str)
        if is_auto and self.shrinkage != "auto":
            raise ValueError(f'shrinkage is "{self.shrinkage}", must be a number of rows or "auto"')
        edges, steps, self.shrinkage_ = _core.fit_level_calibration(
            rows,
            _inputs.whole_number(self.levels, "levels"),
            _inputs.text(self.binning, "binning"),
            None if is_auto else float(self.shrinkage),
        )
        self.uncertainty_edges_: np.ndarray = edges
        self.steps_: list[tuple[np.ndarray, np.ndarray]] = list(steps)
        label, _, _, weight = rows
        self._holdout = (
            len(label),
            None if weight is None else float(weight.sum()),
            float(label.sum() if weight is None else weight[label != 0].sum()),
        )
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = 2
        names = _feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def calibrate(self, score: Any, uncertainty: Any) -> np.ndarray:
        """The probability of each row, from its score and uncertainty."""
        if not hasattr(self, "steps_"):
            raise not_fitted(self)
        score = _inputs.real_array(score, "score")
        uncertainty = _inputs.real_array(uncertainty, "uncertainty")
        for name, values in (("score", score), ("uncertainty", uncertainty)):
            bad = np.flatnonzero(~np.isfinite(values))
            if bad.size:
                raise ValueError(f"{name}[{bad[0]}] is {values[bad[0]]}, must be finite")
        return _core.calibrated_probability(self.uncertainty_edges_, self.steps_, score, uncertainty)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of both classes, shape (n, 2)."""
        if not hasattr(self, "steps_"):
            raise not_fitted(self)
        names = _feature_names(X)
        fitted = getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and list(names) != list(fitted):
            raise ValueError(f"X has columns {list(names)}, was fitted on {list(fitted)}")
        positive = self.calibrate(*self._columns(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Any) -> np.ndarray:
        """1 where the probability is at least one half, else 0."""
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(np.int64)

    @property
    def _name(self) -> str:
        """What the calibrator is called in a calibration file."""
        if isinstance(self.shrinkage, str) or self.shrinkage_ > 0:
            return "shrunken"
        return "ist" if self.levels == 1 else "mist"

    def to_json(self) -> str:
        """The text of a calibration file with this calibrator alone, for ``limen apply``. Numbers read back exactly."""
        if not hasattr(self, "steps_"):
            raise not_fitted(self)
        return _core.write_isotonic(
            self._name, self.uncertainty_edges_, self.steps_, float(self.shrinkage_), self.binning, *self._holdout
        )

    @classmethod
    def from_json(cls, text: str | bytes, *, calibrator: str | None = None) -> LevelIsotonic:
        """Reads a calibration file's text, of this class, of :func:`limen.calibration_report` or of ``limen calibrate``.

        Parameters
        ----------
        text : str or bytes
        calibrator : {"ist", "mist", "shrunken"}, optional
            Which of the file's calibrators; None: the one that the file names as chosen.
        """
        if isinstance(text, (bytes, bytearray)):
            text = bytes(text).decode("utf-8", "replace")
        name, edges, steps, shrinkage, binning, *holdout = _core.read_isotonic(text, calibrator)
        result = cls(levels=len(steps), binning=binning, shrinkage="auto" if name == "shrunken" else 0.0)
        result.uncertainty_edges_ = edges
        result.steps_ = list(steps)
        result.shrinkage_ = shrinkage
        result._holdout = tuple(holdout)
        result.classes_ = np.array([0, 1])
        result.n_features_in_ = 2
        return result

    def save(self, path: str | os.PathLike) -> None:
        """Writes a calibration file, whole or not at all."""
        _write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike, *, calibrator: str | None = None) -> LevelIsotonic:
        """Reads a calibration file, see :meth:`from_json`."""
        with open(path, "rb") as file:
            text = file.read()
        try:
            return cls.from_json(text, calibrator=calibrator)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {str(error).removeprefix('calibration: ')}") from None

    @staticmethod
    def _columns(X: Any) -> tuple[Any, Any]:
        if hasattr(X, "columns") and hasattr(X, "shape") and not isinstance(X, np.ndarray):  # a frame: column by column
            if X.shape[1] != 2:
                raise ValueError(f"X has {X.shape[1]} columns, must have two: score and uncertainty")
            column = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
            return column((slice(None), 0)), column((slice(None), 1))
        array = np.asarray(X)
        if array.ndim != 2:
            raise ValueError(f"X has shape {array.shape}, must be (rows, 2): score and uncertainty")
        if array.shape[1] != 2:
            raise ValueError(f"X has {array.shape[1]} columns, must have two: score and uncertainty")
        return array[:, 0], array[:, 1]

    # What scikit-learn asks of an estimator.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "steps_")

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False),
        )


def _feature_names(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(list(columns), dtype=object)


@dataclasses.dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Values by score bin with their bands; nan where there is none."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class CalibratorErrors:
    """What is found of one column of probabilities. Figures are ``(value, low, high)``, low and high nan without bands.

    None: the column is no probability, or there are no rows to tell by.
    """

    name: str
    is_probability: bool
    ece: tuple[float, float, float] | None
    """Sum over score bins of share of rows times absolute gap between mean probability and rate of positives."""
    ece_by_level: tuple[float, float, float] | None
    """The same over bins of score and level."""
    brier: tuple[float, float, float] | None
    log_loss: tuple[float, float, float] | None
    roc_auc: tuple[float, float, float] | None
    average_precision: tuple[float, float, float] | None
    roc_auc_less_raw: tuple[float, float, float] | None
    """Difference from the raw score's, on the same resamples."""
    average_precision_less_raw: tuple[float, float, float] | None
    roc_auc_untied: tuple[float, float, float] | None
    """With equal probabilities ordered by the score; of ``mist`` and ``shrunken``."""
    roc_auc_untied_less_raw: tuple[float, float, float] | None
    average_precision_untied: tuple[float, float, float] | None
    average_precision_untied_less_raw: tuple[float, float, float] | None
    ece_at: CalibrationCurve
    """``value[j - 1]`` is ECE@j; all curves are empty for a column that is no probability."""
    cumulative_ece: CalibrationCurve
    """``value[j]`` is cumulative ECE@j, over the bins above the j-th."""
    cumulative_ece_less_ist: CalibrationCurve
    mean_probability: np.ndarray
    """By bin of ``reliability``."""


_FIGURES = (
    "ece",
    "ece_by_level",
    "brier",
    "log_loss",
    "roc_auc",
    "roc_auc_less_raw",
    "average_precision",
    "average_precision_less_raw",
)
_UNTIED = (
    "roc_auc_untied",
    "roc_auc_untied_less_raw",
    "average_precision_untied",
    "average_precision_untied_less_raw",
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CalibrationReport(Mapping):
    """What :func:`limen.calibration_report` found: the errors of each column by its name."""

    columns: dict[str, CalibratorErrors]
    """``raw``, then ``tau`` and ``evidence`` where asked for, ``ist``, ``mist`` and ``shrunken``."""
    chosen: str
    """Of the least log loss on rows left out of the hold-out: what ``limen apply`` uses."""
    log_loss_on_rows_left_out: dict[str, float]
    shrinkage: float
    cross_validated: bool
    """Judged on the hold-out, each row by calibrators of other rows; else on test rows."""
    rows: float
    positives: float
    bins: PositivityMap
    """The bins of ECE@j."""
    reliability: PositivityMap
    """Bins by score alone."""
    ece_by_chance: np.ndarray
    """What ECE@j of the true probabilities would be on average."""
    cumulative_by_chance: np.ndarray
    _json: str
    n_resamples: int = 0
    """Resamples behind the bands, which hold 95% of them; 0: there are no bands."""

    def __getitem__(self, name: str) -> CalibratorErrors:
        return self.columns[name]

    def __iter__(self):
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        how = "cross-validation" if self.cross_validated else "test rows"
        return (
            f"<limen.CalibrationReport: {', '.join(self.columns)} on {self.rows:g} rows ({how}); chosen {self.chosen}>"
        )

    def to_json(self) -> str:
        """The text of the calibration file with all calibrators, for ``limen apply`` and :meth:`LevelIsotonic.load`."""
        return self._json

    def save(self, path: str | os.PathLike) -> None:
        """Writes the calibration file, whole or not at all."""
        _write_whole(path, self._json)

    def to_pandas(self):
        """A DataFrame with a row for each column: figures with ``_low`` and ``_high``."""
        import pandas

        rows = []
        for errors in self.columns.values():
            row = {"calibrator": errors.name}
            for name in (*_FIGURES, *_UNTIED):
                figure = getattr(errors, name) or (np.nan,) * 3
                row.update(zip((name, f"{name}_low", f"{name}_high"), figure, strict=True))
            rows.append(row)
        return pandas.DataFrame(rows)

    def curves_to_pandas(self):
        """A DataFrame with the columns of ``limen calibrate --curves``."""
        import pandas

        frames = []
        size = len(self.ece_by_chance)
        for errors in self.columns.values():
            if not errors.is_probability:
                continue
            frame = {"calibrator": [errors.name] * (size + 1), "j": np.arange(size + 1)}
            for name in ("ece_at", "cumulative_ece", "cumulative_ece_less_ist"):
                for part, end in (("value", ""), ("low", "_low"), ("high", "_high")):
                    values = getattr(getattr(errors, name), part)
                    values = values if len(values) else np.full(size, np.nan)
                    frame[name + end] = np.r_[np.nan, values] if name == "ece_at" else np.r_[values, np.nan]
            frame["ece_at_by_chance"] = np.r_[np.nan, self.ece_by_chance]
            frame["cumulative_ece_by_chance"] = np.r_[self.cumulative_by_chance, np.nan]
            frames.append(pandas.DataFrame(frame))
        return pandas.concat(frames, ignore_index=True)

    @property
    def judged_on(self) -> str:
        """``"on the hold-out, by cross-validation"`` or ``"on the test rows"``."""
        return "on the hold-out, by cross-validation" if self.cross_validated else "on the test rows"

    def _repr_html_(self) -> str:
        def cells(errors: CalibratorErrors, names: Any) -> list[_html.Cell]:
            found = []
            for name in names:
                figure, digits = getattr(errors, name), "+.4f" if "less" in name else ".4f"
                found.append(_html.Cell("-") if figure is None else _html.figure(figure[0], figure[1:], digits))
            return found

        header = ("", "ECE", "by level", "Brier", "log loss", "ROC AUC", "less raw", "average precision", "less raw")
        lines = []
        for errors in self.columns.values():
            name = _words.calibrator(errors.name)
            lines.append([_html.Cell(name, bold=errors.name == self.chosen), *cells(errors, _FIGURES)])
            if errors.roc_auc_untied is not None:
                lines.append([f"{name}, ties by score", *[""] * 4, *cells(errors, _UNTIED)])
        decision = (
            f"chosen: {_words.calibrator(self.chosen)}, which has the least log loss on rows left out of the hold-out"
        )
        caption = f"calibration on {_words.rows(self.rows)} ({self.judged_on.removeprefix('on the ')})"
        notes = [f"In brackets: 95% of {self.n_resamples} resamples."] if self.n_resamples else []
        return _html.block(decision, _html.table(header, lines, caption), notes=notes)


def calibration_report(
    y: Any,
    score: Any,
    uncertainty: Any,
    *,
    test: Any = None,
    levels: int = 3,
    bins: int = 10,
    binning: str = "equi-weight",
    tau: float | None = None,
    evidence: Any = None,
    test_evidence: Any = None,
    xi: float | None = None,
    prior_strength: float | None = None,
    omega: float = 0.5,
    model_strength: float = 2,
    n_resamples: int | None = None,
    seed: int = 0,
    sample_weight: Any = None,
    num_threads: int | None = None,
) -> CalibrationReport:
    """Calibrates a score by uncertainty level and says what it brought: ``limen calibrate``.

    Isotonic regression on the score (``ist``), one for each uncertainty level (``mist``) and those drawn towards ``ist``
    (``shrunken``), beside the raw score and its corrections for undersampling. Errors are the paper's ECE@j and cumulative
    ECE@j, with bands; see docs/algorithms/calibration.md.

    Parameters
    ----------
    y, score, uncertainty : array-like of shape (n,)
        The hold-out.
    test : tuple, optional
        ``(y, score, uncertainty)`` or ``(y, score, uncertainty, sample_weight)`` to judge on. None: the hold-out, each row
        by calibrators of other rows (five folds).
    levels, bins : int
        Uncertainty levels, and score bins of each, in which errors are counted.
    binning : {"equi-weight", "equi-span"}
    tau : float, optional
        Negatives in training were kept at rate 1 / tau: also the corrected score.
    evidence, test_evidence : array-like, optional
        Training rows behind each row of hold-out and test: also the theorem's correction, with `tau`.
    xi, prior_strength : float
        Needed with evidence: the global prior in deployment.
    omega, model_strength : float
        With evidence: the model's own prior, see :func:`limen.correct_undersampling`.
    n_resamples : int, optional
        Resamples for bands, 0 for none. None: 200, or none with weights, which resamples do not take.
    seed : int
        Of folds and resamples.
    sample_weight : array-like of shape (n,), optional
    num_threads : int, optional

    Returns
    -------
    CalibrationReport

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(prior=(1.5, 8.5), tau=5, seed=1)
    >>> report = limen.calibration_report(*data.holdout.columns, test=data.test, n_resamples=50)
    >>> report["mist"].ece_by_level[0] < report["ist"].ece_by_level[0] < report["raw"].ece_by_level[0]
    True
    """
    holdout = _inputs.table(y, score, uncertainty, sample_weight)
    judged = None
    if test is not None:
        columns = tuple(getattr(test, "columns", test)) if not isinstance(test, tuple) else test
        if not 3 <= len(columns) <= 4:
            raise ValueError(
                f"test has {len(columns)} columns, must be y, score, uncertainty and perhaps sample_weight"
            )
        judged = _inputs.table(*columns)
    elif test_evidence is not None:
        raise ValueError("calibration_report: test_evidence has a meaning only with test")
    parameters = rows = test_rows = None
    if evidence is not None:
        if tau is None:
            raise ValueError("calibration_report: evidence needs tau, the rate of undersampling")
        for name, value in (("xi", xi), ("prior_strength", prior_strength)):
            if value is None:
                raise ValueError(f"calibration_report: evidence needs {name}, of the global prior in deployment")
        parameters = tuple(float(value) for value in (tau, xi, prior_strength, omega, model_strength))
        rows = _inputs.real_array(evidence, "evidence")
        if judged is not None:
            if test_evidence is None:
                raise ValueError("calibration_report: evidence is given, so test needs test_evidence")
            test_rows = _inputs.real_array(test_evidence, "test_evidence")
    elif test_evidence is not None or xi is not None or prior_strength is not None:
        raise ValueError("calibration_report: test_evidence, xi and prior_strength have a meaning only with evidence")
    if n_resamples is None:
        n_resamples = 0 if any(table is not None and table[3] is not None for table in (holdout, judged)) else 200
    seed = _whole(seed, "seed", 0, 2**64)
    found = _core.calibration_report(
        holdout, judged, _inputs.whole_number(levels, "levels"), _inputs.whole_number(bins, "bins"),
        _inputs.text(binning, "binning"), None if tau is None else float(tau), rows, test_rows, parameters,
        _inputs.whole_number(n_resamples, "n_resamples"), seed, seed, _inputs.threads(num_threads),
    )  # fmt: skip
    curves = ("ece_at", "cumulative_ece", "cumulative_ece_less_ist")
    columns = {
        column["name"]: CalibratorErrors(
            **{name: CalibrationCurve(*value) if name in curves else value for name, value in column.items()}
        )
        for column in found.pop("columns")
    }
    maps = {
        name: PositivityMap(**found.pop(name), bins=bins, confidence=0.95, weighted=found["weighted"], binning=binning)
        for name in ("bins", "reliability")
    }
    found.pop("weighted")
    return CalibrationReport(
        columns=columns,
        cross_validated=judged is None,
        _json=found.pop("json"),
        n_resamples=int(n_resamples),
        **maps,
        **found,
    )
