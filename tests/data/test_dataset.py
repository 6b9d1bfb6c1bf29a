"""Splits joined."""

import numpy as np

from features.core.segments import Segments
from qe.data.dataset import Split, concatenate


def test_splits_with_different_numbers_of_judges_are_joined() -> None:
    def split(name: str, judges: list[list[float]]) -> Split:
        return Split(Segments((name,), ("x",), id=(name,)), scores=np.ones(1), judges=np.array(judges))

    joined = concatenate([split("a", [[1.0, 2.0]]), split("b", [[3.0, 4.0, 5.0]])])
    np.testing.assert_array_equal(joined.judges, [[1, 2, np.nan], [3, 4, 5]])
