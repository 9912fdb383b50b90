# SPDX-License-Identifier: MIT
"""Pictures of boundaries, frontiers, calibration, bias and swaps, by the conventions of scikit-learn's displays."""

from limen._display.bias import BiasDisplay
from limen._display.boundary import BoundaryDisplay
from limen._display.calibration import CalibrationDisplay
from limen._display.frontier import FrontierDisplay
from limen._display.positivity import CalibrationLevelsDisplay, PositivityDisplay
from limen._display.swaps import SwapDisplay

__all__ = [
    "BiasDisplay",
    "BoundaryDisplay",
    "CalibrationDisplay",
    "CalibrationLevelsDisplay",
    "FrontierDisplay",
    "PositivityDisplay",
    "SwapDisplay",
]
