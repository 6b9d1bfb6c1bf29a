"""MT systems in buckets: the tests of `qe compare` on parts of the segments."""

from collections.abc import Sequence
from dataclasses import replace

from qe.statistics.buckets import Buckets, compare_in_buckets
from qe.statistics.comparisons import Comparisons
from qe.statistics.scored import Additive
from qe.systems.results import SystemsComparison
from qe.systems.text_metric import title_of


def with_buckets(
    comparison: SystemsComparison, buckets: Sequence[Buckets], samples: int | None = None
) -> SystemsComparison:
    """The comparison with every system tested against the baseline in every bucket.

    samples  resamples of each test; None: those of the comparison, or what so many comparisons need

    The test, its unit of exchange and the correction are those of the comparison.
    """
    settings, metrics = comparison.settings, comparison.metrics
    scored = Additive(comparison.statistics, comparison.measures)
    report = compare_in_buckets(
        Comparisons(scored, comparison.levels, settings),
        [pair.key for pair in comparison.comparisons],
        buckets,
        settings.rule,
        undirected=[name for name, metric in metrics.items() if metric.higher_is_better is None],
        samples=samples,
        min_samples=settings.samples or 1,
        titles=title_of,
    )
    return replace(comparison, buckets=report)
