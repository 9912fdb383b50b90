# SPDX-License-Identifier: MIT
"""Colours, axes, legends and texts that all displays share. matplotlib is imported when something is drawn."""

from __future__ import annotations

import inspect
import textwrap

import numpy as np

from limen import _words

# Colours of Okabe and Ito, which the colour-blind can tell apart; line styles tell them apart in grey.
_BLACK, _ORANGE, _SKY, _GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
_BLUE, _VERMILION, _PURPLE, _GREY = "#0072B2", "#D55E00", "#CC79A7", "#666666"
_DASHED, _DOTTED, _LONG = (0, (5, 1.5)), (0, (1, 1)), (0, (8, 2))
_DASH_DOT, _DASH_DOT_DOT = (0, (5, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1))

# One look for a method or a calibrator, wherever it is drawn.
STYLES = {
    "exact": {"color": _BLACK, "linestyle": "-"},
    "st": {"color": _VERMILION, "linestyle": _DASHED},
    "smooth": {"color": _GREEN, "linestyle": _DOTTED},
    "joint": {"color": _PURPLE, "linestyle": _DASH_DOT},
    "mist": {"color": _ORANGE, "linestyle": _DASH_DOT_DOT},
    "gmt": {"color": _SKY, "linestyle": _LONG},
    "hr": {"color": _BLUE, "linestyle": _DASHED},
    "ew-dpmt": {"color": _GREY, "linestyle": _DASH_DOT},
    "vw-dpmt": {"color": "#999999", "linestyle": _DOTTED},
    "auto": {"color": _BLACK, "linestyle": _DOTTED},
    "raw": {"color": _BLACK, "linestyle": "-"},
    "tau": {"color": _PURPLE, "linestyle": _DASH_DOT},
    "evidence": {"color": _BLUE, "linestyle": _LONG},
    "ist": {"color": _VERMILION, "linestyle": _DASHED},
    "shrunken": {"color": _GREEN, "linestyle": _DOTTED},
}
_OTHERS = (
    STYLES["exact"],
    STYLES["st"],
    STYLES["smooth"],
    STYLES["joint"],
    STYLES["mist"],
    STYLES["gmt"],
    STYLES["hr"],
)
TAKEN_IN, LEFT_OUT = _BLUE, _ORANGE
MARKERS = "os^Dv<>pP*X"
GUIDE = {"color": "0.55", "linewidth": 1, "linestyle": (0, (1, 2)), "zorder": 0}
FEW_ROWS = 10
"""A share of fewer rows than this is marked: it is hardly known."""
MANY_LEVELS = 6
"""Of more levels than this, curves have colours of a scale, thin lines, and a colour bar for a legend."""


def pyplot():
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("limen's displays need matplotlib: pip install matplotlib") from error
    return pyplot


def panels(ax, names, who, **figure):
    """The axes to draw on: as many as there are panels, or a single one for the first of them. None: a new figure."""
    if ax is None:
        plt = pyplot()
        _, made = plt.subplots(**{"ncols": len(names), "layout": "constrained", "squeeze": False, **figure})
        return list(made.ravel())
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) not in (1, len(names)):
        needed = f"one ({names[0]})" + (f" or {len(names)} ({', '.join(names)})" if len(names) > 1 else "")
        raise ValueError(f"{who}: {len(given)} axes, must be {needed}")
    return given


def one_or_all(axes):
    return axes[0] if len(axes) == 1 else np.array(axes, dtype=object)


def drawing(display, kwargs):
    """The keywords of ``display.plot``, taken out of kwargs."""
    known = inspect.signature(display.plot).parameters
    return {name: kwargs.pop(name) for name in list(kwargs) if name in known}


def merged(defaults, given, artist):
    """Keywords for an artist of matplotlib, those given over the defaults, whatever alias (``lw``) they come by."""
    from matplotlib import cbook

    return {**cbook.normalize_kwargs(defaults, artist), **cbook.normalize_kwargs(given or {}, artist)}


def line_style(defaults, given):
    from matplotlib.lines import Line2D

    return merged(defaults, given, Line2D)


def fill_style(defaults, given):
    from matplotlib.collections import PolyCollection

    return merged(defaults, given, PolyCollection)


def styles_of(names):
    """A look for each name: its own where it is that of a method, else one that is not taken yet."""
    taken, found = [], []
    for name in names:
        own = STYLES.get(name)
        if own is None or own in taken:
            free = [
                style for style in _OTHERS if style not in taken and style["color"] not in [t["color"] for t in taken]
            ]
            kept = [style for style in free if style not in [STYLES.get(other) for other in names]]
            own = (kept or free or _OTHERS)[0]
        taken.append(own)
        found.append(own)
    return found


def level_colors(count, cmap=None):
    """Even steps of a perceptually uniform map, its lightest end left out."""
    scale = pyplot().get_cmap("viridis" if cmap is None else cmap)
    return scale(np.linspace(0.0, 0.88, max(count, 2)))[:count]


