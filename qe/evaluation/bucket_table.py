"""Differences in buckets as tables for people, and what they rest on."""

import math

from rich.box import SIMPLE_HEAD
from rich.table import Table

from qe.evaluation.table import PAIRS_LIMIT
from qe.statistics.buckets import BucketReport, Buckets, Dependence, InBucket

HEADER = (
    "metric",
    "system",
    "minus",
    "bucket",
    "segments",
    "score",
    "minus's",
    "difference",
    "95 % interval",
)


def bucket_tables(report: BucketReport, digits: int = 3) -> list[Table]:
    """A table for each kind of buckets, unless the pairs are too many; p-values are corrected."""
    return [] if _many(report) else [_table(report, one, digits) for one in report.buckets]


def _many(report: BucketReport) -> bool:
    return len({(one.system, one.baseline) for one in report.differences}) > PAIRS_LIMIT


def _table(report: BucketReport, buckets: Buckets, digits: int) -> Table:
    title = f"By {buckets.name}: {buckets.about}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for header in HEADER:
        right = header not in HEADER[:3]
        table.add_column(header, justify="right" if right else "left", no_wrap=right)
    table.add_column("p", justify="right", no_wrap=True)
    before: tuple[str, ...] = ()
    for one in report.differences:
        if one.by != buckets.name:
            continue
        names = (one.metric, one.system, one.baseline)
        if before and names != before:
            table.add_section()
        table.add_row(*(("", "", "") if names == before else names), *bucket_cells(one, digits))
        before = names
    return table


def bucket_cells(one: InBucket, digits: int = 3) -> tuple[str, ...]:
    """Bucket, segments, both scores, difference, interval, corrected p; '?' where it cannot be decided."""
    low, high = one.ci
    return (
        one.bucket,
        f"{one.segments:,}",
        *(number(score, digits) for score in one.scores),
        number(one.result.difference, digits),
        "-" if math.isnan(low) else f"{number(low, digits)} .. {number(high, digits)}",
        "?" if one.result.undecided else number(one.p_corrected, 4),
    )


def bucket_notes(report: BucketReport) -> list[str]:
    """The families, whether differences depend on the bucket, cautions."""
    sizes = ", ".join(f"{name}: {size}" for name, size in report.family["comparisons"].items())
    lines = [
        f"buckets: p corrected ({report.family['correction']}) within families of comparisons ({sizes}: all"
        " buckets of all kinds); 95 % intervals: jackknife, uncorrected"
    ]
    if _many(report):
        return [*lines, "buckets: so many pairs are for --json", *(f"note: {note}" for note in report.notes)]
    for by in dict.fromkeys(one.by for one in report.dependences):
        own = [one for one in report.dependences if one.by == by]
        for pair in dict.fromkeys((one.system, one.baseline) for one in own):
            told = [f"{one.metric} {verdict(one)}" for one in own if (one.system, one.baseline) == pair]
            lines.append(f"does {' : '.join(pair)} depend on {by}? {'; '.join(told)}")
    return [*lines, *(f"note: {note}" for note in report.notes)]


def verdict(one: Dependence) -> str:
    """Yes, or not shown, with the p-value."""
    if math.isnan(one.p_corrected):
        return "cannot be told"
    shown = "yes" if one.p_corrected <= 0.05 else "not shown"
    return f"{shown} (p {one.p:.4f}, corrected {one.p_corrected:.4f})"


def number(value: float, digits: int) -> str:
    """A figure; '-' where it is undefined."""
    return "-" if math.isnan(value) else f"{value:.{digits}f}"
