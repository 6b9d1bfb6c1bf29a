"""Tokens as treebanks have them, one for one: `don` + `'t` of Moses is `do` + `n't` there."""

import numpy as np

from features.text.tokens import Tokens


def as_in_treebanks(tokens: Tokens, language: str) -> Tokens:
    """The same number of tokens; English negations are split as the Penn Treebank splits them.

    >>> tokens = Tokens.from_lists([["I", "don", "'t"], ["can", "'T", "in", "it"]])
    >>> shown = as_in_treebanks(tokens, "en")
    >>> shown.words(0), shown.words(1)
    (['I', 'do', "n't"], ['ca', "n'T", 'in', 'it'])
    """
    if language != "en" or not len(tokens.ids):
        return tokens
    ends = np.array([t.lower() == "'t" for t in tokens.types], bool)
    before = np.array([len(t) > 1 and t[-1] in "nN" for t in tokens.types], bool)
    pairs = before[tokens.ids[:-1]] & ends[tokens.ids[1:]]
    pairs &= tokens.text_index[:-1] == tokens.text_index[1:]
    places = np.flatnonzero(pairs)
    if not len(places):
        return tokens
    index = {t: i for i, t in enumerate(tokens.types)}
    ids = tokens.ids.copy()
    for place in places.tolist():
        first, second = tokens.types[ids[place]], tokens.types[tokens.ids[place + 1]]
        ids[place] = index.setdefault(first[:-1], len(index))
        ids[place + 1] = index.setdefault(first[-1] + second, len(index))
    return Tokens(tuple(index), ids, tokens.offsets)
