"""Metrics compared by one correlation with people: scores, intervals, significance."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from features.basics.progress import Progress, silent
from features.basics.threads import cores
from qe.statistics.draws import (
    Groups,
    bootstrap_counts,
    coin_rows,
    group_index,
    independent_seed,
    sample_blocks,
)
from qe.statistics.family import Key, Pair, Table, borderline, copies_of, undecided
from qe.statistics.intervals import percentile_interval, williams_test
from qe.statistics.ranks import clusters
from qe.statistics.resampling import Exchanged, randomization_test_rescored
from qe.statistics.result import TestResult, largest_p, monte_carlo_error, with_units
from qe.statistics.settings import MAX_SAMPLES
from qe_human.human import Correlation, Level, Problem
from qe_human.metric_evaluation.reading import Evaluation
from qe_human.settings import CLAIMS, CorrelationSettings

MIN_SYSTEMS = 7  # for exchanges of systems: fewer cannot give small p-values
_CLEAR = 0.1  # above this p-value nothing more is asked


def paired_columns(
    result: TestResult, exchanged: Exchanged, rows: Groups, columns: Groups, samples: int, seed: int
) -> TestResult:
    """The test result if exchanges of rows, of columns and of both together must each show the difference."""
    if not result.p <= _CLEAR:
        return result
    cells, nulls, units = len(rows), [], []
    for groups in (rows, columns, np.arange(cells)):
        index, count = group_index(groups, cells)
        ranges = sample_blocks(samples, 2 * cells, samples)
        nulls.append(np.concatenate([exchanged(coin_rows(count, seed, *ends)[index]) for ends in ranges]))
        units.append(count)
    p = max(result.p, joint_p(result.difference, nulls, units))
    if p == result.p:
        return result
    return replace(result, p=p, exact=False, error=monte_carlo_error(p, samples, exact=False))


def joint_p(difference: float, nulls: Sequence[FloatArray], units: Sequence[int]) -> float:
    """Two-sided p-value of a difference, with the variance of both sources of chance.

    nulls  differences after exchanges of rows, of columns, of single cells
    units  how many of each there are

    Student's t, with one less degree of freedom than the fewer of rows and columns.
    """
    by_row, by_column, by_cell = (
        max(0.0, float(np.mean(null**2)) - difference**2 / count) * count / (count - 1)
        for null, count in zip(nulls, units, strict=True)
    )
    variance = max(by_row + by_column - by_cell, by_row, by_column)
    if not variance > 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * stats.t.sf(abs(difference) / np.sqrt(variance), min(units) - 1))


PERMUTATION = "permutation of both inputs (Deutsch et al. 2021)"
_ENOUGH = 100  # exchanges at least as extreme, after which a p-value needs no more
_DEFINED = 0.95  # share of bootstrap samples that must have a correlation
_DRAWS = 1000  # bootstrap samples drawn at a time


@dataclass(frozen=True)
class MetricResult:
    name: str
    score: float
    ci: tuple[float, float]
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CorrelationResult:
    """All metrics by one correlation.

    metrics   best first, undefined ones last
    values    number of scores of each metric that the correlation uses
    groups    number of groups that it averages, or of systems
    tests     (better, worse, name) -> the test of the pair, corrected
    williams  (better, worse) -> Williams' test of the same pair, uncorrected, where it applies
    clusters  groups of metrics that are not significantly different, best first; None without tests
    claim     units that differences are claimed for; empty without tests
    base      origin of the scores of systems; empty for correlations of segments
    """

    name: str
    level: Level
    metrics: tuple[MetricResult, ...]
    values: int
    groups: int
    tests: Mapping[Key, Pair]
    williams: Mapping[tuple[str, str], TestResult]
    clusters: tuple[tuple[str, ...], ...] | None
    claim: str = ""
    notes: tuple[str, ...] = ()
    base: str = ""

    def cluster_of(self, metric: str) -> int | None:
        """Rank of a metric's cluster, from 1; None without tests. Raises InputError for an unknown metric."""
        known_name("metric", metric, [one.name for one in self.metrics])
        if self.clusters is None:
            return None
        return next((i for i, group in enumerate(self.clusters, start=1) if metric in group), None)

    def worse_than(self, metric: str, level: float) -> list[str]:
        known_name("metric", metric, [one.name for one in self.metrics])
        return [b for (a, b, _), one in self.tests.items() if a == metric and one.p_corrected <= level]


@dataclass(frozen=True, eq=False)
class _Candidate:
    name: str
    problem: Problem
    values: FloatArray
    scaled: FloatArray
    score: float
    from_segments: bool


