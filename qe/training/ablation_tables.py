"""Ablations and learning curves as tables."""

from qe.display.numbers import count, number, signed
from qe.display.table import Column, Table
from qe.evaluation.report_tables import p_cell
from qe.statistics.metric import METRICS
from qe.training import learning_curve
from qe.training.ablation import Ablation
from qe.training.learning_curve import LearningCurve

_METRICS = ("delta_avg", "mae", "spearman")


def ablation_tables(ablation: Ablation) -> list[Table]:
    """The subsets of features beside the reference, and the curve over training rows."""
    titles = [METRICS.get(metric).title for metric in _METRICS]
    columns = [Column("training rows"), *(Column(t, m) for t, m in zip(titles, _METRICS, strict=True))]
    rows = [
        [count(size), *(METRICS.get(m).shown(values[m]) for m in _METRICS)]
        for size, values in ablation.curve.items()
    ]
    return [subsets_table(ablation), Table("learning curve", columns, rows)]


def subsets_table(ablation: Ablation) -> Table:
    """The subsets of features; differences from the reference, if they were tested."""
    titles = [METRICS.get(metric).title for metric in _METRICS]
    columns = [Column("features"), Column("columns", drop=1), Column(titles[0], _METRICS[0])]
    columns += [Column("difference"), Column("p (Holm)", "p")]
    columns += [Column(titles[1], _METRICS[1], drop=2), Column(titles[2], _METRICS[2], drop=3)]
    return Table("", columns, [_row(ablation, name) for name in ablation.report.systems])


def _row(ablation: Ablation, name: str) -> list[str]:
    reference, scores = ablation.report.baselines[0], ablation.report.systems[name].metrics
    first, *others = (METRICS.get(metric).shown(scores[metric]) for metric in _METRICS)
    compared: list[str] = ["", ""]
    if ablation.report.comparisons and name != reference:
        pair = ablation.report.comparison(name, reference, _METRICS[0])
        compared = [signed(pair.result.difference), p_cell(pair)]
    return [name, count(ablation.sizes[name]), first, *compared, *others]


def curve_table(curve: LearningCurve, what: str) -> Table:
    """A row for each number of training rows: means of the draws, with intervals over segments."""
    columns = [Column("training rows")]
    columns += [Column(METRICS.get(m).title, m, drop=p) for p, m in enumerate(learning_curve.METRICS)]
    rows = [
        [
            count(size.rows),
            *(METRICS.get(m).shown(size.mean(m), size.interval(m)) for m in learning_curve.METRICS),
        ]
        for size in curve.sizes
    ]
    title = f"learning curve{what}; [95 % over segments], mean of the draws"
    return Table(title, columns, rows, [_slopes(curve)] if len(curve.sizes) > 1 else [])


def _slopes(curve: LearningCurve) -> str:
    slopes = (f"{m} {number(curve.percentage_slope(m), 1)} %" for m in learning_curve.ERRORS)
    return (
        f"percentage slope (Bertoldi et al. 2012): doubling the rows leaves {', '.join(slopes)} of the error"
    )
