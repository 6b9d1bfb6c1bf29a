"""Comparison of MT systems over optimizer replications: scores, instability, significance."""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from features.core.array_types import FloatArray
from features.core.errors import InputError
from features.core.files import digest
from features.core.packages import DISTRIBUTION, versions
from features.core.progress import Progress, silent
from qe.significance.bootstrap import Method, apart, beside, bootstrap_test
from qe.significance.buckets import BucketReport
from qe.significance.cautions import cautions
from qe.significance.corrections import CORRECTIONS, experimentwise_error
from qe.significance.equivalence import BY_BOOTSTRAP, Equivalence, one_sided, tost_bootstrap
from qe.significance.equivalence import judged as judged_equivalences
from qe.significance.family import Judged, Key, Rule, Scope, Table
from qe.significance.groups import Groups, group_sums
from qe.significance.instability import Instability, from_scores, spread
from qe.significance.intervals import (
    bca_interval,
    jackknife_interval,
    jackknife_scores,
    percentile_interval,
)
from qe.significance.levels import NAME as GROUP
from qe.significance.levels import Levels
from qe.significance.randomization import EXCHANGES, randomization_tests
from qe.significance.ranks import RankInterval, rank_intervals
from qe.significance.result import (
    Aggregate,
    Measure,
    Tail,
    TestResult,
    as_runs,
    at_every_level,
    check_enough,
    check_seed,
    check_tail,
)
from qe.systems.mt_metrics._base import TextMetric
from qe.systems.mt_metrics._texts import Texts
from qe.systems.segment_scores import SegmentScores

Test = Literal["ar", "bootstrap", "win-ratio", "shifted"]
Interval = Literal["percentile", "bca", "jackknife"]
Span = tuple[float, float]

# What a difference is claimed for, by unit of exchange.
CLAIMS = {
    "segment": "new segments, these runs",
    "segment-run": "these outputs only: these runs on these segments",
    "run": "new runs, these segments",
    "any": "these outputs only: all hypotheses of a segment alike",
}
_TOLD = (
    "test", "exchange", "samples", "tail", "exact", "units", "p_smallest", "p_error", "undecided",
)  # fmt: skip
_METHODS: dict[str, Method] = {"bootstrap": "centred", "win-ratio": "win-ratio", "shifted": "shifted"}
_SAMPLES = 10_000


@dataclass(frozen=True)
class ResamplingSettings:
    """How systems are compared.

    test        ar: approximate randomization; bootstrap (centred), win-ratio, shifted: paired bootstrap
    exchange    unit of exchange of `ar`, which is the claim (`CLAIMS`); several, joined by +, must all show a
                difference; None: segment, for new segments
    samples     shuffles, and virtual test sets of the bootstrap; None: 10,000, or what the comparisons need
    correct     none, bonferroni, holm, bh: over each `family` of comparisons (qe.significance.family)
    interval    kind of the bootstrap intervals
    """

    test: Test = "ar"
    exchange: str | None = None
    samples: int | None = None
    seed: int = 1
    tail: Tail = "two-sided"
    correct: str = "holm"
    family: Scope = "metric"
    interval: Interval = "percentile"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        _known("test", self.test, get_args(Test))
        _known("interval", self.interval, get_args(Interval))
        _known("correction", self.correct, CORRECTIONS)
        Rule(self.family)
        for unit in self.exchanges:
            _known("exchange", unit, EXCHANGES)
        check_tail(self.tail)
        if self.samples is not None:
            check_enough(self.samples)
        if not 0 < self.confidence < 1:
            raise InputError(f"0 < confidence < 1 must hold, but got {self.confidence}")
        check_seed(self.seed)

    @property
    def exchanges(self) -> tuple[str, ...]:
        """The units of exchange, one or several."""
        return tuple(dict.fromkeys((self.exchange or "segment").split("+")))


