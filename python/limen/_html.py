# SPDX-License-Identifier: MIT
"""Tables for notebooks. Every text is escaped here and nowhere else; colours are those of the page, light or dark."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from limen import _words

_MOST_ROWS = 24
_LINE = "1px solid rgba(128,128,128,.35)"


class Cell:
    """A text of a table with small print after it, bold where it is what to look at."""

    def __init__(self, text: Any, small: Any = "", *, bold: bool = False) -> None:
        self.text, self.small, self.bold = text, small, bold

    def __html__(self) -> str:
        text = f"<b>{escape(self.text)}</b>" if self.bold else escape(self.text)
        return f'{text} <small style="white-space:nowrap">{escape(self.small)}</small>' if self.small else text


def escape(text: Any) -> str:
    """Any text as part of a page: nothing in it is markup, nothing hides what is printed."""
    return html.escape(_words.clean(text))


def figure(value: float | None, interval: Sequence[float] | None = None, digits: str = ".4f") -> Cell:
    """A figure with its interval in small print."""
    if value is None or value != value:
        return Cell("-")
    ends = _words.interval(interval, digits)
    return Cell(f"{value:{digits}}", "" if ends == "-" else f"[{ends}]")


def _row(cells: Iterable[Any], tag: str, text_columns: int) -> str:
    parts = []
    for at, cell in enumerate(cells):
        side = "left" if at < text_columns else "right"
        parts.append(
            f'<{tag} style="text-align:{side};padding:1px 8px">{cell.__html__() if isinstance(cell, Cell) else escape(cell)}</{tag}>'
        )
    return f"<tr>{''.join(parts)}</tr>"


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str = "", *, text_columns: int = 1) -> str:
    """A table whose first columns are text, to the left, and the others figures, to the right.

    Of very many rows those in the middle are left out, and it is said how many.
    """
    rows = list(rows)
    if len(rows) > _MOST_ROWS:
        end = _MOST_ROWS // 2 - 1
        rows = [*rows[:end], [f"... {len(rows) - 2 * end} more ..."], *rows[-end:]]
    top = f'<caption style="text-align:left;opacity:.75">{escape(caption)}</caption>' if caption else ""
    body = "".join(_row(row, "td", text_columns) for row in rows)
    return (
        f'<table style="border-collapse:collapse;margin:.4em 0;color:inherit;background:transparent">{top}'
        f'<thead style="border-bottom:{_LINE}">{_row(header, "th", text_columns)}</thead>'
        f"<tbody>{body}</tbody></table>"
    )


def block(decision: str, *parts: str, notes: Iterable[str] = ()) -> str:
    """A result: the decision in one sentence, then its tables, then notes in small print."""
    below = "".join(f'<p style="margin:.2em 0;opacity:.75"><small>{escape(note)}</small></p>' for note in notes if note)
    return (
        f'<div class="limen" style="color:inherit"><p style="margin:.2em 0"><b>{escape(_words.sentence(decision))}</b></p>'
        f"{''.join(parts)}{below}</div>"
    )
