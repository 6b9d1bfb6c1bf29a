"""Spans: adjacent BAD words and places where words are missing.

Each span has its severity.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from features.basics.array_types import BoolArray, FloatArray

_DIGITS = 6


def bad_spans(words: BoolArray, gaps: BoolArray) -> list[tuple[int, int]]:
    """(first word, word after the last) of every run of BAD words, in order.

    A BAD gap that touches no BAD word is a span without words: both ends are the word that it stands before.

    >>> bad_spans(np.array([0, 1, 1, 0, 0], bool), np.array([0, 0, 0, 1, 0, 1], bool))
    [(1, 3), (5, 5)]
    """
    steps = np.diff(np.concatenate([[0], words.astype(np.int8), [0]]))
    runs = zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True)
    beside = np.concatenate([[False], words]) | np.concatenate([words, [False]])
    alone = np.flatnonzero(gaps & ~beside).tolist()
    return sorted([*runs, *((place, place) for place in alone)])


def described(
    tokens: Sequence[str],
    bad: tuple[FloatArray, FloatArray],
    tags: tuple[BoolArray, BoolArray],
    insertions: float,
) -> list[dict[str, Any]]:
    """The spans of one translation as JSON values.

    bad, tags   of its words (n,) and of its gaps (n + 1,)
    insertions  how many words a BAD gap lacks, on average

    start, end  the span is tokens[start:end]
    text        its words; empty where words are missing between two good ones
    mass        how many of its words, and of the gaps between and beside them, are expected to be BAD
    edits       how many words are expected to be replaced, deleted or inserted there
    """
    words, gaps = bad
    spans = []
    for start, end in bad_spans(*tags):
        of_words, of_gaps = float(words[start:end].sum()), float(gaps[start : end + 1].sum())
        spans.append(
            {
                "start": start,
                "end": end,
                "text": " ".join(tokens[start:end]),
                "mass": round(of_words + of_gaps, _DIGITS),
                "edits": round(of_words + insertions * of_gaps, _DIGITS),
            }
        )
    return spans
