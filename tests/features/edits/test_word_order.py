"""Word order: hand-made sentences, and an independent reading of the definition."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.edits.edit_labels import word_order

alignments = st.integers(0, 9).flatmap(
    lambda n: st.tuples(st.permutations(range(n)), st.lists(st.booleans(), min_size=n, max_size=n))
)


def by_definition(partners: list[int]) -> tuple[list[int], list[int]]:
    """Distances and group sizes of one text, word by word, from the definition alone."""
    left = [j for j, i in enumerate(partners) if i >= 0]
    right = sorted(i for i in partners if i >= 0)
    place = {j: (left.index(j), right.index(partners[j])) for j in left}
    distances, sizes = [0] * len(partners), [0] * len(partners)
    for j in left:
        here, there = place[j]
        distances[j] = abs(here - there)
        if here != there:
            together = {j}
            for step in (-1, 1):
                k = here + step
                while 0 <= k < len(left) and place[left[k]][1] - there == k - here:
                    together.add(left[k])
                    k += step
            sizes[j] = len(together)
    return distances, sizes


def order_of(*texts: list[int]) -> tuple[list[int], list[int]]:
    offsets = np.cumsum([0, *map(len, texts)])
    order = word_order(np.array(list(chain(*texts)), np.int32), offsets)
    return order.distances.tolist(), order.group_sizes.tolist()


@pytest.mark.slow
@settings(deadline=None)  # kernels compile on their first call
@given(st.lists(alignments, min_size=1, max_size=4))
def test_equal_to_the_definition(batch: list[tuple[list[int], list[bool]]]) -> None:
    texts = [[i if there else -1 for i, there in zip(*text, strict=True)] for text in batch]
    expected = [by_definition(text) for text in texts]
    assert order_of(*texts) == tuple(list(chain(*columns)) for columns in zip(*expected, strict=True))
