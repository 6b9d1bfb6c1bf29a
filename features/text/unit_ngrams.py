"""N-grams as units: overlapping n-grams of texts as tokens of their own."""

import numpy as np

from features.text.tokens import Tokens


def unit_ngrams(tokens: Tokens, order: int) -> Tokens:
    """Overlapping n-grams of each text as tokens: max(m - order + 1, 0) of m tokens.

    >>> units = unit_ngrams(Tokens.from_lists([["DET", "NOUN", "VERB"], ["X"]]), 2)
    >>> units.words(0), units.words(1)
    (['DET NOUN', 'NOUN VERB'], [])
    """
    types, ids = np.array(tokens.types, object), np.asarray(tokens.ids)
    ends = np.repeat(np.asarray(tokens.offsets[1:]), tokens.lengths)
    names, numbers = types, ids.astype(np.int64)
    for length in range(2, order + 1):
        # The n-grams that begin at each position, numbered; those that leave the text fall away at the end.
        following = np.concatenate((ids[length - 1 :], np.zeros(min(length - 1, len(ids)), ids.dtype)))
        pairs, numbers = np.unique(numbers * len(types) + following, return_inverse=True)
        names = names[pairs // max(len(types), 1)] + " " + types[pairs % max(len(types), 1)]
    inside = np.arange(len(ids)) + order <= ends
    lengths = np.maximum(tokens.lengths - order + 1, 0)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Tokens(tuple(names.tolist()), numbers[inside].astype(np.int32), offsets)