@dataclass(frozen=True, eq=False)
class System:
    """The output of one system: one column of n segments per optimizer run.

    dev          its runs on a development set
    dev_scores   or, metric name -> scores of the runs there
    score_files  name of a `SegmentScores` metric -> a column of n scores per run
    """

    name: str
    runs: tuple[Texts, ...]
    dev: tuple[Texts, ...] = ()
    dev_scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    score_files: Mapping[str, tuple[Texts, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SystemScore:
    """One system by one metric, in units of the metric; `ci` is the bootstrap interval of the mean."""

    instability: Instability
    ci: Span
    drawn: FloatArray  # (samples,) mean over runs on each virtual test set

    def to_json(self) -> dict[str, Any]:
        values = asdict(self.instability)
        order = ("mean", "runs", "pooled", "s_sel", "s_test", "s_dev")
        return {
            **{name: _plain(values[name]) for name in order},
            "ci": _plain(self.ci),
            "median_run": self.instability.median_run,
        }


@dataclass(frozen=True)
class Compared:
    """One system against the baseline by one metric; the difference and its `ci` are of pooled scores.

    others       unit of exchange -> the result of the same test for that other claim, if there are several
                 runs
    equivalence  whether they differ by less than a margin; None for a metric without one
    """

    system: str
    baseline: str
    metric: str
    result: TestResult
    p_corrected: float
    ci: Span
    others: Mapping[str, TestResult] = field(default_factory=dict)
    equivalence: Equivalence | None = None

    def to_json(self) -> dict[str, Any]:
        content = self.result.to_json()
        return {
            "system": self.system,
            "baseline": self.baseline,
            "metric": self.metric,
            "difference": content["difference"],
            "p": content["p"],
            "p_corrected": _plain(self.p_corrected),
            "ci": _plain(self.ci),
            **{name: content[name] for name in _TOLD},
            "other_claims": {unit: other.to_json()["p"] for unit, other in self.others.items()},
            "equivalence": None if self.equivalence is None else self.equivalence.to_json(),
        }


@dataclass(frozen=True, eq=False)
class SystemsComparison:
    """What `compare` found.

    scores       system -> metric -> score
    comparisons  every other system against the baseline, by every metric
    statistics   system -> (runs, n, k) statistics; measures: metric -> its columns and aggregation
    settings     how they were compared, with the number of samples that were drawn
    levels       what segments belong to: the units that were exchanged and drawn
    ranks        metric -> system -> how good and how bad its rank can be; empty unless asked for
    buckets      the same comparisons in buckets of segments; None unless asked for
    """

    recipe: dict[str, Any]
    metrics: Mapping[str, TextMetric]
    measures: Mapping[str, Measure]
    systems: tuple[System, ...]
    references: tuple[Texts, ...]
    scores: Mapping[str, Mapping[str, SystemScore]]
    comparisons: tuple[Compared, ...]
    statistics: Mapping[str, FloatArray]
    settings: ResamplingSettings
    levels: Levels
    ranks: Mapping[str, Mapping[str, RankInterval]] = field(default_factory=dict)
    buckets: BucketReport | None = None

    def to_json(self) -> dict[str, Any]:
        """Recipe, systems and comparisons; None for what is undefined. `median_run` counts from 0."""
        return {
            "recipe": self.recipe,
            "systems": {
                name: {
                    metric: score.to_json() | {"signature": self.signature(metric)}
                    for metric, score in by_metric.items()
                }
                for name, by_metric in self.scores.items()
            },
            "comparisons": [
                compared.to_json() | {"signature": self.signature(compared.metric)}
                for compared in self.comparisons
            ],
            "ranks": {
                metric: {name: interval.to_json() for name, interval in of_metric.items()}
                for metric, of_metric in self.ranks.items()
            },
            "buckets": None if self.buckets is None else self.buckets.to_json(),
        }

    def signature(self, metric: str) -> str:
        """What the numbers by the metric rest on, as sacreBLEU writes it."""
        return self.metrics[metric].signature(len(self.references))

    def against_baseline(self, system: str, metric: str) -> Compared | None:
        """The comparison of one system by one metric; None for the baseline."""
        matching = (c for c in self.comparisons if (c.system, c.metric) == (system, metric))
        return next(matching, None)

    def segment_scores(self, system: str, metric: str) -> FloatArray:
        """(runs, n) scores of single segments."""
        columns = self.measures[metric].columns
        return np.stack(
            [self.metrics[metric].segment_scores(run[:, columns]) for run in self.statistics[system]]
        )


def compare(
    systems: Sequence[System],
    references: Sequence[Texts],
    metrics: Mapping[str, TextMetric],
    *,
    baseline: str | None = None,
    settings: ResamplingSettings | None = None,
    dev_references: Sequence[Texts] = (),
    groups: Groups | Mapping[str, Groups] | None = None,
    margins: Mapping[str, float] | None = None,
    ranks: bool = False,
    progress: Progress = silent,
) -> SystemsComparison:
    """Scores all systems and tests each against the baseline (default: the first).

    references  one or several columns of n segments
    metrics     name -> metric; all share the same shuffles and virtual test sets
    groups      (n,) group (document) of each segment: groups are exchanged and drawn whole; or several such
                columns by name, with each of which as the unit a difference must show
    margins     metric -> the difference of pooled scores below which two systems are equivalent
    ranks       whether to test all pairs, for rank intervals

    Raises InputError for columns of different length, no reference, empty reference lines, systems named
    twice, unknown names, statistics that are not finite.
    """
    settings = settings or ResamplingSettings()
    _check(systems, references, metrics)
    first = _baseline(systems, baseline)
    statistics, measures = _statistics(systems, references, metrics, progress)
    others = [system.name for system in systems if system.name != first]
    table = _table(others, first, statistics, metrics, settings)
    most = _all_pairs(statistics, metrics, settings) if ranks else table
    samples = settings.samples or max(table.resamples(_SAMPLES), most.resamples(_SAMPLES))
    settings = replace(settings, samples=samples)
    levels = Levels.of(groups, len(systems[0].runs[0]))
    if levels.crossed and settings.interval == "bca":
        raise InputError("BCa intervals take one kind of groups", remedy="use --interval percentile")
    drawn = draw(statistics, measures, samples, settings.seed, levels, progress)
    sampled = Sampled(statistics, measures, drawn, samples, settings, levels)
    scores = {
        system.name: {
            name: sampled.score(system.name, name, _dev_scores(system, name, metric, dev_references))
            for name, metric in metrics.items()
        }
        for system in systems
    }
    results: dict[Key, TestResult] = {}
    claims: dict[str, dict[str, dict[str, TestResult]]] = {}
    for done, other in enumerate(others):
        progress("testing", done, len(others))
        tested = sampled.tests(other, first)
        results |= {(other, first, metric): result for metric, result in tested.items()}
        claims[other] = sampled.other_claims(other, first)
    judged = table.judge(results)
    same = sampled.equivalences(judged, margins or {}, metrics)
    comparisons = tuple(
        Compared(
            *key,
            one.result,
            one.p_corrected,
            sampled.interval_of_difference(*key),
            {unit: table.answered(key, tested[key[2]]) for unit, tested in claims[key[0]].items()},
            same.get(key),
        )
        for key, one in judged.items()
    )
    recipe = _recipe(systems, references, metrics, first, settings, levels, table, judged)
    ranges = sampled.ranks(metrics, progress) if ranks else {}
    return SystemsComparison(
        recipe, metrics, measures, tuple(systems), tuple(references), scores, comparisons, statistics,
        settings, levels, ranges,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Bootstrap scores of one system by one metric: (runs, samples) and, pooled, (samples,); s_sel.

    NaN with one unit of any level: every virtual test set is the real one, and says nothing of the spread.
    """

    runs: FloatArray
    pooled: FloatArray
    s_sel: float


@dataclass(frozen=True, eq=False)
class Sampled:
    """All statistics, and the virtual test sets that systems and metrics share (`draw`)."""

    statistics: Mapping[str, FloatArray]
    measures: Mapping[str, Measure]
    drawn: Mapping[tuple[str, str], _Drawn]
    samples: int
    settings: ResamplingSettings
    levels: Levels

    def score(self, system: str, metric: str, dev_scores: FloatArray | None) -> SystemScore:
        runs, aggregate = self._runs(system, metric), self.measures[metric].aggregate
        drawn = self.drawn[system, metric].runs
        summary = replace(
            from_scores(runs, aggregate, drawn, dev_scores), s_sel=self.drawn[system, metric].s_sel
        )
        mean: FloatArray = drawn.mean(axis=0)

        def left_out(groups: Groups | None) -> FloatArray:
            units = group_sums(runs, groups)
            scores: FloatArray = np.mean([jackknife_scores(run, aggregate) for run in units], axis=0)
            return scores

        return SystemScore(summary, self._interval(mean, summary.mean, left_out), mean)

    def tests(self, system: str, baseline: str) -> dict[str, TestResult]:
        """Metric -> test of the difference of pooled scores."""
        settings = self.settings
        if settings.test == "ar":
            return self._exchanged(system, baseline, settings.exchanges)
        return {
            metric: bootstrap_test(
                self.drawn[system, metric].pooled, self.drawn[baseline, metric].pooled,
                self._difference(system, baseline, metric), method=_METHODS[settings.test],
                tail=settings.tail, resampled=" and ".join(name for name, _ in self.levels.each()),
                units=self._differing(system, baseline, metric),
            )
            for metric in self.measures
        }  # fmt: skip

    def _exchanged(self, system: str, baseline: str, exchanges: Sequence[str]) -> dict[str, TestResult]:
        """Metric -> the largest p of all units of exchange, and of all levels of groups."""
        a, b = self.statistics[system], self.statistics[baseline]
        by_level = []
        for unit in exchanges:
            for name, groups in [("run", None)] if unit == "run" else self.levels.each():
                by_metric = randomization_tests(
                    a, b, self.measures, exchange=unit, samples=self.samples,  # type: ignore[arg-type]
                    seed=self.settings.seed, tail=self.settings.tail, groups=groups,
                )  # fmt: skip
                by_level.append(
                    {m: replace(r, exchange=r.exchange.replace(GROUP, name)) for m, r in by_metric.items()}
                )
        return {metric: at_every_level([results[metric] for results in by_level]) for metric in self.measures}

    def other_claims(self, system: str, baseline: str) -> dict[str, dict[str, TestResult]]:
        """Unit of exchange that was not asked for -> metric -> result; nothing for one run each."""
        runs = [len(self.statistics[name]) for name in (system, baseline)]
        if self.settings.test != "ar" or max(runs) == 1:
            return {}
        units = ("segment", "segment-run", "run") if runs[0] == runs[1] else ("run",)
        others = [unit for unit in units if unit not in self.settings.exchanges]
        return {unit: self._exchanged(system, baseline, [unit]) for unit in others}

    def equivalences(
        self, judged: Mapping[Key, Judged], margins: Mapping[str, float], metrics: Mapping[str, TextMetric]
    ) -> dict[Key, Equivalence]:
        """Two one-sided tests of every comparison by a metric with a margin."""
        pairs = []
        for (system, baseline, metric), one in judged.items():
            if metric in margins:
                drawn = self.drawn[system, metric].pooled - self.drawn[baseline, metric].pooled
                tests = tost_bootstrap(one.result.difference, drawn, margins[metric])
                better = metrics[metric].higher_is_better
                pairs.append(
                    one_sided(
                        (system, baseline, metric), one.result.difference, margins[metric], tests,
                        BY_BOOTSTRAP, better,
                    )
                )  # fmt: skip
        different = {key: one.p_corrected for key, one in judged.items()}
        verdicts = judged_equivalences(pairs, different, self.settings.correct)
        return {(pair.system, pair.baseline, pair.metric): pair for pair in verdicts}

    def ranks(
        self, metrics: Mapping[str, TextMetric], progress: Progress
    ) -> dict[str, dict[str, RankInterval]]:
        """Rank intervals by every metric with a direction, from the tests of all pairs."""
        names = list(self.statistics)
        directed = {name: metric for name, metric in metrics.items() if metric.higher_is_better is not None}
        table = _all_pairs(self.statistics, directed, self.settings)
        pairs = list(combinations(names, 2))
        results: dict[Key, TestResult] = {}
        for done, (a, b) in enumerate(pairs):
            progress("ranking", done, len(pairs))
            results |= {(a, b, metric): r for metric, r in self.tests(a, b).items() if metric in directed}
        judged = table.judge(results)
        intervals = {}
        for metric, kind in directed.items():
            sign = 1.0 if kind.higher_is_better else -1.0
            gains = {
                key[:2]: (sign * one.result.difference, one.p_corrected)
                for key, one in judged.items()
                if key[2] == metric
            }
            drawn = {name: sign * self.drawn[name, metric].pooled for name in names}
            intervals[metric] = rank_intervals(names, gains, drawn, round(1 - self.settings.confidence, 12))
        return intervals

    def _differing(self, system: str, baseline: str, metric: str) -> int:
        """Units in which the runs together differ, of the level where these are fewest."""
        own, other = (self._runs(name, metric).sum(axis=0) for name in (system, baseline))
        sums = [group_sums((own - other)[None], groups)[0] for _, groups in self.levels.each()]
        return min(int((level != 0).any(axis=1).sum()) for level in sums)

    def interval_of_difference(self, system: str, baseline: str, metric: str) -> Span:
        drawn = self.drawn[system, metric].pooled - self.drawn[baseline, metric].pooled
        left_out = partial(self.difference_left_out, system, baseline, metric)
        return self._interval(drawn, self._difference(system, baseline, metric), left_out)

    def difference_left_out(
        self, system: str, baseline: str, metric: str, groups: Groups | None
    ) -> FloatArray:
        """Differences of pooled scores with each segment, or group, left out."""
        sides = [group_sums(self._runs(name, metric), groups).sum(axis=0) for name in (system, baseline)]
        own, other = (jackknife_scores(side, self.measures[metric].aggregate) for side in sides)
        return own - other

    def pooled(self, system: str, metric: str) -> float:
        """The score of all runs together."""
        return float(self.measures[metric].aggregate(self._runs(system, metric).sum(axis=(0, 1))))

    def _runs(self, system: str, metric: str) -> FloatArray:
        return self.statistics[system][..., self.measures[metric].columns]

    def _difference(self, system: str, baseline: str, metric: str) -> float:
        return self.pooled(system, metric) - self.pooled(baseline, metric)

    def _interval(
        self, drawn: FloatArray, observed: float, left_out: Callable[[Groups | None], FloatArray]
    ) -> Span:
        confidence = self.settings.confidence
        if self.settings.interval == "bca":
            return bca_interval(drawn, observed, left_out(self.levels.single), confidence)
        if self.settings.interval == "jackknife":
            return jackknife_interval(observed, [left_out(g) for _, g in self.levels.each()], confidence)
        return percentile_interval(drawn, confidence)


def _statistics(
    systems: Sequence[System],
    references: Sequence[Texts],
    metrics: Mapping[str, TextMetric],
    progress: Progress,
) -> tuple[dict[str, FloatArray], dict[str, Measure]]:
    """System -> (runs, n, k) statistics of all metrics side by side; metric -> its columns."""
    total = sum(len(system.runs) for system in systems)
    widths: list[int] = []
    by_name: dict[str, FloatArray] = {}
    done = 0
    for system in systems:
        runs = []
        for number, run in enumerate(system.runs):
            progress("scoring", done, total)
            parts = [
                metric.statistics(
                    system.score_files[name][number] if isinstance(metric, SegmentScores) else run, references
                )
                for name, metric in metrics.items()
            ]
            widths = [part.shape[1] for part in parts]
            runs.append(np.hstack(parts))
            run.forget()
            done += 1
        by_name[system.name] = as_runs(np.stack(runs), f"statistics of '{system.name}'")
    ends = np.cumsum([0, *widths])
    measures = {
        name: Measure(slice(int(ends[i]), int(ends[i + 1])), metric.aggregate)
        for i, (name, metric) in enumerate(metrics.items())
    }
    return by_name, measures


def _table(
    others: Sequence[str],
    baseline: str,
    statistics: Mapping[str, FloatArray],
    metrics: Mapping[str, TextMetric],
    settings: ResamplingSettings,
) -> Table:
    keys = [(other, baseline, metric) for other in others for metric in metrics]
    copies = [(o, baseline) for o in others if np.array_equal(statistics[o], statistics[baseline])]
    undirected = [name for name, metric in metrics.items() if metric.higher_is_better is None]
    return Table.of(keys, Rule(settings.family, settings.correct), copies=copies, undirected=undirected)


def _all_pairs(
    statistics: Mapping[str, FloatArray], metrics: Mapping[str, TextMetric], settings: ResamplingSettings
) -> Table:
    """The comparisons of all pairs, by the metrics that have a direction."""
    pairs = list(combinations(statistics, 2))
    directed = [name for name, metric in metrics.items() if metric.higher_is_better is not None]
    copies = [(a, b) for a, b in pairs if np.array_equal(statistics[a], statistics[b])]
    keys = [(a, b, metric) for a, b in pairs for metric in directed]
    return Table.of(keys, Rule(settings.family, settings.correct), copies=copies)


def draw(
    statistics: Mapping[str, FloatArray],
    measures: Mapping[str, Measure],
    samples: int,
    seed: int,
    levels: Levels,
    progress: Progress,
) -> dict[tuple[str, str], _Drawn]:
    """Bootstrap scores of every system and metric, all on the same virtual test sets."""
    drawn: dict[tuple[str, str], _Drawn] = {}
    for done, (name, runs) in enumerate(statistics.items()):
        progress("bootstrap", done, len(statistics))
        sums = apart(levels.sums(beside(runs), samples, seed), len(runs))
        units = None if levels.crossed else group_sums(runs, levels.single)
        for metric, measure in measures.items():
            part, aggregate = sums[..., measure.columns], measure.aggregate
            known = 1.0 if levels.smallest > 1 else np.nan
            scores = known * aggregate(part)
            spreads = [
                spread(scores[r])
                if units is None
                else _selection_spread(units[r][:, measure.columns], part[r], scores[r], aggregate)
                for r in range(len(runs))
            ]
            pooled = known * aggregate(part.sum(axis=0))
            drawn[name, metric] = _Drawn(scores, pooled, float(np.mean(spreads)))
    return drawn


def _selection_spread(units: FloatArray, sums: FloatArray, scores: FloatArray, aggregate: Aggregate) -> float:
    """Bootstrap standard deviation of one run's score, steadied by a control variate.

    The score is nearly linear in the sums; the variance of its linear part is known exactly, so the ratio of
    the drawn variances corrects what chance did to the draws. 10,000 samples then count like a million.
    Source: Efron and Tibshirani 1993, chapter 23.
    """
    plain = spread(scores)
    total = units.sum(axis=0)
    steps = np.diag(1e-4 * np.maximum(np.abs(total), 1))
    gradient = (aggregate(total + steps) - aggregate(total - steps)) / (2 * steps.diagonal())
    linear = spread(sums @ gradient)
    if not np.isfinite(gradient).all() or not linear > 0:
        return plain
    exact = float(np.sqrt(np.var(units @ gradient) * len(units)))
    return plain * exact / linear


def _dev_scores(
    system: System, name: str, metric: TextMetric, references: Sequence[Texts]
) -> FloatArray | None:
    """(runs,) scores on the development set; None if nothing is given."""
    if name in system.dev_scores:
        return np.asarray(system.dev_scores[name], np.float64)
    if not system.dev or isinstance(metric, SegmentScores):
        return None
    if not references and metric.needs_references:
        raise InputError(f"no references for the development runs of '{system.name}'")
    _check_lengths([*references, *system.dev])
    sums = np.stack([metric.statistics(run, references).sum(axis=0) for run in system.dev])
    return metric.aggregate(sums)


def _known(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(f"unknown {what} '{value}'", remedy=f"known: {', '.join(known)}")


def _check(systems: Sequence[System], references: Sequence[Texts], metrics: Mapping[str, TextMetric]) -> None:
    names = [system.name for system in systems]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"system named twice: {', '.join(twice)}", remedy="give all runs of a system at once"
        )
    if not systems:
        raise InputError("no system to score")
    for system in systems:
        if not system.runs:
            raise InputError(f"system '{system.name}' has no run")
    if not metrics:
        raise InputError("no metric to score by")
    if not references and any(metric.needs_references for metric in metrics.values()):
        raise InputError("no reference", remedy="give at least one reference file")
    for system in systems:
        _check_score_files(system, metrics)
    files = [column for system in systems for columns in system.score_files.values() for column in columns]
    _check_lengths([*references, *(run for system in systems for run in system.runs), *files])
    for reference in references:
        for number, line in enumerate(reference.lines, start=1):
            if not line.strip():
                raise InputError(
                    "empty reference", where=f"{reference.name}:{number}",
                    remedy="every segment needs a reference: complete the line or leave the segment out",
                )  # fmt: skip


def _check_score_files(system: System, metrics: Mapping[str, TextMetric]) -> None:
    for name, metric in metrics.items():
        if isinstance(metric, SegmentScores):
            files = system.score_files.get(name, ())
            if len(files) != len(system.runs):
                raise InputError(
                    f"'{system.name}' has {len(system.runs)} runs, but {len(files)} score files of {name}",
                    remedy="give one for each run of each system",
                )


def _check_lengths(columns: Sequence[Texts]) -> None:
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(f"{column.name} has {len(column)}" for column in columns)
        raise InputError(f"all files must have as many segments, but {counts}")
    if columns and len(columns[0]) == 0:
        raise InputError("no segments", where=columns[0].name)


def _baseline(systems: Sequence[System], name: str | None) -> str:
    names = [system.name for system in systems]
    if name is None:
        return names[0]
    if name not in names:
        raise InputError(f"unknown baseline '{name}'", remedy=f"systems: {', '.join(names)}")
    return name


def _recipe(
    systems: Sequence[System],
    references: Sequence[Texts],
    metrics: Mapping[str, TextMetric],
    baseline: str,
    settings: ResamplingSettings,
    levels: Levels,
    table: Table,
    judged: Mapping[Key, Judged],
) -> dict[str, Any]:
    segments = len(systems[0].runs[0])
    packages = (DISTRIBUTION, "numpy", "numba", "sacrebleu")
    family = table.to_json()
    sizes = levels.sizes()
    return {
        **asdict(settings),
        "exchange": "+".join(settings.exchanges) if settings.test == "ar" else None,
        "baseline": baseline,
        "segments": segments,
        "groups": min(sizes.values()) if levels.units else None,
        "units": sizes,
        "references": [column.name for column in references],
        "systems": {system.name: [run.name for run in system.runs] for system in systems},
        "fingerprints": {
            column.name: digest("\n".join(column.lines).encode())
            for column in (*references, *(column for system in systems for column in _columns(system)))
        },
        "score_files": {
            system.name: {
                name: [column.name for column in columns] for name, columns in system.score_files.items()
            }
            for system in systems
        },
        "metrics": {name: repr(metric) for name, metric in metrics.items()},
        "comparisons": len(judged),
        "families": family,
        "experimentwise_error": experimentwise_error(table.rule.level, len(judged)),
        "versions": {
            "python": platform.python_version(),
            **versions(*packages),
        },
        "notes": [*_notes(systems), *cautions(table, judged, levels)],
    }


def _columns(system: System) -> list[Texts]:
    """The texts of the runs, and their files of scores."""
    return [*system.runs, *(column for columns in system.score_files.values() for column in columns)]


def _notes(systems: Sequence[System]) -> list[str]:
    notes = []
    for system in systems:
        for run in system.runs:
            empty = sum(not line.strip() for line in run.lines)
            if empty:
                notes.append(f"{run.name} ({system.name}): {empty} empty translations, scored as they are")
    if any(len(system.runs) == 1 for system in systems):
        notes.append("a system with one run has no s_test: its p-values ignore optimizer instability")
    return notes


def _plain(value: Any) -> Any:
    """Numbers as JSON has them: None for NaN."""
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return None if value != value else value
