"""BackPhraseTable: the phrase table from target to source."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources.aligner import Aligner, Symmetrization
from features.resources.phrase_table import PhraseTable
from features.resources.phrases import MOST_WORDS
from features.text.corpus import ParallelCorpus


@dataclass(frozen=True, kw_only=True)
class BackPhraseTableBuilder(Builder):
    """Aligns the corpus as it is, and exchanges the sides of texts and links."""

    aligner: Aligner
    longest: Annotated[int, Ge(1), Le(MOST_WORDS)] = 5
    minimum: Count = 2
    symmetrization: Symmetrization = "grow-diag-final-and"

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "BackPhraseTable":
        links = self.aligner.align(corpus.source, corpus.target, self.symmetrization, progress=progress)
        return BackPhraseTable.from_links(
            corpus.swapped(),
            links.swapped(),
            self.longest,
            self.minimum,
            {"symmetrization": self.symmetrization, "aligner": self.aligner.fingerprint},
            progress=progress,
        )


@dataclass(frozen=True, eq=False)
class BackPhraseTable(PhraseTable):
    """A phrase table from target to source: its source is the target of the corpus."""

    parts: ClassVar[Parts] = {"back_phrase_table": {}}
    builder: ClassVar[type[Builder]] = BackPhraseTableBuilder
