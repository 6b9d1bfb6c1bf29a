"""Differences in buckets as tables for people, and what they rest on."""

import math
from collections.abc import Sequence

from qe.display.numbers import Shown, count, interval, number, p_value
from qe.display.table import Column, Table
from qe.evaluation.report_tables import INTERVAL, PAIRS_LIMIT
from qe.statistics.buckets import BucketReport, Buckets, Dependence
from qe.statistics.family import Bucket, Pair, Titles
from qe.statistics.metric import METRICS, title_of

_COLUMNS = (
    Column("metric", once=True), Column("system", once=True), Column("minus", once=True), Column("bucket"),
    Column("segments", drop=1), Column("score", drop=2), Column("minus's", "score of minus", drop=2),
    Column("difference"), Column(INTERVAL, "interval"), Column("p"),
)  # fmt: skip


def bucket_tables(report: BucketReport, digits: int | None = None, titles: Titles = title_of) -> list[Table]:
    """A table for each kind of buckets, unless the pairs are too many; p-values are corrected.

    digits  of scores; default: those of the metric
    """
    return (
        [] if _many(report) else [bucket_table(report, one, digits, titles=titles) for one in report.buckets]
    )


def _many(report: BucketReport) -> bool:
    return len({(one.system, one.baseline) for one in report.differences}) > PAIRS_LIMIT


def bucket_table(
    report: BucketReport,
    buckets: Buckets,
    digits: int | None = None,
    metric: str | None = None,
    titles: Titles = title_of,
) -> Table:
    """The differences of all pairs in each bucket of one kind, by all metrics or by one."""
    shown = report.by_kind(buckets.name, metric)
    rows: list[Sequence[str]] = []
    before: tuple[str, ...] = ()
    for one in shown:
        names = (titles(one.metric), one.system, one.baseline)
        rows += [()] if before and names != before else []
        shown_digits = METRICS.get(one.metric).digits if digits is None else digits
        rows.append((*names, *_cells(one, shown_digits, report.level)))
        before = names
    return Table(f"By {buckets.name}: {buckets.about}", _COLUMNS, rows)


def _cells(one: Pair, digits: int, level: float) -> list[str]:
    scores = [number(score, digits) for score in one.scores]
    told = number(one.result.difference, digits), interval(one.ci, digits)
    bucket = one.bucket or Bucket("", "", 0)
    return [bucket.label, count(bucket.segments), *scores, *told, p_of(one, level)]


def p_of(one: Pair, level: float) -> Shown:
    """The corrected p-value, marked where it is significant."""
    return p_value(one.p_corrected, level, one.result.undecided)


def bucket_notes(report: BucketReport, titles: Titles = title_of) -> list[str]:
    """The families, whether differences depend on the bucket, cautions."""
    sizes = ", ".join(f"{titles(name)}: {size}" for name, size in report.family["comparisons"].items())
    lines = [
        f"buckets: p corrected ({report.family['correction']}) within families of comparisons ({sizes}: all"
        " buckets of all kinds); 95 % intervals: jackknife, uncorrected"
    ]
    if _many(report):
        return [
            *lines,
            f"buckets: more than {PAIRS_LIMIT} pairs of systems are too many for tables: --json has them",
            *(f"note: {note}" for note in report.notes),
        ]
    for by in dict.fromkeys(one.by for one in report.dependences):
        own = [one for one in report.dependences if one.by == by]
        for pair in dict.fromkeys((one.system, one.baseline) for one in own):
            told = [
                f"{titles(one.metric)} {verdict(one, report.level)}"
                for one in own
                if (one.system, one.baseline) == pair
            ]
            lines.append(f"does {' : '.join(pair)} depend on {by}? {'; '.join(told)}")
    return [*lines, *(f"note: {note}" for note in report.notes)]


def verdict(one: Dependence, level: float) -> str:
    """Yes, or not shown, with the p-value."""
    if math.isnan(one.p_corrected):
        return "cannot be told"
    shown = "yes" if one.p_corrected <= level else "not shown"
    return f"{shown} (p {p_value(one.p, None)}, corrected {p_value(one.p_corrected, None)})"
