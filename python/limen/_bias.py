# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from limen import _core, _html, _inputs
from limen._studies import _plain, _whole
from limen._sweep import _list_of


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BiasSimulation:
    """Regions drawn by the generation process beside the theory; one entry for each cell of neighbouring scores."""

    tau: np.ndarray
    evidence: np.ndarray
    regions: np.ndarray
    score: np.ndarray
    train_positivity: np.ndarray
    expected_positivity: np.ndarray
    """By the theory, mean over the cell's regions."""
    true_positivity: np.ndarray
    """As drawn; the standard error is nan for a single region."""
    true_positivity_se: np.ndarray
    test_positivity: np.ndarray
    """Of one labelled test row of each region."""
    test_positivity_se: np.ndarray

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        return f"<limen.BiasSimulation: {int(self.regions.sum())} regions in {len(self)} cells>"

    def to_dict(self) -> dict[str, Any]:
        return {name: values.tolist() for name, values in _plain(self).items()}

    def to_pandas(self):
        """A DataFrame with a row for each cell."""
        import pandas

        return pandas.DataFrame(_plain(self))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Bias:
    """What :func:`limen.bias` found: for each tau each evidence, in it each score, column by column."""

    tau: np.ndarray
    evidence: np.ndarray
    score: np.ndarray
    train_positivity: np.ndarray
    """With the next two nan where a model with this prior and so little evidence cannot give the score."""
    expected_positivity: np.ndarray
    """True and test."""
    bias: np.ndarray
    """Score less expected positivity: positive where the model overestimates."""
    xi: float
    prior_strength: float
    omega: float
    model_strength: float
    simulated: BiasSimulation | None = None

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        tau, evidence = (", ".join(f"{value:g}" for value in self._distinct(name)) for name in ("tau", "evidence"))
        return f"<limen.Bias: tau {tau}; evidence {evidence}; {len(self)} scores>"

    def _distinct(self, name: str) -> list[float]:
        return list(dict.fromkeys(getattr(self, name).tolist()))

    @property
    def gamma(self) -> np.ndarray:
        """Strength of the model's prior over the evidence, the paper's measure of uncertainty."""
        return self.model_strength / self.evidence

    @property
    def lambda_(self) -> np.ndarray:
        """Strength of the global prior over the evidence."""
        return self.prior_strength / self.evidence

    @property
    def nu(self) -> float:
        """Strength of the global prior over that of the model's; infinite for a model without one."""
        return self.prior_strength / self.model_strength if self.model_strength else float("inf")

    def _columns(self) -> dict[str, np.ndarray]:
        names = ("tau", "evidence", "score", "train_positivity", "expected_positivity", "bias")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """The columns as lists, the parameters, and ``simulated`` where there is one."""
        result: dict[str, Any] = {name: values.tolist() for name, values in self._columns().items()}
        for name in ("xi", "prior_strength", "omega", "model_strength"):
            result[name] = getattr(self, name)
        result["simulated"] = None if self.simulated is None else self.simulated.to_dict()
        return result

    def to_pandas(self):
        """A DataFrame with the columns of ``limen bias -o``."""
        import pandas

        frame = pandas.DataFrame(self._columns())
        for at, (name, values) in enumerate((("lambda", self.lambda_), ("gamma", self.gamma), ("nu", self.nu))):
            frame.insert(2 + at, name, values)
        return frame

    def _repr_html_(self) -> str:
        tables = []
        shape = (len(self._distinct("tau")), len(self._distinct("evidence")), -1)
        expected, scores = self.expected_positivity.reshape(shape), self.score.reshape(shape)[0, 0]
        header = ["score", *(f"n {value:g}" for value in self._distinct("evidence"))]
        for tau, columns in zip(self._distinct("tau"), expected, strict=True):
            lines = [
                [f"{score:.4g}", *(_html.figure(value, digits=".4g") for value in row)]
                for score, row in zip(scores, columns.T, strict=True)
            ]
            tables.append(_html.table(header, lines, f"by score and training rows n, tau {tau:g}"))
        known = np.isfinite(self.bias)
        decision = "the model cannot give any of these scores"
        if known.any():
            worst = np.flatnonzero(known)[np.argmax(np.abs(self.bias[known]))]
            decision = (
                f"expected positivity differs most at score {self.score[worst]:.4g} with n {self.evidence[worst]:g} and tau "
                f"{self.tau[worst]:g}: it is {self.expected_positivity[worst]:.4g}"
            )
        priors = f"Priors: xi {self.xi:g} in deployment, omega {self.omega:g} of the model."
        return _html.block(decision, *tables, notes=[priors + " -: such a model cannot give the score."])


