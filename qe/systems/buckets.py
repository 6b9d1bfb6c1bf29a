"""MT systems in buckets: the tests of `qe compare` on parts of the segments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from features.basics.progress import silent
from qe.statistics.buckets import Buckets, Rows, Within, compare_in_buckets
from qe.statistics.family import Key, Rule, copies_of
from qe.systems.results import SystemsComparison
from qe.systems.sampled import Sampled, draw


def with_buckets(
    comparison: SystemsComparison, buckets: Sequence[Buckets], samples: int | None = None
) -> SystemsComparison:
    """The comparison with every system tested against the baseline in every bucket.

    samples  resamples of each test; None: those of the comparison, or what so many comparisons need

    The test, its unit of exchange and the correction are those of the comparison.
    """
    settings = comparison.settings
    report = compare_in_buckets(
        _Systems(comparison),
        buckets,
        comparison.levels,
        Rule(settings.family, settings.correct),
        samples=samples,
        least=settings.samples or 1,
    )
    return replace(comparison, buckets=report)


@dataclass(frozen=True, eq=False)
class _Systems:
    comparison: SystemsComparison

    @property
    def keys(self) -> Sequence[Key]:
        return [(one.system, one.baseline, one.metric) for one in self.comparison.comparisons]

    @property
    def undirected(self) -> Sequence[str]:
        metrics = self.comparison.metrics
        return [name for name, metric in metrics.items() if metric.higher_is_better is None]

    def alike(self, rows: Rows) -> Mapping[str, str]:
        return copies_of({name: runs[:, rows] for name, runs in self.comparison.statistics.items()})

    def within(self, rows: Rows, samples: int) -> Mapping[Key, Within]:
        sampled = self._sampled(rows, samples)
        pairs = dict.fromkeys((system, baseline) for system, baseline, _ in self.keys)
        tests = {pair: sampled.tests(*pair) for pair in pairs}
        return {
            key: Within(
                (sampled.pooled(key[0], key[2]), sampled.pooled(key[1], key[2])),
                tests[key[:2]][key[2]],
                [sampled.difference_left_out(*key, units) for _, units in sampled.levels.each()],
            )
            for key in self.keys
        }

    def _sampled(self, rows: Rows, samples: int) -> Sampled:
        """The statistics of these segments alone, with virtual test sets if the test needs them."""
        whole = self.comparison
        settings = replace(whole.settings, samples=samples)
        parts = {name: runs[:, rows] for name, runs in whole.statistics.items()}
        levels = whole.levels.part(rows)
        by_bootstrap = settings.test != "ar"
        drawn = draw(parts, whole.measures, samples, settings.seed, levels, silent) if by_bootstrap else {}
        return Sampled(parts, whole.measures, drawn, samples, settings, levels)
