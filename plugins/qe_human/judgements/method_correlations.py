"""How alike the orders of several methods are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau

from features.basics.array_types import FloatArray


@dataclass(frozen=True, eq=False)
class MethodCorrelations:
    """(m, m) rank correlations between the orders of m methods; NaN for fewer than two systems."""

    methods: tuple[str, ...]
    spearman: FloatArray
    kendall: FloatArray


def method_correlations(orders: Mapping[str, Sequence[str]]) -> MethodCorrelations:
    """Spearman's rho and Kendall's tau between orders of the same systems, best first."""
    systems = next(iter(orders.values()))
    ranks = np.array([[order.index(system) for system in systems] for order in map(list, orders.values())])
    if len(systems) < 2:
        undefined = np.full((len(orders), len(orders)), np.nan)
        return MethodCorrelations(tuple(orders), undefined, undefined)
    # Ranks without ties: Pearson's correlation of them is Spearman's of the orders.
    kendall = [[float(kendalltau(a, b).statistic) for b in ranks] for a in ranks]
    return MethodCorrelations(tuple(orders), np.atleast_2d(np.corrcoef(ranks)), np.array(kendall))