def bias(
    *,
    tau: float | Sequence[float] = 3,
    evidence: float | Sequence[float] = (2, 10, 50, 1000),
    score: Any = None,
    xi: float = 0.25,
    prior_strength: float = 4,
    omega: float = 0.5,
    model_strength: float = 2,
    simulate: int | None = None,
    cells: int = 21,
    seed: int = 0,
) -> Bias:
    """The theory of the score's bias: expected positivity given score and evidence (the paper's Theorem 3.1).

    Regions of the input space have a true positivity from a global Beta prior; training saw n rows of a region, its
    negatives kept at rate 1 / tau; the model's score is the mean of its own prior and what it saw.

    Parameters
    ----------
    tau : float or list of float
        Undersampling of negatives in training, 1e-9 to 1e9.
    evidence : float or list of float
        Training rows n behind a score, above 0 to 1e12.
    score : array-like, optional
        Scores from 0 to 1. None: 101, evenly spaced.
    xi, prior_strength : float
        Positive share of the global prior, and its strength in rows.
    omega, model_strength : float
        The same of the model's prior; with strength 0 the score is the share of positives it saw.
    simulate : int, optional
        Regions to draw by the process, for each tau and evidence, which then must be whole numbers.
    cells, seed : int
        Cells of scores at most, and seed, of the regions drawn.

    Returns
    -------
    Bias

    Examples
    --------
    >>> import limen
    >>> found = limen.bias(tau=3, evidence=[10, 1000], score=[0.25, 0.5, 0.75])
    >>> found.expected_positivity.round(4)
    array([0.1092, 0.2605, 0.4709, 0.1001, 0.2502, 0.4997])
    >>> found.bias.round(4)
    array([0.1408, 0.2395, 0.2791, 0.1499, 0.2498, 0.2503])
    """
    taus, levels = ([float(value) for value in _list_of(values)] for values in (tau, evidence))
    parameters = tuple(float(value) for value in (xi, prior_strength, omega, model_strength))
    scores = np.linspace(0, 1, 101) if score is None else _inputs.double_array(score, "score")
    curves = _core.bias_curves(taus, levels, scores, (1.0, *parameters))
    drawn = None
    if simulate is not None:
        regions, cells, seed = (
            _whole(simulate, "simulate"),
            _inputs.whole_number(cells, "cells"),
            _whole(seed, "seed", 0, 2**64),
        )
        parts = []
        for rate in taus:
            for rows in levels:
                if rows != int(rows):
                    raise ValueError(f"bias: evidence is {rows:g}, must be a whole number to simulate")
                part = _core.simulate_bias(int(rows), regions, cells, seed, len(parts), (rate, *parameters))
                size = len(part["score"])
                parts.append({"tau": np.full(size, rate), "evidence": np.full(size, rows), **part})
        drawn = BiasSimulation(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    return Bias(
        **curves,
        **dict(zip(("xi", "prior_strength", "omega", "model_strength"), parameters, strict=True)),
        simulated=drawn,
    )


def correct_undersampling(
    score: Any,
    *,
    tau: float,
    evidence: Any = None,
    xi: float | None = None,
    prior_strength: float | None = None,
    omega: float | None = None,
    model_strength: float | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    """Probabilities in deployment from the scores of a model that was trained with fewer negatives.

    Without evidence ``score / (score + tau * (1 - score))``, which is right for a score that is calibrated on the training
    rows; 0 and 1 stay what they are. With the evidence behind each row and the priors it is the expected positivity of
    Theorem 3.1, see :func:`limen.bias`: a score of few training rows is drawn towards the global prior.

    Parameters
    ----------
    score : array-like of shape (n,)
        From 0 to 1.
    tau : float
        Negatives in training were kept at rate 1 / tau.
    evidence : array-like of shape (n,), optional
        Training rows behind each score, 0 or more.
    xi, prior_strength : float
        Needed with evidence: positive share and strength of the global prior, in deployment.
    omega, model_strength : float
        With evidence: the model's own prior that is in the score; 0.5 and 2, as of a Posterior Network with Beta(1, 1), unless
        given. ``model_strength=0`` is for scores that are shares of training rows. A score that such a model cannot give
        counts as the nearest that it can.
    num_threads : int, optional

    Returns
    -------
    probability : ndarray of shape (n,)

    Examples
    --------
    >>> import limen
    >>> limen.correct_undersampling([0, 0.5, 0.75, 1], tau=3)
    array([0.  , 0.25, 0.5 , 1.  ])
    >>> limen.correct_undersampling([0.75, 0.75], tau=3, evidence=[5, 5000], xi=0.25, prior_strength=4).round(3)
    array([0.452, 0.5  ])
    """
    rows, threads = _inputs.real_array(score, "score"), _inputs.threads(num_threads)
    given = {"xi": xi, "prior_strength": prior_strength, "omega": omega, "model_strength": model_strength}
    if evidence is None:
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"correct_undersampling: {name} has a meaning only with evidence; give both or neither"
                )
        return _core.correct_undersampling(rows, float(tau), threads)
    for name in ("xi", "prior_strength"):
        if given[name] is None:
            raise ValueError(f"correct_undersampling: evidence needs {name}, of the global prior in deployment")
    numbers = {
        **given,
        "omega": 0.5 if omega is None else omega,
        "model_strength": 2 if model_strength is None else model_strength,
    }
    parameters = (float(tau), *(float(value) for value in numbers.values()))
    return _core.correct_undersampling_by_evidence(rows, _inputs.real_array(evidence, "evidence"), parameters, threads)