def cool_map():
    """White to dark blue, even steps of lightness: prints in grey, and leaves warm colours to the lines."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "limen", ["#FFFFFF", "#D6E4F0", "#9DC3E0", "#5B9AC9", "#1F6CA8", "#0B3D6B"]
    )


def plain(text, length=48):
    """A name of a user as text of a figure: no mathematics, nothing unprintable, not endless, never left out of a legend."""
    text = _words.shortened(text, length).replace("$", r"\$")
    return " " + text if text.startswith("_") else text


def inches(ax):
    """Width and height before the layout, which makes them somewhat smaller."""
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def title(ax, *lines):
    """Title of an axes: what is shown, then what it comes to; long lines are broken."""
    width = max(36, int(16 * inches(ax)[0]))
    ax.set_title("\n".join(_wrapped(line, width) for line in lines if line), fontsize=9.5)


def _wrapped(text, width):
    return textwrap.fill(text, width, break_on_hyphens=False)


def quiet(ax):
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)


def _blank():
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none")


def legend(ax, handles=(), notes=(), *, where="inside", heading=None):
    """The legend of an axes: artists by their labels, then notes without a mark.

    where: "inside", in the freest corner; "below" the axes; "right" of it.
    """
    width = max(40, int(20 * inches(ax)[0] - 6)) if where == "below" else 48
    handles = list(handles)
    labels = [_wrapped(handle.get_label(), width) or " " for handle in handles]
    for note in notes:
        if note:
            handles.append(_blank())
            labels.append(_wrapped(note, width))
    if not handles:
        return None
    from matplotlib.transforms import ScaledTranslation

    place = {"loc": "best"}
    if where == "below":
        # Below the ticks' labels and the axis' own, whatever their sizes.
        sizes = ax.xaxis.label.get_fontsize() + max((text.get_fontsize() for text in ax.get_xticklabels()), default=10)
        down = ScaledTranslation(0, -(1.2 * sizes + 11) / 72, ax.figure.dpi_scale_trans)
        place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": ax.transAxes + down}
    elif where == "right":
        place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
    return ax.legend(
        handles, labels, title=heading, alignment="left", fontsize=8, title_fontsize=8, handlelength=2.8,
        frameon=where == "inside", framealpha=0.85, edgecolor="none", borderaxespad=0.3, **place,
    )  # fmt: skip


def bar(ax, mesh, label):
    """The colour bar of a map beside its axes."""
    drawn = ax.figure.colorbar(mesh, ax=ax, pad=0.02)
    drawn.set_label(label)
    drawn.outline.set_linewidth(0.5)
    return drawn


def level_bar(ax, colors, names, label):
    """A colour bar of levels, with their names: the legend of many curves."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    count = len(colors)
    scale = ScalarMappable(BoundaryNorm(np.arange(count + 1) - 0.5, count), ListedColormap(colors))
    drawn = bar(ax, scale, label)
    shown = np.unique(np.linspace(0, count - 1, min(count, 12)).round().astype(int))
    drawn.set_ticks(shown, labels=[names[at] for at in shown], fontsize=8)
    drawn.ax.tick_params(length=0)
    drawn.ax.minorticks_off()
    return drawn


