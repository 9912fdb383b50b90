# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from limen import _core, _inputs
from limen._errors import SilentLawError
from limen._parameters import Parameters, not_fitted


class EvidenceTerm(NamedTuple):
    """Columns that training rows must agree on to count."""

    columns: tuple[str, ...]  #: in the order of the training rows
    weight: float  #: those of all terms sum to 1
    cells: int  #: combinations of values that training had


class Evidence(Parameters):
    """How many training rows stand behind a score, by a law that is learnt from labelled rows.

    For any model that gives a score: nothing is asked of it but the rows that it was trained on, and its scores of rows that it was
    not. The law is a few sets of columns (terms) with weights w: the evidence of a row is a weighted geometric mean of 1 + the number
    of training rows that agree with it on all columns of a term,

        log n = sum over terms of w log(1 + min(count, cap)).

    Which terms there are is chosen by how much their counts tell of the label beyond the score. Where no counts tell anything, the
    law is silent: ``is_silent_`` is true, ``why_`` says why, and :meth:`evidence` and :meth:`uncertainty` raise an error,
    because an uncertainty that says nothing looks like one that does. The program ``limen evidence`` without ``--keys`` computes
    the same, bit for bit.

    Parameters
    ----------
    drop : list of column names, default=None
        Columns of the training rows that are not looked at; of an array, their places.
    categorical : list of column names, default=None
        Columns of numbers that are names (region 17, shop 4711) and not quantities. Others are cut into `num_bins` bins when they have
        more distinct values. Categories of pandas and dictionaries of Arrow are taken for names unasked.
    num_bins : int, default=32
        Bins of a column of numbers, equal in rows.
    most_terms : int, default=6
    level : float, default=0.01
        Probability of a law where labels depend on the score alone, by the first gate: the best chi-square of all terms, by
        Bonferroni's bound.
    least_z : float, default=2.0
        The second gate: the gain in log likelihood over the score alone, on rows that did not choose the law, in its standard
        deviations.
    cap : int, default=1000
        Training rows beyond so many in a cell add nothing.
    most_columns_in_pairs : int, default=20
        Columns whose pairs and triples are looked at, the best by themselves.
    most_rows : int, default=200_000
        Labelled rows that are used; of more, a sample.
    random_state : int, default=0
        Which rows are in that sample, and in which of the five folds of the second gate.
    num_threads : int, default=None
        None: all cores. The results do not depend on it.

    Attributes
    ----------
    is_silent_ : bool
        Whether no law was found.
    why_ : str
        One or two sentences: what the law is, or why it is silent.
    status_ : str
        ``"active"``, or the kind of silence: ``"no_rows"``, ``"one_class"``, ``"no_variation"``, ``"nothing_found"`` or
        ``"not_confirmed"``.
    terms_ : list of EvidenceTerm
        Columns, weight and number of cells, in the order in which they were chosen; empty when silent.
    columns_ : list of str
        The columns of the terms: what rows must have to be asked about.
    p_value_, gain_z_ : float
        What the two gates saw.
    crossing_ : float or None
        The probability at which evidence makes no difference.
    looked_at_, rising_ : list of str
        After ``fit``: the columns that were looked at; those that were left out because they rise from row to row of the training
        rows, as row numbers do.

    Examples
    --------
    >>> import numpy as np
    >>> from limen.uncertainty import Evidence
    >>> random = np.random.default_rng(0)
    >>> size = np.repeat([2, 8, 32], 400)  # training rows of 1200 shops; the model trusts few rows too much
    >>> rate = random.beta(1.5, 8.5, 1200)
    >>> score = (random.binomial(size, rate) + 0.3) / (size + 2)
    >>> shop = random.integers(0, 1200, 30_000)
    >>> train, rows = {"shop": np.repeat(np.arange(1200), size)}, {"shop": shop}
    >>> train["shop"] = random.permutation(train["shop"])
    >>> law = Evidence(categorical=["shop"]).fit(train, rows, random.random(30_000) < rate[shop], score[shop])
    >>> law.terms_
    [EvidenceTerm(columns=('shop',), weight=1.0, cells=1200)]
    >>> law.evidence({"shop": [0, 400, 800, 9999]})
    array([ 3.,  9., 33.,  1.])
    """

    def __init__(
        self,
        *,
        drop: Any = None,
        categorical: Any = None,
        num_bins: int = 32,
        most_terms: int = 6,
        level: float = 0.01,
        least_z: float = 2.0,
        cap: int = 1000,
        most_columns_in_pairs: int = 20,
        most_rows: int = 200_000,
        random_state: int = 0,
        num_threads: int | None = None,
    ) -> None:
        self.drop = drop
        self.categorical = categorical
        self.num_bins = num_bins
        self.most_terms = most_terms
        self.level = level
        self.least_z = least_z
        self.cap = cap
        self.most_columns_in_pairs = most_columns_in_pairs
        self.most_rows = most_rows
        self.random_state = random_state
        self.num_threads = num_threads

    def fit(self, X_train: Any, X: Any, y: Any, score: Any) -> Evidence:
        """Learn the law.

        Looked at are the columns that both tables have, but for those that hold the label and the score, columns named
        ``uncertainty`` and ``evidence``, and row numbers. The label's column is the one that `y` is or is named by, as a Series of pandas
        or polars is; else one named ``label``. In the same way that of the score, else one named ``score``.

        Parameters
        ----------
        X_train : data frame (pandas, polars, Arrow table, dict of columns) or array of shape (rows, columns)
            The rows that the model was trained on, after undersampling if there was any. Text as it is; numbers by their value when at most
            `num_bins` are distinct, else in bins; dates as text. Missing values are a value of their own.
        X : the same
            Labelled rows that the model was not trained on.
        y : array-like of 0 and 1, or the name of the column of `X`
        score : array-like of probabilities, or the name of the column of `X`
            What the model says of the rows of `X`.

        Returns
        -------
        self
        """
        X_train, X = _inputs.as_table(X_train), _inputs.as_table(X)
        columns = self._chosen_columns(X_train, X, y, score)
        pairs = [self._column_pair(X_train, X, column) for column in columns]
        seed = _inputs.whole_number(self.random_state, "random_state")
        most_rows = _inputs.whole_number(self.most_rows, "most_rows")
        for name, value in (("random_state", seed), ("most_rows", most_rows)):
            if value < 0:
                raise ValueError(f"{name} is {value}, must be at least 0")
        law, self.looked_at_, self.rising_ = _core.fit_frame_law(
            columns,
            [train for train, _ in pairs],
            [labelled for _, labelled in pairs],
            _inputs.double_array(_given(X, score), "score"),
            _inputs.label_array(_given(X, y)),
            _inputs.whole_number(self.num_bins, "num_bins"),
            _inputs.whole_number(self.most_terms, "most_terms"),
            float(self.level),
            float(self.least_z),
            _inputs.whole_number(self.cap, "cap"),
            _inputs.whole_number(self.most_columns_in_pairs, "most_columns_in_pairs"),
            most_rows,
            seed,
            _inputs.threads(self.num_threads),
        )
        self.n_features_in_ = len(_inputs.table_names(X_train, "X_train"))
        self._take(law)
        return self

    def evidence(self, X: Any) -> np.ndarray:
        """Training rows behind each row, n: at least 1, which is nothing at all. Raises :class:`SilentLawError` when silent."""
        return self._found(X, "evidence")

    def uncertainty(self, X: Any) -> np.ndarray:
        """-log n of each row: larger where fewer training rows stand behind it. Raises :class:`SilentLawError` when silent."""
        return self._found(X, "uncertainty")

    def probability(self, X: Any, score: Any) -> np.ndarray:
        """The law's mean: the probability of a positive by score and evidence.

        Never falls with the score. That of a silent law is by the score alone.

        Parameters
        ----------
        X : data frame or array
        score : array-like of probabilities, or the name of the column of `X`
        """
        law = self._fitted()
        rows = _inputs.num_rows(X)
        return law.probability(_inputs.double_array(_given(X, score), "score"), self._columns_of(X), rows)

    def to_json(self) -> str:
        """The law with its count tables as JSON. The parameters are not in it."""
        return self._fitted().to_json()

    @classmethod
    def from_json(cls, text: str) -> Evidence:
        """The law that :meth:`to_json` wrote."""
        law = cls()
        law._take(_core.FrameLaw.from_json(_inputs.text(text, "text")))
        return law

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_law")

    def __sklearn_tags__(self):
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    def __repr__(self) -> str:
        if not hasattr(self, "_law"):
            return super().__repr__()
        return f"<limen.uncertainty.Evidence: {self.why_.removeprefix('Evidence: ')}>"

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if "_law" in state:
            state["_law"] = self._law.to_json()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_law" in state:
            self._law = _core.FrameLaw.from_json(state["_law"])

    def _take(self, law: Any) -> None:
        self._law = law
        self.is_silent_: bool = law.is_silent
        self.why_: str = law.why
        self.status_: str = law.status
        self.terms_ = [EvidenceTerm(tuple(columns), weight, cells) for columns, weight, cells in law.terms]
        self.columns_: list[str] = law.columns
        self.p_value_: float = law.p_value
        self.gain_z_: float = law.gain_z
        self.crossing_: float | None = law.crossing

    def _fitted(self) -> Any:
        if not hasattr(self, "_law"):
            raise not_fitted(self)
        return self._law

    def _found(self, X: Any, name: str) -> np.ndarray:
        law = self._fitted()
        if law.is_silent:
            raise SilentLawError(f"Evidence.{name}: there is none, the law is silent. {self.why_}", self.why_)
        return law.evidence(self._columns_of(X), _inputs.num_rows(X))[name]

    def _chosen_columns(self, X_train: Any, X: Any, y: Any, score: Any) -> list[str]:
        train, other = _inputs.table_names(X_train, "X_train"), _inputs.table_names(X, "X")
        if _inputs.is_array(X_train) and _inputs.is_array(X) and len(train) != len(other):
            raise ValueError(f"X has {len(other)} columns, X_train has {len(train)}")
        columns = _core.evidence_columns(
            train,
            [other],
            _name_of(y, "label"),
            _name_of(score, "score"),
            _listed(self.drop, X_train, "drop"),
        )
        for name in _listed(self.categorical, X_train, "categorical"):
            if name not in columns:
                raise ValueError(f"categorical: {name!r} is not one of the columns that are looked at")
        return columns

    def _column_pair(self, X_train: Any, X: Any, name: str) -> tuple[Any, Any]:
        """A column of both tables. Text in one is text in both."""
        values = [_values(X_train, name, "X_train"), _values(X, name, "X")]
        is_declared = name in _listed(self.categorical, X_train, "categorical")
        is_name = is_declared or any(map(_inputs.is_categorical, values))
        pair = [_column(part, name, is_name) for part in values]
        has_text = is_name or any(not isinstance(column, np.ndarray) and column[0] for column in pair)
        return _as_kind(pair[0], has_text), _as_kind(pair[1], has_text)

    def _columns_of(self, X: Any) -> list[Any]:
        X = _inputs.as_table(X)
        names = _inputs.table_names(X, "X")
        width = getattr(self, "n_features_in_", len(names))
        if _inputs.is_array(X) and len(names) != width:
            raise ValueError(f"X has {len(names)} columns, was fitted on {width}")
        columns = []
        for name, is_text in zip(self._law.columns, self._law.text_columns, strict=True):
            if name not in names:
                raise ValueError(f"X has no column {name!r}, which the law counts by")
            columns.append(_as_kind(_column(_values(X, name, "X"), name, is_text), is_text))
        return columns


