"""Plots of reports: errors by band, scores beside those of training."""

import io
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from features.basics.array_types import FloatArray
from qe.data.dataset import LabelScale
from qe.display.drawing import BLUE, VERMILLION, canvas, headline, legend
from qe.display.numbers import count, interval, number
from qe.evaluation.prediction_plots import scale_label
from qe.reports.bands import Band


def png(figure: Figure, dpi: int = 120) -> bytes:
    """The same figure gives the same bytes."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi, metadata={"Software": None})
    return stream.getvalue()


def errors_by_band(bands: Sequence[Band], name: str, what: str, digits: int) -> Figure:
    """Plot the mean absolute error with intervals by band.

    `what` is what the bands are of; `digits` are of their limits.
    """
    figure, axes = canvas(7.0, 3.9)
    places = np.arange(len(bands))
    values = np.array([band.mae for band in bands])
    reach = np.abs(np.array([band.ci for band in bands]).T - values)
    axes.errorbar(places, values, reach, fmt="o", color=BLUE, capsize=3)
    names = [f"{interval((band.low, band.high), digits)}\nn = {count(band.n)}" for band in bands]
    axes.set_xticks(places, names)
    axes.set(xlabel=what, ylabel="mean absolute error (label units)")
    axes.set_ylim(bottom=0)
    headline(axes, f"Error by {name}", "95 % bootstrap intervals; bands of about equal size")
    return figure


def score_distributions(scores: FloatArray, training: FloatArray | None, scale: LabelScale) -> Figure:
    """Plot how the (n,) scores lie, beside those of training rows.

    The model had not seen these rows when it predicted them.
    """
    figure, axes = canvas(7.6, 3.9)
    both = scores if training is None else np.concatenate([scores, training])
    bins = np.linspace(both.min(), both.max() + 1e-9, 31)
    shares = np.full(len(scores), 100 / len(scores))
    label = f"this file, n = {len(scores):,}"
    axes.hist(scores, bins.tolist(), weights=shares, color=BLUE, alpha=0.55, label=label)
    if training is not None:
        shares = np.full(len(training), 100 / len(training))
        label = f"training, n = {len(training):,}"
        axes.hist(training, bins.tolist(), weights=shares, histtype="step", color=VERMILLION, linewidth=1.8,
                  label=label)  # fmt: skip
    axes.set(xlabel=f"predicted {scale_label(scale)}", ylabel="% of the segments")
    legend(axes, "best")
    headline(axes, "Scores", f"median {number(np.median(scores), 2)}, mean {number(scores.mean(), 2)}")
    return figure
