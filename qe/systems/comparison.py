"""Comparison of MT systems over optimizer replications: scores, instability, significance."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations, repeat
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from features.basics.plugins import DISTRIBUTION, versions
from features.basics.progress import Progress, silent
from features.storage.files import digest
from qe.statistics.buckets import Buckets, compare_in_buckets
from qe.statistics.comparisons import Comparisons, Result, Scored, comparison_table
from qe.statistics.comparisons import compare as compare_scored
from qe.statistics.draws import Groups, Levels, group_sums
from qe.statistics.family import cautions, experimentwise_error
from qe.statistics.intervals import jackknife_scores
from qe.statistics.ranks import undecided_notes
from qe.statistics.result import Aggregate, Measure, TestResult, as_runs
from qe.statistics.settings import Exchange, ResamplingSettings, check_enough
from qe.systems.mt_metrics.table import SegmentScores
from qe.systems.results import Instability, System, SystemsComparison, SystemScore, check, check_lengths
from qe.systems.text_metric import TextMetric, title_of
from qe.systems.texts import Texts

Name = tuple[str, str]
"""(system, metric)."""


def _resampled(
    scored: Scored, levels: Levels, settings: ResamplingSettings, dev_scores: Mapping[Name, FloatArray],
    progress: Progress,
) -> tuple[dict[str, dict[str, SystemScore]], dict[Name, FloatArray]]:  # fmt: skip
    """Scores of all systems with their intervals, and pooled scores of virtual test sets.

    NaN with one unit of any level: every virtual test set is the real one.
    """
    engine = Comparisons(scored, levels, settings)
    scores: dict[str, dict[str, SystemScore]] = {}
    virtual: dict[Name, FloatArray] = {}
    defined = 1.0 if levels.smallest > 1 else np.nan
    for name, sums in scored.resampled_runs(levels, engine.samples, settings.seed, progress):
        units = None if levels.crossed else group_sums(scored.statistics[name], levels.single)
        for metric, measure in scored.measures.items():
            runs, drawn, aggregate = scored.runs(name, metric), sums[..., measure.columns], measure.aggregate
            run_scores = defined * aggregate(drawn)
            spreads = [spread(each) for each in run_scores]
            if units is not None:
                parts = units[..., measure.columns], drawn, run_scores
                spreads = list(map(_selection_spread, *parts, repeat(aggregate)))
            summary = instability(runs, aggregate, float(np.mean(spreads)), dev_scores.get((name, metric)))
            mean = run_scores.mean(axis=0)
            jackknife = [
                np.mean([jackknife_scores(run, aggregate) for run in group_sums(runs, groups)], axis=0)
                for _, groups in levels.items()
            ]
            interval = engine.interval_of(mean, summary.mean, jackknife)
            scores.setdefault(name, {})[metric] = SystemScore(summary, interval, mean)
            virtual[name, metric] = defined * scored.pooled(sums, metric)
    return scores, virtual


def _selection_spread(units: FloatArray, sums: FloatArray, scores: FloatArray, aggregate: Aggregate) -> float:
    plain = spread(scores)
    total = units.sum(axis=0)
    steps = np.diag(1e-4 * np.maximum(np.abs(total), 1))
    gradient = (aggregate(total + steps) - aggregate(total - steps)) / (2 * steps.diagonal())
    linear = spread(sums @ gradient)
    if not np.isfinite(gradient).all() or not linear > 0:
        return plain
    exact = float(np.sqrt(np.var(units @ gradient) * len(units)))
    return plain * exact / linear


def instability(
    runs: FloatArray, aggregate: Aggregate, s_sel: float, dev_scores: FloatArray | None = None
) -> Instability:
    """One system from (runs, n, k) statistics; `dev_scores` (runs,) are of a development set."""
    sums = runs.sum(axis=1)
    scores = aggregate(sums)
    chosen_by = scores if dev_scores is None else dev_scores
    return Instability(
        runs=tuple(float(score) for score in scores),
        mean=float(scores.mean()),
        pooled=float(aggregate(sums.sum(axis=0))),
        s_sel=s_sel,
        s_test=spread(scores),
        s_dev=float("nan") if dev_scores is None else spread(dev_scores),
        median_run=int(np.argsort(chosen_by, kind="stable")[(len(scores) - 1) // 2]),
    )


def spread(scores: FloatArray) -> float:
    """Standard deviation with n - 1; NaN for fewer than two scores."""
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")


_SAMPLES = 10_000


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

    Raises InputError for columns of different length, no reference, empty reference lines, systems named
    twice, unknown names, statistics that are not finite.

    Parameters
    ----------
    references : sequence of Texts
        One or several columns of n segments.
    groups : Groups or mapping of str to Groups or None, default=None
        (n,) group (document) of each segment: groups are exchanged and drawn whole; or several such
        columns by name, with each of which as the unit a difference must show.
    margins : mapping of str to float or None, default=None
        Metric -> the difference of pooled scores below which two systems are equivalent.
    ranks : bool, default=False
        Whether to test all pairs, for rank intervals.
    """
    settings = settings or ResamplingSettings()
    if settings.samples is not None:
        check_enough(settings.samples, level=settings.level)
    check(systems, references, metrics)
    first = systems[0].name
    if baseline is not None:
        first = known_name("baseline", baseline, [system.name for system in systems])
    scored = _scored(systems, references, metrics, progress)
    pairs = [(system.name, first) for system in systems if system.name != first]
    better = {name: metric.higher_is_better for name, metric in metrics.items()}
    directed = {name: higher for name, higher in better.items() if higher is not None}
    every = list(combinations(scored.systems, 2)) if ranks else []
    samples = settings.samples or max(
        comparison_table(scored, each, kinds, settings).resamples(_SAMPLES)
        for each, kinds in ((pairs, better), (every, directed))
    )
    settings = replace(settings, samples=samples)
    levels = Levels.from_groups(groups, len(systems[0].runs[0]))
    if levels.crossed and settings.interval == "bca":
        raise InputError("BCa intervals take one kind of groups", remedy="use --interval jackknife")
    dev = {
        (system.name, name): values
        for system in systems
        for name, metric in metrics.items()
        if (values := _dev_scores(system, name, metric, dev_references)) is not None
    }
    scores, virtual = _resampled(scored, levels, settings, dev, progress)
    result = compare_scored(scored, levels, settings, better, pairs, computed=virtual, progress=progress)
    same = {item.key: item for item in result.equivalences(margins or {})}
    claims = {pair: _other_claims(result.engine, *pair) for pair in pairs}
    comparisons = []
    for pair in result.pairs():
        by_unit = claims[pair.names].items()
        other = {unit: result.table.answered(pair.key, tests[pair.metric]) for unit, tests in by_unit}
        comparisons.append(replace(pair, other_claims=other, equivalence=same.get(pair.key)))
    recipe = _recipe(systems, references, metrics, first, result)
    recipe["notes"] += undecided_notes(list(same.values()))
    ranges = {}
    if ranks:
        tests = compare_scored(scored, levels, settings, directed, every, computed=virtual, progress=progress)
        level = round(1 - settings.confidence, 12)
        ranges = result.engine.ranks(tests.tested, directed, virtual, level)
    return SystemsComparison(
        recipe, metrics, tuple(systems), tuple(references), scores, tuple(comparisons), scored, settings,
        levels, ranges,
    )  # fmt: skip