def _given(X: Any, values: Any) -> Any:
    """The values, or the column of X that is named."""
    return _values(X, values, "X") if isinstance(values, str) else values


def _name_of(values: Any, otherwise: str) -> str:
    name = values if isinstance(values, str) else getattr(values, "name", None)
    return name if isinstance(name, str) and name else otherwise


def _listed(names: Any, X: Any, parameter: str) -> list[str]:
    """Names of columns, as table_names has them."""
    if names is None:
        return []
    if isinstance(names, (str, int, np.integer)):
        raise ValueError(f"{parameter} is {names!r}, must be a list of columns")
    is_place = _inputs.is_array(X)
    return [f"x{name}" if is_place and not isinstance(name, str) else str(name) for name in names]


def _values(X: Any, name: str, table: str) -> Any:
    names = _inputs.table_names(X, table)
    if name not in names:
        raise ValueError(f"{table} has no column {name!r}")
    place = names.index(name)
    if _inputs.is_array(X):
        return _inputs.values_in_table(X, place)
    if hasattr(X, "iloc"):
        return X.iloc[:, place]
    return _inputs.values_in_table(X, list(X)[place] if isinstance(X, dict) else name)


def _column(values: Any, name: str, is_name: bool) -> Any:
    """Numbers or texts. Numbers that are not finite are missing, as in the tables that the program reads."""
    if is_name:
        return _inputs.as_texts(_inputs.name_column(values, f"column {name!r}"))
    column = _inputs.table_column(values, f"column {name!r}")
    return np.where(np.isfinite(column), column, np.nan) if isinstance(column, np.ndarray) else column


def _as_kind(column: Any, is_text: bool) -> Any:
    """Numbers as texts where texts are wanted; a column without values is of any kind."""
    if is_text:
        return _inputs.as_texts(column)
    if not isinstance(column, np.ndarray) and not column[0]:
        return np.full(len(column[1]), np.nan)
    return column
