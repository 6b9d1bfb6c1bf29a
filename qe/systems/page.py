"""A comparison as one HTML page.

It has results, buckets, and the segments where two systems differ most.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby
from typing import Any

from qe.display.numbers import number
from qe.display.page import figures, render
from qe.evaluation.tables import bucket_table
from qe.evaluation.tables import verdict as bucket_verdict
from qe.systems import report
from qe.systems.changes import Change, changes
from qe.systems.results import SystemsComparison
from qe.systems.runs_plot import DIRECTIONS
from qe.systems.text_metric import title_of
from qe.systems.texts import Texts
from qe.systems.verdict import verdict

_DIGITS = 2  # of scores in buckets
SHOWN = 10  # segments of each direction, system and metric

Marked = list[tuple[str, bool]]
"""Runs of words, and whether the other translation lacks them."""


@dataclass(frozen=True)
class ShownSegment:
    """A segment on the page.

    bands  the bucket of each kind that it is in
    """

    change: Change
    source: str | None
    baseline: Marked
    system: Marked
    bands: Mapping[str, str]

    @property
    def number(self) -> int:
        return self.change.segment


def page(
    comparison: SystemsComparison,
    source: Texts | None = None,
    languages: tuple[str, str] = ("", ""),
    plots: Mapping[str, bytes] | None = None,
) -> str:
    """The page; all text of the data is escaped.

    source     the sources, to be shown
    languages  ISO codes of source and target, for hyphenation and speech; empty if not known
    plots      kind of buckets -> a picture of them (PNG)
    """
    others = [name for name in comparison.scores if name != comparison.recipe["baseline"]]
    pictures = {
        item.name: figures({f"Differences by {item.name} with intervals": (plots or {})[item.name]})[0]
        for item in (comparison.buckets.buckets if comparison.buckets else ())
        if item.name in (plots or {})
    }
    directions = {name: DIRECTIONS[metric.higher_is_better] for name, metric in comparison.metrics.items()}
    return render(
        "qe.systems",
        "page.html",
        {
            "verdict": partial(bucket_verdict, level=comparison.settings.level),
            "number": number,
            "title_of": title_of,
        },
        title=f"{', '.join(others) or 'no other system'} against {comparison.recipe['baseline']}",
        found=verdict(comparison),
        comparison=comparison,
        table=report.table(comparison).html(),
        parted=comparison.buckets,
        pictures=pictures,
        bucket_tables=_bucket_tables(comparison, directions),
        directions=directions,
        segments=list(_segments(comparison, source)),
        languages=languages,
        recipe=_recipe(comparison),
    )


def _bucket_tables(
    comparison: SystemsComparison, directions: Mapping[str, str]
) -> dict[tuple[str, str], str]:
    parted = comparison.buckets
    if parted is None:
        return {}
    return {
        (item.name, metric): replace(
            bucket_table(parted, item, _DIGITS, metric, title_of),
            title=f"{title_of(metric)} by {item.name} ({directions[metric]})",
        ).html()
        for item in parted.buckets
        for metric in comparison.metrics
        if parted.by_kind(item.name, metric)
    }


def _segments(
    comparison: SystemsComparison, source: Texts | None
) -> Iterator[tuple[str, str, list[tuple[str, list[ShownSegment]]]]]:
    every = changes(comparison, SHOWN)
    for (system, metric), of_metric in groupby(every, lambda change: (change.system, change.metric)):
        by_change = [
            (name, [_shown_segment(comparison, change, source) for change in changes])
            for name, changes in groupby(of_metric, lambda change: change.change)
        ]
        yield system, metric, by_change


def _shown_segment(comparison: SystemsComparison, change: Change, source: Texts | None) -> ShownSegment:
    row = change.segment - 1
    own, other = change.system_text.split(), change.baseline_text.split()
    bands = {item.name: item.label(row) for item in comparison.buckets.buckets} if comparison.buckets else {}
    text = None if source is None else source.lines[row]
    return ShownSegment(change, text, marked(other, own), marked(own, other), bands)


def marked(words: Sequence[str], counterpart: Sequence[str]) -> Marked:
    """Runs of words, and whether they are not aligned with equal words of the other translation.

    >>> marked(["a", "b", "c"], ["a", "c"])
    [('a', False), ('b', True), ('c', False)]
    """
    runs: Marked = []
    matcher = SequenceMatcher(None, words, counterpart, autojunk=False)
    for tag, first, last, _, _ in matcher.get_opcodes():
        if last > first:
            runs.append((" ".join(words[first:last]), tag != "equal"))
    return runs


def _recipe(comparison: SystemsComparison) -> str:
    recipe: Any = comparison.recipe
    versions = ", ".join(f"{name} {version}" for name, version in recipe["versions"].items())
    return f"seed {recipe['seed']} · {recipe['samples']:,} samples · {versions}"