def compare(
    name: str,
    correlation: Correlation,
    evaluation: Evaluation,
    settings: CorrelationSettings,
    progress: Progress = silent,
) -> CorrelationResult:
    """Compare all metrics by one correlation on the translations that humans and all metrics score.

    The tests exchange two metrics' scores on a common scale, by segment for the claim of new segments and by
    system for that of new systems; both, and both sources of chance together, must show a difference. Single
    scores (permutation of both inputs, Deutsch et al. 2021, section 3.2) are exchangeable only if a metric's
    errors on translations of one system or segment have nothing in common.

    Raises InputError if the judgements do not allow the correlation, or no metric has the scores it needs.
    """
    fits, candidates, notes = _candidates(correlation, evaluation)
    ranked = sorted(fits.values(), key=lambda fit: (np.isnan(fit.score), -np.nan_to_num(fit.score)))
    results = []
    for done, fit in enumerate(ranked):
        progress(f"{name}: intervals", done, len(ranked))
        ci = _interval(fit, correlation.level, settings)
        results.append(MetricResult(fit.name, fit.score, ci, fit.problem.details(fit.values)))
    defined = [fit for fit in ranked if not np.isnan(fit.score)]
    if settings.samples and (
        without := [r.name for r in results if not np.isnan(r.score) and np.isnan(r.ci[0])]
    ):
        notes.append(f"intervals without enough to resample, shown as '-': {', '.join(without)}")
    every = combinations(defined, 2) if settings.permutations != 0 else ()
    chosen = [
        (a, b) if a.problem is b.problem else (candidates[a.name], candidates[b.name]) for a, b in every
    ]
    tests, williams, more = _tests(name, chosen, settings, progress)
    groups = None
    if any(not np.isnan(one.p_corrected) for one in tests.values()):
        p_values = {key[:2]: one.p_corrected for key, one in tests.items()}
        groups = tuple(map(tuple, clusters([fit.name for fit in defined], p_values, settings.level)))
    problem = ranked[0].problem
    return CorrelationResult(
        name, correlation.level, tuple(results), len(problem.cells), problem.groups,
        tests, williams, groups, _claim(chosen, settings) if tests else "", (*notes, *more),
        _base(ranked, evaluation) if correlation.level == "system" else "",
    )  # fmt: skip


def _base(fits: Sequence[_Candidate], evaluation: Evaluation) -> str:
    given = {fit.name for fit in fits if not fit.from_segments}
    averaged = [fit for fit in fits if fit.from_segments]
    if not averaged:
        return "scores of systems as given"
    segments = len(np.unique(averaged[0].problem.cells[:, 0]))
    means = f"means of {segments} of {len(evaluation.human.segments)} segments"
    return f"scores of systems as given ({', '.join(sorted(given))}), else {means}" if given else means


def _candidates(
    correlation: Correlation, evaluation: Evaluation
) -> tuple[dict[str, _Candidate], dict[str, _Candidate], list[str]]:
    human, metrics = evaluation.human, evaluation.metrics
    segment_level = correlation.level == "segment"
    averaged = [m for m in metrics if m.scores is not None and (segment_level or m.systems is None)]
    others, notes = [m for m in metrics if m not in averaged], []
    defined = evaluation.defined(averaged)
    fits: dict[str, _Candidate] = {}
    candidates: dict[str, _Candidate] = {}
    if others and not segment_level:
        table = evaluation.whole_systems(metrics)
        shared = ~np.isnan(table).any(axis=0)
        defined = defined & shared
        try:
            whole = correlation.problem(human, np.broadcast_to(shared, defined.shape), whole_systems=True)
        except InputError:
            averaged = list(evaluation.with_segments)
            if not averaged:
                raise
            others, defined = [m for m in metrics if m.scores is None], evaluation.defined(averaged)
        else:
            for metric, values in zip(metrics, table, strict=True):
                candidates[metric.name] = _candidate(metric.name, whole, values[whole.cells[:, 1]])
            fits = {metric.name: candidates[metric.name] for metric in others}
    if lost := [m.name for m in others if m.name not in fits]:
        notes.append(f"without segment scores, left out: {', '.join(lost)}")
    problem = correlation.problem(human, defined) if averaged else None
    for metric in averaged:
        if metric.scores is not None and problem is not None:
            values = metric.scores[tuple(problem.cells.T)]
            fits[metric.name] = _candidate(metric.name, problem, values, True)
    if not fits:
        raise InputError("needs segment scores of the metrics, but they score systems only")
    return {m.name: fits[m.name] for m in metrics if m.name in fits}, candidates, notes


def _candidate(name: str, problem: Problem, values: FloatArray, from_segments: bool = False) -> _Candidate:
    values = np.ascontiguousarray(values)
    scaled, score = problem.on_common_scale(values), problem.score(values)
    return _Candidate(name, problem, values, scaled, score, from_segments)


