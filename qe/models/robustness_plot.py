"""Figure of robustness results."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from qe.display.drawing import BLUE, GREY, INK, ORANGE, PALE, canvas, headline
from qe.models.robustness import Robustness
from qe.models.robustness_table import title_of


def robustness_plot(robustness: Robustness) -> Figure:
    answers = list(robustness.answers)[::-1]
    figure, axes = canvas(8.0, 1.6 + 0.27 * len(answers))
    places = np.arange(len(answers))
    axes.barh(places, [answer.below for answer in answers], color=PALE, height=0.8)
    axes.barh(
        places, [answer.below for answer in answers], color=BLUE, height=0.34, label="below the original"
    )
    ends = np.array([answer.below_interval for answer in answers]).reshape(-1, 2).T
    axes.hlines(places, *ends, color=INK, linewidth=0.8)
    axes.plot(
        [answer.marked for answer in answers], places, "D", color=ORANGE, markersize=5, label="marked",
        clip_on=False,
    )  # fmt: skip
    axes.set_yticks(places, [title_of(answer.name) for answer in answers])
    for edge in (i for i in range(1, len(answers)) if answers[i].effect != answers[i - 1].effect):
        axes.axhline(edge - 0.5, color=GREY, linewidth=0.8)
    for i, answer in enumerate(answers):
        if i + 1 == len(answers) or answers[i + 1].effect != answer.effect:
            axes.annotate(
                answer.effect, (1.02, i), fontsize=8.5, color=GREY, va="center", annotation_clip=False
            )
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=2, frameon=False)
    headline(
        axes,
        "Perturbed translations",
        f"{robustness.rows:,} rows; destroyed ones should score below their original (95 % intervals)",
    )
    return figure
