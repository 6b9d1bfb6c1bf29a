"""Run figures as tables: systems by metrics, and differences from the baselines."""

from collections.abc import Mapping, Sequence
from typing import Any

from qe.display.numbers import interval, p_value, settings, signed
from qe.display.table import Column, Table
from qe.evaluation.evaluate import CLASS_METRICS
from qe.evaluation.pairs import json_name
from qe.statistics.metric import METRICS
from qe.statistics.result import LEVEL
from qe.training.summary import shown

SHOWN = ("delta_avg", "mae", "rmse", "pearson", "spearman")


def scores_table(
    title: str, section: Mapping[str, Any], metric: str, others: Sequence[str] = SHOWN, *, whole: bool = False
) -> Table:
    """Systems by metrics: the experiment's own first, with 95 % intervals.

    section  part of report.json: the figures of a split, or of folds
    metric   what the experiment is judged by
    others   metrics beside it; of labels of two classes those of classes
    whole    whether the other metrics have intervals, too
    """
    known = next(iter(section["systems"].values()))
    names = CLASS_METRICS if CLASS_METRICS[0] in known else others
    rest = [name for name in names if name != metric]
    columns = [Column("system"), _column(metric)]
    columns += [_column(m, drop=place) for place, m in enumerate(rest, start=1)]
    rows = []
    for system, scores in section["systems"].items():
        told = scores if whole else {key: value for key, value in scores.items() if key != "ci"}
        rows.append([system, shown(scores, metric), *(shown(told, name) for name in rest)])
    return Table(title, columns, rows)


def _column(metric: str, drop: int = 0) -> Column:
    kind = METRICS.get(metric)
    return Column(kind.title, metric, drop, about=kind.help)


def differences_table(section: Mapping[str, Any], system: str, metric: str) -> Table:
    """The differences of a system to every baseline, with corrected p-values."""
    kind = METRICS.get(metric)
    rows = [
        [
            one["baseline"], signed(one["difference"], kind.digits), interval(one["ci"], kind.digits),
            p_value(one["p_corrected"], LEVEL, one["undecided"]),
        ]
        for one in section["comparisons"]
        if one["metric"] == json_name(metric) and one["system"] == system
    ]  # fmt: skip
    columns = [Column("against"), Column(kind.title, "difference"), Column("95 % interval", "interval")]
    title = "Differences to the baselines, with p-values corrected for their number"
    return Table(title, [*columns, Column("p")], rows)


def front_table(search: Mapping[str, Any]) -> Table:
    """The trials that no other beats on every objective, best by the first one first.

    search  the part of report.json
    """
    metrics = search["objective"]
    kinds = [METRICS.get(metric) for metric in metrics]
    sign = -1 if kinds[0].higher_is_better else 1
    pairs = list(zip(kinds, metrics, strict=True))
    rows = [
        [str(one["trial"]), *(kind.shown(one[metric]) for kind, metric in pairs), settings(one["params"])]
        for one in sorted(search["front"], key=lambda one: sign * one[metrics[0]])
    ]
    columns = [Column(kind.title, metric) for kind, metric in pairs]
    title = f"Pareto front; `--resume --trial N` fits another than {search['best_trial']}"
    return Table(title, [Column("trial"), *columns, Column("parameters", drop=1)], rows)
