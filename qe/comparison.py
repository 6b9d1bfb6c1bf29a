"""Comparison of MT systems over optimizer replications: scores, instability, significance."""

import importlib.metadata
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from features.core.errors import InputError
from features.core.files import digest
from features.core.progress import Progress, silent
from features.core.tokens import FloatArray
from qe.mt_metrics._base import TextMetric
from qe.mt_metrics._texts import Texts
from qe.significance._sums import bootstrap_sums
from qe.significance.bootstrap import Method, apart, beside, bootstrap_test
from qe.significance.corrections import CORRECTIONS, correct, experimentwise_error
from qe.significance.groups import Groups, group_sums
from qe.significance.instability import Instability, from_scores, spread
from qe.significance.intervals import bca_interval, jackknife_scores, percentile_interval
from qe.significance.randomization import EXCHANGES, Exchange, randomization_tests
from qe.significance.result import Aggregate, Measure, Tail, TestResult, as_runs, check_samples, check_tail

Test = Literal["ar", "bootstrap", "win-ratio", "shifted"]
Interval = Literal["percentile", "bca"]
Span = tuple[float, float]

_METHODS: dict[str, Method] = {"bootstrap": "centred", "win-ratio": "win-ratio", "shifted": "shifted"}
_LEVEL = 0.05


@dataclass(frozen=True)
class Settings:
    """How systems are compared.

    test        ar: approximate randomization; bootstrap (centred), win-ratio, shifted: paired bootstrap
    exchange    unit of exchange of `ar`; None: segment-run
    samples     shuffles, and virtual test sets of the bootstrap
    correct     none, bonferroni, holm, bh: over all comparisons of the report (systems x metrics)
    interval    kind of the bootstrap intervals
    """

    test: Test = "ar"
    exchange: Exchange | None = None
    samples: int = 10_000
    seed: int = 1
    tail: Tail = "two-sided"
    correct: str = "holm"
    interval: Interval = "percentile"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        _known("test", self.test, get_args(Test))
        _known("interval", self.interval, get_args(Interval))
        _known("correction", self.correct, CORRECTIONS)
        if self.exchange is not None:
            _known("exchange", self.exchange, EXCHANGES)
        check_tail(self.tail)
        check_samples(self.samples)
        if not 0 < self.confidence < 1:
            raise InputError(f"0 < confidence < 1 must hold, but got {self.confidence}")
        if self.seed < 0:
            raise InputError(f"the seed must not be negative, but got {self.seed}")


