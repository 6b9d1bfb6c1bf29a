"""Violated preferences: pairs that an order ranks against the majority of judgements."""

from collections.abc import Sequence
from dataclasses import dataclass

from qe_human.judgements.pairwise import PairwiseCounts


@dataclass(frozen=True)
class Violation:
    """`preferred` was judged better `margin` times more often than worse. Yet `ranked_above` is ranked above
    it.
    """

    preferred: str
    ranked_above: str
    margin: int


def violations(order: Sequence[str], counts: PairwiseCounts) -> list[Violation]:
    """The violated preferences of an order, from its top (Lopez 2012, Table 3).

    order  all systems of the counts, best first

    The sum of margins is the order's cost (Lopez 2012, Table 2; findings of WMT 2012, Eq. 7).
    """
    margins = counts.margins
    places = [counts.systems.index(name) for name in order]
    return [
        Violation(counts.systems[low], counts.systems[high], int(margins[low, high]))
        for i, high in enumerate(places)
        for low in places[i + 1 :]
        if margins[low, high] > 0
    ]
