"""Trees without crossing arcs: a dependant of a crossing arc is lifted to the head of its head."""

from collections.abc import Sequence


def projective(heads: Sequence[int]) -> list[int]:
    """Heads of a projective tree: while arcs cross, the shortest of them is lifted (Nivre and Nilsson 2005).

    >>> projective([2, 3, -1, 2])
    [2, 2, -1, 2]
    """
    result = list(heads)
    while True:
        crossing = [word for word in range(len(result)) if result[word] >= 0 and not _covers(result, word)]
        if not crossing:
            return result
        word = min(crossing, key=lambda w: abs(w - result[w]))
        result[word] = result[result[word]]


def _covers(heads: Sequence[int], word: int) -> bool:
    """Whether the head of `word` is above all that lies between them."""
    head = heads[word]
    return all(_above(heads, head, inner) for inner in range(min(word, head) + 1, max(word, head)))


def _above(heads: Sequence[int], upper: int, lower: int) -> bool:
    while lower >= 0 and lower != upper:
        lower = heads[lower]
    return lower == upper
