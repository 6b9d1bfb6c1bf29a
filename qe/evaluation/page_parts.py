"""Parts of report pages: errors by band, plots, segments."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from features.basics.array_types import FloatArray
from qe.data.dataset import LabelScale
from qe.display.drawing import BLUE, VERMILLION, canvas, headline, legend
from qe.display.numbers import count, estimate, interval, number, signed
from qe.display.table import Column, Table
from qe.evaluation.plots import scale_label
from qe.statistics.bootstrap import bootstrap_scores
from qe.statistics.intervals import percentile_interval

BANDS = 5


@dataclass(frozen=True)
class Band:
    """Segments with a value from `low` to `high`: number, mean absolute error (95 % interval), mean error."""

    low: float
    high: float
    n: int
    mae: float
    ci: tuple[float, float]
    bias: float


def error_bands(
    values: FloatArray, gold: FloatArray, predicted: FloatArray, *, bands: int = BANDS, samples: int = 1000
) -> list[Band]:
    """Bands with about equal numbers of the (n,) segments, by `values`; equal values share a band."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, bands + 1)[1:-1], method="higher"))
    places = np.searchsorted(edges, values, side="right")
    found = []
    for rows in (places == place for place in np.unique(places)):
        band, errors = values[rows], (predicted - gold)[rows]
        sizes = np.abs(errors)
        means = bootstrap_scores(sizes[:, None], lambda sums: sums[..., 0], samples=samples, seed=0)[0]
        ci = percentile_interval(means / len(sizes))
        limits = float(band.min()), float(band.max())
        found.append(Band(*limits, len(sizes), float(sizes.mean()), ci, float(errors.mean())))
    return found


def bands_table(title: str, bands: Sequence[Band], digits: int) -> str:
    columns = [Column("band"), Column("segments"), Column("mean absolute error", "mae")]
    rows = [
        [interval((b.low, b.high), digits), count(b.n), estimate(b.mae, b.ci), signed(b.bias)] for b in bands
    ]
    return Table(title, [*columns, Column("mean error", "bias")], rows).html()


def png(figure: Figure, dpi: int = 120) -> bytes:
    """The same figure gives the same bytes."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi, metadata={"Software": None})
    return stream.getvalue()


def errors_by_band(bands: Sequence[Band], name: str, label: str, digits: int) -> Figure:
    figure, axes = canvas(7.0, 3.9)
    places = np.arange(len(bands))
    values = np.array([band.mae for band in bands])
    reach = np.abs(np.array([band.ci for band in bands]).T - values)
    axes.errorbar(places, values, reach, fmt="o", color=BLUE, capsize=3)
    names = [f"{interval((band.low, band.high), digits)}\nn = {count(band.n)}" for band in bands]
    axes.set_xticks(places, names)
    axes.set(xlabel=label, ylabel="mean absolute error (label units)")
    axes.set_ylim(bottom=0)
    headline(axes, f"Error by {name}", "95 % bootstrap intervals; bands of about equal size")
    return figure


def score_distributions(scores: FloatArray, training: FloatArray | None, scale: LabelScale) -> Figure:
    figure, axes = canvas(7.6, 3.9)
    both = scores if training is None else np.concatenate([scores, training])
    bins = np.linspace(both.min(), both.max() + 1e-9, 31).tolist()
    filled: dict[str, Any] = {"color": BLUE, "alpha": 0.55}
    outline: dict[str, Any] = {"histtype": "step", "color": VERMILLION, "linewidth": 1.8}
    for name, values, style in (("this file", scores, filled), ("training", training, outline)):
        if values is not None:
            shares, label = np.full(len(values), 100 / len(values)), f"{name}, n = {len(values):,}"
            axes.hist(values, bins, weights=shares, label=label, **style)
    axes.set(xlabel=f"predicted {scale_label(scale)}", ylabel="% of the segments")
    legend(axes, "best")
    headline(axes, "Scores", f"median {number(np.median(scores), 2)}, mean {number(scores.mean(), 2)}")
    return figure


@dataclass(frozen=True)
class ShownSegment:
    """A segment of a page; facts, notes: (name, value); words: of the translation, with P(BAD)."""

    source: str | None
    target: str | None
    facts: Sequence[tuple[str, str]]
    notes: Sequence[tuple[str, str]] = ()
    words: Sequence[tuple[str, float]] = ()


def words_of(output: Mapping[str, Any]) -> list[tuple[str, float]]:
    tokens, bad = output.get("tokens"), output.get("bad")
    if isinstance(tokens, str) and isinstance(bad, str):
        tokens, bad = tokens.split(" "), [float(value) for value in bad.split()]
    if not isinstance(tokens, list) or not isinstance(bad, list) or len(tokens) != len(bad):
        return []
    return [(str(token), float(value)) for token, value in zip(tokens, bad, strict=True)]
