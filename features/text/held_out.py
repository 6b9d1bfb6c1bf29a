"""Held-out pairs: the part of a corpus to test on, left out when resources are built."""

import numpy as np
from numpy.typing import NDArray

from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens

Rows = NDArray[np.int64]

_BLOCK = 100  # pairs in a row: neighbours are of one document, and stay together
_BLOCKS = 20  # at least, where the corpus is small
_ENOUGH = 2000  # held-out pairs that a small corpus gives more than its share for, up to a third
_LENGTHS = {"source": (5, 45), "target": (4, 55)}  # tokens


def split_pairs(corpus: ParallelCorpus, pairs: int, share: int, seed: int) -> tuple[Rows, Rows]:
    """(rows left, rows held out), ascending: of the blocks drawn, at most `pairs` that fit. One block of
    `share` is drawn, of a small corpus more, up to one of 3. Held-out pairs have 5 to 45 source and 4 to 55
    target tokens, and no pair that is left has the same source or the same target (letters alike).
    """
    share = min(share, max(len(corpus) // _ENOUGH, 3))
    rng = np.random.default_rng(seed)
    block = max(min(_BLOCK, len(corpus) // _BLOCKS), 1)
    blocks = -(-len(corpus) // block)
    drawn = np.zeros(blocks, np.bool_)
    drawn[rng.choice(blocks, blocks // share, replace=False)] = True
    inside = drawn[np.arange(len(corpus)) // block]
    left, candidates = np.flatnonzero(~inside), np.flatnonzero(inside)
    fitting = candidates[_of_fitting_length(corpus, candidates) & _unseen(corpus, left, candidates)]
    if len(fitting) > pairs:
        fitting = np.sort(rng.choice(fitting, pairs, replace=False))
    return left, fitting


def held_out_in_turn(corpus: ParallelCorpus, pairs: int, groups: int, seed: int) -> list[tuple[Rows, Rows]]:
    """(rows left, rows held out) of `groups` random groups, each held out once. Groups consist of blocks of
    the corpus. At most `pairs` in all, as many of each group; which pairs fit, `split_pairs` says.
    """
    rng = np.random.default_rng(seed)
    block = max(min(_BLOCK, len(corpus) // _BLOCKS), 1)
    group = rng.permutation(-(-len(corpus) // block))[np.arange(len(corpus)) // block] % groups
    parts = []
    for k in range(groups):
        left, candidates = np.flatnonzero(group != k), np.flatnonzero(group == k)
        fitting = candidates[_of_fitting_length(corpus, candidates) & _unseen(corpus, left, candidates)]
        wanted = pairs * (k + 1) // groups - pairs * k // groups
        if len(fitting) > wanted:
            fitting = np.sort(rng.choice(fitting, wanted, replace=False))
        parts.append((left, fitting))
    return parts


def held_out_lines(corpus: ParallelCorpus, first: int, last: int) -> tuple[Rows, Rows]:
    """(rows left, rows held out): the pairs at the given lines (of the corpus's files, from 1) are held out.
    Nothing that is left has the same source or the same target (letters alike) as a pair that is held out.

    >>> corpus = ParallelCorpus.from_lines([("a", "x"), ("b", "y"), ("A", "z"), ("c", "z")])
    >>> [rows.tolist() for rows in held_out_lines(corpus, 1, 2)]
    [[3], [0, 1]]
    """
    lines = 1 + (np.arange(len(corpus)) if corpus.lines is None else np.asarray(corpus.lines))
    inside = (lines >= first) & (lines <= last)
    left, held_out = np.flatnonzero(~inside), np.flatnonzero(inside)
    return left[_unseen(corpus, held_out, left)], held_out


def _of_fitting_length(corpus: ParallelCorpus, rows: Rows) -> NDArray[np.bool_]:
    lengths = {side: corpus.side(side).lengths[rows] for side in _LENGTHS}
    fits = [(lengths[side] >= low) & (lengths[side] <= high) for side, (low, high) in _LENGTHS.items()]
    return np.asarray(np.all(fits, axis=0), np.bool_)


def _unseen(corpus: ParallelCorpus, reference_rows: Rows, rows: Rows) -> NDArray[np.bool_]:
    new = np.ones(len(rows), np.bool_)
    for side in _LENGTHS:
        tokens = corpus.side(side).lower()
        known = set(_texts(tokens, reference_rows))
        new &= np.array([text not in known for text in _texts(tokens, rows)], np.bool_)
    return new


def _texts(tokens: Tokens, rows: Rows) -> list[bytes]:
    ids = np.asarray(tokens.ids)
    return [ids[tokens.offsets[i] : tokens.offsets[i + 1]].tobytes() for i in rows.tolist()]
