"""StemPhraseTable: phrase pairs of stems."""

from dataclasses import dataclass, replace
from typing import ClassVar

from features.core.resource import Builder, Parts
from features.resources.phrase_table import PhraseTable, PhraseTableBuilder
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.stems import truncated


@dataclass(frozen=True, kw_only=True)
class StemPhraseTableBuilder(PhraseTableBuilder):
    """Aligns the words, and extracts phrases of their stems."""

    @property
    def table(self) -> type[PhraseTable]:
        return StemPhraseTable


@dataclass(frozen=True, eq=False)
class StemPhraseTable(PhraseTable):
    """As a phrase table, of stems (the first five letters): the links are those of the words.

    Source: Mehdad et al. 2012 (adequacy, WMT12), section 3.1.
    """

    parts: ClassVar[Parts] = {"stem_phrase_table": {}}
    builder: ClassVar[type[Builder]] = StemPhraseTableBuilder

    @classmethod
    def units(cls, corpus: ParallelCorpus, links: Links) -> tuple[ParallelCorpus, Links]:
        source, target = truncated(corpus.source), truncated(corpus.target)
        return replace(corpus, source=source, target=target), links
