"""Two spellings of one text: where the characters of one went in the other."""

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein


def edited(text: str, right: str) -> NDArray[np.int64]:
    """Place of each character of `text` (n,) in a cheapest edit into `right`.

    >>> edited("a<unk>c", "abc").tolist()
    [0, 1, 2, 2, 2, 2, 2]
    """
    result = np.zeros(len(text), np.int64)
    for op in Levenshtein.opcodes(text, right):
        size, width = op.src_end - op.src_start, op.dest_end - op.dest_start
        if size:
            steps = np.arange(size) if op.tag == "equal" else np.arange(size) * max(width, 1) // size
            result[op.src_start : op.src_end] = op.dest_start + steps
    return np.minimum(result, max(len(right) - 1, 0))


def overlaps(pieces: list[str], tokens: list[str]) -> NDArray[np.int64]:
    """(n, 2) each piece with each token that it shares a character with, by a cheapest edit.

    >>> overlaps(["can", "'t"], ["ca", "n't"]).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    text, right = "".join(pieces), "".join(tokens)
    if not (text and right):
        return np.empty((0, 2), np.int64)
    of_piece = np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces])
    of_token = np.repeat(np.arange(len(tokens)), [len(token) for token in tokens])
    place = np.arange(len(text)) if text == right else edited(text, right)
    return np.asarray(np.unique(np.stack([of_piece, of_token[place]], axis=1), axis=0), np.int64)
