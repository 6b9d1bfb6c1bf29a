"""Word alignments of a corpus made elsewhere, for parts that are extracted from aligned text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.bundle import Builders, with_needs
from features.core.resource import Resource, kind_of
from features.resources.phrase_table import BackPhraseTable, PhraseTable
from features.resources.tuple_lm import TupleLM
from features.storage.files import sha256
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
        return None if self.path is None else sha256(self.path)

    def builders(self) -> Builders:
        """Builders of the parts of aligned text, with these links in place of the aligner's."""
        if self.path is None:
            return {}
        fixed: dict[str, Any] = {"aligner": self, "symmetrization": "source-target"}
        names = {kind: {entry.name for entry in fields(kind.builder)} for kind in KINDS}
        return {
            kind_of(kind): partial(kind.build, **{key: fixed[key] for key in fixed.keys() & names[kind]})
            for kind in KINDS
        }

    def corpus_links(self, corpus: ParallelCorpus, symmetrization: str, progress: Progress = silent) -> Links:
        """The links of the file, as `Aligner.corpus_links`."""
        if self.path is None:
            raise ValueError("there is no file of alignments")
        progress("reading alignments", 0, 1)
        return links_of_pairs(Links.read(self.path), corpus, self.path)

    def provenance(self, symmetrization: str | None = None) -> dict[str, str | None]:
        return {"alignments": self.fingerprint}

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
