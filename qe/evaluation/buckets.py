"""QE systems in buckets: the tests of `qe evaluate` on parts of the segments."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from features.basics.array_types import FloatArray
from features.basics.progress import silent
from qe.evaluation.pairs import Tester, bootstrap, left_out
from qe.statistics.buckets import BucketReport, Buckets, Rows, Within, compare_in_buckets
from qe.statistics.family import Key, Rule, copies_of
from qe.statistics.levels import Levels
from qe.statistics.metric import Metric

BUCKET_METRICS = ("delta_avg", "spearman", "mae")


@dataclass(frozen=True, eq=False)
class _Predictions:
    """Gold labels (n,) and predictions (n,), oriented: higher is better."""

    gold: FloatArray
    predictions: Mapping[str, FloatArray]
    pairs: Sequence[tuple[str, str]]
    metrics: Mapping[str, Metric]
    levels: Levels
    seed: int
    test: str
    unscored: Collection[tuple[str, str]]
    undirected: tuple[str, ...] = ()

    @property
    def keys(self) -> Sequence[Key]:
        return [
            (a, b, metric)
            for a, b in self.pairs
            for metric in self.metrics
            if not {(a, metric), (b, metric)} & set(self.unscored)
        ]

    def alike(self, rows: Rows) -> Mapping[str, str]:
        return copies_of({name: values[rows] for name, values in self.predictions.items()})

    def within(self, rows: Rows, samples: int) -> dict[Key, Within]:
        gold, levels = self.gold[rows], self.levels.part(rows)
        sides = {name: values[rows] for name, values in self.predictions.items()}
        scores = {
            name: {key: metric.score(gold, side) for key, metric in self.metrics.items()}
            for name, side in sides.items()
        }
        drawn = {}
        if self.test == "bootstrap":
            drawn = bootstrap(gold, sides, self.metrics, samples, self.seed, levels, silent)
        tester = Tester(
            gold, sides, scores, self.metrics, drawn, samples, self.seed, self.test, levels, silent
        )
        without = left_out(gold, sides, self.metrics, levels, silent)
        return {
            (a, b, metric): Within(
                (scores[a][metric], scores[b][metric]),
                result,
                [x - y for x, y in zip(without[a, metric], without[b, metric], strict=True)],
            )
            for (a, b, metric), result in tester.results(self.pairs).items()
        }


def evaluate_in_buckets(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    pairs: Sequence[tuple[str, str]],
    metrics: Mapping[str, Metric],
    buckets: Sequence[Buckets],
    levels: Levels,
    rule: Rule,
    *,
    samples: int | None = None,
    seed: int = 0,
    test: str = "ar",
    unscored: Collection[tuple[str, str]] = (),
) -> BucketReport:
    """Tests pairs of systems in every bucket; gold labels and predictions are oriented, higher is better.

    unscored  (system, metric) that cannot be computed, such as errors of a mere ranking
    """
    systems = _Predictions(gold, predictions, pairs, metrics, levels, seed, test, unscored)
    return compare_in_buckets(systems, buckets, levels, rule, samples=samples)
