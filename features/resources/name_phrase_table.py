"""NamePhraseTable: phrase pairs in which labels take the place of names and numbers, told by their form."""

from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np

from features.core.resource import Builder, Parts
from features.resources._labels import NONE, Labelled, labelled, moved
from features.resources.phrase_table import PhraseTable, PhraseTableBuilder
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.tokens import Tokens

LABELS: Final = ("<name>", "<number>")


@dataclass(frozen=True, kw_only=True)
class NamePhraseTableBuilder(PhraseTableBuilder):
    """Aligns the words, and extracts phrases of the labelled text."""

    @property
    def table(self) -> type[PhraseTable]:
        return NamePhraseTable


@dataclass(frozen=True, eq=False)
class NamePhraseTable(PhraseTable):
    """As a phrase table, of text with labels: the links are those of the words.

    It stands for a semantic phrase table (Mehdad et al. 2012, section 3.1) where no annotator of entities is
    at hand: names have no types, and where nouns are capitalised, nouns are names.
    """

    parts: ClassVar[Parts] = {"name_phrase_table": {}}
    builder: ClassVar[type[Builder]] = NamePhraseTableBuilder

    @classmethod
    def units(cls, corpus: ParallelCorpus, links: Links) -> tuple[ParallelCorpus, Links]:
        source, target = with_names(corpus.source), with_names(corpus.target)
        links = moved(links, source, target, (corpus.source, corpus.target))
        return replace(corpus, source=source.tokens, target=target.tokens), links


def with_names(tokens: Tokens) -> Labelled:
    """`<name>` for words that begin with a capital, but for a text's first word; `<number>` for words with a
    digit.

    >>> with_names(Tokens.from_lists([["Yesterday", "Ana", "Gil", "paid", "1,200", "euros"]])).tokens.words(0)
    ['Yesterday', '<name>', 'paid', '<number>', 'euros']
    """
    of_types = np.array([_label(word) for word in tokens.types], np.int64)
    labels = of_types[tokens.ids] if len(of_types) else np.empty(0, np.int64)
    starts = tokens.offsets[:-1][tokens.lengths > 0]
    labels[starts] = np.where(labels[starts] == 0, NONE, labels[starts])
    return labelled(tokens, labels, LABELS)


def _label(word: str) -> int:
    if any(character.isdigit() for character in word):
        return 1
    return 0 if word[:1].isupper() else NONE
