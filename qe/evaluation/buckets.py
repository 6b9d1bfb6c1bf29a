"""QE systems in buckets: the tests of `qe evaluate` on parts of the segments."""

from collections.abc import Sequence
from dataclasses import replace

from qe.statistics.buckets import BucketReport, Buckets, compare_in_buckets
from qe.statistics.comparisons import Comparisons
from qe.statistics.family import Rule
from qe.statistics.levels import Levels
from qe.statistics.scored import Predictions
from qe.statistics.settings import ResamplingSettings

BUCKET_METRICS = ("delta_avg", "spearman", "mae")


def evaluate_in_buckets(
    predictions: Predictions,
    pairs: Sequence[tuple[str, str]],
    buckets: Sequence[Buckets],
    levels: Levels,
    settings: ResamplingSettings,
    rule: Rule,
    samples: int | None = None,
) -> BucketReport:
    """Tests pairs of systems in every bucket, by the `BUCKET_METRICS` that are defined.

    samples  resamples of each test; None: what so many comparisons need
    """
    kinds = {name: predictions.kinds[name] for name in BUCKET_METRICS if name in predictions.kinds}
    keys = [
        (a, b, metric)
        for a, b in pairs
        for metric in kinds
        if not {(a, metric), (b, metric)} & set(predictions.unscored)
    ]
    comparisons = Comparisons(replace(predictions, kinds=kinds), levels, settings)
    return compare_in_buckets(comparisons, keys, buckets, rule, samples=samples)
