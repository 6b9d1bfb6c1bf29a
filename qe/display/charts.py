"""Charts: panels with titles and labels, five shapes to put on them, and their files, drawn with Agg."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from features.basics.array_types import FloatArray
from features.basics.errors import unknown_name
from features.storage.files import atomic_file
from qe.display.output_schemas import PLOT_FORMATS, PLOTS

# Okabe and Ito (2008), distinguishable with every common colour blindness.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
)  # fmt: skip
PALETTE: Final = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
INK, GREY, PALE = "#222222", "#6B6B6B", "#E3E3E3"
Place = Literal["upper left", "upper right", "lower right", "best"]
_DASHES = ("-", "--", ":", "-.")
_SIGNED = LinearSegmentedColormap.from_list("signed", [VERMILLION, "#FFFFFF", BLUE])
_CROWD = 3000  # points; more are drawn as a density
_NO_DATES: dict[str, dict[str, str | None]] = {
    "png": {"Software": None}, "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}  # fmt: skip
# Papers want fonts that can be searched and edited (type 3 is refused by some); ids in SVG by no chance.
_SETTINGS: Any = {"svg.hashsalt": "qe", "svg.fonttype": "path", "pdf.fonttype": 42}


def panels(
    width: float, height: float, rows: int = 1, columns: int = 1, **layout: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of so many inches, and its empty panels row by row; `layout` as of `Figure.subplots`."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    every: list[Axes] = figure.subplots(rows, columns, squeeze=False, **layout).ravel().tolist()
    for axes in every:
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(GREY)
        axes.tick_params(colors=GREY, labelcolor=INK, labelsize=9)
        axes.grid(True, color=PALE, linewidth=0.7)
        axes.set_axisbelow(True)
    return figure, every


def describe(
    axes: Axes,
    title: str,
    note: str = "",
    legend: Place | None = None,
    legend_title: str = "",
    **properties: Any,
) -> None:
    """Write the title with a note below it, the legend at its place, and properties such as `xlabel`."""
    axes.set(**properties)
    axes.set_title(f"{title}\n" if note else title, loc="left", fontsize=12, fontweight="bold", color=INK)
    axes.annotate(
        note, (0, 1), (0, 7), xycoords="axes fraction", textcoords="offset points", fontsize=9, color=GREY
    )
    if legend:
        axes.legend(loc=legend, title=legend_title, fontsize=8.5, title_fontsize=8.5, edgecolor="none")


def footnote(figure: Figure, text: str) -> None:
    """Write a line below all panels, and below it the legend of the first, if it has several entries."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if len(labels) < 2:
        figure.supxlabel(text, fontsize=8.5, color=GREY)
        return
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9, title=text,
        title_fontsize=9,
    )  # fmt: skip


def log_ticks(axes: Axes, ticks: Sequence[float]) -> None:
    """Make the x axis logarithmic, with exactly these ticks, written as plain numbers."""
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_xticks([], minor=True)


