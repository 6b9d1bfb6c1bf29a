"""Texts in which labels take the place of words, and the links of such texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from features.basics.distinct import distinct
from features.text.links import Links
from features.text.tokens import Tokens

NONE = -1  # a word that stays


@dataclass(frozen=True, eq=False)
class Labelled:
    """Texts with labels in place of some words.

    tokens  texts with labels; labels of one kind in a row are one token
    places  (n_words,) the place, in its text, of the token that every word went into; None: its own
    """

    tokens: Tokens
    places: NDArray[np.int64] | None = None


def labelled(tokens: Tokens, labels: NDArray[np.int64], names: Sequence[str]) -> Labelled:
    """Replaces words by their labels, and makes labels of one kind in a row one token.

    labels  (n_words,) index in `names`, or NONE
    names   lower-cased, no word of which is itself a label: `<person>`

    >>> tokens = Tokens.from_lists([["Ana", "Gil", "saw", "Oslo"], ["Oslo"]])
    >>> made = labelled(tokens, np.array([0, 0, NONE, 1, 1]), ["<person>", "<location>"])
    >>> made.tokens.words(0), made.tokens.words(1), made.places.tolist()
    (['<person>', 'saw', '<location>'], ['<location>'], [0, 0, 1, 2, 0])
    """
    index = {word: i for i, word in enumerate(tokens.types)}
    ids = np.array([index.setdefault(name, len(index)) for name in names], np.int32)
    first = np.zeros(len(labels) + 1, bool)
    first[tokens.offsets[:-1]] = True
    again = np.zeros(len(labels), bool)
    again[1:] = (labels[1:] != NONE) & (labels[1:] == labels[:-1]) & ~first[1:-1]
    kept = np.concatenate(([0], np.cumsum(~again))).astype(np.int64)
    offsets = kept[tokens.offsets]
    replaced = np.where(labels == NONE, tokens.ids, ids[labels]).astype(np.int32)
    places = kept[1:] - 1 - offsets[tokens.text_index]
    return Labelled(Tokens(tuple(index), replaced[~again], offsets), places)


def moved(links: Links, source: Labelled, target: Labelled, original: tuple[Tokens, Tokens]) -> Links:
    """Links of words as links of the tokens that these went into, each once.

    original  source and target as they were
    """
    if source.places is None or target.places is None:
        return links
    segment = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    left = source.places[original[0].offsets[segment] + links.source]
    right = target.places[original[1].offsets[segment] + links.target]
    wide, high = int(right.max(initial=0)) + 1, int(left.max(initial=0)) + 1
    cells = distinct((segment * high + left) * wide + right)
    counts = np.bincount(cells // (high * wide), minlength=len(links))
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Links(offsets, (cells // wide % high).astype(np.int32), (cells % wide).astype(np.int32))
