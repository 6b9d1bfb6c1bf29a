"""Feature families and sets as tables."""

from collections.abc import Sequence

from features.core.extractor import Feature
from qe.display.numbers import count
from qe.display.table import Column, Table
from qe.getting_started.catalogue.costs import FeatureCosts
from qe.getting_started.catalogue.features import sets, summaries

_COST = Column("µs per segment", "microseconds")


def listing(costs: FeatureCosts) -> list[Table]:
    """All families, and all sets of them, with what they cost."""
    families = [[name, about, _cost(costs.cost_of([name]))] for name, about in summaries().items()]
    named = [[s.name, s.description, s.origin, _cost(s.microseconds)] for s in sets(costs)]
    return [
        Table("", [Column("family"), Column("what it is"), _COST], families),
        Table("", [Column("set"), Column("what it is"), Column("source", drop=1), _COST], named),
    ]


def _cost(microseconds: float | None) -> str:
    return "" if microseconds is None else count(microseconds)


def features_table(features: Sequence[Feature]) -> Table:
    """Every feature with its definition."""
    columns = [Column("feature"), Column("definition"), Column("source", drop=2), Column("unit", drop=1)]
    return Table("", columns, [[f.name, f.description, f.origin, f.unit] for f in features])
