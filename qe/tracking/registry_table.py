"""Versions of registered models as a table."""

from collections.abc import Sequence

from qe.display.numbers import NumberText, number
from qe.display.table import Column, Table
from qe.statistics.metric import METRICS, title_of
from qe.tracking.registry import Version

_COLUMNS = (
    Column("model", once=True), Column("version"), Column("alias"), Column("learner", drop=3),
    Column("data", drop=2), Column("metric"), Column("created", drop=1), Column("experiment", drop=4),
    Column("90 % coverage", "coverage", drop=5), Column("promotion", drop=6),
)  # fmt: skip


def versions_table(versions: Sequence[Version]) -> Table:
    """A row per version, in the order given."""
    return Table("", _COLUMNS, [_row(version) for version in versions])


def _row(version: Version) -> list[str]:
    tags, coverage = version.tags, version.metrics.get("intervals/coverage 90 percent")
    return [
        version.name, version.version, ", ".join(version.aliases), _learner(version),
        tags.get("data", ""), _score(version), _minute(version), tags.get("experiment", ""),
        "" if coverage is None else number(coverage), tags.get("promotion.decision", ""),
    ]  # fmt: skip


def _learner(version: Version) -> str:
    return version.tags.get("model", "").partition(" on ")[0]


def _minute(version: Version) -> NumberText:
    return NumberText(*version.created[:16].split("T"), value=version.created)


def _score(version: Version) -> str:
    if "value" not in version.tags:
        return ""
    metric, value = version.tags.get("metric", ""), float(version.tags["value"])
    digits = METRICS.get(metric).digits + 1 if metric in METRICS else 4
    return NumberText(title_of(metric), number(value, digits), value=value)
