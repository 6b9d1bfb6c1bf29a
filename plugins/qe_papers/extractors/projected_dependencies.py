"""Source dependencies projected over word links, and their frequency in references."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.extractor import Corpus, Extractor, Feature, FittedExtractor
from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.text.tokens import Tokens
from qe_papers.learned.edge_counts import (
    Counts,
    EdgeCounts,
    Projection,
    counted,
    edge_features,
    load_counts,
    measured,
    projections,
    save_counts,
)
from qe_papers.syntax import parsed


@dataclass(frozen=True)
class _Projecting(Extractor):
    aligner: Aligner

    def requires(self) -> tuple[str, ...]:
        return ("annotation_source",)

    def _projections(self, segments: Segments, tokens: Tokens) -> Iterator[Projection]:
        links = self.aligner.align(segments.source_tokens, tokens)
        sources, language = parsed(segments.source_annotated), segments.target_tokenizer.language
        return projections(sources, links, tokens, language)


@dataclass(frozen=True)
class ProjectedDependencies(_Projecting, FittedExtractor):
    """Coverage, C+ and C- of projected edges, by words, stems and suffixes: 21 features.

    Fitted on training rows with the label `reference`: every source dependency is projected on the
    translation and on the reference. M+ counts translation edges that the reference has in the same place, M-
    the others. C+ of edges is the mean of M+ / (M+ + M-), C- that of M- / (M+ + M-); unseen edges count 0.
    Coverage is the share of seen edges, as the paper's prose says; `occurrences`, the mean of M+ + M-,
    follows its equation. Quarters and halves, rounded up, are of the edges ranked by (M+ - M-) / (M+ + M-), 0
    for unseen ones. C+ of all edges is coverage minus C-.

    corpus  source of the translations: the training rows (`training`), or `translated_corpus`, in which case
            nothing is fitted and our own decoder's translations replace those of the evaluated system

    A word with several links gives an edge with each linked word, an unlinked word none. All values are NaN
    for a translation without a projected edge. Stems are Snowball's.

    Raises InputError for sources without dependencies, and training rows without any projected edge.
    """

    plain: ClassVar[str] = "whether words that belong together in the source do so in the translation"

    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"corpus": "translated"},)

    corpus: Corpus = "training"
    counts: Mapping[str, Counts] | None = field(default=None, init=False, repr=False)

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _OfTranslatedCorpus if settings.get("corpus") == "translated" else cls

    @property
    def features(self) -> Sequence[Feature]:
        return edge_features("projected")

    def labels_used(self) -> tuple[str, ...]:
        return ("reference",)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        references = segments.target_tokenizer.tokens([str(text) for text in labels["reference"]])
        own, other = (list(self._projections(segments, t)) for t in (segments.target_tokens, references))
        if not any(map(any, own)):
            raise InputError(
                "no dependency of a training row is projected on its translation",
                location="extractor 'projected_dependencies'",
                remedy="train on more segments, or on an aligner of more text",
            )
        return self.with_learned(counts=counted(own, other))

    def extract(self, segments: Segments) -> FloatArray:
        return measured(self._projections(segments, segments.target_tokens), self.learned(self.counts))

    def save(self, path: Path) -> None:
        save_counts(path, self.learned(self.counts))

    def restore(self, path: Path) -> Self:
        return self.with_learned(counts=load_counts(path))


@dataclass(frozen=True)
class _OfTranslatedCorpus(_Projecting):
    edge_counts: EdgeCounts
    corpus: Corpus = "translated"

    @property
    def features(self) -> Sequence[Feature]:
        return edge_features("projected_translated")

    def extract(self, segments: Segments) -> FloatArray:
        return measured(self._projections(segments, segments.target_tokens), self.edge_counts.counts)
