"""Dependencies of the source projected over word links, compared with a corpus and its translations."""

from collections.abc import Sequence
from dataclasses import dataclass

from features.basics.array_types import FloatArray
from features.comparisons.projected_edges import edge_features, measured, projections
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.learned.edge_counts import EdgeCounts
from features.resources.aligner import Aligner
from features.syntax.syntax import parsed


@dataclass(frozen=True)
class TranslatedProjectedDependencies(Extractor):
    """Coverage, C+ and C- as `projected_dependencies` has them, by the edges of `translated_corpus`.

    Machine translations there are our own decoder's, in the place of those of the system that is judged.

    Everything is NaN of a translation without a projected edge. Base forms come from simplemma. Raises
    InputError for a target language without base forms, and sources without dependencies.
    """

    edge_counts: EdgeCounts
    aligner: Aligner

    @property
    def features(self) -> Sequence[Feature]:
        return edge_features("projected_translated")

    def requires(self) -> tuple[str, ...]:
        return ("annotation_source",)

    def extract(self, segments: Segments) -> FloatArray:
        tokens = segments.target_tokens
        links = self.aligner.align(segments.source_tokens, tokens)
        sources = parsed(segments.source_annotated)
        made = projections(sources, links, tokens, segments.target_tokenizer.language)
        return measured(made, self.edge_counts.counts)
