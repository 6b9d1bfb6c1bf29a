"""Units of phrases: words, base forms, stems, or text with labels of names or entities."""

from collections.abc import Mapping
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from features.syntax.entity_types import EXPRESSIONS, OTHER
from features.syntax.labelled import NONE, Labelled, labelled
from features.text.annotation import OUTSIDE
from features.text.stems import base_form_tokens, truncated
from features.text.tokens import Tokens

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
    """Texts in these units.

    tags  the entity tag of every word (`B-PER`, `I-PER`, `O`), for `entity`

    Raises InputError for `lemma` in a language without base forms.
    """
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
    """Texts with `<name>` for capitalised words, and `<number>` for words with a digit. A text's first word
    is no name.

    >>> with_names(Tokens.from_lists([["Yesterday", "Ana", "Gil", "paid", "1,200", "euros"]])).tokens.words(0)
    ['Yesterday', '<name>', 'paid', '<number>', 'euros']
    """
    labels = _of_types(tokens, [_name(word) for word in tokens.types])
    starts = tokens.offsets[:-1][tokens.lengths > 0]
    labels[starts] = np.where(labels[starts] == 0, NONE, labels[starts])
    return labelled(tokens, labels, NAMES)


def with_entities(tokens: Tokens, tags: Tokens) -> Labelled:
    """Texts with entity types in place of entities. Words with a digit in no entity are numbers.

    tags  (as tokens) `B-PER`, `I-PER`, `O`

    >>> tokens = Tokens.from_lists([["Ana", "Gil", "paid", "1,200", "euros"]])
    >>> tags = Tokens.from_lists([["B-PER", "I-PER", "O", "O", "O"]])
    >>> with_entities(tokens, tags).tokens.words(0)
    ['<person>', 'paid', '<number>', 'euros']
    """
    numbers = _of_types(tokens, [TYPES.index("number") if _has_digit(w) else NONE for w in tokens.types])
    labels = _of_types(tags, [_entity(tag) for tag in tags.types])
    return labelled(tokens, np.where(labels == NONE, numbers, labels), ENTITIES)


def _of_types(tokens: Tokens, labels: list[int]) -> NDArray[np.int64]:
    return np.array(labels, np.int64)[tokens.ids] if labels else np.empty(0, np.int64)


def _name(word: str) -> int:
    if _has_digit(word):
        return NAMES.index("<number>")
    return NAMES.index("<name>") if word[:1].isupper() else NONE


def _entity(tag: str) -> int:
    if tag == OUTSIDE:
        return NONE
    return TYPES.index(EXPRESSIONS.get(tag.partition("-")[2].upper(), OTHER))


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))
