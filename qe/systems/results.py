"""Results: what a comparison of systems found, by system and by pair."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import known_name
from qe.display.summary import summarised, table_by
from qe.display.table import Table
from qe.statistics.buckets import BucketReport
from qe.statistics.equivalence import Equivalence
from qe.statistics.instability import Instability
from qe.statistics.levels import Levels
from qe.statistics.ranks import RankInterval
from qe.statistics.result import Measure, TestResult
from qe.systems.one_run_each import SingleRuns
from qe.systems.settings import ResamplingSettings
from qe.systems.system import System
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts

Span = tuple[float, float]
_TOLD = (
    "test", "exchange", "samples", "tail", "exact", "units", "p_smallest", "p_error", "undecided",
)  # fmt: skip


@summarised
@dataclass(frozen=True, eq=False)
class SystemScore:
    """The score of one system by one metric, in units of the metric.

    `ci` is the bootstrap interval of the mean.
    """

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


@summarised
@dataclass(frozen=True)
class Compared:
    """One system against the baseline by one metric.

    The difference and its `ci` are of pooled scores.

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


@summarised
@dataclass(frozen=True, eq=False)
class SystemsComparison:
    """What `compare` found.

    Attributes
    ----------
    scores : mapping of str to mapping of str to SystemScore
        System -> metric -> score.
    comparisons : tuple of Compared
        Every other system against the baseline, by every metric.
    statistics : mapping of str to array of float
        System -> (runs, n, k) statistics; measures: metric -> its columns and aggregation.
    settings : ResamplingSettings
        How they were compared, with the number of samples that were drawn.
    levels : Levels
        What segments belong to: the units that were exchanged and drawn.
    ranks : mapping of str to mapping of str to RankInterval
        Metric -> system -> how good and how bad its rank can be; empty unless asked for.
    buckets : BucketReport or None
        The same comparisons in buckets of segments; None unless asked for.
    single_runs : tuple of SingleRuns
        What one run each would have said; empty unless asked for.
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
    single_runs: tuple[SingleRuns, ...] = ()

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
            "single_runs": [one.to_json() for one in self.single_runs],
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
        for one in self.comparisons:
            name = f"{one.system}.{one.metric}"
            values |= {f"{name}.difference": one.result.difference, f"{name}.p": one.result.p}
            values[f"{name}.p_corrected"] = one.p_corrected
        return values

    def signature(self, metric: str) -> str:
        """What the numbers by the metric rest on, as sacreBLEU writes it.

        Raises InputError for an unknown metric, as the other methods do for unknown names.
        """
        return self.metrics[known_name("metric", metric, self.metrics)].signature(len(self.references))

    def against_baseline(self, system: str, metric: str) -> Compared | None:
        """The comparison of one system by one metric; None for the baseline."""
        known_name("system", system, self.scores)
        known_name("metric", metric, self.metrics)
        matching = (c for c in self.comparisons if (c.system, c.metric) == (system, metric))
        return next(matching, None)

    def segment_scores(self, system: str, metric: str) -> FloatArray:
        """(runs, n) scores of single segments."""
        known_name("system", system, self.statistics)
        columns = self.measures[known_name("metric", metric, self.measures)].columns
        return np.stack(
            [self.metrics[metric].segment_scores(run[:, columns]) for run in self.statistics[system]]
        )

    def summary(self) -> Table:
        """A row for each metric and system."""
        return table_by("qe.systems.report.table", self)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return None if value != value else value