@dataclass(frozen=True, eq=False)
class System:
    """The output of one system: one column of n segments per optimizer run.

    dev         its runs on a development set
    dev_scores  or, metric name -> scores of the runs there
    """

    name: str
    runs: tuple[Texts, ...]
    dev: tuple[Texts, ...] = ()
    dev_scores: Mapping[str, Sequence[float]] = field(default_factory=dict)


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
    """One system against the baseline by one metric; the difference and its `ci` are of pooled scores."""

    system: str
    baseline: str
    metric: str
    result: TestResult
    p_corrected: float
    ci: Span

    def to_json(self) -> dict[str, Any]:
        found = self.result.to_json()
        return {
            "system": self.system,
            "baseline": self.baseline,
            "metric": self.metric,
            "difference": found["difference"],
            "p": found["p"],
            "p_corrected": _plain(self.p_corrected),
            "ci": _plain(self.ci),
            **{name: found[name] for name in ("test", "exchange", "samples", "tail", "exact")},
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found.

    scores       system -> metric -> score
    comparisons  every other system against the baseline, by every metric
    statistics   system -> (runs, n, k) statistics; measures: metric -> its columns and aggregation
    """

    recipe: dict[str, Any]
    metrics: Mapping[str, TextMetric]
    measures: Mapping[str, Measure]
    systems: tuple[System, ...]
    references: tuple[Texts, ...]
    scores: Mapping[str, Mapping[str, SystemScore]]
    comparisons: tuple[Compared, ...]
    statistics: Mapping[str, FloatArray]

    def to_json(self) -> dict[str, Any]:
        """Recipe, systems and comparisons; None for what is undefined. `median_run` counts from 0."""
        return {
            "recipe": self.recipe,
            "systems": {
                name: {metric: score.to_json() for metric, score in by_metric.items()}
                for name, by_metric in self.scores.items()
            },
            "comparisons": [compared.to_json() for compared in self.comparisons],
        }

    def against_baseline(self, system: str, metric: str) -> Compared | None:
        """The comparison of one system by one metric; None for the baseline."""
        found = (c for c in self.comparisons if (c.system, c.metric) == (system, metric))
        return next(found, None)

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
    settings: Settings | None = None,
    dev_references: Sequence[Texts] = (),
    groups: Groups | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Scores all systems and tests each against the baseline (default: the first).

    references  one or several columns of n segments
    metrics     name -> metric; all share the same shuffles and virtual test sets
    groups      (n,) group (document) of each segment: groups are exchanged and drawn whole

    Raises InputError for columns of different length, no reference, empty reference lines, systems named
    twice, unknown names, statistics that are not finite.
    """
    settings = settings or Settings()
    _check(systems, references, metrics)
    first = _baseline(systems, baseline)
    statistics, measures = _statistics(systems, references, metrics, progress)
    drawn = _drawn(statistics, measures, settings, groups, progress)
    sampled = _Sampled(statistics, measures, drawn, settings, groups)
    scores = {
        system.name: {
            name: sampled.score(system.name, name, _dev_scores(system, name, metric, dev_references))
            for name, metric in metrics.items()
        }
        for system in systems
    }
    results: list[tuple[str, str, TestResult]] = []
    others = [system.name for system in systems if system.name != first]
    for done, other in enumerate(others):
        progress("testing", done, len(others))
        results += [(other, metric, result) for metric, result in sampled.tests(other, first).items()]
    corrected = correct([result.p for _, _, result in results], settings.correct)
    comparisons = tuple(
        Compared(name, first, metric, result, float(p), sampled.interval_of_difference(name, first, metric))
        for (name, metric, result), p in zip(results, corrected, strict=True)
    )
    recipe = _recipe(systems, references, metrics, first, settings, groups, len(comparisons))
    return Comparison(
        recipe, metrics, measures, tuple(systems), tuple(references), scores, comparisons, statistics
    )


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Bootstrap scores of one system by one metric: (runs, samples) and, pooled, (samples,); s_sel."""

    runs: FloatArray
    pooled: FloatArray
    s_sel: float


@dataclass(frozen=True, eq=False)
class _Sampled:
    """All statistics, and the virtual test sets that systems and metrics share."""

    statistics: Mapping[str, FloatArray]
    measures: Mapping[str, Measure]
    drawn: Mapping[tuple[str, str], _Drawn]
    settings: Settings
    groups: Groups | None

    def score(self, system: str, metric: str, dev_scores: FloatArray | None) -> SystemScore:
        runs, aggregate = self._runs(system, metric), self.measures[metric].aggregate
        drawn = self.drawn[system, metric].runs
        found = replace(
            from_scores(runs, aggregate, drawn, dev_scores), s_sel=self.drawn[system, metric].s_sel
        )
        mean: FloatArray = drawn.mean(axis=0)

        def left_out() -> FloatArray:
            units = group_sums(runs, self.groups)
            scores: FloatArray = np.mean([jackknife_scores(run, aggregate) for run in units], axis=0)
            return scores

        return SystemScore(found, self._interval(mean, found.mean, left_out), mean)

    def tests(self, system: str, baseline: str) -> dict[str, TestResult]:
        """Metric -> test of the difference of pooled scores."""
        settings = self.settings
        if settings.test == "ar":
            return randomization_tests(
                self.statistics[system], self.statistics[baseline], self.measures, exchange=settings.exchange,
                samples=settings.samples, seed=settings.seed, tail=settings.tail, groups=self.groups,
            )  # fmt: skip
        return {
            metric: bootstrap_test(
                self.drawn[system, metric].pooled, self.drawn[baseline, metric].pooled,
                self._difference(system, baseline, metric), method=_METHODS[settings.test],
                tail=settings.tail, resampled="segment" if self.groups is None else "group",
            )
            for metric in self.measures
        }  # fmt: skip

    def interval_of_difference(self, system: str, baseline: str, metric: str) -> Span:
        drawn = self.drawn[system, metric].pooled - self.drawn[baseline, metric].pooled

        def left_out() -> FloatArray:
            sides = [
                group_sums(self._runs(name, metric), self.groups).sum(axis=0) for name in (system, baseline)
            ]
            own, other = (jackknife_scores(side, self.measures[metric].aggregate) for side in sides)
            return own - other

        return self._interval(drawn, self._difference(system, baseline, metric), left_out)

    def _runs(self, system: str, metric: str) -> FloatArray:
        return self.statistics[system][..., self.measures[metric].columns]

    def _difference(self, system: str, baseline: str, metric: str) -> float:
        aggregate = self.measures[metric].aggregate
        own, other = (aggregate(self._runs(name, metric).sum(axis=(0, 1))) for name in (system, baseline))
        return float(own - other)

    def _interval(self, drawn: FloatArray, observed: float, left_out: Callable[[], FloatArray]) -> Span:
        if self.settings.interval == "bca":
            return bca_interval(drawn, observed, left_out(), self.settings.confidence)
        return percentile_interval(drawn, self.settings.confidence)


def _statistics(
    systems: Sequence[System],
    references: Sequence[Texts],
    metrics: Mapping[str, TextMetric],
    progress: Progress,
) -> tuple[dict[str, FloatArray], dict[str, Measure]]:
    """System -> (runs, n, k) statistics of all metrics side by side; metric -> its columns."""
    total = sum(len(system.runs) for system in systems)
    widths: list[int] = []
    found: dict[str, FloatArray] = {}
    done = 0
    for system in systems:
        runs = []
        for run in system.runs:
            progress("scoring", done, total)
            parts = [metric.statistics(run, references) for metric in metrics.values()]
            widths = [part.shape[1] for part in parts]
            runs.append(np.hstack(parts))
            run.forget()
            done += 1
        found[system.name] = as_runs(np.stack(runs), f"statistics of '{system.name}'")
    ends = np.cumsum([0, *widths])
    measures = {
        name: Measure(slice(int(ends[i]), int(ends[i + 1])), metric.aggregate)
        for i, (name, metric) in enumerate(metrics.items())
    }
    return found, measures


def _drawn(
    statistics: Mapping[str, FloatArray],
    measures: Mapping[str, Measure],
    settings: Settings,
    groups: Groups | None,
    progress: Progress,
) -> dict[tuple[str, str], _Drawn]:
    """Bootstrap scores of every system and metric, all on the same virtual test sets."""
    found: dict[tuple[str, str], _Drawn] = {}
    for done, (name, runs) in enumerate(statistics.items()):
        progress("bootstrap", done, len(statistics))
        units = group_sums(runs, groups)
        sums = apart(bootstrap_sums(beside(units), settings.samples, settings.seed), len(units))
        for metric, measure in measures.items():
            part, aggregate = sums[..., measure.columns], measure.aggregate
            scores = aggregate(part)
            spreads = [
                _selection_spread(run[:, measure.columns], part[r], scores[r], aggregate)
                for r, run in enumerate(units)
            ]
            pooled = aggregate(part.sum(axis=0))
            found[name, metric] = _Drawn(scores, pooled, float(np.mean(spreads)))
    return found


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
    """(runs,) scores on the development set; None where nothing is given."""
    if name in system.dev_scores:
        return np.asarray(system.dev_scores[name], np.float64)
    if not system.dev:
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
    _check_lengths([*references, *(run for system in systems for run in system.runs)])
    for reference in references:
        for number, line in enumerate(reference.lines, start=1):
            if not line.strip():
                raise InputError(
                    "empty reference", where=f"{reference.name}:{number}",
                    remedy="every segment needs a reference: complete the line or leave the segment out",
                )  # fmt: skip


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
    settings: Settings,
    groups: Groups | None,
    comparisons: int,
) -> dict[str, Any]:
    segments = len(systems[0].runs[0])
    packages = ("qe", "numpy", "numba", "sacrebleu")
    return {
        **asdict(settings),
        "exchange": (settings.exchange or "segment-run") if settings.test == "ar" else None,
        "baseline": baseline,
        "segments": segments,
        "groups": None if groups is None else len(set(groups)),
        "references": [column.name for column in references],
        "systems": {system.name: [run.name for run in system.runs] for system in systems},
        "fingerprints": {
            column.name: digest("\n".join(column.lines).encode())
            for column in (*references, *(run for system in systems for run in system.runs))
        },
        "metrics": {name: repr(metric) for name, metric in metrics.items()},
        "comparisons": comparisons,
        "experimentwise_error": experimentwise_error(_LEVEL, comparisons),
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in packages},
        },
        "notes": _notes(systems, segments),
    }


def _notes(systems: Sequence[System], segments: int) -> list[str]:
    notes = []
    if segments == 1:
        notes.append("one segment only: resampling says nothing; s_sel is 0 and every p-value 1")
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
