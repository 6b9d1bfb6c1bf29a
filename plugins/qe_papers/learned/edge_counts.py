"""EdgeCounts: projected dependencies of translations that references have, or lack."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.core.resource_files import load_arrays, save_arrays
from features.learned.translated_corpus import TranslatedCorpus
from features.resources.aligner import Aligner
from features.resources.annotation import Annotation
from features.text.corpus import ParallelCorpus
from qe_papers.comparisons.projected_edges import Counts, counted, load_counts, projections, save_counts
from qe_papers.syntax import Word

_BATCH = 5000  # texts counted between two reports


@dataclass(frozen=True, kw_only=True)
class EdgeCountsBuilder(Builder):
    """Counts the edges of all of the translated corpus."""

    translated_corpus: TranslatedCorpus
    source_dependency_annotation: Annotation
    aligner: Aligner

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "EdgeCounts":
        """Raises InputError if no edge is projected."""
        texts, language = self.translated_corpus, corpus.target_tokenizer.language
        own, other = (
            projections(self._sources(report), self.aligner.align(texts.source, tokens), tokens, language)
            for tokens, report in ((texts.machine, progress), (texts.reference, silent))
        )
        counts = counted(own, other)
        if not counts["words"]:
            raise InputError(
                "no dependency of the corpus is projected on its translations",
                location="edge_counts",
                remedy="give more parallel text",
            )
        return EdgeCounts(counts, settings=dict(self.settings), corpus_fingerprint=corpus.fingerprint)

    def _sources(self, progress: Progress) -> Iterator[list[Word]]:
        rows = self.translated_corpus.rows
        for low in range(0, len(rows), _BATCH):
            batch = rows[low : low + _BATCH]
            relations = self.source_dependency_annotation.layer("deprel").take(batch)
            heads = self.source_dependency_annotation.heads(batch)
            for i in range(len(batch)):
                places = heads[relations.offsets[i] : relations.offsets[i + 1]].tolist()
                yield [
                    Word("", "", "", head=head, relation=relation.partition(":")[0])
                    for head, relation in zip(places, relations.words(i), strict=True)
                ]
            progress("counting projected dependencies", min(low + _BATCH, len(rows)), len(rows))


@dataclass(frozen=True, eq=False)
class EdgeCounts(Resource):
    """How often the references of `translated_corpus` have a projected edge, and how often not. The edge is
    a translation's. M+ and M- of UPC at WMT12, section 2.2; by words, stems and suffixes.
    """

    version: ClassVar[int] = 2
    parts: ClassVar[Parts] = {"edge_counts": {}}
    builder: ClassVar[type[Builder]] = EdgeCountsBuilder

    counts: Mapping[str, Counts] = field(repr=False)

    def save(self, path: Path) -> None:
        meta = {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint}
        save_arrays(path, meta)
        save_counts(path, self.counts)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, _ = load_arrays(path)
        return cls(load_counts(path), **meta)
