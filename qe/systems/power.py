"""How many segments the differences of a comparison need, by resampling its segments."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.progress import Progress, silent
from qe.display.numbers import count, number, probability, signed
from qe.display.table import Column, Table
from qe.evaluation.power import Pilot, Point, PowerSettings, needed_units, pilot_certainty
from qe.statistics.comparisons import Comparisons
from qe.statistics.family import Pair
from qe.statistics.levels import Levels, group_index
from qe.statistics.result import Measure
from qe.statistics.scored import Additive
from qe.statistics.settings import ResamplingSettings
from qe.systems.results import NeededSegments, SystemsComparison
from qe.systems.text_metric import title_of

POWER = 0.8
_SIMULATIONS = 200
_LARGEST = (
    20_000  # units of the largest test set that is simulated; the normal distribution gives larger ones
)


@dataclass(frozen=True, eq=False)
class _Systems(Pilot):
    sides: dict[str, FloatArray]
    measure: Measure
    sign: float
    exchange: str | None

    def point(self, size: int, gain: float, stream: int, progress: Progress) -> Point:
        return self.simulated(self._gain_in, self.draws(size, stream), size, gain, 1.0, progress)

    def _gain_in(self, draw: Any) -> float:
        scored = Additive({name: runs[:, draw.rows] for name, runs in self.sides.items()}, {"": self.measure})
        settings = ResamplingSettings(samples=self.settings.samples, seed=draw.seed, exchange=self.exchange)
        levels = Levels.from_groups(draw.groups, len(draw.rows))
        result = Comparisons(scored, levels, settings).test("own", "other")[""]
        gain = self.sign * result.difference
        return gain if result.p <= self.settings.threshold and gain > 0 else 0.0


def needed_segments(
    comparison: SystemsComparison, power: float = POWER, progress: Progress = silent
) -> list[NeededSegments]:
    """For each system and metric, how many segments the difference that is seen needs, by simulated tests."""
    sizes = comparison.recipe["families"]["comparisons"]
    return [
        _needed(comparison, pair, power, max(sizes.get(pair.family, 1), 1), progress)
        for pair in comparison.comparisons
    ]


def _needed(
    comparison: SystemsComparison, pair: Pair, power: float, comparisons: int, progress: Progress
) -> NeededSegments:
    level = comparison.settings.level
    samples = max(199, 10 * round(comparisons / level) - 1)
    settings = PowerSettings(power, level, comparisons, _SIMULATIONS, samples, comparison.settings.seed)
    measure, difference = comparison.measures[pair.metric], pair.result.difference
    sides = {
        name: comparison.statistics[system][:, :, measure.columns]
        for name, system in (("own", pair.system), ("other", pair.baseline))
    }
    segments = sides["own"].shape[1]
    groups = comparison.levels.single if comparison.levels.units else None
    index, units = group_index(np.arange(segments) if groups is None else groups, segments)
    measure = replace(measure, columns=slice(0, sides["own"].shape[2]))
    scored = Additive(sides, {"": measure})
    engine = Comparisons(scored, comparison.levels, ResamplingSettings(samples=0))
    (changes,) = engine.jackknife_differences(("own", "other", ""))
    error = float(np.sqrt((len(changes) - 1) ** 2 / len(changes) * np.var(changes)))
    entry = NeededSegments(pair.system, pair.baseline, pair.metric, difference, units, None)
    if not error > 0 or not abs(difference) > 0:
        return entry
    exchange = comparison.settings.exchange
    pilot = _Systems(
        title_of(pair.metric), index, units, error, pilot_certainty(changes), settings, sides, measure,
        float(np.sign(difference)), exchange,
    )  # fmt: skip
    expected = units * (pilot.expected(units) / abs(difference)) ** 2
    if expected > _LARGEST:
        return replace(entry, needed=int(np.ceil(expected)))
    needed, points = needed_units(pilot, abs(difference), progress)
    return replace(entry, needed=needed, by_size=tuple(points))


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
