"""What single runs would have given, and how many segments the differences need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.progress import Progress, silent
from qe.display.numbers import count, interval, number, p_value, percent, probability, signed
from qe.display.table import Column, Table
from qe.evaluation.power import Draw, Pilot, Point, needed_units, pilot_error
from qe.statistics.comparisons import Comparisons, Scored
from qe.statistics.draws import group_index
from qe.statistics.family import Pair
from qe.statistics.result import Measure, TestResult
from qe.statistics.settings import PowerSettings
from qe.systems.results import ByNumber, NeededSegments, SingleRuns, SystemsComparison
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
        for each in item.by_number_of_runs:
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
        runs = [len(comparison.scored.statistics[name]) for name in item.names]
        if directed and min(runs) > 1:
            instability = [comparison.scores[name][item.metric].instability for name in item.names]
            own, other = (np.asarray(each.runs) for each in instability)
            sign = 1 if comparison.metrics[item.metric].higher_is_better else -1
            worst = [int((sign * each).argmin()) for each in (own, other)]
            best = [int((sign * each).argmax()) for each in (own, other)]
            middle = instability[0].median_run, instability[1].median_run
            chosen = (worst[0], best[1]), middle, (best[0], worst[1])
            cases = {
                name: (places, _tested(comparison, item, places))
                for name, places in zip(CASES, chosen, strict=True)
            }
            numbers = tuple(_by_number(own, other, comparison.settings.seed))
            yield SingleRuns(item.system, item.baseline, item.metric, cases, numbers)


def _tested(comparison: SystemsComparison, item: Pair, runs: tuple[int, int]) -> TestResult:
    whole = comparison.scored
    statistics = {name: whole.statistics[name][run, None] for name, run in zip(item.names, runs, strict=True)}
    scored = Scored(statistics, {item.metric: whole.measures[item.metric]})
    return Comparisons(scored, comparison.levels, comparison.settings).tests([item.names])[item.key]


def _by_number(scores: FloatArray, baseline: FloatArray, seed: int) -> Iterator[ByNumber]:
    whole = scores.mean() - baseline.mean()
    for runs in range(1, min(len(scores), len(baseline)) + 1):
        left, right = (_means(each, runs, seed) for each in (scores, baseline))
        drawn = (left[:, None] - right).ravel()
        low, high = np.percentile(drawn, _RANGE)
        opposite = float(np.mean(np.sign(drawn) != np.sign(whole)))
        yield ByNumber(runs, float(np.median(drawn)), (float(low), float(high)), opposite)


def _means(scores: FloatArray, runs: int, seed: int) -> FloatArray:
    if comb(len(scores), runs) <= _DRAWS:
        return np.array([np.mean(some) for some in combinations(scores.tolist(), runs)])
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(scores, runs, replace=False).mean() for _ in range(_DRAWS)])


POWER = 0.8
_SIMULATIONS = 200
# Units of the largest test set that is simulated; the normal distribution gives larger ones.
_LARGEST = 20_000


@dataclass(frozen=True, eq=False)
class _Systems(Pilot):
    sides: dict[str, FloatArray]
    measure: Measure
    exchange: str | None

    def point(self, size: int, gain: float, stream: int, progress: Progress) -> Point:
        def run(draw: Draw) -> float:
            statistics = {name: runs[:, draw.rows] for name, runs in self.sides.items()}
            return self.gain_found(Scored(statistics, {"": self.measure}), draw, self.exchange)

        return self.simulated(run, self.draws(size, stream), size, gain, 1.0, progress)


def needed_segments(comparison: SystemsComparison, progress: Progress = silent) -> list[NeededSegments]:
    """For each system and metric, how many segments the difference that is seen needs, by simulated tests."""
    sizes, settings, entries = comparison.recipe["families"]["comparisons"], comparison.settings, []
    groups = comparison.levels.single if comparison.levels.units else None
    for pair in comparison.comparisons:
        comparisons, difference = max(sizes.get(pair.family, 1), 1), pair.result.difference
        samples = max(199, 10 * round(comparisons / settings.level) - 1)
        power = PowerSettings(
            power=POWER, level=settings.level, comparisons=comparisons, simulations=_SIMULATIONS,
            samples=samples, seed=settings.seed,
        )  # fmt: skip
        sides = {
            name: comparison.scored.runs(system, pair.metric)
            for name, system in (("own", pair.system), ("other", pair.baseline))
        }
        _, segments, width = sides["own"].shape
        index, units = group_index(np.arange(segments) if groups is None else groups, segments)
        measure = replace(comparison.scored.measures[pair.metric], columns=slice(0, width))
        error, freedom = pilot_error(Scored(sides, {"": measure}), comparison.levels)
        entry = NeededSegments(pair.system, pair.baseline, pair.metric, difference, units, None)
        if error > 0 and abs(difference) > 0:
            pilot = _Systems(
                title_of(pair.metric), index, units, error, freedom, power, float(np.sign(difference)), sides,
                measure, settings.exchange,
            )  # fmt: skip
            expected = units * (pilot.expected(units) / abs(difference)) ** 2
            if expected > _LARGEST:
                entry = replace(entry, needed=int(np.ceil(expected)))
            else:
                needed, points = needed_units(pilot, abs(difference), progress)
                entry = replace(entry, needed=needed, by_size=tuple(points))
        entries.append(entry)
    return entries


def needed_table(comparison: SystemsComparison) -> Table:
    rows = [
        (title_of(item.metric), item.system, item.baseline, signed(item.difference, 2), count(item.units),
         count(item.needed) if item.needed else number(None))
        for item in comparison.power
    ]  # fmt: skip
    unit = "groups" if comparison.levels.units else "segments"
    names = ("system", "minus", "difference", unit, f"{unit} needed")
    level = probability(comparison.settings.level)
    notes = [
        f"needed: to find the difference seen with power {POWER:g} at level {level}, corrected; "
        f"{_SIMULATIONS} virtual test sets a size, drawn from these {unit}, above {_LARGEST:,} the normal "
        "distribution; the true difference may be smaller"
    ]
    columns = [Column("metric", once=True), *map(Column, names)]
    return Table(f"{unit.capitalize()} that the differences need", columns, rows, notes)