def _interval(fit: _Candidate, level: Level, settings: CorrelationSettings) -> tuple[float, float]:
    undefined = float("nan"), float("nan")
    if not settings.samples or np.isnan(fit.score):
        return undefined
    problem = fit.problem
    segments, systems = (np.unique(column) for column in problem.cells.T)
    if level == "system":
        segments = np.arange(len(problem.each_segment))
    if settings.resample == "segments":
        systems = systems[:0]
    if max(len(segments), len(systems)) < 2:
        return undefined
    drawn, resampled = np.empty(settings.samples), problem.resampled(fit.scaled)
    for first in range(0, settings.samples, _DRAWS):
        last = min(first + _DRAWS, settings.samples)
        of_segments = _weights(len(problem.each_segment), segments, settings.seed, first, last)
        of_systems = _weights(
            len(problem.each_system), systems, independent_seed(settings.seed, 1), first, last
        )
        for i in range(last - first):
            drawn[first + i] = resampled(of_segments[i], of_systems[i])
    drawn = drawn[~np.isnan(drawn)]
    # A sample in which one system was drawn again and again has no correlation.
    if len(drawn) < _DEFINED * settings.samples:
        return undefined
    return percentile_interval(drawn, settings.confidence)


def _weights(
    size: int, units: "np.ndarray[tuple[int], np.dtype[np.int64]]", seed: int, first: int, last: int
) -> FloatArray:
    if len(units) < 2:
        return np.ones((last - first, size))
    weights = np.zeros((last - first, size))
    weights[:, units] = bootstrap_counts(len(units), seed, first, last)
    return weights


def _tests(
    name: str, pairs: Sequence[tuple[_Candidate, _Candidate]], settings: CorrelationSettings,
    progress: Progress,
) -> tuple[dict[Key, Pair], dict[tuple[str, str], TestResult], list[str]]:  # fmt: skip
    alike = copies_of({fit.name: fit.values for pair in pairs for fit in pair})
    keys = [(candidate.name, baseline.name, name) for candidate, baseline in pairs]
    table = Table.from_keys(keys, settings.resampling(), alike=alike)
    if settings.permutations is None:
        settings = replace(settings, permutations=min(table.resamples(), MAX_SAMPLES))
    results: dict[Key, TestResult] = {}
    williams: dict[tuple[str, str], TestResult] = {}
    with ThreadPoolExecutor(cores()) as pool:
        tested = pool.map(lambda pair: _test(pair[0], pair[1], settings), pairs)
        for done, (key, result) in enumerate(zip(keys, tested, strict=True), start=1):
            results[key] = result
            progress(f"{name}: tests", done, len(pairs))
    for candidate, baseline in pairs:
        if (n := candidate.problem.williams) is not None:
            between = candidate.problem.between(candidate.scaled, baseline.scaled)
            result = williams_test(candidate.score, baseline.score, between, n)
            williams[candidate.name, baseline.name] = result
    judged = table.corrected(results)
    notes = [note.replace("ask for", "ask for --permutations") for note in undecided(table, judged)]
    systems = [one for one in judged.values() if one.result.undecided and one.result.exchange != "segment"]
    if systems and settings.exchange is None and "segment" in systems[0].result.exchange:
        notes.append("--exchange segment tests for new segments of the same systems")
    notes += [note.replace("--samples", "--permutations") for note in borderline(table, judged)]
    return judged, williams, notes


def _test(candidate: _Candidate, baseline: _Candidate, settings: CorrelationSettings) -> TestResult:
    problem, units = candidate.problem, _units(candidate.problem, settings)
    exchanged = partial(problem.exchanged, candidate.scaled, baseline.scaled)
    differs = candidate.scaled != baseline.scaled
    groups = dict(zip(("segment", "system"), problem.cells.T, strict=True))
    samples = settings.permutations or 0
    enough = min(_ENOUGH, max(samples // 4, 1))
    test = partial(randomization_test_rescored, samples=samples, seed=settings.seed, enough=enough)
    results = [with_units(test(exchanged, differs, groups=groups.get(unit)), unit) for unit in units]
    result = largest_p(results)
    if units == ("segment", "system"):
        draws = samples, settings.seed
        result = paired_columns(result, exchanged, groups["segment"], groups["system"], *draws)
    if units == ("score",):
        result = replace(result, test=PERMUTATION, exchange="score")
    return replace(result, difference=candidate.score - baseline.score)


def _units(problem: Problem, settings: CorrelationSettings) -> tuple[str, ...]:
    columns = zip(("segment", "system"), problem.cells.T, strict=True)
    several = [unit for unit, column in columns if len(np.unique(column)) > 1]
    return settings.exchanges if len(several) == 2 else tuple(several) or ("score",)


def _claim(pairs: Sequence[tuple[_Candidate, _Candidate]], settings: CorrelationSettings) -> str:
    units = [_units(candidate.problem, settings) for candidate, _ in pairs]
    claims = dict.fromkeys(" and ".join(CLAIMS[unit] for unit in each) for each in units)
    return "; ".join(claims)