def rows(axes: Axes, names: Sequence[str], groups: Sequence[Sequence[object]] = ()) -> None:
    """Name the rows 0, 1, ... of the panel, the first at the top; lines stand between groups of rows."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    for end in np.cumsum([len(group) for group in groups])[:-1]:
        axes.axhline(end - 0.5, color=GREY, linewidth=0.8, linestyle=":")


def _reaches(values: ArrayLike, ends: ArrayLike) -> FloatArray:
    middle, (low, high) = np.asarray(values, np.float64), np.asarray(ends, np.float64).T
    reaches: FloatArray = np.maximum(np.stack([middle - low, high - middle]), 0)
    return np.nan_to_num(reaches)


def curve(
    axes: Axes, x: ArrayLike, y: ArrayLike, ends: ArrayLike | None = None, place: int = 0,
    *, bars: bool = False, **style: Any,
) -> None:  # fmt: skip
    """Draw y over x (n,), with intervals `ends` (n, 2) as a band or as bars, in the style of line `place`."""
    look: dict[str, Any] = {
        "color": PALETTE[place % len(PALETTE)], "linestyle": _DASHES[place // len(PALETTE) % len(_DASHES)],
        "linewidth": 1.6, "markersize": 4.5, **style,
    }  # fmt: skip
    if ends is not None and bars:
        axes.errorbar(x, y, _reaches(y, ends), capsize=2, elinewidth=1.2, **look)
        return
    if ends is not None:
        axes.fill_between(x, *np.asarray(ends).T, color=look["color"], alpha=0.15, linewidth=0)
    axes.plot(x, y, **look)


def forest(
    axes: Axes, values: ArrayLike, ends: ArrayLike, colours: Any = BLUE,
    *, filled: Sequence[bool] | None = None, shift: float = 0, label: str | None = None,
) -> None:  # fmt: skip
    """Draw a dot a row with its interval: values (n,), `ends` (n, 2); dots are hollow if not `filled`."""
    places = np.arange(np.size(values)) + shift
    every: Any = np.broadcast_to(colours, places.shape)
    faces = every if filled is None else np.where(filled, every, "white")
    axes.errorbar(values, places, xerr=_reaches(values, ends), fmt="none", ecolor=every, elinewidth=1.6)
    axes.scatter(values, places, 42, facecolors=faces, edgecolors=every, label=label, zorder=3)


def bars(
    axes: Axes, values: ArrayLike, ends: ArrayLike | None = None, *, texts: Sequence[str] = (),
    shift: float = 0, height: float = 0.66, colour: str = BLUE, label: str | None = None,
) -> None:  # fmt: skip
    """Draw a bar a row, with intervals `ends` (n, 2) or texts at its end."""
    lengths = np.nan_to_num(np.asarray(values, np.float64))
    places = np.arange(len(lengths)) + shift
    drawn = axes.barh(places, lengths, height, color=colour, label=label)
    if ends is not None:
        reach = _reaches(values, ends)
        axes.errorbar(lengths, places, xerr=reach, fmt="none", ecolor=INK, elinewidth=1, capsize=2)
    if texts:
        axes.bar_label(drawn, texts, padding=3, fontsize=7.5, color=INK)


def scatter(
    axes: Axes, x: FloatArray, y: FloatArray, limits: tuple[float, ...], margin: Axes | None = None
) -> None:
    """Draw points, or their density if there are many.

    `limits` of x and y are those of the density; its scale stands right of `margin`, which shares its row.
    """
    if len(x) <= _CROWD:
        alpha = 0.55 if len(x) <= 600 else 0.3
        axes.plot(x, y, "o", color=BLUE, alpha=alpha, markersize=4.5, mew=0, zorder=2)
        return
    low, high, bottom, top = limits
    density = axes.hexbin(
        x, y, gridsize=36, extent=(low, high, bottom, top), bins="log", mincnt=1, cmap="Blues", linewidths=0.1
    )
    row = [axes] if margin is None else [axes, margin]
    axes.figure.colorbar(density, ax=row, label="segments (log scale)", shrink=0.8)


def matrix(
    axes: Axes, names: Sequence[str], values: FloatArray, texts: Sequence[Sequence[str]], reach: float
) -> Any:
    """Draw values (n, n) from -reach (red) to reach (blue), grey if undefined, with a text in each cell."""
    axes.set_facecolor(PALE)
    image = axes.imshow(values, cmap=_SIGNED, vmin=-reach, vmax=reach, aspect="auto")
    for row, cells in enumerate(texts):
        for column, text in enumerate(cells):
            colour = "white" if abs(values[row, column]) > 0.62 * reach else INK
            axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    return image


def png(figure: Figure, dpi: int = 120) -> bytes:
    """The same figure gives the same bytes."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi, metadata=_NO_DATES["png"])
    return stream.getvalue()


def save(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Writes a plot, atomically, of the kind that its name ends in (PNG, SVG, PDF); else a PNG.

    Next to a PNG, the kinds that QE_PLOTS names are written, such as `svg,pdf`.
    """
    ending = path.suffix.lower().removeprefix(".")
    kind = ending if ending in PLOT_FORMATS else "png"
    places = {kind: path}
    named = [name.strip().lower() for name in os.environ.get(PLOTS, "").split(",") if name.strip()]
    for name in named:
        if name not in PLOT_FORMATS:
            raise unknown_name("kind of plot", name, PLOT_FORMATS, location=PLOTS)
        if kind == "png":
            places.setdefault(name, path.with_suffix(f".{name}"))
    for each, place in places.items():
        with atomic_file(place) as temporary, rc_context(_SETTINGS):
            figure.savefig(temporary, format=each, dpi=dpi, metadata=_NO_DATES[each])
