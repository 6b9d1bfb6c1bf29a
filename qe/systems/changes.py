"""The segments that a system translates much better or worse than the baseline."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qe.display.numbers import number
from qe.systems.results import SystemsComparison
from qe.systems.text_metric import title_of

_EXAMPLES = 20  # segments shown per direction


@dataclass(frozen=True)
class Change:
    """A segment that one system translates better or worse than the baseline.

    baseline_score, system_score  segment scores, means over runs; the texts are those of the median runs
    """

    metric: str
    system: str
    baseline: str
    change: str  # improved or worsened
    segment: int  # from 1
    baseline_score: float
    system_score: float
    reference: str | None
    baseline_text: str
    system_text: str


def changes(comparison: SystemsComparison, examples: int = _EXAMPLES) -> Iterator[Change]:
    """The segments that improved and worsened most.

    There is one `Change` for every comparison by a metric with a direction.
    """
    for compared in comparison.comparisons:
        better = comparison.metrics[compared.metric].higher_is_better
        if better is None:
            continue
        means = [
            comparison.segment_scores(name, compared.metric).mean(axis=0)
            for name in (compared.baseline, compared.system)
        ]
        gain = np.nan_to_num((means[1] - means[0]) * (1 if better else -1))
        order = np.argsort(-gain, kind="stable")
        for change, chosen in (
            ("improved", [i for i in order[:examples] if gain[i] > 0]),
            ("worsened", [i for i in order[::-1][:examples] if gain[i] < 0]),
        ):
            for i in chosen:
                yield Change(
                    compared.metric, compared.system, compared.baseline, change, int(i) + 1,
                    float(means[0][i]), float(means[1][i]),
                    comparison.references[0].lines[i] if comparison.references else None,
                    _median_text(comparison, compared.baseline, compared.metric, i),
                    _median_text(comparison, compared.system, compared.metric, i),
                )  # fmt: skip


def _median_text(comparison: SystemsComparison, system: str, metric: str, segment: int) -> str:
    runs = next(s.runs for s in comparison.systems if s.name == system)
    return runs[comparison.scores[system][metric].instability.median_run].lines[segment]


def change_text(change: Change) -> str:
    """A segment in words: its scores, and all texts."""
    return (
        f"{change.change} by {title_of(change.metric)}: segment {change.segment}, "
        f"{number(change.baseline_score, 2)} ({change.baseline}) -> "
        f"{number(change.system_score, 2)} ({change.system})\n"
        f"  reference: {change.reference or '-'}\n"
        f"  {change.baseline}: {change.baseline_text}\n"
        f"  {change.system}: {change.system_text}\n\n"
    )
