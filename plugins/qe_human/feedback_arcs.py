"""The minimum feedback arc set of a preference graph, exactly: the order of least violated preference.

Strongly connected components are solved one by one, each by dynamic programming over its subsets (Held and
Karp 1962; Lopez 2012, Algorithm 1, searches the same space with an agenda).
"""

from typing import Any

import numba
import numpy as np
from scipy.sparse.csgraph import connected_components

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError
from features.basics.threads import apply_to_each, even_ranges

LARGEST = 26  # systems in one circle: 2**26 subsets take 512 MiB and seconds
_ROUNDING = 1e-9  # costs closer than this share of the largest preference are equal


def least_cost_order(preferences: FloatArray) -> tuple[IntArray, bool]:
    """The order (k,) of least cost, best first, and whether it is the only one.

    preferences  (k, k) cost of ranking b above a, at [a, b]; none negative

    Raises InputError if more than `LARGEST` systems form one preference cycle.
    """
    preferences = np.ascontiguousarray(preferences, np.float64)
    circles = circles_in_order(preferences)
    order = np.empty(len(preferences), np.int64)
    return order, bool(_solve(preferences, circles, order))


def least_cost_ranks(preferences: FloatArray) -> IntArray:
    """Rank (..., k), from 1, in the order of least cost of (..., k, k) tables; see `least_cost_order`."""
    systems = preferences.shape[-1]
    tables = np.ascontiguousarray(preferences, np.float64).reshape(-1, systems, systems)
    orders = np.empty((len(tables), systems), np.int64)

    def solve(first: int, last: int) -> None:
        for table, order in zip(tables[first:last], orders[first:last], strict=True):
            _solve(table, circles_in_order(table), order)

    apply_to_each(solve, *zip(*even_ranges(np.ones(len(tables)), smallest=8, per_core=16), strict=True))
    ranks = np.empty_like(orders)
    np.put_along_axis(ranks, orders, np.arange(1, systems + 1)[None], axis=1)
    return ranks.reshape(preferences.shape[:-1])


def cost_of(order: IntArray, preferences: FloatArray) -> float:
    return float(np.tril(preferences[np.ix_(order, order)], -1).sum())


def circles_in_order(preferences: FloatArray) -> IntArray:
    """Number (k,) of each system's component; preferences between components run to higher numbers."""
    edges = np.asarray(preferences) > 0
    _, labels = connected_components(edges, directed=True, connection="strong")
    circles = np.full(len(edges), -1, np.int64)
    for number in range(labels.max(initial=-1) + 1):
        remaining = circles < 0
        for system in np.flatnonzero(remaining):
            members = labels == labels[system]
            if not edges[np.ix_(remaining & ~members, members)].any():  # nobody left is preferred to it
                circles[members] = number
                break
    largest = int(np.bincount(circles).max(initial=0))
    if largest > LARGEST:
        raise InputError(
            f"the preferences of {largest} systems run in circles, and an exact order is found among up to "
            f"{LARGEST}",
            remedy="leave this method out, or rank fewer systems",
        )
    return circles


@numba.njit(cache=True, nogil=True)
def _solve(preferences: Any, circles: Any, order: Any) -> bool:
    k = len(preferences)
    rounding = _ROUNDING * preferences.max() if k > 0 else 0.0
    unique = True
    place = 0
    for number in range(k):
        members = np.flatnonzero(circles == number)
        if len(members) == 0:
            break
        if len(members) == 1:
            order[place] = members[0]
        elif not _solve_circle(preferences, members, rounding, order[place : place + len(members)]):
            unique = False
        # Neighbours of different circles without a preference may change places.
        if place > 0 and preferences[order[place - 1], order[place]] <= 0:
            unique = False
        place += len(members)
    return unique


@numba.njit(cache=True, nogil=True)
def _solve_circle(preferences: Any, members: Any, rounding: float, order: Any) -> bool:
    m = len(members)
    half = m // 2
    low = np.zeros((m, 1 << half))
    high = np.zeros((m, 1 << (m - half)))
    for last in range(m):
        for bit in range(half):
            for rest in range(1 << bit):
                low[last, (1 << bit) + rest] = low[last, rest] + preferences[members[last], members[bit]]
        for bit in range(m - half):
            weight = preferences[members[last], members[half + bit]]
            for rest in range(1 << bit):
                high[last, (1 << bit) + rest] = high[last, rest] + weight
    mask = (1 << half) - 1
    cost = np.empty(1 << m)
    cost[0] = 0.0
    for subset in range(1, 1 << m):
        best = np.inf
        for last in range(m):
            if subset >> last & 1:
                others = subset ^ (1 << last)
                here = cost[others] + low[last, others & mask] + high[last, others >> half]
                if here < best:
                    best = here
        cost[subset] = best
    unique = True
    subset = (1 << m) - 1
    for place in range(m - 1, -1, -1):
        equals, chosen = 0, -1
        for last in range(m):
            if subset >> last & 1:
                others = subset ^ (1 << last)
                here = cost[others] + low[last, others & mask] + high[last, others >> half]
                if here <= cost[subset] + rounding:
                    equals, chosen = equals + 1, last
        unique = unique and equals == 1
        order[place] = members[chosen]
        subset ^= 1 << chosen
    return unique
