"""Drawing: the palette, and plain figures with a headline, drawn with Agg."""

import os
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from features.basics.errors import unknown_name
from features.storage.files import atomic_file
from qe.display.output_schemas import PLOT_FORMATS, PLOTS

# Okabe and Ito (2008), distinguishable with every common colour blindness.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
)  # fmt: skip
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
DASHES = ("-", "--", ":", "-.")
INK, GREY, PALE = "#222222", "#6B6B6B", "#E3E3E3"


_NO_DATES: dict[str, dict[str, str | None]] = {
    "png": {"Software": None}, "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}  # fmt: skip
# Papers want fonts that can be searched and edited (type 3 is refused by some); ids in SVG by no chance.
_SETTINGS: Any = {"svg.hashsalt": "qe", "svg.fonttype": "path", "pdf.fonttype": 42}


def save(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Writes a plot, atomically, of the kind that its name ends in (PNG, SVG, PDF); else a PNG.

    Next to a PNG, the kinds that QE_PLOTS names are written, such as `svg,pdf`.
    """
    ending = path.suffix.lower().removeprefix(".")
    kind = ending if ending in PLOT_FORMATS else "png"
    for each, place in ((kind, path), *((more, path.with_suffix(f".{more}")) for more in _extra_kinds(kind))):
        with atomic_file(place) as temporary, rc_context(_SETTINGS):
            figure.savefig(temporary, format=each, dpi=dpi, metadata=_NO_DATES[each])


def _extra_kinds(kind: str) -> list[str]:
    named = [name.strip().lower() for name in os.environ.get(PLOTS, "").split(",") if name.strip()]
    for name in named:
        if name not in PLOT_FORMATS:
            raise unknown_name("kind of plot", name, PLOT_FORMATS, location=PLOTS)
    return [name for name in named if name != "png"] if kind == "png" else []


def new_figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = new_figure(width, height)
    axes = figure.add_subplot()
    plain_axes(axes)
    return figure, axes


def plain_axes(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.tick_params(colors=GREY, labelcolor=INK)
    axes.grid(True, color=PALE, linewidth=0.7)
    axes.set_axisbelow(True)


def headline(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(f"{title}\n", loc="left", fontsize=13, fontweight="bold", color=INK)
    axes.annotate(
        subtitle,
        (0, 1),
        (0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9.5,
        color=GREY,
    )


Place = Literal["upper left", "upper right", "lower right", "best"]


def legend(axes: Axes, place: Place, title: str | None = None) -> None:
    axes.legend(loc=place, title=title, fontsize=8.5, title_fontsize=8.5, framealpha=0.9, edgecolor="none")
