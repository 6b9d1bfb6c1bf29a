"""Entities of one language learned from those of another: tags go over word links into the translations."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from features.core.annotation import OUTSIDE, spans
from features.core.errors import InputError
from features.core.files import atomic_file
from features.core.tokens import Tokens
from features.resources._links import Links

Link = tuple[int, int]


@dataclass(frozen=True)
class Projected:
    """How many sentences were written, with how many entities, and how many sentences were passed over."""

    sentences: int
    entities: int
    passed_over: int


def write_projected(path: Path, words: Tokens, tags: Tokens, links: Links) -> Projected:
    """Writes the texts `words` in the form of CoNLL 2002, with the entities of their translations.

    tags   of the translations: `B-PER`, `I-PER`, `O`
    links  from `words` (source) to the translations (target); those of the intersection err least

    A sentence is passed over if an entity of its translation has no clear place in it (`projected`), or if it
    is empty. Raises InputError for links outside of the texts, and if no sentence is left.

    Source: Yarowsky, Ngai and Wicentowski 2001, "Inducing multilingual text analysis tools via robust
    projection across aligned corpora", section 5; sentences passed over as in Ehrmann, Turchi and Steinberger
    2011, "Building a multilingual named entity-annotated corpus using annotation projection".
    """
    links.check(words.lengths, tags.lengths, "links")
    sentences = entities = 0
    with atomic_file(path) as part, part.open("w", encoding="utf-8") as file:
        for k in range(len(words)):
            text, (first, last) = words.words(k), links.offsets[k : k + 2].tolist()
            pairs = np.column_stack([links.source[first:last], links.target[first:last]]).tolist()
            made = projected(len(text), tags.words(k), pairs) if text else None
            if made is not None:
                file.writelines(f"{word} {tag}\n" for word, tag in zip(text, made, strict=True))
                file.write("\n")
                sentences, entities = sentences + 1, entities + len(spans(made))
        if not sentences:
            raise InputError("no sentence has a place for the entities of its translation")
    return Projected(sentences, entities, len(words) - sentences)


def projected(length: int, tags: Sequence[str], links: Sequence[Link]) -> list[str] | None:
    """Tags of a text of `length` words from those of its translation, or None.

    links  (place in the text, place in the translation)

    An entity is from the first to the last word that is linked to one of its words. None if there is no such
    word, or if a word between is linked to a word outside of the entity: the place is not clear.

    >>> projected(4, ["O", "B-ORG", "I-ORG"], [(0, 0), (1, 2), (2, 1)])
    ['O', 'B-ORG', 'I-ORG', 'O']
    >>> projected(3, ["B-ORG", "I-ORG", "O"], [(0, 0), (1, 2), (2, 1)]) is None
    True
    """
    made = [OUTSIDE] * length
    for start, end, kind in spans(tags):
        places = [i for i, j in links if start <= j < end]
        if not places:
            return None
        first, last = min(places), max(places)
        if any(first <= i <= last and not start <= j < end for i, j in links):
            return None
        made[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (last - first)]
    return made
