"""Report of `qe correlate`: its tables and files, and averages over language pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from features.basics.errors import InputError
from features.basics.plugins import DISTRIBUTION, versions
from features.basics.progress import Progress, silent
from qe.display import files
from qe.display.files import plain_fields
from qe.display.numbers import NumberText, count, general, interval, number, p_value, percent, signed
from qe.display.summary import Printable
from qe.display.table import Column, Table
from qe_human.human import DIGITS, Correlation, title_of
from qe_human.metric_evaluation.comparison import MIN_SYSTEMS, CorrelationResult, compare
from qe_human.metric_evaluation.reading import Evaluation
from qe_human.settings import CorrelationSettings, Resample

_FEW_SYSTEMS = f"fewer than {MIN_SYSTEMS} systems: tests exchange segments; --correlations shows them"


@dataclass(frozen=True, eq=False)
class MetaReport(Printable):
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
    settings: CorrelationSettings
    recipe: Mapping[str, Any]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """All that the report holds; undefined numbers are null."""
        correlations = {name: _result_json(result) for name, result in self.results.items()}
        return plain_fields({
            "name": self.name, **self.counts, "metrics": self.metrics, "correlations": correlations,
            "recipe": self.recipe, "notes": self.notes,
        })  # fmt: skip

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
        return overview(self)


def meta_report(
    evaluation: Evaluation,
    correlations: Mapping[str, Correlation],
    settings: CorrelationSettings,
    *,
    optional: bool = False,
    progress: Progress = silent,
) -> MetaReport:
    """Correlates every metric with human judgements, by every correlation.

    Raises InputError if a correlation that is not optional is impossible, and if none is left.

    Parameters
    ----------
    optional : bool, default=False
        Whether a correlation that the judgements do not allow is skipped with a note.
    """
    results: dict[str, CorrelationResult] = {}
    notes = [*evaluation.notes, *_omitted(evaluation)]
    reasons: dict[str, list[str]] = {}
    few = 1 < evaluation.shared_systems < MIN_SYSTEMS
    usual: tuple[Resample, str | None] = ("segments", "segment") if few else ("both", None)
    settings = replace(
        settings, resample=settings.resample or usual[0], exchange=settings.exchange or usual[1]
    )
    for name, correlation in correlations.items():
        if optional and few and results and correlation.level == "system":
            reasons.setdefault(_FEW_SYSTEMS, []).append(name)
            continue
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
    every = (metric for result in results.values() for metric in result.metrics)
    notes += [
        f"'{name}' correlates negatively with people: which direction is better? --lower-is-better names "
        "metrics that count errors"
        for name in dict.fromkeys(metric.name for metric in every if metric.ci[1] < 0)
    ]
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


def _result_json(result: CorrelationResult) -> dict[str, Any]:
    metrics = {
        metric.name: {
            "score": metric.score, "ci": metric.ci, "cluster": result.cluster_of(metric.name),
            **metric.details,
        }
        for metric in result.metrics
    }  # fmt: skip
    tests = []
    for (a, b, _), test in result.tests.items():
        williams = result.williams.get((a, b))
        further = {"p_corrected": test.p_corrected, "p_williams": williams and williams.p}
        tests.append({"metrics": (a, b), **test.result.to_json(), **further})
    return {
        "level": result.level, "values": result.values, "groups": result.groups, "metrics": metrics,
        "clusters": result.clusters, "base": result.base or None, "claim": result.claim or None,
        "tests": tests,
    }  # fmt: skip


@dataclass(frozen=True)
class Average:
    """One metric by one correlation over several language pairs.

    scores        language pair -> correlation; NaN if it is undefined or the metric has no scores
    mean          over all pairs; NaN if one is undefined (findings of WMT 2012, Tables 7 to 10)
    better        share of comparisons with other metrics, in all pairs, that it wins (rank> of Popovic 2012)
    wins_or_ties  the same with ties as wins (rank>=)
    """

    metric: str
    scores: Mapping[str, float]
    mean: float
    better: float
    wins_or_ties: float

    def to_json(self) -> dict[str, Any]:
        return plain_fields({
            "mean": self.mean, "better": self.better, "at_least": self.wins_or_ties, "scores": self.scores,
        })  # fmt: skip


def averages(reports: Sequence[MetaReport]) -> dict[str, tuple[Average, ...]]:
    """Correlation -> its averages, best first, undefined ones last, if all pairs have it.

    Raises InputError if no correlation is in all reports, and if two reports have one name.
    """
    names = [report.name for report in reports]
    if len(set(names)) < len(names):
        raise InputError(f"a language pair is given twice: {', '.join(names)}", location="--pair")
    shared = [name for name in reports[0].results if all(name in report.results for report in reports)]
    if not shared:
        raise InputError("no correlation is possible for all language pairs")
    by_correlation = {}
    metrics = list(dict.fromkeys(metric for report in reports for metric in report.metrics))
    for name in shared:
        known = [{metric.name: metric.score for metric in report.results[name].metrics} for report in reports]
        scores = np.array([[pair.get(metric, np.nan) for pair in known] for metric in metrics])
        better, wins_or_ties = _shares(scores)
        found = [
            Average(metric, dict(zip(names, map(float, row), strict=True)), float(row.mean()), *shares)
            for metric, row, *shares in zip(metrics, scores, better, wins_or_ties, strict=True)
        ]
        found.sort(key=lambda average: (np.isnan(average.mean), -np.nan_to_num(average.mean)))
        by_correlation[name] = tuple(found)
    return by_correlation


def _shares(scores: np.ndarray[Any, Any]) -> tuple[list[float], list[float]]:
    """Shares of comparisons won, and not lost, from (metrics, pairs) correlations; NaN without comparisons.

    >>> _shares(np.array([[0.5, 0.5], [0.5, 0.4], [0.1, np.nan]]))
    ([0.6666666666666666, 0.3333333333333333, 0.0], [1.0, 0.6666666666666666, 0.0])
    """
    wins, ties, compared = (np.zeros(len(scores)) for _ in range(3))
    for a, b in permutations(range(len(scores)), 2):
        both = ~np.isnan(scores[a] + scores[b])
        wins[a] += (scores[a] > scores[b])[both].sum()
        ties[a] += (scores[a] == scores[b])[both].sum()
        compared[a] += both.sum()
    shares = [np.where(compared > 0, part / np.maximum(compared, 1), np.nan) for part in (wins, wins + ties)]
    return shares[0].tolist(), shares[1].tolist()


def all_tables(report: MetaReport) -> list[Table]:
    tables = [overview(report)]
    for result in report.results.values():
        tables.append(metrics_table(report, result))
        if result.tests:
            tables.append(tests_table(report, result))
    return tables


def overview(report: MetaReport) -> Table:
    cells = {}
    for name, result in report.results.items():
        for metric in result.metrics:
            shown, cluster = number(metric.score, DIGITS), result.cluster_of(metric.name)
            if cluster is not None:
                shown = NumberText(shown, f"({cluster})", value=shown.value)
            cells[name, metric.name] = shown
    order = [metric.name for metric in next(iter(report.results.values())).metrics]
    order += [name for name in report.metrics if name not in order]
    rows = [(name, *(cells.get((key, name), number(None)) for key in report.results)) for name in order]
    titles = [Column(title_of(name), name, drop=i) for i, name in enumerate(report.results)]
    columns = [Column("metric"), *titles]
    return Table(f"{report.name}: correlation with people (in brackets: rank of the cluster)", columns, rows)


def metrics_table(report: MetaReport, result: CorrelationResult) -> Table:
    details = sorted({key for metric in result.metrics for key in metric.details})
    confidence = f"{100 * report.settings.confidence:g} % interval"
    columns = [
        Column("metric"), Column("cluster"), Column("correlation"), Column(confidence, "interval"),
        Column("better than", drop=1), *(Column(name, drop=2) for name in details),
    ]  # fmt: skip
    level, rows = report.settings.level, []
    for metric in result.metrics:
        shown = (
            count(result.cluster_of(metric.name)),
            number(metric.score, DIGITS),
            interval(metric.ci, DIGITS),
        )
        worse = ", ".join(result.worse_than(metric.name, level)) or "none"
        further = (general(metric.details.get(key), 6) for key in details)
        rows.append((metric.name, *shown, worse, *further))
    unit = "systems" if result.level == "system" else "groups"
    groups = f", {count(result.groups)} {unit}" if result.groups > 1 else ""
    more = "".join(f"; {text}" for text in (result.base, result.claim and f"claim: {result.claim}") if text)
    title = f"{report.name}: {title_of(result.name)} ({count(result.values)} scores per metric{groups}{more})"
    return Table(title, columns, rows)


def tests_table(report: MetaReport, result: CorrelationResult) -> Table:
    level, rows = report.settings.level, []
    for (a, b, _), test in result.tests.items():
        found, williams = test.result, result.williams.get((a, b))
        p = p_value(found.p, None, found.undecided), p_value(test.p_corrected, level, found.undecided)
        normal = p_value(williams.p, None) if williams else ""
        rows.append((a, b, signed(found.difference, DIGITS), *p, normal))
    columns = [
        Column("metric"), Column("against"), Column("difference"), Column("p", drop=2),
        Column(f"p ({report.settings.correct})", "p corrected"), Column("p (Williams)", drop=1),
    ]  # fmt: skip
    return Table(f"{report.name}: {title_of(result.name)}, differences of metrics", columns, rows)


def reports_json(reports: Sequence[MetaReport]) -> dict[str, Any]:
    """One report unchanged; several as `averages` (correlation -> metric) and `pairs`."""
    if len(reports) == 1:
        return reports[0].to_json()
    means = {name: {a.metric: a.to_json() for a in found} for name, found in averages(reports).items()}
    return {"averages": means, "pairs": {report.name: report.to_json() for report in reports}}


def markdown(reports: Sequence[MetaReport]) -> str:
    parts = [files.markdown("Averages", [], average_tables(reports))] if len(reports) > 1 else []
    parts += [files.markdown(report.name, report.notes, all_tables(report)) for report in reports]
    return "\n".join(parts)


def latex(reports: Sequence[MetaReport]) -> str:
    means = average_tables(reports) if len(reports) > 1 else []
    return files.latex([*means, *(table for report in reports for table in all_tables(report))])


def average_tables(reports: Sequence[MetaReport]) -> list[Table]:
    tables, pairs = [], [report.name for report in reports]
    columns = [Column("metric"), *(Column(pair, drop=i) for i, pair in enumerate(pairs, start=1))]
    columns += [Column("average"), Column("rank>"), Column("rank>=")]
    note = "rank>: comparisons with another metric, by language pair, that are won; rank>=: not lost"
    for name, found in averages(reports).items():
        rows = [
            (each.metric, *(number(score, DIGITS) for score in each.scores.values()),
             number(each.mean, DIGITS), percent(each.better), percent(each.wins_or_ties))
            for each in found
        ]  # fmt: skip
        tables.append(Table(f"{title_of(name)} over {len(pairs)} language pairs", columns, rows, [note]))
    return tables
