"""Clusters: systems in order of score, cut where everybody above beats everybody below."""

from collections.abc import Mapping, Sequence


def clusters(
    order: Sequence[str], p_values: Mapping[tuple[str, str], float], level: float = 0.05
) -> list[list[str]]:
    """Groups of systems, best first, that a test at `level` can tell apart.

    order     systems by score, best first
    p_values  corrected p-value of each pair, under either order of the two names; NaN tells nothing apart

    A cut lies after a system only if every pair across the cut is significant, so that two systems of
    different clusters always differ (the convention of the WMT shared tasks).

    >>> clusters(["a", "b", "c"], {("a", "b"): 0.3, ("a", "c"): 0.01, ("b", "c"): 0.02})
    [['a', 'b'], ['c']]
    """
    groups: list[list[str]] = []
    current: list[str] = []
    for position, name in enumerate(order):
        current.append(name)
        above, below = order[: position + 1], order[position + 1 :]
        if all(_differ(p_values, a, b, level) for a in above for b in below):
            groups.append(current)
            current = []
    return groups


def _differ(p_values: Mapping[tuple[str, str], float], a: str, b: str, level: float) -> bool:
    p = p_values[a, b] if (a, b) in p_values else p_values[b, a]
    return p <= level
