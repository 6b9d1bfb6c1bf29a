"""Single runs: what one run of each system would say, and how soon more settle it."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np

from features.basics.array_types import FloatArray
from qe.display.numbers import count, interval, number, p_value, percent
from qe.display.table import Column, Table
from qe.statistics.comparisons import Comparisons
from qe.statistics.family import Pair
from qe.statistics.result import TestResult
from qe.statistics.scored import Additive
from qe.systems.results import ByNumber, SingleRuns, SystemsComparison
from qe.systems.text_metric import title_of

CASES = ("unlucky", "median", "lucky")


_PAIR = (Column("metric", once=True), Column("system", once=True), Column("minus", once=True))


def single_runs_tables(comparisons: Sequence[SingleRuns], level: float) -> list[Table]:
    """Tables of single runs, as in Clark et al. 2011, Table 2 and Figure 2; else no table."""
    if not comparisons:
        return []
    cases, numbers = [], []
    for item in comparisons:
        pair = (title_of(item.metric), item.system, item.baseline)
        for name, ((own, other), result) in item.cases.items():
            told = number(result.difference, 2), p_value(result.p, level, result.undecided)
            cases.append([*pair, name, f"{own + 1} : {other + 1}", *told])
        for each in item.by_number:
            told = number(each.median, 2), interval(each.bounds, 2)
            numbers.append([*pair, count(each.runs), *told, percent(each.opposite)])
    case, runs, difference = Column("case"), Column("runs"), Column("difference")
    return [
        Table("One run each", [*_PAIR, case, runs, difference, Column("p")], cases),
        Table(
            "Differences by the number of runs",
            [*_PAIR, Column("runs"), Column("median"), Column("95 % of choices"), Column("other sign")],
            numbers,
        ),
    ]  # fmt: skip


_DRAWS = 2000  # of some of the runs, where there are more ways to choose them
_RANGE = (2.5, 97.5)


def single_runs(comparison: SystemsComparison) -> Iterator[SingleRuns]:
    """Compare single runs by each metric with a direction (Clark et al. 2011, Table 2 and Figure 2)."""
    for item in comparison.comparisons:
        directed = comparison.metrics[item.metric].higher_is_better is not None
        if directed and min(len(comparison.statistics[name]) for name in (item.system, item.baseline)) > 1:
            chosen = _case_runs(comparison, item)
            cases = {name: (runs, _tested(comparison, item, runs)) for name, runs in chosen.items()}
            numbers = tuple(_by_number(comparison, item))
            yield SingleRuns(item.system, item.baseline, item.metric, cases, numbers)


def _scores(comparison: SystemsComparison, system: str, metric: str) -> FloatArray:
    return np.asarray(comparison.scores[system][metric].instability.runs)


def _case_runs(comparison: SystemsComparison, item: Pair) -> dict[str, tuple[int, int]]:
    sign = 1 if comparison.metrics[item.metric].higher_is_better else -1
    own, other = (sign * _scores(comparison, name, item.metric) for name in (item.system, item.baseline))
    first, second = (
        comparison.scores[name][item.metric].instability.median_run for name in (item.system, item.baseline)
    )
    return dict(zip(CASES, (
        (int(own.argmin()), int(other.argmax())), (first, second), (int(own.argmax()), int(other.argmin())),
    ), strict=True))  # fmt: skip


def _tested(comparison: SystemsComparison, item: Pair, runs: tuple[int, int]) -> TestResult:
    pair = item.system, item.baseline
    statistics = {name: comparison.statistics[name][run, None] for name, run in zip(pair, runs, strict=True)}
    scored = Additive(statistics, {item.metric: comparison.measures[item.metric]})
    engine = Comparisons(scored, comparison.levels, comparison.settings)
    return engine.tests([pair])[*pair, item.metric]


def _by_number(comparison: SystemsComparison, item: Pair) -> Iterator[ByNumber]:
    own, other = (_scores(comparison, name, item.metric) for name in (item.system, item.baseline))
    whole = own.mean() - other.mean()
    for runs in range(1, min(len(own), len(other)) + 1):
        left, right = (_means(scores, runs, comparison.settings.seed) for scores in (own, other))
        drawn = (left[:, None] - right).ravel()
        low, high = np.percentile(drawn, _RANGE)
        opposite = float(np.mean(np.sign(drawn) != np.sign(whole)))
        yield ByNumber(runs, float(np.median(drawn)), (float(low), float(high)), opposite)


def _means(scores: FloatArray, runs: int, seed: int) -> FloatArray:
    if comb(len(scores), runs) <= _DRAWS:
        return np.array([np.mean(some) for some in combinations(scores.tolist(), runs)])
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(scores, runs, replace=False).mean() for _ in range(_DRAWS)])
