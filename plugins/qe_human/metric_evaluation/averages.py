"""Metrics over several language pairs: average correlations, and how often each wins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from features.basics.errors import InputError
from features.basics.numerals import finite_or_none
from qe.display.numbers import number, percent
from qe.display.table import Column, Table
from qe_human.correlation import DIGITS, title_of
from qe_human.metric_evaluation.report import MetaReport


@dataclass(frozen=True)
class Average:
    """One metric by one correlation over several language pairs.

    scores    language pair -> correlation; NaN where it is undefined or the metric has no scores
    mean      over all pairs; NaN if one is undefined (findings of WMT 2012, Tables 7 to 10)
    better    share of all comparisons with another metric, by pair, that it wins (rank> of Popovic 2012)
    at_least  the same with ties as wins (rank>=)
    """

    metric: str
    scores: Mapping[str, float]
    mean: float
    better: float
    min_value: float

    def to_json(self) -> dict[str, Any]:
        shares = {"better": finite_or_none(self.better), "at_least": finite_or_none(self.min_value)}
        scores = {pair: finite_or_none(score) for pair, score in self.scores.items()}
        return {"mean": finite_or_none(self.mean), **shares, "scores": scores}


def averages(reports: Sequence[MetaReport]) -> dict[str, tuple[Average, ...]]:
    """Correlation -> its averages, best first, undefined ones last. Only correlations that all pairs have
    are averaged. Raises InputError if no correlation is in all reports, and if two reports have one name.
    """
    names = [report.name for report in reports]
    if len(set(names)) < len(names):
        raise InputError(f"a language pair is given twice: {', '.join(names)}", location="--pair")
    shared = [name for name in reports[0].results if all(name in report.results for report in reports)]
    if not shared:
        raise InputError("no correlation is possible for all language pairs")
    return {name: _averages(name, reports) for name in shared}


def _averages(name: str, reports: Sequence[MetaReport]) -> tuple[Average, ...]:
    metrics = list(dict.fromkeys(metric for report in reports for metric in report.metrics))
    known = [{average.name: average.score for average in report.results[name].metrics} for report in reports]
    scores = np.array([[pair.get(metric, np.nan) for pair in known] for metric in metrics])
    better, min_value = _shares(scores)
    pairs = [report.name for report in reports]
    averages = [
        Average(metric, dict(zip(pairs, map(float, row), strict=True)), float(row.mean()), *shares)
        for metric, row, *shares in zip(metrics, scores, better, min_value, strict=True)
    ]
    return tuple(sorted(averages, key=lambda average: (np.isnan(average.mean), -np.nan_to_num(average.mean))))


def _shares(scores: np.ndarray[Any, Any]) -> tuple[list[float], list[float]]:
    """(metrics, pairs) correlations -> shares of comparisons won, and shares not lost. NaN without any
    comparison.

    >>> _shares(np.array([[0.5, 0.5], [0.5, 0.4], [0.1, np.nan]]))
    ([0.6666666666666666, 0.3333333333333333, 0.0], [1.0, 0.6666666666666666, 0.0])
    """
    wins, ties, compared = (np.zeros(len(scores)) for _ in range(3))
    for a, b in permutations(range(len(scores)), 2):
        both = ~np.isnan(scores[a] + scores[b])
        wins[a] += (scores[a] > scores[b])[both].sum()
        ties[a] += (scores[a] == scores[b])[both].sum()
        compared[a] += both.sum()
    shares = [np.where(compared > 0, part / np.maximum(compared, 1), np.nan) for part in (wins, wins + ties)]
    return shares[0].tolist(), shares[1].tolist()


def averages_table(name: str, averages: Sequence[Average]) -> Table:
    """The metrics by one correlation: each language pair, the average, rank> and rank>=."""
    pairs = list(averages[0].scores)
    columns = [Column("metric"), *(Column(pair, drop=i) for i, pair in enumerate(pairs, start=1))]
    columns += [Column("average"), Column("rank>"), Column("rank>=")]
    rows = [
        (
            average.metric,
            *(number(score, DIGITS) for score in average.scores.values()),
            number(average.mean, DIGITS),
            percent(average.better),
            percent(average.min_value),
        )
        for average in averages
    ]
    note = "rank>: comparisons with another metric, by language pair, that are won; rank>=: not lost"
    return Table(f"{title_of(name)} over {len(pairs)} language pairs", columns, rows, [note])
