"""Power of a comparison of two QE systems, by simulation: what a test set can show, and what size it needs.

Virtual test sets are drawn from pilot data, one system is made better by exactly the difference in question,
and the test is run on each (Card et al. 2020, With little power comes great responsibility).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.basics.threads import cores
from qe.display.numbers import NumberText, count, general, number
from qe.display.summary import Record
from qe.display.table import Column, Table
from qe.evaluation.evaluate import BUCKET_METRICS, json_name
from qe.statistics.comparisons import Comparisons, Scored
from qe.statistics.draws import Groups, Levels, group_index
from qe.statistics.metric import METRICS, ExchangedMetric, Metric, title_of
from qe.statistics.settings import PowerSettings, ResamplingSettings

DEFAULT_METRICS = BUCKET_METRICS
FEW_PILOTS = 100  # units of a pilot below which its variance is a rough guess
_GRID = (0.0, 0.5, 0.8, 1.0, 1.2, 1.6)
_NEAR = (0.2, 0.98)  # shares between which a probit line is fitted
_FEWEST = 4  # segments of a virtual test set
# Units of the largest test set that is simulated: beyond, a gain at a size is as easy to find as the gain
# times the root of the ratio of sizes is at this one.
_LARGEST = 500
_ROUNDS = 4
_WORST = -64.0  # share beyond which predictions are no longer moved away from the labels
_MAX_RATIO = 1e6  # of the gain that the pilot can show to the one in question
_PRECISION = 0.002  # of the share by which predictions move


@dataclass(frozen=True)
class Point:
    """Power at one size and one true difference.

    power         share of virtual test sets where the test finds the difference, with the right sign
    error         Monte-Carlo standard error of `power`
    exaggeration  mean found difference over the true one, where it was found (type M error); else NaN
    """

    size: int
    difference: float
    power: float
    error: float
    exaggeration: float


@dataclass(frozen=True)
class MetricPower:
    """Power by one metric; a difference is a gain if positive, for MAE too.

    detectable  the smallest gain that is found with the requested power; NaN if none is
    at_detectable  power at that gain, simulated afresh
    needed      units that the gain asked about needs; None if none was asked about
    """

    metric: str
    observed: float
    size: int
    detectable: float
    at_detectable: Point | None
    by_gain: Sequence[Point]
    gain: float = float("nan")
    needed: int | None = None
    by_size: Sequence[Point] = ()

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "metric": json_name(self.metric)}


@dataclass(frozen=True)
class PowerReport(Record):
    """All metrics, what the figures rest on, and what a reader must know of them."""

    metrics: Sequence[MetricPower]
    recipe: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def summary(self) -> Table:
        """What difference the test set can show, by metric."""
        return power_table(self)


def power(
    gold: FloatArray,
    system: FloatArray,
    baseline: FloatArray,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    size: int | None = None,
    gains: Mapping[str, float] | None = None,
    settings: PowerSettings | None = None,
    groups: Groups | None = None,
    progress: Progress = silent,
) -> PowerReport:
    """The gain of `system` over `baseline` that is found, and the size that a gain needs.

    gold, system, baseline  (n,) pilot data, oriented: higher is better. What counts is how alike the two
                            systems are, not which one is better
    size                    units of the test set in question; default: those of the pilot
    gains                   metric -> the gain to find the size for

    Raises InputError for unknown metrics, a pilot of fewer than 4 units or without a difference, gains that
    no predictions could have.
    """
    settings = settings or PowerSettings()
    gains = gains or {}
    chosen = {name: METRICS.get(name)() for name in map(METRICS.spelled, metrics)}
    gains = {METRICS.spelled(name): gain for name, gain in gains.items()}
    strangers = sorted(set(gains) - set(chosen))
    if strangers:
        raise InputError(f"a gain is given for '{strangers[0]}'", remedy=f"metrics: {', '.join(chosen)}")
    by_metric = []
    for name, metric in chosen.items():
        pilot = _Pilot.from_data(name, metric, gold, system, baseline, groups, settings)
        wanted = pilot.units if size is None else size
        if wanted < _FEWEST:
            raise InputError(f"a test set has at least {_FEWEST} segments, but got size {wanted}")
        smallest, curve = _detectable(pilot, wanted, progress)
        at_detectable = None if np.isnan(smallest) else pilot.point(wanted, smallest, 1, progress)
        item = MetricPower(name, pilot.gain(0.0), wanted, smallest, at_detectable, curve)
        if name in gains:
            needed, sizes = needed_units(pilot, gains[name], progress)
            item = replace(item, gain=gains[name], needed=needed, by_size=sizes)
        by_metric.append(item)
    units = len(gold) if groups is None else group_index(groups, len(gold))[1]
    recipe = {
        **asdict(settings),
        "samples": settings.permutations,
        "pilot": units,
        "unit": "segment" if groups is None else "group",
    }
    return PowerReport(by_metric, recipe, _notes(units, by_metric))


def pilot_error(scored: Scored, levels: Levels) -> tuple[float, float]:
    """Standard error of the difference of `own` and `other`, NaN if undefined, and its degrees of freedom.

    n - 1 for normal values, fewer with heavy tails: 2 n / (kurtosis - 1), by the variance of a sample
    variance. A planner that takes the variance for known promises too much. Source: Browne 1995.
    """
    from scipy.stats import kurtosis  # slow to load

    engine, (metric,) = Comparisons(scored, levels, ResamplingSettings(samples=0)), scored.metrics
    (influence,) = engine.jackknife_differences(("own", "other", metric))
    n = len(influence)
    heaviness = float(kurtosis(influence, fisher=False, bias=True)) if np.ptp(influence) > 0 else 3.0
    freedom = float(np.clip(2 * n / max(heaviness - 1, 1e-9), 1.0, n - 1.0))
    return float(np.sqrt((n - 1) ** 2 / n * np.var(influence))), freedom


def _notes(units: int, powers: Sequence[MetricPower]) -> list[str]:
    notes = []
    if units < FEW_PILOTS:
        notes.append(f"a pilot of {units}: its variance is a rough guess, and so are these figures")
    for item in powers:
        if max([item.size, item.needed or 0]) > _LARGEST:
            notes.append(
                f"{title_of(item.metric)}: simulated with {_LARGEST:,} units, and carried over by their root"
            )
        if np.isnan(item.detectable):
            notes.append(
                f"{title_of(item.metric)}: no possible gain is found with that power in {item.size} units"
            )
        if item.metric in ("large_error", "small_error"):
            notes.append(f"{title_of(item.metric)}: a share of so many segments moves in steps")
    return notes


@dataclass(frozen=True, eq=False)
class Draw:
    """A virtual test set: (n,) rows of the pilot, their groups, and the seed of its test."""

    rows: NDArray[np.int64]
    groups: Groups | None
    seed: int


@dataclass(frozen=True, eq=False)
class Pilot(ABC):
    """The data from which virtual test sets are drawn; `index` (n,) is the unit of each row."""

    name: str
    index: NDArray[np.int64]
    units: int
    error: float
    freedom: float
    settings: PowerSettings
    sign: float

    @abstractmethod
    def point(self, size: int, gain: float, stream: int, progress: Progress) -> Point:
        """Power for a true gain with test sets of that many units, simulated with one stream of draws."""

    def reaches(self, gain: float) -> bool:
        return True

    def draws(self, size: int, stream: int) -> list[Draw]:
        draws = []
        for simulation in range(self.settings.simulations):
            generator = np.random.default_rng([self.settings.seed, stream, simulation])
            chance = generator.chisquare(self.freedom) / self.freedom * (self.units - 1) / self.units
            units = generator.integers(0, self.units, max(_FEWEST, round(size * chance)))
            rows, groups = units, None
            if not self.plain:
                parts = [self.members[unit] for unit in units]
                rows, groups = np.concatenate(parts), np.repeat(np.arange(len(parts)), list(map(len, parts)))
            draws.append(Draw(rows, groups, int(generator.integers(2**31))))
        return draws

    def simulated(
        self, run: Callable[[Draw], float], draws: Sequence[Draw], size: int, gain: float, scale: float,
        progress: Progress,
    ) -> Point:  # fmt: skip
        """The power of a test on test sets; `run` gives the gain that the test finds, 0 if none."""
        count, stage = len(draws), f"{self.name}, {size:,} {'segments' if self.plain else 'groups'}"
        gains = np.empty(count)
        with ThreadPoolExecutor(cores()) as pool:
            for done, item in enumerate(pool.map(run, draws)):
                gains[done] = item
                progress(stage, done, count)
        hits = gains > 0
        share_found = float(hits.mean())
        error = float(np.sqrt(share_found * (1 - share_found) / count))
        beyond = float(gains[hits].mean() / (gain * scale)) if gain != 0 and hits.any() else float("nan")
        return Point(size, gain, share_found, error, beyond)

    def gain_found(self, scored: Scored, draw: Draw, exchange: str | None = None) -> float:
        """The gain that the test of a virtual test set finds, 0 if none."""
        settings = ResamplingSettings(samples=self.settings.permutations, seed=draw.seed, exchange=exchange)
        levels = Levels.from_groups(draw.groups, len(draw.rows))
        (result,) = Comparisons(scored, levels, settings).test("own", "other").values()
        gain = self.sign * result.difference
        return gain if result.p <= self.settings.threshold and gain > 0 else 0.0

    @property
    def plain(self) -> bool:
        return self.units == len(self.index)

    @cached_property
    def members(self) -> list[NDArray[np.int64]]:
        order = np.argsort(self.index, kind="stable")
        starts = np.searchsorted(self.index[order], np.arange(self.units + 1))
        return [order[first:last] for first, last in pairwise(starts)]

    def expected(self, size: int) -> float:
        """The gain that test sets of that many units detect, by the normal distribution."""
        reach = -ndtri(self.settings.threshold / 2) + ndtri(self.settings.power)
        return float(reach * self.error * np.sqrt(self.units / size))


@dataclass(frozen=True, eq=False)
class _Pilot(Pilot):
    metric: Metric
    gold: FloatArray
    system: FloatArray
    baseline: FloatArray
    ideal: FloatArray

    @classmethod
    def from_data(
        cls,
        name: str,
        metric: Metric,
        gold: FloatArray,
        system: FloatArray,
        baseline: FloatArray,
        groups: Groups | None,
        settings: PowerSettings,
    ) -> "_Pilot":
        index, units = group_index(np.arange(len(gold)) if groups is None else groups, len(gold))
        if units < _FEWEST:
            raise InputError(f"a pilot has at least {_FEWEST} segments (groups), but got {units}")
        if np.array_equal(system, baseline):
            raise InputError("the systems of the pilot do not differ", remedy="take a pair that differs")
        sides = {"own": system, "other": baseline}
        levels = Levels.from_groups(groups, len(gold))
        error, freedom = pilot_error(Scored.from_predictions(gold, sides, {name: metric}), levels)
        if np.isnan(error):
            raise InputError(f"{name} is undefined for the pilot", remedy="leave the metric out")
        if not error > 0:
            raise InputError(f"the systems of the pilot do not differ by {name}", remedy="leave it out")
        ideal = gold
        shifted, fixed = system, baseline
        if isinstance(metric, ExchangedMetric):
            shifted, fixed, ideal = (metric.on_common_scale(side) for side in (system, baseline, gold))
        sign = 1.0 if metric.higher_is_better else -1.0
        return cls(name, index, units, error, freedom, settings, sign, metric, gold, shifted, fixed, ideal)

    def moved(self, share: float) -> FloatArray:
        return self.system + share * (self.ideal - self.system)

    def gain(self, share: float) -> float:
        moved, other = (self.metric.score(self.gold, side) for side in (self.moved(share), self.baseline))
        return self.sign * (moved - other)

    def share_for(self, gain: float) -> float:
        low, high = -1.0, 1.0
        for _ in range(6):
            if self.gain(low) < gain:
                break
            low *= 2.0
        if not self.gain(low) < gain <= self.gain(high):
            return float("nan")
        for _ in range(50):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.gain(middle) < gain else (low, middle)
        return high

    def reaches(self, gain: float) -> bool:
        return not np.isnan(self.share_for(gain))

    def point(self, size: int, gain: float, stream: int, progress: Progress) -> Point:
        scale = float(np.sqrt(size / min(size, _LARGEST)))
        draws = self.draws(min(size, _LARGEST), stream)
        share = self._centred_share(gain * scale, draws)
        if np.isnan(share):
            return Point(size, gain, float("nan"), float("nan"), float("nan"))
        moved = self.moved(share)

        def run(draw: Draw) -> float:
            gold, sides = self.gold[draw.rows], {"own": moved[draw.rows], "other": self.baseline[draw.rows]}
            return self.gain_found(Scored.from_predictions(gold, sides, {self.name: self.metric}), draw)

        return self.simulated(run, draws, size, gain, scale, progress)

    def _centred_share(self, gain: float, draws: Sequence[Draw]) -> float:
        from scipy.optimize import brentq  # slow to load

        others = [self.metric.score(self.gold[d.rows], self.baseline[d.rows]) for d in draws]

        def lack(share: float) -> float:
            moved = self.moved(share)
            scores = [self.metric.score(self.gold[d.rows], moved[d.rows]) for d in draws]
            return self.sign * float(np.nanmean(np.subtract(scores, others))) - gain

        for reach in (1, 2, 4, 8):
            low, high = (self.share_for(gain + side * reach * self.error) for side in (-1, 1))
            low, high = (_WORST if np.isnan(low) else low), (1.0 if np.isnan(high) else high)
            if lack(low) < 0 <= lack(high):
                return float(brentq(lack, low, high, xtol=_PRECISION))
        return float("nan")


def _detectable(pilot: _Pilot, size: int, progress: Progress) -> tuple[float, list[Point]]:
    points: dict[float, Point] = {}
    guess = pilot.expected(size)
    for _ in range(_ROUNDS):
        for factor in _GRID:
            gain = factor * guess
            if gain not in points:
                points[gain] = pilot.point(size, gain, 0, progress)
        curve = sorted((p for p in points.values() if not np.isnan(p.power)), key=lambda p: p.difference)
        crossing = _crossing([p.difference for p in curve], [p.power for p in curve], pilot.settings.power)
        if not np.isnan(crossing):
            return crossing, curve
        guess *= _GRID[-1]
    return float("nan"), curve


def needed_units(pilot: Pilot, gain: float, progress: Progress) -> tuple[int | None, list[Point]]:
    if not gain > 0:
        raise InputError(f"the gain of {pilot.name} must be above 0, but got {gain:g}")
    if not pilot.reaches(gain):
        raise InputError(f"no predictions could be better by {gain:g} in {pilot.name} than the baseline is")
    points: dict[int, Point] = {}
    ratio = pilot.expected(pilot.units) / gain
    if ratio > _MAX_RATIO:
        raise InputError(
            f"a gain of {gain:g} in {pilot.name} needs over {_MAX_RATIO**2:g} times the pilot's segments",
            remedy="ask for a larger gain",
        )
    guess = pilot.units * ratio**2
    for _ in range(_ROUNDS):
        for factor in _GRID[1:]:
            size = max(_FEWEST, round(factor**2 * guess))
            if size not in points:
                points[size] = pilot.point(size, gain, 0, progress)
        curve = sorted(points.values(), key=lambda p: p.size)
        if curve[0].power >= pilot.settings.power:  # even the smallest test set is large enough
            return curve[0].size, curve
        root = _crossing([p.size**0.5 for p in curve], [p.power for p in curve], pilot.settings.power)
        if not np.isnan(root):
            return int(np.ceil(root**2)), curve
        guess *= _GRID[-1] ** 2
    return None, curve


def _crossing(places: Sequence[float], shares: Sequence[float], power: float) -> float:
    x, y = np.asarray(places), np.asarray(shares)
    if not len(y) or y.max() < power:
        return float("nan")
    near = (y >= _NEAR[0]) & (y <= _NEAR[1])
    if near.sum() >= 2 and y[near].min() < power < y[near].max():
        from scipy.stats import norm  # slow to load

        weights = norm.pdf(ndtri(y[near])) ** 2 / (y[near] * (1 - y[near]))
        slope, constant = np.polyfit(x[near], ndtri(y[near]), 1, w=np.sqrt(weights))
        if slope > 0:
            return float((ndtri(power) - constant) / slope)
    first = int(np.argmax(y >= power))
    if first == 0:
        return float(x[0])
    return float(np.interp(power, y[first - 1 : first + 1], x[first - 1 : first + 1]))


def power_table(report: PowerReport) -> Table:
    unit, asked = report.recipe["unit"], any(item.by_size for item in report.metrics)
    columns = [
        Column("Metric"), Column(f"gain seen in {count(report.metrics[0].size)} {unit}s", "detectable"),
        Column("power there"), Column("overstated", drop=1),
    ]  # fmt: skip
    columns += [Column("gain asked"), Column(f"{unit}s needed", "needed")] if asked else []
    rows = []
    for item in report.metrics:
        point, power, overstated = item.at_detectable, number(None), number(None)
        if point is not None:
            shown = f"{number(point.power)} ± {number(2 * point.error)}"
            power = NumberText(shown, value=point.power)
            overstated = NumberText(f"x {number(point.exaggeration, 2)}", value=point.exaggeration)
        smallest = number(item.detectable, METRICS.get(item.metric).digits + 1)
        sizes = [general(item.gain), count(item.needed)] if item.by_size else ["", ""]
        rows.append([title_of(item.metric), smallest, power, overstated, *(sizes if asked else ())])
    recipe = report.recipe
    among = f" among {recipe['comparisons']} comparisons" if recipe["comparisons"] > 1 else ""
    power_notes = [
        f"gain seen: found with power {recipe['power']:g} at level {recipe['level']:g}{among}; pilot of"
        f" {count(recipe['pilot'])} {unit}s; {count(recipe['simulations'])} virtual test sets a"
        f" point, {count(recipe['samples'])} exchanges each, seed {recipe['seed']}",
        "overstated: mean of the differences that are found there, over the true one",
        *(f"note: {note}" for note in report.notes),
    ]
    return Table("", columns, rows, power_notes)
