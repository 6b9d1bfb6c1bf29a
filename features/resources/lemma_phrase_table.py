"""LemmaPhraseTable: phrase pairs of base forms."""

from dataclasses import dataclass, replace
from typing import ClassVar

from features.core.resource import Builder, Parts
from features.resources.phrase_table import PhraseTable, PhraseTableBuilder
from features.text.corpus import ParallelCorpus
from features.text.lemmas import base_form_tokens
from features.text.links import Links


@dataclass(frozen=True, kw_only=True)
class LemmaPhraseTableBuilder(PhraseTableBuilder):
    """Aligns the words, and extracts phrases of their base forms."""

    @property
    def table(self) -> type[PhraseTable]:
        return LemmaPhraseTable


@dataclass(frozen=True, eq=False)
class LemmaPhraseTable(PhraseTable):
    """As a phrase table, of base forms by simplemma: the links are those of the words.

    Source: Mehdad et al. 2012 (adequacy, WMT12), section 3.1.
    """

    parts: ClassVar[Parts] = {"lemma_phrase_table": {}}
    builder: ClassVar[type[Builder]] = LemmaPhraseTableBuilder

    @classmethod
    def units(cls, corpus: ParallelCorpus, links: Links) -> tuple[ParallelCorpus, Links]:
        """Raises InputError for a language without base forms."""
        source = base_form_tokens(corpus.source, corpus.source_tokenizer.language)
        target = base_form_tokens(corpus.target, corpus.target_tokenizer.language)
        return replace(corpus, source=source, target=target), links
