"""Bands: how large the error is among segments of similar length, or of similar prediction."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from features.basics.array_types import FloatArray
from qe.display.numbers import count, estimate, interval, signed
from qe.display.table import Column, Table
from qe.statistics.bootstrap import bootstrap_scores
from qe.statistics.intervals import percentile_interval

BANDS = 5


@dataclass(frozen=True)
class Band:
    """Segments whose value lies from `low` to `high`, and their errors.

    Errors are the mean absolute error, its 95 % bootstrap interval, and the mean error (predicted -
    gold).
    """

    low: float
    high: float
    n: int
    mae: float
    ci: tuple[float, float]
    bias: float


def error_bands(
    by: FloatArray, gold: FloatArray, predicted: FloatArray, *, bands: int = BANDS, samples: int = 1000
) -> list[Band]:
    """Bands of about equally many of the (n,) segments, by the values `by`.

    Equal values share a band.
    """
    edges = np.unique(np.quantile(by, np.linspace(0, 1, bands + 1)[1:-1], method="higher"))
    place = np.searchsorted(edges, by, side="right")
    return [
        _band(by[rows], (predicted - gold)[rows], samples)
        for b in np.unique(place)
        if (rows := place == b).any()
    ]


def _band(values: FloatArray, errors: FloatArray, samples: int) -> Band:
    sizes = np.abs(errors)
    drawn = bootstrap_scores(sizes[:, None], lambda sums: sums[..., 0], samples=samples, seed=0)[0]
    ci = percentile_interval(drawn / len(sizes))
    return Band(
        float(values.min()), float(values.max()), len(sizes), float(sizes.mean()), ci, float(errors.mean())
    )


def bands_table(title: str, bands: Sequence[Band], digits: int) -> str:
    """The bands as an HTML table; `digits` are of their limits."""
    columns = [
        Column("band"),
        Column("segments"),
        Column("mean absolute error", "mae"),
        Column("mean error", "bias"),
    ]
    rows = [
        [
            interval((band.low, band.high), digits), count(band.n), estimate(band.mae, band.ci),
            signed(band.bias),
        ]
        for band in bands
    ]  # fmt: skip
    return Table(title, columns, rows).html()
