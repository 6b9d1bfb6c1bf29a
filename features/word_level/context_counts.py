"""ContextCounts: word counts by context, in texts that belong to training segments."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from features.storage.arrays import typed
from features.word_level.columns import Floats
from features.word_level.keys import Keys, paired, places

Parts = NDArray[np.int64]
Counts = NDArray[np.int32]

PARTS = 8  # of the training segments: the counts for those of a part are those of the other parts
_UNSEEN = 1.0  # words in a context that were never seen there count for so many seen ones


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """Contexts, and the words in them; keys ascend.

    contexts, times, highest  (c,), (c, p) words seen in a context, (c, p) the count of the most frequent one
    events, occurrences       (e,) keys of a context with a word, (e, p) how often they were seen

    p is 1 (all training text), or 1 + `PARTS` while learning: all text, and that outside of each part.
    """

    contexts: Keys
    times: Counts
    highest: Counts
    events: Keys
    occurrences: Counts

    @classmethod
    def fit(cls, contexts: Keys, words: Keys, part: Parts) -> "ContextCounts":
        """(n,) tokens of the text, and the part of the training segments they belong to."""
        events, first, index = np.unique(paired(contexts, words), return_index=True, return_inverse=True)
        occurrences = _outside(index, part, len(events))
        distinct, of_event = np.unique(contexts[first], return_inverse=True)
        order = np.argsort(of_event, kind="stable")
        starts = np.searchsorted(of_event[order], np.arange(len(distinct)))
        times, highest = np.zeros((2, len(distinct), PARTS + 1), np.int32)
        if len(distinct):
            times = np.add.reduceat(occurrences[order], starts, axis=0, dtype=np.int32)
            highest = np.maximum.reduceat(occurrences[order], starts, axis=0)
        return cls(distinct, times, highest, events, occurrences)

    def columns(self, contexts: Keys, words: Keys, part: Parts | None = None) -> Floats:
        """(n, 3) scores of words in contexts. log of 1 + times the context was seen; share of the word in it;
        share of the best word less that.

        part  (n,) of tokens of the training segments, whose own part counts for nothing
        """
        column = np.zeros(len(contexts), np.int64) if part is None else part + 1
        there, known = places(self.contexts, contexts)
        times, highest = np.zeros((2, len(contexts)))
        times[known] = self.times[there[known], column[known]]
        highest[known] = self.highest[there[known], column[known]]
        event, seen_there = places(self.events, paired(contexts, words))
        occurrences = np.zeros(len(contexts))
        occurrences[seen_there] = self.occurrences[event[seen_there], column[seen_there]]
        return np.column_stack(
            [np.log1p(times), occurrences / (times + _UNSEEN), (highest - occurrences) / (times + _UNSEEN)]
        )

    def learned(self) -> "ContextCounts":
        whole = (
            np.ascontiguousarray(counts[:, :1]) for counts in (self.times, self.highest, self.occurrences)
        )
        times, highest, occurrences = whole
        return ContextCounts(self.contexts, times, highest, self.events, occurrences)

    def save(self, path: Path) -> None:
        path.mkdir()
        for name, array in vars(self.learned()).items():
            np.save(path / f"{name}.npy", array, allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> "ContextCounts":
        names = ("contexts", "times", "highest", "events", "occurrences")
        counts = cls(**{name: np.load(path / f"{name}.npy", allow_pickle=False) for name in names})
        typed("contexts", counts.contexts, np.uint64, None)
        typed("events", counts.events, np.uint64, None)
        typed("times", counts.times, np.int32, len(counts.contexts), 1)
        typed("highest", counts.highest, np.int32, len(counts.contexts), 1)
        typed("occurrences", counts.occurrences, np.int32, len(counts.events), 1)
        return counts


def part_of(segment: Parts, n: int) -> Parts:
    """(n_tokens,) the part of each token's segment, of n: parts are contiguous."""
    return np.asarray(segment * PARTS // max(n, 1), np.int64)


def _outside(index: Parts, part: Parts, size: int) -> Counts:
    inside = np.bincount(index * PARTS + part, minlength=size * PARTS).reshape(size, PARTS)
    total = inside.sum(axis=1, keepdims=True)
    return np.hstack([total, total - inside]).astype(np.int32)
