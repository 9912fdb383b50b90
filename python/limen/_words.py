# SPDX-License-Identifier: MIT
"""Names and figures as people read them: one place for pictures, tables of notebooks and short texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

METHODS = {
    "st": "one threshold",
    "exact": "one threshold per level (exact)",
    "joint": "levels and thresholds together (joint)",
    "smooth": "smooth in score and uncertainty",
    "hr": "HR: score plus scaled uncertainty",
    "gmt": "GMT: each level by itself",
    "mist": "MIST: one threshold on isotonic rates",
    "ew-dpmt": "EW-DPMT: dynamic programme, equal bins",
    "vw-dpmt": "VW-DPMT: dynamic programme, any bins",
    "auto": "chosen on rows left out (auto)",
}
CALIBRATORS = {
    "raw": "score as it is (raw)",
    "tau": "corrected for undersampling (tau)",
    "evidence": "corrected by evidence",
    "ist": "isotonic on the score (IST)",
    "mist": "isotonic in each level (MIST)",
    "shrunken": "isotonic, levels drawn together (shrunken)",
}
IN_SAMPLE = "on the hold-out, in-sample"
"""Of figures on the very rows that a boundary was fitted on."""
DRAWN = "on the rows drawn"
"""Of figures on rows of which it is not known whether a boundary was fitted on them."""


def method(name: str) -> str:
    """A method in words; any other name as it is."""
    return METHODS.get(name, name)


def calibrator(name: str) -> str:
    """A column of a calibration report in words."""
    return CALIBRATORS.get(name, name)


def count(value: float) -> str:
    """A number of rows, or a sum of weights: ``12,345``, ``12.5``."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def rows(value: float) -> str:
    """``1 row``, ``12,345 rows``."""
    return f"{count(value)} row{'' if value == 1 else 's'}"


def many(value: int, noun: str) -> str:
    """``1 level``, ``3 levels``."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def share(value: float | None) -> str:
    """A precision, a recall, a rate: four digits, ``-`` where there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.4f}"


def interval(ends: Sequence[float] | None, digits: str = ".4f") -> str:
    """``0.8712 to 0.9312``, ``-`` where there is none."""
    if ends is None or any(end is None or math.isnan(end) for end in ends):
        return "-"
    return f"{ends[0]:{digits}} to {ends[1]:{digits}}"


def percent(level: float) -> str:
    """A confidence: ``95%``, ``99.9%``."""
    return f"{100 * level:.6g}%"


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def clean(text: Any) -> str:
    """Text of a file or a user without characters that are not printed; other spaces are spaces."""
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}"
        for letter in str(text)
    )


def shortened(text: Any, length: int = 40) -> str:
    """Cut in the middle, so that beginning and end are there."""
    text = clean(text)
    if len(text) <= length:
        return text
    tail = (length - 3) // 3
    return f"{text[: length - 3 - tail]}...{text[-tail:]}"


def apart(values: Iterable[float], least: int = 3) -> list[str]:
    """Numbers with as many digits as it takes to tell them apart."""
    values = [float(value) for value in values]
    distinct = len(set(values))
    digits = next((d for d in range(least, 17) if len({f"{value:.{d}g}" for value in values}) == distinct), 17)
    return [f"{value:.{digits}g}" for value in values]


def level_names(uncertainty_edges: Iterable[float]) -> list[str]:
    """The uncertainties of each level: ``below 0.2``, ``0.2 to 0.4``, ``0.4 and above``."""
    edges = apart(uncertainty_edges)
    if not edges:
        return ["all rows"]
    between = [f"{low} to {high}" for low, high in zip(edges, edges[1:], strict=False)]
    return [f"below {edges[0]}", *between, f"{edges[-1]} and above"]


def reached(precision: float, recall: float) -> str:
    """Both figures: ``precision 0.9012, recall 0.3456``."""
    return f"precision {share(precision)}, recall {share(recall)}"


def promised(boundary: Any) -> list[str]:
    """What is expected of a boundary in deployment and what is certified, a phrase for each that there is."""
    found = []
    if expected := boundary.expected:
        precision, recall = (interval(expected[name], ".3f") for name in ("precision", "recall"))
        found.append(f"expected: precision {precision}, recall {recall} (about 95%)")
    if guarantee := boundary.guarantee:
        found.append(certified(guarantee))
    return found


def certified(guarantee: dict[str, Any]) -> str:
    """``certified: precision >= 0.9 with confidence 95%``."""
    figure = guarantee["constraint"].replace("_", " ")
    relation = ">=" if figure in ("precision", "recall") else "<="
    return f"certified: {figure} {relation} {guarantee['bound']:g} with confidence {percent(guarantee['confidence'])}"