def _scored(
    systems: Sequence[System],
    references: Sequence[Texts],
    metrics: Mapping[str, TextMetric],
    progress: Progress,
) -> Scored:
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
    return Scored(
        by_name, Measure.side_by_side(widths, {name: metric.aggregate for name, metric in metrics.items()})
    )


def _other_claims(engine: Comparisons, system: str, baseline: str) -> dict[str, dict[str, TestResult]]:
    runs = [len(engine.scored.statistics[name]) for name in (system, baseline)]
    if engine.settings.test != "ar" or max(runs) == 1:
        return {}
    units: tuple[Exchange, ...] = ("segment", "segment-run", "run") if runs[0] == runs[1] else ("run",)
    others = [unit for unit in units if unit not in engine.settings.exchanges]
    return {unit: engine.test(system, baseline, [unit]) for unit in others}


def _dev_scores(
    system: System, name: str, metric: TextMetric, references: Sequence[Texts]
) -> FloatArray | None:
    if name in system.dev_scores:
        return np.asarray(system.dev_scores[name], np.float64)
    if not system.dev or isinstance(metric, SegmentScores):
        return None
    if not references and metric.needs_references:
        raise InputError(f"no references for the development runs of '{system.name}'")
    check_lengths([*references, *system.dev])
    sums = np.stack([metric.statistics(run, references).sum(axis=0) for run in system.dev])
    return metric.aggregate(sums)


def _recipe(
    systems: Sequence[System],
    references: Sequence[Texts],
    metrics: Mapping[str, TextMetric],
    baseline: str,
    result: Result,
) -> dict[str, Any]:
    settings, levels, table = result.engine.settings, result.engine.levels, result.table
    segments = len(systems[0].runs[0])
    packages = (DISTRIBUTION, "numpy", "numba", "sacrebleu")
    family = table.to_json()
    sizes = levels.sizes()
    return {
        **asdict(settings),
        "correct": settings.correction,
        "exchange": settings.claim,
        "baseline": baseline,
        "segments": segments,
        "groups": min(sizes.values()) if levels.units else None,
        "units": sizes,
        "references": [column.name for column in references],
        "systems": {system.name: [run.name for run in system.runs] for system in systems},
        "fingerprints": {
            column.name: digest("\n".join(column.lines).encode())
            for column in (*references, *(column for system in systems for column in system.columns))
        },
        "score_files": {
            system.name: {
                name: [column.name for column in columns] for name, columns in system.score_files.items()
            }
            for system in systems
        },
        "metrics": {name: repr(metric) for name, metric in metrics.items()},
        "comparisons": len(result.tested),
        "families": family,
        "experimentwise_error": experimentwise_error(table.settings.level, len(result.tested)),
        "versions": {"python": platform.python_version(), **versions(*packages)},
        "notes": [*_notes(systems), *cautions(table, result.tested, levels, settings.interval, title_of)],
    }


def _notes(systems: Sequence[System]) -> list[str]:
    notes = []
    for system in systems:
        for run in system.runs:
            if empty := sum(not line.strip() for line in run.lines):
                notes.append(f"{run.name} ({system.name}): {empty} empty translations, scored unchanged")
    if any(len(system.runs) == 1 for system in systems):
        notes.append("one run of a system does not show its optimizer's instability, which p-values ignore")
    return notes


def with_buckets(
    comparison: SystemsComparison, buckets: Sequence[Buckets], samples: int | None = None
) -> SystemsComparison:
    """The comparison with every system tested against the baseline in every bucket."""
    engine = Comparisons(comparison.scored, comparison.levels, comparison.settings)
    report = compare_in_buckets(
        engine, [pair.key for pair in comparison.comparisons], buckets, samples=samples,
        undirected=[name for name, kind in comparison.metrics.items() if kind.higher_is_better is None],
        min_samples=engine.samples or 1, titles=title_of,
    )  # fmt: skip
    return replace(comparison, buckets=report)
