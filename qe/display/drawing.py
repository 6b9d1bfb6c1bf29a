"""Drawing: the palette, and plain figures with a headline; drawn with Agg, without pyplot's global state."""

from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from features.storage.files import atomic_file

# Okabe and Ito (2008), distinguishable with every common colour blindness.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
)  # fmt: skip
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
DASHES = ("-", "--", ":", "-.")
INK, GREY, PALE = "#222222", "#6B6B6B", "#E3E3E3"


def save(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Writes a PNG, atomically; the same figure gives the same bytes."""
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=dpi, metadata={"Software": None})


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
    """Only the lines that carry something."""
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
