"""Plots of reports: errors by band, scores beside those of training."""

import io
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from features.basics.array_types import FloatArray
from qe.data.dataset import LabelScale
from qe.evaluation.plots import BLUE, VERMILLION, _canvas, _figure, _legend, _plain, _scale_label, _title
from qe.reports.bands import Band


def png(figure: Figure, dpi: int = 120) -> bytes:
    """The same figure gives the same bytes."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi, metadata={"Software": None})
    return stream.getvalue()


def errors_by_band(length: Sequence[Band], score: Sequence[Band], scale: LabelScale) -> Figure:
    """Mean absolute error with intervals, by words of the source and by prediction."""
    figure = _figure(9.6, 3.9)
    panels = figure.subplots(1, 2, sharey=True)
    whats = ("words in the source", f"predicted {_scale_label(scale)}")
    for axes, bands, what, form in zip(panels, (length, score), whats, ("{:.0f}", "{:.2f}"), strict=True):
        _plain(axes)
        places = np.arange(len(bands))
        values = np.array([band.mae for band in bands])
        reach = np.abs(np.array([band.ci for band in bands]).T - values)
        axes.errorbar(places, values, reach, fmt="o", color=BLUE, capsize=3)
        names = [f"{form.format(band.low)} to\n{form.format(band.high)}\nn = {band.n:,}" for band in bands]
        axes.set_xticks(places, names, fontsize=8)
        axes.set_xlabel(what)
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("mean absolute error (label units)")
    _title(panels[0], "Error by length", "95 % bootstrap intervals")
    _title(panels[1], "Error by prediction", "five bands of about equal size")
    return figure


def score_distributions(scores: FloatArray, training: FloatArray | None, scale: LabelScale) -> Figure:
    """How the (n,) scores lie, beside what the model predicted of training rows that it had not seen."""
    figure, axes = _canvas(7.6, 3.9)
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
    axes.set(xlabel=f"predicted {_scale_label(scale)}", ylabel="% of the segments")
    _legend(axes, "best")
    _title(axes, "Scores", f"median {np.median(scores):.2f}, mean {scores.mean():.2f}")
    return figure
