# SPDX-License-Identifier: MIT
"""What scikit-learn asks of anything with parameters and ``fit``, for classes that do not need scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any


class Parameters:
    """Keeps each parameter of the constructor as an attribute of its name."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor."""
        return {name: getattr(self, name) for name in _names(type(self))}

    def set_params(self, **params: Any):
        """Set parameters of the constructor."""
        names = _names(type(self))
        for name, value in params.items():
            if name not in names:
                raise ValueError(f"Invalid parameter {name!r} for {type(self).__name__}; valid are {names}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default]
        return f"{type(self).__name__}({', '.join(changed)})"


def not_fitted(estimator: Any) -> Exception:
    message = f"This {type(estimator).__name__} is not fitted yet: call fit first"
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return ValueError(message)
    return NotFittedError(message)


def _names(kind: type) -> list[str]:
    return list(inspect.signature(kind).parameters)
