"""Counts of words in contexts, against counting one by one; own parts count for nothing."""

from collections import Counter
from pathlib import Path

import numpy as np

from features.storage.damage import Damaged
from features.word_level.training_text import ContextCounts, part_of
from tests.factories import refuses


def world(n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(contexts, words, parts) of tokens; few contexts and words, so that they meet again."""
    rng = np.random.default_rng(3)
    contexts, words = rng.integers(0, 12, (2, n)).astype(np.uint64)
    return contexts, words, part_of(np.arange(n) // 10, n // 10)


def by_hand(
    contexts: np.ndarray, words: np.ndarray, context: int, word: int, without: np.ndarray
) -> tuple[float, float, float]:
    seen = Counter(
        int(w) for c, w, out in zip(contexts, words, without, strict=True) if c == context and not out
    )
    times, most = sum(seen.values()), max(seen.values(), default=0)
    return np.log1p(times), seen[word] / (times + 1), (most - seen[word]) / (times + 1)


def test_columns_of_new_text_are_counts_of_all() -> None:
    contexts, words, part = world()
    counts = ContextCounts.fit(contexts, words, part)
    nobody = np.zeros(len(words), bool)
    asked = [(0, 3), (5, 11), (11, 0), (99, 1), (4, 99)]
    got = counts.columns(*np.array(asked, np.uint64).T)
    expected = [by_hand(contexts, words, *pair, nobody) for pair in asked]
    np.testing.assert_allclose(got, expected)


def test_a_training_segment_is_looked_up_in_the_other_parts() -> None:
    contexts, words, part = world()
    counts = ContextCounts.fit(contexts, words, part)
    got = counts.columns(contexts, words, part)
    expected = [
        by_hand(contexts, words, int(c), int(w), part == p)
        for c, w, p in zip(contexts, words, part, strict=True)
    ]
    np.testing.assert_allclose(got, expected)


def test_what_is_saved_says_the_same_and_damage_is_seen(tmp_path: Path) -> None:
    contexts, words, part = world()
    counts = ContextCounts.fit(contexts, words, part)
    counts.save(tmp_path / "counts")
    loaded = ContextCounts.load(tmp_path / "counts")
    np.testing.assert_array_equal(loaded.columns(contexts, words), counts.columns(contexts, words))
    np.save(tmp_path / "counts" / "occurrences.npy", np.zeros((1, 1), np.int32))
    refuses("occurrences", ContextCounts.load, tmp_path / "counts", error=Damaged)
