"""Work side by side: results in order, errors passed on, ranges that cover everything once."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.basics import threads
from features.basics.threads import even_ranges, for_each, side_by_side
from tests.patience import PATIENCE


def test_results_are_in_order_and_work_overlaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    meeting = threading.Barrier(2, timeout=PATIENCE)  # broken, an error, unless two are there at a time

    def work(number: int) -> int:
        meeting.wait()
        return number * number

    assert list(side_by_side(work, range(40))) == [k * k for k in range(40)]


def test_items_are_not_taken_far_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 1)
    begun: list[int] = []
    results = side_by_side(begun.append, range(100))
    next(results)
    assert len(begun) <= 5
    results.close()  # type: ignore[attr-defined]


def test_an_error_reaches_the_caller() -> None:
    def fail(number: int) -> None:
        if number == 3:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        for_each(fail, range(10))


@given(work=st.lists(st.integers(0, 100), max_size=60), smallest=st.integers(1, 50))
def test_ranges_cover_every_item_once_and_evenly(work: list[int], smallest: int) -> None:
    ranges = even_ranges(np.array(work), smallest)
    assert [k for low, high in ranges for k in range(low, high)] == list(range(len(work)))
    assert all(low < high for low, high in ranges)
    assert all(before[1] == after[0] for before, after in pairwise(ranges))
    if ranges:
        share = sum(work) / max(1, min(4 * threads.cores(), sum(work) // smallest))
        assert all(sum(work[low:high]) <= share + 2 * max(work) for low, high in ranges)
