# SPDX-License-Identifier: MIT
from __future__ import annotations


class InfeasibleError(ValueError):
    """No boundary meets the goal.

    Attributes
    ----------
    best_attainable : float
        The best value of the constrained figure, such as precision, that any boundary reaches.
    """

    def __init__(self, message: str, best_attainable: float) -> None:
        super().__init__(message)
        self.best_attainable = best_attainable

    def __reduce__(self):
        return type(self), (str(self), self.best_attainable)


class NotCertifiableError(InfeasibleError):
    """No boundary could be certified for the goal with this confidence.

    Attributes
    ----------
    best_attainable : float
        The bound that these rows come nearest to certifying; a hint for another run, no certificate. nan if no row could
        be tested.
    rows_needed : int or None
        About how many labelled rows in all would certify the goal, with a chance of four in five. None: more rows like
        these would not help.
    """

    def __init__(self, message: str, best_attainable: float, rows_needed: int | None = None) -> None:
        super().__init__(message, best_attainable)
        self.rows_needed = rows_needed

    def __reduce__(self):
        return type(self), (str(self), self.best_attainable, self.rows_needed)


class SilentLawError(ValueError):
    """A law of evidence was asked for evidence that it did not find.

    Attributes
    ----------
    why : str
        Why the law is silent.
    """

    def __init__(self, message: str, why: str) -> None:
        super().__init__(message)
        self.why = why

    def __reduce__(self):
        return type(self), (str(self), self.why)
