# SPDX-License-Identifier: MIT
"""Score and uncertainty in, a decision you can stand behind out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from limen import _core
from limen._bias import Bias, BiasSimulation, bias, correct_undersampling
from limen._boundary import Boundary, Evaluation, Holdout, Reviewed, ReviewEvaluation, Segment
from limen._calibration import (
    CalibrationCurve,
    CalibrationReport,
    CalibratorErrors,
    LevelIsotonic,
    calibration_report,
)
from limen._classes import ClassBoundaries, ClassFit, fit_classes
from limen._errors import InfeasibleError, NotCertifiableError
from limen._fit import Information, fit_boundary, informs
from limen._monitor import Monitor, MonitorReport
from limen._plan import Plan, PlannedTest, PlannedThreshold, plan
from limen._positivity import PositivityMap, positivity_map
from limen._report import Report, report
from limen._resample import (
    Bootstrap,
    PairedComparison,
    PairedDifference,
    ThresholdInterval,
    bootstrap,
    compare_boundaries,
)
from limen._studies import (
    Comparison,
    ExactPoint,
    Frontier,
    FrontierCurve,
    MethodSummary,
    SimulatedTable,
    Simulation,
    Trial,
    compare,
    frontier,
    simulate,
)
from limen._swaps import SwapCell, SwapColumn, SwapLevel, Swaps, SwapSet, SwapTest, swaps
from limen._sweep import Sweep, SweepCell, sweep

if TYPE_CHECKING:
    from limen import onnx as onnx
    from limen import uncertainty as uncertainty
    from limen._classifier import BoundaryClassifier as BoundaryClassifier
    from limen._display import BiasDisplay as BiasDisplay
    from limen._display import BoundaryDisplay as BoundaryDisplay
    from limen._display import CalibrationDisplay as CalibrationDisplay
    from limen._display import CalibrationLevelsDisplay as CalibrationLevelsDisplay
    from limen._display import FrontierDisplay as FrontierDisplay
    from limen._display import PositivityDisplay as PositivityDisplay
    from limen._display import SwapDisplay as SwapDisplay

__version__: str = _core.version

# Loaded when first asked for: these need scikit-learn or matplotlib, which the rest does not.
_LAZY = {
    "BiasDisplay": "limen._display",
    "BoundaryClassifier": "limen._classifier",
    "BoundaryDisplay": "limen._display",
    "CalibrationDisplay": "limen._display",
    "CalibrationLevelsDisplay": "limen._display",
    "FrontierDisplay": "limen._display",
    "PositivityDisplay": "limen._display",
    "SwapDisplay": "limen._display",
    "onnx": None,
    "uncertainty": None,
}

__all__ = [
    "Bias",
    "BiasSimulation",
    "Bootstrap",
    "Boundary",
    "CalibrationCurve",
    "CalibrationReport",
    "CalibratorErrors",
    "ClassBoundaries",
    "ClassFit",
    "Comparison",
    "Evaluation",
    "ExactPoint",
    "Frontier",
    "FrontierCurve",
    "Holdout",
    "InfeasibleError",
    "Information",
    "LevelIsotonic",
    "MethodSummary",
    "NotCertifiableError",
    "Report",
    "ReviewEvaluation",
    "Reviewed",
    "Segment",
    "PairedComparison",
    "PairedDifference",
    "Plan",
    "PlannedTest",
    "PlannedThreshold",
    "PositivityMap",
    "Monitor",
    "MonitorReport",
    "SimulatedTable",
    "Simulation",
    "SwapCell",
    "SwapColumn",
    "SwapLevel",
    "SwapSet",
    "SwapTest",
    "Swaps",
    "Sweep",
    "SweepCell",
    "ThresholdInterval",
    "Trial",
    "bias",
    "bootstrap",
    "calibration_report",
    "compare",
    "compare_boundaries",
    "correct_undersampling",
    "fit_boundary",
    "fit_classes",
    "frontier",
    "informs",
    "plan",
    "positivity_map",
    "report",
    "simulate",
    "swaps",
    "sweep",
    *_LAZY,
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'limen' has no attribute {name!r}")
    module = _LAZY[name]
    value = (
        importlib.import_module(f"limen.{name}") if module is None else getattr(importlib.import_module(module), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
