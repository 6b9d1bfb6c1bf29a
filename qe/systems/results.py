"""Systems with their runs, and what a comparison of them found, by system and by pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from qe.display.files import plain, plain_fields
from qe.display.summary import Printable, table_by
from qe.display.table import Table
from qe.evaluation.power import Point
from qe.statistics.buckets import BucketReport
from qe.statistics.comparisons import Scored
from qe.statistics.draws import Levels
from qe.statistics.family import Pair
from qe.statistics.ranks import RankInterval
from qe.statistics.result import TestResult
from qe.statistics.settings import ResamplingSettings
from qe.systems.mt_metrics.table import SegmentScores
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts


@dataclass(frozen=True, eq=False)
class System(Printable):
    """The output of one system: one column of n segments per optimizer run.

    Attributes
    ----------
    dev : tuple of Texts
        Its runs on a development set.
    dev_scores : mapping of str to sequence of float
        Or, metric name -> scores of the runs there.
    score_files : mapping of str to tuple of Texts
        Name of a `SegmentScores` metric -> a column of n scores per run.
    """

    name: str
    runs: tuple[Texts, ...]
    dev: tuple[Texts, ...] = ()
    dev_scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    score_files: Mapping[str, tuple[Texts, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> list[Texts]:
        """Outputs and score files."""
        return [*self.runs, *(column for columns in self.score_files.values() for column in columns)]


def check(systems: Sequence[System], references: Sequence[Texts], metrics: Mapping[str, TextMetric]) -> None:
    """Raises InputError for bad names, runs, references, score files or lengths."""
    names = [system.name for system in systems]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        remedy = "give all runs of a system at once"
        raise InputError(f"system named twice: {', '.join(twice)}", remedy=remedy)
    if not systems:
        raise InputError("no system to score")
    if without := [system.name for system in systems if not system.runs]:
        raise InputError(f"system '{without[0]}' has no run")
    if not metrics:
        raise InputError("no metric to score by")
    if not references and any(metric.needs_references for metric in metrics.values()):
        raise InputError("no reference", remedy="give at least one reference file")
    scored = [name for name, metric in metrics.items() if isinstance(metric, SegmentScores)]
    for system, name in product(systems, scored):
        runs, files = len(system.runs), len(system.score_files.get(name, ()))
        if files != runs:
            raise InputError(
                f"'{system.name}' has {runs} runs, but {files} score files of {name}",
                remedy="give one for each run of each system",
            )
    check_lengths([*references, *(column for system in systems for column in system.columns)])
    for number, lines in enumerate(zip(*(texts.lines for texts in references), strict=True), start=1):
        if not any(line.strip() for line in lines):
            raise InputError(
                "empty reference", location=f"{references[0].name}:{number}",
                remedy="every segment needs a reference: complete the line or leave the segment out",
            )  # fmt: skip


def check_lengths(columns: Sequence[Texts]) -> None:
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(f"{column.name} has {len(column)}" for column in columns)
        raise InputError(f"all files must have as many segments, but {counts}")
    if columns and len(columns[0]) == 0:
        raise InputError("no segments", location=columns[0].name)


_KEYS = (
    "system", "baseline", "metric", "difference", "p", "p_corrected", "ci", "test", "exchange", "samples",
    "tail", "exact", "units", "p_smallest", "p_error", "undecided",
)  # fmt: skip


@dataclass(frozen=True)
class Instability:
    """One system over its optimizer runs, in units of the metric.

    Attributes
    ----------
    runs : tuple of float
        (r,) score of each run on the test set.
    pooled : float
        Score of the statistics of all runs together.
    s_sel : float
        Test set selection: bootstrap standard deviation, averaged over runs; scaled by the exact deviation of
        the score's linear part over the simulated one (Clark et al. 2011 take it as it is).
    s_test : float
        Standard deviation over runs on the test set (n - 1); NaN for one run.
    s_dev : float
        The same on the development set; NaN if no scores are given.
    median_run : int
        Index of the run with the median score (the lower one of an even number), on the development set
        if scores on it are given (section 6, of manual analysis), else on the test set.
    """

    runs: tuple[float, ...]
    mean: float
    pooled: float
    s_sel: float
    s_test: float
    s_dev: float
    median_run: int


@dataclass(frozen=True, eq=False)
class SystemScore(Printable):
    """The score of one system by one metric, with the bootstrap interval of the mean."""

    instability: Instability
    ci: tuple[float, float]
    bootstrap: FloatArray  # (samples,) mean over runs on each virtual test set

    def to_json(self) -> dict[str, Any]:
        values = {**vars(self.instability), "ci": self.ci}
        order = ("mean", "runs", "pooled", "s_sel", "s_test", "s_dev", "ci", "median_run")
        return plain_fields({name: values[name] for name in order})


def pair_json(pair: Pair) -> dict[str, Any]:
    values = pair.to_json()
    return {
        **{name: values[name] for name in _KEYS},
        "other_claims": {unit: plain(claim.p) for unit, claim in pair.other_claims.items()},
        "equivalence": plain(pair.equivalence),
    }


@dataclass(frozen=True)
class ByNumber:
    """Differences of the means of `runs` runs of each system, over ways to choose them.

    `opposite` is the share of them whose sign is not that of all runs together.
    """

    runs: int
    median: float
    bounds: tuple[float, float]
    opposite: float


@dataclass(frozen=True)
class SingleRuns:
    """One system against the baseline by one metric.

    `cases` are the worst run against the baseline's best (unlucky), both medians, and the best against the
    worst (lucky), with their tests.
    """

    system: str
    baseline: str
    metric: str
    cases: Mapping[str, tuple[tuple[int, int], TestResult]]
    by_number_of_runs: tuple[ByNumber, ...]

    def to_json(self) -> dict[str, Any]:
        cases = {
            name: {"runs": runs, "difference": item.difference, "p": item.p}
            for name, (runs, item) in self.cases.items()
        }
        return plain_fields({**vars(self), "cases": cases})


@dataclass(frozen=True)
class NeededSegments:
    """The segments (groups) that show a difference with the requested power; None if it is 0 or undefined."""

    system: str
    baseline: str
    metric: str
    difference: float
    units: int
    needed: int | None
    by_size: tuple[Point, ...] = ()


@dataclass(frozen=True, eq=False)
class SystemsComparison(Printable):
    """What `compare` found.

    Attributes
    ----------
    scores : mapping of str to mapping of str to SystemScore
        System -> metric -> score.
    comparisons : tuple of Pair
        Every other system against the baseline, by every metric.
    scored : Scored
        (runs, n, k) statistics of each system, and for each metric its columns and aggregation.
    levels : Levels
        What segments belong to: the units that were exchanged and drawn.
    ranks : mapping of str to mapping of str to RankInterval
        Metric -> system -> how good and how bad its rank can be; empty unless requested.
    buckets : BucketReport or None
        The same comparisons in buckets of segments; None unless requested.
    single_runs : tuple of SingleRuns
        What one run each would have said; empty unless requested.
    power : tuple of NeededSegments
        How many segments the differences need; empty unless requested.
    """

    recipe: dict[str, Any]
    metrics: Mapping[str, TextMetric]
    systems: tuple[System, ...]
    references: tuple[Texts, ...]
    scores: Mapping[str, Mapping[str, SystemScore]]
    comparisons: tuple[Pair, ...]
    scored: Scored
    settings: ResamplingSettings
    levels: Levels
    ranks: Mapping[str, Mapping[str, RankInterval]] = field(default_factory=dict)
    buckets: BucketReport | None = None
    single_runs: tuple[SingleRuns, ...] = ()
    power: tuple[NeededSegments, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Recipe, systems and comparisons; None for what is undefined. `median_run` counts from 0."""
        return {
            "recipe": self.recipe,
            "systems": {
                name: {m: plain(score) | {"signature": self.signature(m)} for m, score in by_metric.items()}
                for name, by_metric in self.scores.items()
            },
            "comparisons": [
                pair_json(pair) | {"signature": self.signature(pair.metric)} for pair in self.comparisons
            ],
            "ranks": plain(self.ranks),
            "buckets": plain(self.buckets),
            "single_runs": plain(self.single_runs),
            **({"power": plain(self.power)} if self.power else {}),
        }

    def figures(self) -> dict[str, float]:
        """Scores, spreads and tests by dotted names, for tracking."""
        values = {
            f"{system}.{metric}.{quantity}": value
            for system, by_metric in self.scores.items()
            for metric, score in by_metric.items()
            for quantity, value in score.to_json().items()
            if isinstance(value, float)
        }
        for item in self.comparisons:
            name = f"{item.system}.{item.metric}"
            values |= {f"{name}.difference": item.result.difference, f"{name}.p": item.result.p}
            values[f"{name}.p_corrected"] = item.p_corrected
        return values

    def signature(self, metric: str) -> str:
        """What the numbers by the metric rest on, as sacreBLEU writes it; InputError for unknown names."""
        return self.metrics[known_name("metric", metric, self.metrics)].signature(len(self.references))

    def against_baseline(self, system: str, metric: str) -> Pair | None:
        """The comparison of one system by one metric; None for the baseline."""
        known_name("system", system, self.scores)
        known_name("metric", metric, self.metrics)
        return next((c for c in self.comparisons if (c.system, c.metric) == (system, metric)), None)

    def segment_scores(self, system: str, metric: str) -> FloatArray:
        """(runs, n) scores of single segments."""
        known_name("system", system, self.scores)
        kind = self.metrics[known_name("metric", metric, self.metrics)]
        return np.stack([kind.segment_scores(run) for run in self.scored.runs(system, metric)])

    def summary(self) -> Table:
        """A row for each metric and system."""
        return table_by("qe.systems.report.table", self)
