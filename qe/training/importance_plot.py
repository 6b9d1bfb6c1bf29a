"""Importance of features as a figure."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from features.basics.errors import InputError
from qe.display.drawing import (
    BLUE,
    INK,
    canvas,
    headline,
)


def feature_importance(
    names: Sequence[str],
    values: ArrayLike,
    spread: ArrayLike | None = None,
    top: int = 30,
    *,
    unit: str = "importance",
    spread_name: str = "± 1 standard deviation",
) -> Figure:
    """The `top` features of highest importance, highest first.

    values  (k,) importance per name; undefined ones are not drawn, and the subtitle counts them
    spread  (k,) half-length of each whisker, in the same unit
    unit    what the x axis says

    Raises InputError if names and values differ in number, or nothing is defined.
    """
    heights = np.asarray(values, np.float64)
    if len(names) != len(heights):
        raise InputError(
            f"every feature needs an importance, but got {len(names)} names, {len(heights)} values"
        )
    defined = np.flatnonzero(np.isfinite(heights))
    if not len(defined):
        raise InputError("no feature importance to plot")
    rows = defined[np.argsort(-heights[defined], kind="stable")][:top]
    figure, axes = canvas(8.0, 1.5 + 0.24 * max(len(rows), 4))
    place = np.arange(len(rows))
    axes.barh(place, heights[rows], height=0.66, color=BLUE)
    if spread is not None:
        whisker = np.nan_to_num(np.asarray(spread, np.float64)[rows])
        axes.errorbar(heights[rows], place, xerr=whisker, fmt="none", ecolor=INK, elinewidth=1, capsize=2)
    axes.axvline(0, color=INK, linewidth=1)
    axes.set_yticks(place, [names[i] for i in rows], fontsize=8.5)
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel=unit)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    shown = (
        f"top {len(rows)} of {len(names)} features" if len(rows) < len(names) else f"n = {len(rows)} features"
    )
    lost = len(names) - len(defined)
    note = (f" · {lost} undefined" if lost else "") + ("" if spread is None else f" · {spread_name}")
    headline(axes, "Feature importance", shown + note)
    return figure
