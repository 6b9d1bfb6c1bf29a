"""Keys are found where numpy's binary search finds them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.word_level.keys import places

LARGEST = 2**64 - 1
near = st.integers(0, 40) | st.integers(LARGEST - 40, LARGEST) | st.integers(2**63 - 20, 2**63 + 20)
keys = st.lists(near | st.integers(0, LARGEST), max_size=60)


def by_search(known: np.ndarray, wanted: np.ndarray) -> tuple[list[int], list[bool]]:
    there = {key: place for place, key in enumerate(known.tolist())}
    return [there.get(key, 0) for key in wanted.tolist()], [key in there for key in wanted.tolist()]


@pytest.mark.slow
@settings(max_examples=300)
@given(keys, keys)
def test_crowded_and_spread_keys_are_found(known: list[int], others: list[int]) -> None:
    ascending = np.unique(np.array(known, np.uint64))
    wanted = np.array([*known, *others], np.uint64)
    place, there = places(ascending, wanted)
    assert (place.tolist(), there.tolist()) == by_search(ascending, wanted)
