"""All correlations of all metrics with one set of human judgements."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from features.basics.errors import InputError
from features.basics.numerals import finite_or_none
from features.basics.packages import DISTRIBUTION, versions
from features.basics.progress import Progress, silent
from qe.display.summary import summarised, table_by
from qe.display.table import Table
from qe.statistics.family import Pair
from qe.statistics.result import TestResult
from qe_human.correlation import Correlation
from qe_human.metric_evaluation.comparison import CorrelationResult, Settings, compare
from qe_human.metric_evaluation.scores import Evaluation


@summarised
@dataclass(frozen=True, eq=False)
class MetaReport:
    """The result of `qe correlate` for one language pair.

    Attributes
    ----------
    counts : mapping of str to int
        Numbers of systems, segments, judged translations, pairwise judgements.
    """

    name: str
    metrics: tuple[str, ...]
    results: Mapping[str, CorrelationResult]
    counts: Mapping[str, int]
    settings: Settings
    recipe: Mapping[str, Any]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """All that the report holds; undefined numbers are null."""
        return {
            "name": self.name,
            **self.counts,
            "metrics": list(self.metrics),
            "correlations": {name: _json(result) for name, result in self.results.items()},
            "recipe": dict(self.recipe),
            "notes": list(self.notes),
        }

    def figures(self) -> dict[str, float]:
        """Correlations and the bounds of their intervals by dotted names, for tracking."""
        told = {}
        for name, result in self.results.items():
            for metric in result.metrics:
                key = f"{name}.{metric.name}"
                told[key], told[f"{key}.low"], told[f"{key}.high"] = metric.score, *metric.ci
        return told

    def summary(self) -> Table:
        """Metrics by correlations with people."""
        return table_by("qe_human.metric_evaluation.correlation_tables.overview", self)


def meta_report(
    evaluation: Evaluation,
    correlations: Mapping[str, Correlation],
    settings: Settings,
    *,
    optional: bool = False,
    progress: Progress = silent,
) -> MetaReport:
    """Correlates every metric with people, by every correlation. Raises InputError if such a one is not
    optional, and if none is left.

    Parameters
    ----------
    optional : bool, default=False
        Whether a correlation that the judgements do not allow is skipped with a note.
    """
    results, notes = {}, [*evaluation.notes, *_omitted(evaluation)]
    reasons: dict[str, list[str]] = {}
    for name, correlation in correlations.items():
        try:
            results[name] = compare(name, correlation, evaluation, settings, progress)
        except InputError as error:
            if not optional:
                raise InputError(error.problem, location=name, remedy=error.remedy) from None
            reasons.setdefault(error.problem, []).append(name)
    notes += [f"not shown: {', '.join(names)} ({why})" for why, names in reasons.items()]
    if not results:
        raise InputError("no correlation is possible with these judgements", remedy="; ".join(notes))
    for name, result in results.items():
        notes += [f"{name}: {note}" for note in result.notes]
    recipe = {
        **vars(settings),
        "correlations": {name: str(correlations[name]) for name in results},
        "versions": versions(DISTRIBUTION, "numpy", "scipy", "numba"),
    }
    metrics = tuple(metric.name for metric in evaluation.metrics)
    return MetaReport(evaluation.name, metrics, results, _counts(evaluation), settings, recipe, tuple(notes))


def _omitted(evaluation: Evaluation) -> list[str]:
    scored, judged = evaluation.defined(evaluation.with_segments), evaluation.human.judged()
    if not evaluation.with_segments or evaluation.human.system_scores is not None:
        return []
    counts = {
        "scored by all metrics but judged by nobody": int((scored & ~judged).sum()),
        "judged but not scored by all metrics": int((judged & ~scored).sum()),
    }
    return [f"left out: {count:,} translations {what}" for what, count in counts.items() if count]


def _counts(evaluation: Evaluation) -> dict[str, int]:
    human = evaluation.human
    counts = {"systems": len(human.systems), "segments": len(human.segments)}
    if human.scores is not None:
        counts["judged_translations"] = int((~np.isnan(human.scores)).sum())
    if human.preferences is not None:
        counts["pairwise_judgements"] = len(human.preferences.segment)
    return counts


def _json(result: CorrelationResult) -> dict[str, Any]:
    return {
        "level": result.level,
        "values": result.values,
        "groups": result.groups,
        "metrics": {
            metric.name: {
                "score": finite_or_none(metric.score),
                "ci": [finite_or_none(bound) for bound in metric.ci],
                "cluster": result.cluster_of(metric.name),
                **{key: finite_or_none(value) for key, value in metric.details.items()},
            }
            for metric in result.metrics
        },
        "clusters": None if result.clusters is None else [list(group) for group in result.clusters],
        "base": result.base or None,
        "claim": result.claim or None,
        "tests": [_test(key[:2], test, result.williams.get(key[:2])) for key, test in result.tests.items()],
    }


def _test(pair: tuple[str, str], judged: Pair, williams: TestResult | None) -> dict[str, Any]:
    return {
        "metrics": list(pair),
        **judged.result.to_json(),
        "p_corrected": finite_or_none(judged.p_corrected),
        "p_williams": None if williams is None else finite_or_none(williams.p),
    }
