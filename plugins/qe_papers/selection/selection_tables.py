"""Tables of a selection of translations: scores with shares, tests, rankings of documents."""

from collections.abc import Sequence

from qe.display.numbers import count, estimate, interval, number, p_value, percent, signed
from qe.display.table import Column, Table
from qe.statistics.result import LEVEL
from qe.systems.text_metric import title_of
from qe_papers.selection.selection import Selection


def selection_tables(selection: Selection, metrics: Sequence[str]) -> list[Table]:
    """Scores and shares of every choice, and tests against the best system. Documents get a table if they
    were ranked.
    """
    tables = [scores_table(selection, metrics), _tests(selection)]
    return [*tables, _documents(selection)] if selection.documents else tables


def scores_table(selection: Selection, metrics: Sequence[str] | None = None) -> Table:
    """Scores of every choice by these metrics, or by all, and the shares of the systems in it."""
    metrics = list(next(iter(selection.scores.values()))) if metrics is None else metrics
    names = selection.translations.names
    columns = [Column("translations", "choice"), *(Column(title_of(metric), metric) for metric in metrics)]
    columns += [Column(f"of {name}", drop=place) for place, name in enumerate(names, start=1)]
    rows = []
    for row, scores in selection.scores.items():
        shares = selection.shares.get(row)
        taken = [""] * len(names) if shares is None else [percent(share) for share in shares]
        rows.append([row, *(number(scores[m], 2) for m in metrics), *taken])
    return Table("", columns, rows)


def _tests(selection: Selection) -> Table:
    title = f"against always taking {selection.best} (p corrected, documents exchanged whole)"
    columns = [Column("translations", "choice"), Column("metric"), Column("difference")]
    columns += [Column("95 % interval", "interval"), Column("p"), Column("p (bootstrap)", drop=1)]
    rows = [
        [
            one.system, title_of(one.metric), signed(one.result.difference, 2), interval(one.ci, 2),
            *(p_value(tested.p_corrected, LEVEL, tested.result.undecided) for tested in (one, other)),
        ]
        for one, other in zip(selection.comparisons, selection.bootstrap, strict=True)
    ]  # fmt: skip
    return Table(title, columns, rows)


def _documents(selection: Selection) -> Table:
    columns = [Column("translations", "choice"), Column("documents")]
    columns += [Column("r"), Column("rAcc[2]"), Column("DeltaAvg[2]")]
    rows = []
    for name, report in selection.documents.items():
        figures = ((report.pearson, 3), (report.ranking_accuracy, 3), (report.delta_avg, 2))
        told = [estimate(one.value, one.ci, digits) for one, digits in figures]
        rows.append([name, count(report.documents), *told])
    return Table("document BLEU", columns, rows)
