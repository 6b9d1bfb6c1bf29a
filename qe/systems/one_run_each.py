"""One run each: what single runs of two systems would have said, as data and as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from features.basics.numerals import finite_or_none
from qe.display.numbers import count, interval, number, p_value, percent
from qe.display.table import Column, Table
from qe.statistics.result import TestResult
from qe.systems.text_metric import title_of

CASES = ("unlucky", "median", "lucky")


@dataclass(frozen=True)
class ByNumber:
    """Differences of the means of `runs` runs of each system, over ways to choose them.

    opposite  share of them whose sign is not that of all runs together
    """

    runs: int
    median: float
    bounds: tuple[float, float]
    opposite: float


@dataclass(frozen=True)
class SingleRuns:
    """One system against the baseline by one metric.

    cases      name -> the runs of both (from 0), and their test: the worst run against the baseline's best
               (unlucky), both medians, the best against the worst (lucky)
    by_number  from one run on
    """

    system: str
    baseline: str
    metric: str
    cases: Mapping[str, tuple[tuple[int, int], TestResult]]
    by_number: tuple[ByNumber, ...]

    def to_json(self) -> dict[str, Any]:
        cases = {
            name: {
                "runs": list(runs),
                "difference": finite_or_none(item.difference),
                "p": finite_or_none(item.p),
            }
            for name, (runs, item) in self.cases.items()
        }
        named = {"system": self.system, "baseline": self.baseline, "metric": self.metric, "cases": cases}
        return {**named, "by_number_of_runs": [vars(item) for item in self.by_number]}


_PAIR = (Column("metric", once=True), Column("system", once=True), Column("minus", once=True))


def single_runs_tables(comparisons: Sequence[SingleRuns], level: float) -> list[Table]:
    """Tables of single runs, as in Clark et al. 2011.

    One run each, as in their Table 2; differences by the number of runs, as in their Figure 2; else no
    table.
    """
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
