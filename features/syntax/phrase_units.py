"""Units of phrases: words, base forms, stems, or text with labels of names or entities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of, row_index
from features.basics.distinct import distinct
from features.text.annotation import OUTSIDE
from features.text.links import Links
from features.text.stems import base_form_tokens, truncated
from features.text.tokens import Tokens

# Annotators' names of types -> the types that are counted; any other is `OTHER`.
ENTITY_NAMES: Final[Mapping[str, str]] = {
    "PER": "person", "PERS": "person", "PERSON": "person", "ORG": "organisation", "LOC": "location",
    "GPE": "location", "FAC": "location",
}  # fmt: skip
# The same with what is no name: Mehdad et al. 2012 (adequacy, WMT12), section 3.1.
EXPRESSIONS: Final[Mapping[str, str]] = {
    **ENTITY_NAMES, "DATE": "date", "TIME": "date", "NUM": "number", "NUMBER": "number", "CARDINAL": "number",
    "ORDINAL": "number", "QUANTITY": "number", "PERCENT": "number", "MONEY": "number",
}  # fmt: skip
OTHER: Final = "other"


NONE = -1  # a word that stays


@dataclass(frozen=True, eq=False)
class Labelled:
    """Texts with labels instead of some words.

    tokens  texts with labels; labels of one kind in a row are one token
    places  (n_words,) place, in its text, of the token that replaces each word; None: its own
    """

    tokens: Tokens
    places: NDArray[np.int64] | None = None


def labelled(tokens: Tokens, labels: NDArray[np.int64], names: Sequence[str]) -> Labelled:
    """Replaces words by their labels, and makes labels of one kind in a row one token.

    labels  (n_words,) index in `names`, or NONE
    names   lower-cased, no word of which is itself a label: `<person>`
    """
    index = {word: i for i, word in enumerate(tokens.types)}
    ids = np.array([index.setdefault(name, len(index)) for name in names], np.int32)
    first = np.zeros(len(labels) + 1, bool)
    first[tokens.offsets[:-1]] = True
    again = np.zeros(len(labels), bool)
    again[1:] = (labels[1:] != NONE) & (labels[1:] == labels[:-1]) & ~first[1:-1]
    kept = offsets_of(~again)
    offsets = kept[tokens.offsets]
    replaced = np.where(labels == NONE, tokens.ids, ids[labels]).astype(np.int32)
    places = kept[1:] - 1 - offsets[tokens.text_index]
    return Labelled(Tokens(tuple(index), replaced[~again], offsets), places)


def moved(links: Links, source: Labelled, target: Labelled, original: tuple[Tokens, Tokens]) -> Links:
    """Links of words as links of the tokens that replace these, each once."""
    if source.places is None or target.places is None:
        return links
    segment = row_index(links.offsets)
    left = source.places[original[0].offsets[segment] + links.source]
    right = target.places[original[1].offsets[segment] + links.target]
    wide, high = int(right.max(initial=0)) + 1, int(left.max(initial=0)) + 1
    cells = distinct((segment * high + left) * wide + right)
    counts = np.bincount(cells // (high * wide), minlength=len(links))
    offsets = offsets_of(counts)
    return Links(offsets, (cells // wide % high).astype(np.int32), (cells % wide).astype(np.int32))


Units = Literal["word", "lemma", "stem", "name", "entity"]
# Units -> what they are, as descriptions name them.
WHAT: Final[Mapping[Units, str]] = {
    "word": "words",
    "lemma": "base forms",
    "stem": "stems",
    "name": "words and labels",
    "entity": "words and types of entities",
}
NAMES: Final = ("<name>", "<number>")
TYPES: Final = ("person", "organisation", "location", "date", "number", OTHER)
ENTITIES: Final = tuple(f"<{name}>" for name in TYPES)


def in_units(tokens: Tokens, units: Units, language: str, tags: Tokens | None = None) -> Labelled:
    """Texts in these units (`tags` for `entity`); raises InputError for `lemma` without base forms."""
    match units:
        case "name":
            return with_names(tokens)
        case "entity" if tags is not None:
            return with_entities(tokens, tags)
        case "lemma":
            return Labelled(base_form_tokens(tokens, language))
        case "stem":
            return Labelled(truncated(tokens))
        case "word":
            return Labelled(tokens)
    raise ValueError(f"units of {units!r} need tags of entities")


def with_names(tokens: Tokens) -> Labelled:
    """Texts with `<name>` for capitalised words after the first, and `<number>` for words with a digit.

    >>> with_names(Tokens.from_lists([["Yesterday", "Ana", "Gil", "paid", "1,200", "euros"]])).tokens.words(0)
    ['Yesterday', '<name>', 'paid', '<number>', 'euros']
    """
    labels = _of_types(tokens, [_name(word) for word in tokens.types])
    starts = tokens.offsets[:-1][tokens.lengths > 0]
    labels[starts] = np.where(labels[starts] == 0, NONE, labels[starts])
    return labelled(tokens, labels, NAMES)


def with_entities(tokens: Tokens, tags: Tokens) -> Labelled:
    """Texts with types instead of entities, by `tags` (`B-PER`, `I-PER`, `O`), and `<number>` as above.

    >>> tokens = Tokens.from_lists([["Ana", "Gil", "paid", "1,200", "euros"]])
    >>> tags = Tokens.from_lists([["B-PER", "I-PER", "O", "O", "O"]])
    >>> with_entities(tokens, tags).tokens.words(0)
    ['<person>', 'paid', '<number>', 'euros']
    """
    number = TYPES.index("number")
    numbers = _of_types(tokens, [number if any(map(str.isdigit, w)) else NONE for w in tokens.types])
    labels = _of_types(tags, [_entity(tag) for tag in tags.types])
    return labelled(tokens, np.where(labels == NONE, numbers, labels), ENTITIES)


def _of_types(tokens: Tokens, labels: list[int]) -> NDArray[np.int64]:
    return np.array(labels, np.int64)[tokens.ids] if labels else np.empty(0, np.int64)


def _name(word: str) -> int:
    if any(map(str.isdigit, word)):
        return NAMES.index("<number>")
    return NAMES.index("<name>") if word[:1].isupper() else NONE


def _entity(tag: str) -> int:
    if tag == OUTSIDE:
        return NONE
    return TYPES.index(EXPRESSIONS.get(tag.partition("-")[2].upper(), OTHER))
