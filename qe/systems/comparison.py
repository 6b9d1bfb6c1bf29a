"""Comparison of MT systems over optimizer replications: scores, instability, significance."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.packages import DISTRIBUTION, versions
from features.basics.progress import Progress, silent
from features.storage.files import digest
from qe.statistics.cautions import cautions
from qe.statistics.corrections import experimentwise_error
from qe.statistics.equivalence import undecided_notes
from qe.statistics.family import Judged, Key, Rule, Table, copies_of
from qe.statistics.groups import Groups
from qe.statistics.levels import Levels
from qe.statistics.result import Measure, TestResult, as_runs
from qe.systems.results import Compared, SystemsComparison
from qe.systems.sampled import Sampled, all_pairs, draw
from qe.systems.segment_scores import SegmentScores
from qe.systems.settings import ResamplingSettings
from qe.systems.system import System, check, check_lengths, columns_of, known_baseline
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts

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
    check(systems, references, metrics)
    first = known_baseline(systems, baseline)
    statistics, measures = _statistics(systems, references, metrics, progress)
    others = [system.name for system in systems if system.name != first]
    table = _table(others, first, statistics, metrics, settings)
    most = all_pairs(statistics, metrics, settings) if ranks else table
    samples = settings.samples or max(table.resamples(_SAMPLES), most.resamples(_SAMPLES))
    settings = replace(settings, samples=samples)
    levels = Levels.of(groups, len(systems[0].runs[0]))
    if levels.crossed and settings.interval == "bca":
        raise InputError("BCa intervals take one kind of groups", remedy="use --interval jackknife")
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
    recipe["notes"] += undecided_notes(list(same.values()))
    ranges = sampled.ranks(metrics, progress) if ranks else {}
    return SystemsComparison(
        recipe, metrics, measures, tuple(systems), tuple(references), scores, comparisons, statistics,
        settings, levels, ranges,
    )  # fmt: skip


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
    undirected = [name for name, metric in metrics.items() if metric.higher_is_better is None]
    return Table.of(
        keys, Rule(settings.family, settings.correct), alike=copies_of(statistics), undirected=undirected
    )


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
    check_lengths([*references, *system.dev])
    sums = np.stack([metric.statistics(run, references).sum(axis=0) for run in system.dev])
    return metric.aggregate(sums)


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
            for column in (*references, *(column for system in systems for column in columns_of(system)))
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
        "notes": [*_notes(systems), *cautions(table, judged, levels, settings.interval)],
    }


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
