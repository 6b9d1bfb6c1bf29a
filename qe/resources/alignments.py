"""Word alignments of a corpus made elsewhere, for parts that are extracted from aligned text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.bundle import Builders, with_needs
from features.core.resource import Resource
from features.resources.annotation import Annotation
from features.resources.phrase_table import BackPhraseTable, PhraseTable, entities_of
from features.resources.tuple_lm import TupleLM
from features.storage.files import is_input_file, sha256
from features.syntax.phrase_units import Units
from features.text.corpus import ParallelCorpus
from features.text.links import Links

KINDS: Final[tuple[type[Resource], ...]] = (PhraseTable, BackPhraseTable, TupleLM)


@dataclass(frozen=True)
class Alignments:
    """A Pharaoh file (`i-j` links, a line per line of the corpus), or None: our aligner's links.

    The part `aligner` itself, which aligns the segments to be scored, is trained by us in either case.
    """

    path: Path | None

    @cached_property
    def fingerprint(self) -> str | None:
        if self.path is None:
            return None
        if not is_input_file(self.path):
            raise InputError("no such file", location=self.path, remedy="check the path of the alignments")
        return sha256(self.path)

    def builders(self) -> Builders:
        if self.path is None:
            return {}
        return {
            "phrase_table": self._phrases,
            "back_phrase_table": self._back_phrases,
            "tuple_lm": self._tuple_lm,
        }

    def check_used(self, parts: Iterable[str]) -> None:
        if self.path is not None and not set(with_needs(parts)) & set(self.wanted):
            raise InputError(
                "none of the parts to be built takes alignments",
                location=self.path,
                remedy=f"build {' or '.join(self.wanted)} (--only, or --all)",
            )

    @property
    def wanted(self) -> Mapping[str, Mapping[str, str | None]]:
        """The settings those parts must have: of other links, they are built again."""
        return {part: {"alignments": self.fingerprint} for kind in KINDS for part in kind.parts}

    def _phrases(
        self,
        corpus: ParallelCorpus,
        *,
        units: Units = "word",
        source_entity_annotation: Annotation | None = None,
        target_entity_annotation: Annotation | None = None,
        longest: int = 5,
        minimum: int = 2,
        progress: Progress = silent,
    ) -> PhraseTable:
        links, provenance = self._links(corpus, progress), {"alignments": self.fingerprint}
        entities = entities_of(source_entity_annotation, target_entity_annotation)
        return PhraseTable.from_links(
            corpus, links, longest, minimum, provenance, units=units, entities=entities, progress=progress
        )

    def _back_phrases(
        self, corpus: ParallelCorpus, *, longest: int = 5, minimum: int = 2, progress: Progress = silent
    ) -> BackPhraseTable:
        links, provenance = self._links(corpus, progress), {"alignments": self.fingerprint}
        return BackPhraseTable.from_links(
            corpus.swapped(), links.swapped(), longest, minimum, provenance, progress=progress
        )

    def _tuple_lm(
        self, corpus: ParallelCorpus, *, order: int = 3, minimum: int = 2, progress: Progress = silent
    ) -> TupleLM:
        links, provenance = self._links(corpus, progress), {"alignments": self.fingerprint}
        return TupleLM.from_links(
            corpus, links, order=order, minimum=minimum, provenance=provenance, progress=progress
        )

    def _links(self, corpus: ParallelCorpus, progress: Progress) -> Links:
        if self.path is None:
            raise ValueError("there is no file of alignments")
        progress("reading alignments", 0, 1)
        return links_of_pairs(Links.read(self.path), corpus, self.path)


def links_of_pairs(links: Links, corpus: ParallelCorpus, location: object) -> Links:
    """Links of the pairs that the corpus kept, from the links of all its lines."""
    total = len(corpus) + corpus.empty_pairs
    if len(links) != total:
        raise InputError(
            f"{len(links):,} lines of links, but the corpus has {total:,} lines",
            location=location,
            remedy="give one line per pair of sentences, in the same order; an empty one for no link",
        )
    kept = np.arange(total) if corpus.lines is None else np.asarray(corpus.lines)
    lengths, widths = np.zeros(total, np.int64), np.zeros(total, np.int64)
    lengths[kept], widths[kept] = corpus.source.lengths, corpus.target.lengths
    links.check(lengths, widths, location)  # of a pair with an empty side no link can be right
    return links if corpus.lines is None else links.take(kept)