def equal_cells(axis, set_scale, edges, ticks, labelled=None):
    """An axis on which all cells are equally wide; data coordinates stay values. labelled: where ticks may be; None: edges."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    at = np.arange(len(edges), dtype=np.float64)
    set_scale("function", functions=(lambda v: np.interp(v, edges, at), lambda v: np.interp(v, at, edges)))
    places = np.asarray(edges if labelled is None else labelled, dtype=np.float64)
    shown = places[np.unique(np.linspace(0, len(places) - 1, min(ticks, len(places))).round().astype(int))]
    axis.set_major_locator(FixedLocator(shown))
    axis.set_major_formatter(FixedFormatter(_words.apart(shown, 2)))
    axis.set_minor_locator(NullLocator())


def dark(mesh, value):
    """Whether the colour of a value wants white text."""
    red, green, blue, _ = mesh.cmap(mesh.norm(value))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5


def heat_map(ax, x, y, shares, rows, *, weighted=False, equal=True, cmap=None, mesh_kw=None, text_kw=None, vmax=1):
    """Shares of positives as a map of cells with edges x and y; hatched where there is no row.

    rows: of each cell. Where a cell has room for two lines of text, share and rows are written in it; cells of few rows
    have a dot. Gives the mesh, the texts, the dots (None: there are none) and notes for the legend.
    """
    from matplotlib.collections import QuadMesh
    from matplotlib.text import Text

    ax.set_facecolor("white")
    ax.patch.set(hatch="////", edgecolor="0.8")
    defaults = {"vmin": 0, "vmax": vmax, "edgecolors": "none", "rasterized": True}
    defaults["cmap"] = cool_map() if cmap is None else cmap
    mesh = ax.pcolormesh(x, y, np.ma.masked_invalid(shares), **merged(defaults, mesh_kw, QuadMesh))
    width, height = inches(ax)
    room = equal and 0.75 * width / shares.shape[1] > 0.24 and 0.8 * height / shares.shape[0] > 0.23
    # The middle of a cell as the axis shows it, which is not the mean of its edges on a quantile scale.
    middles = []
    for edges, axis in ((x, ax.xaxis), (y, ax.yaxis)):
        place = axis.get_transform().transform(np.asarray(edges, dtype=np.float64))
        middles.append(axis.get_transform().inverted().transform((place[1:] + place[:-1]) / 2))
    texts = []
    if room:
        for at in np.argwhere(np.isfinite(shares)):
            value, number = shares[tuple(at)], rows[tuple(at)]
            style = {
                "horizontalalignment": "center", "verticalalignment": "center", "fontsize": 6.5, "clip_on": True,
                "color": "white" if dark(mesh, value) else "black",
                "fontstyle": "italic" if number < FEW_ROWS and not weighted else "normal",
            }  # fmt: skip
            place = middles[0][at[1]], middles[1][at[0]]
            texts.append(ax.text(*place, f"{value:.2f}\n{short(number)}", **merged(style, text_kw, Text)))
    few = np.argwhere((rows > 0) & (rows < FEW_ROWS)) if not weighted else np.empty((0, 2), int)
    dots = None
    if len(few) and not room:
        dots = ax.scatter(
            middles[0][few[:, 1]], middles[1][few[:, 0]], s=7, marker="o", facecolor="white", edgecolor="0.2",
            linewidth=0.5, zorder=1.5, label=f"cell of fewer than {FEW_ROWS} rows",
        )  # fmt: skip
    unit = "weight" if weighted else "rows"
    filled = rows[rows > 0]
    notes = []
    if len(filled):
        notes.append(
            f"{_words.count(filled.sum())} {unit}; {short(filled.min())} to {short(filled.max())} in a cell"
            + ("" if (rows > 0).all() else "; hatched: no row")
        )
    if room:
        notes.append(
            f"in each cell: share of positives, {unit}" + (f" (italic: fewer than {FEW_ROWS})" if len(few) else "")
        )
    return mesh, texts, dots, notes


def short(number):
    """A number of rows in at most four letters or so."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= 10 * size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.4g}"


def level_curves(
    ax, curves, names, *, weighted=False, confidence=0.95, cmap=None, line_kw=None, fill_kw=None, colorbar=True
):
    """A curve with its band for each uncertainty level.

    curves: for each level ``x``, ``positivity``, ``low``, ``high`` and ``rows``. Marks have areas by rows and are hollow where
    rows are few. Of many levels the first, the middle and the last stand out, the first and the last have bands, and a colour
    bar takes the place of the legend. Gives
    lines, bands, marks, the colour bar (None: there is a legend) and notes for the legend.
    """
    colors = level_colors(len(curves), cmap)
    last = len(curves) - 1
    many = len(curves) > MANY_LEVELS
    most = max((curve["rows"].max() for curve in curves if len(curve["rows"])), default=1)
    lines, bands, marks = [], [], []
    few = False
    for at, (curve, name) in enumerate(zip(curves, names, strict=True)):
        x, rows = curve["x"], curve["rows"]
        full = not many or at in (0, last // 2, last)
        style = {"color": colors[at], "linewidth": 1.6 if full else 0.8, "alpha": 1 if full else 0.7}
        style["label"] = name if len(x) else f"{name} (no rows)"
        (line,) = ax.plot(x, curve["positivity"], **line_style(style, line_kw))
        lines.append(line)
        sparse = (rows < FEW_ROWS) & (not weighted)
        few |= bool(sparse.any())
        marks.append(
            ax.scatter(
                x,
                curve["positivity"],
                s=(6 + 30 * rows / most) if full else (1 + 5 * rows / most),
                marker=MARKERS[at % len(MARKERS)] if not many else "o",
                zorder=2.5,
                linewidth=0.8 if full else 0.4,
                edgecolor=[line.get_color()],
                facecolor=["white" if hollow else line.get_color() for hollow in sparse] if len(x) else "none",
            )
        )
        if many and at not in (0, last):
            continue
        low, high = curve["low"], curve["high"]
        if len(x) == 1:  # a band needs some width
            x, low, high = x + np.array([-0.5, 0.5]) * curve.get("width", 0.02), np.repeat(low, 2), np.repeat(high, 2)
        fill = fill_style({"color": line.get_color(), "alpha": 0.16, "linewidth": 0}, fill_kw)
        bands.append(ax.fill_between(x, low, high, **fill))
    unit = "weight" if weighted else "rows"
    notes = [
        f"band{' of the first and the last level' if many else 's'}: Wilson's {_words.percent(confidence)} interval",
        f"area of a mark: its {unit}, at most {short(most)}" + (f"; hollow: fewer than {FEW_ROWS}" if few else ""),
    ]
    drawn = level_bar(ax, colors, names, "uncertainty") if many and colorbar else None
    return lines, bands, marks, drawn, notes
