"""Arrays in few bytes: what is stored is what is read, and damage is refused."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.storage.compact import (
    Stored,
    check,
    coded,
    counted,
    decoded,
    gather,
    length,
    packed,
    read_at,
    readable,
    stepped,
    unpacked,
)
from features.storage.damage import Damaged

WHOLE = st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 300), max_size=200)
Store = Callable[[Any], Stored]


@numba.njit
def _sum(stored: Any, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += read_at(stored, i)
    return total


@pytest.mark.parametrize("store", [packed, counted, lambda numbers: stepped(np.sort(numbers))])
@given(WHOLE, st.integers(0, 200), st.integers(0, 200))
@settings(max_examples=60, deadline=None)
def test_whole_numbers_are_exact(store: Store, numbers: list[int], start: int, stop: int) -> None:
    values = np.array(numbers, np.int32)
    stored = store(values)
    expected = np.sort(values) if stored.dtype == np.uint32 else values
    check("numbers", stored, np.int32, len(values))
    assert length(stored) == len(values)
    np.testing.assert_array_equal(unpacked(stored), expected)
    start, stop = min(start, len(values)), min(max(start, stop), len(values))
    np.testing.assert_array_equal(unpacked(stored, start, stop), expected[start:stop])
    places = np.arange(len(values))[::-2]
    np.testing.assert_array_equal(gather(stored, places), expected[places])


@pytest.mark.parametrize(
    "stored",
    [
        packed(np.arange(3000, dtype=np.int32)),
        stepped(np.arange(3000, dtype=np.int32)),
        coded(np.arange(3000, dtype=np.float32)),
        np.arange(3000, dtype=np.int32),
    ],
)
def test_compiled_code_reads_the_same(stored: Stored) -> None:
    assert _sum(readable(stored), 3000) == 2999 * 1500


def test_few_decimals_are_exact() -> None:
    values = np.random.default_rng(0).choice(np.linspace(-99, 0, 60_000, dtype=np.float32), 100_000)
    np.testing.assert_array_equal(decoded(coded(values)), values)
    assert len(decoded(coded(values[:0]))) == 0


def test_many_decimals_lie_within_half_a_span() -> None:
    values = np.append(np.random.default_rng(1).uniform(-8, 0, 300_000), -99).astype(np.float32)
    stored = coded(values)
    assert np.abs(decoded(stored) - values).max() < 8 / 65_536 / 2 * 1.01
    assert decoded(stored)[-1] == -99


def test_many_probabilities_keep_their_logarithms() -> None:
    values = np.append(10 ** np.random.default_rng(2).uniform(-6, 0, 300_000), [0, 1]).astype(np.float32)
    read = decoded(coded(values, relative=True))
    assert np.abs(np.log10(read[:-2] / values[:-2])).max() < 6 / 65_536 / 2 * 1.01
    assert read[-2] == 0 and read.max() <= 1


def test_values_do_not_cross_edges() -> None:
    values = np.random.default_rng(3).uniform(0.0999, 0.1001, 300_000).astype(np.float32)
    edges = np.float32([0.09995, 0.1])
    read = decoded(coded(values, relative=True, edges=edges.tolist()))
    for edge in edges:
        np.testing.assert_array_equal(read > edge, values > edge)


def changed(stored: Stored, place: int, value: int) -> Stored:
    result = stored.copy()
    result[place] = value
    return result


NUMBERS = np.array([0, 1, 2, 900, 901], np.int32)


@pytest.mark.parametrize(
    ("stored", "dtype"),
    [
        (changed(packed(NUMBERS), 0, 500), np.int32),
        (changed(packed(NUMBERS), 1, 40), np.int32),
        (changed(packed(NUMBERS), 0, 2**63), np.int32),
        (packed(NUMBERS)[:1], np.int32),
        (changed(stepped(NUMBERS), 0, 64), np.int32),
        (changed(stepped(NUMBERS), 1, 2**31 + 2000), np.int32),
        (stepped(NUMBERS)[:0], np.int32),
        (changed(counted(NUMBERS), 7, 255), np.int32),
        (changed(counted(NUMBERS), 1, 9), np.int32),
        (changed(counted(NUMBERS), 8, 4), np.int32),
        (changed(coded(NUMBERS.astype(np.float32)), -1, 5), np.float32),
        (changed(coded(NUMBERS.astype(np.float32)), 1, 2**15), np.float32),
        (coded(NUMBERS.astype(np.float32))[:3], np.float32),
        (packed(NUMBERS), np.float32),
        (NUMBERS.astype(np.int64), np.int32),
        (NUMBERS[:, np.newaxis], np.int32),
    ],
)
def test_damage_is_refused(stored: Stored, dtype: Any) -> None:
    with pytest.raises(Damaged):
        check("numbers", stored, dtype, None)
