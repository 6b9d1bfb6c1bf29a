"""Robustness as a table and as a plot."""

from itertools import groupby

import numpy as np
from matplotlib.figure import Figure

from qe.display import charts
from qe.display.numbers import NumberText, count, number, percent, signed
from qe.display.table import Column, Row, Table
from qe.models.robustness import Robustness


def robustness_table(robustness: Robustness) -> Table:
    columns = [
        Column("effect", once=True), Column("perturbation"), Column("rows", drop=2),
        Column("below", "below"), Column("drop", drop=1), Column("moved (sd)", "moved"),
        Column("best quarter", "best", drop=1), Column("unmarked", "unseen", drop=2), Column("marked"),
        Column("flagged", drop=1),
    ]  # fmt: skip
    rows: list[Row] = []
    for answer in robustness.answers:
        if rows and rows[-1] and rows[-1][0] != answer.effect:
            rows.append(())
        shares = (percent(value) for value in (answer.best, answer.unseen, answer.marked, answer.flagged))
        low, high = answer.below_interval
        below = f"{percent(answer.below)} [{percent(low)}, {percent(high)}]"
        moves = (below, signed(-answer.drop), number(answer.moved))
        rows.append((answer.effect, title_of(answer.name), count(answer.n), *moves, *shares))
    return Table("", columns, rows, _notes(robustness))


def title_of(name: str) -> str:
    return name.replace("_", " ")


def _notes(robustness: Robustness) -> list[str]:
    rows = f"{count(robustness.rows)} row{'s' * (robustness.rows != 1)}"
    if not robustness.answers:
        return [
            f"nothing was changed: of {rows} none scores above the lowest tenth and has what these "
            "kinds change; give more rows, or other kinds"
        ]
    mean, least, kind = robustness.below
    notes = [
        "below: rows that score below their original, with a 95 % interval; drop: change of the score, in "
        "label units; best quarter: rows that land among the best quarter of the originals, and those of "
        "them without a mark; "
        "flagged: rows in which `--flags` finds more than in the original",
        f"{rows}, of which those in the lowest tenth are left out; "
        f"{percent(robustness.marked)} of the originals are marked as outside",
    ]
    if kind:
        low, high = next(a.below_interval for a in robustness.answers if a.name == kind)
        notes.insert(
            0,
            f"destroyed translations score below their original in {percent(mean)} of rows, "
            f"least ({title_of(kind)}) in {percent(least)} [{percent(low)}, {percent(high)}]",
        )
    return notes


def destruction_note(robustness: Robustness) -> NumberText | str:
    return _notes(robustness)[0]


def robustness_plot(robustness: Robustness) -> Figure:
    answers = robustness.answers
    figure, (axes,) = charts.panels(8.0, 2.0 + 0.27 * len(answers))
    ends = 100 * np.array([answer.below_interval for answer in answers]).reshape(-1, 2)
    charts.bars(axes, [100 * answer.below for answer in answers], ends, label="below the original")
    marked, places = [100 * answer.marked for answer in answers], range(len(answers))
    axes.plot(marked, places, "D", color=charts.ORANGE, markersize=5, label="marked", clip_on=False)
    effects = [list(group) for _, group in groupby(answers, lambda answer: answer.effect)]
    charts.rows(axes, [title_of(answer.name) for answer in answers], effects)
    for group in effects:
        place = (102, answers.index(group[0]))
        axes.annotate(group[0].effect, place, fontsize=8.5, color=charts.GREY, annotation_clip=False)
    note = f"{robustness.rows:,} rows; destroyed ones should score below their original (95 % intervals)"
    charts.describe(axes, "Perturbed translations", note, xlim=(0, 100))
    charts.footnote(figure, "share of rows (%)")
    return figure
