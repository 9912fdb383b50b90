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
