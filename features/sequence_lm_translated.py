"""Perplexities of sequences made from a translation, by models of a corpus's translations and references."""

from collections.abc import Sequence
from dataclasses import dataclass

from features.basics.array_types import FloatArray
from features.comparisons.sequences import aligned_tags, perplexities, perplexity_features, sequences
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.learned.sequence_models import SequenceModels
from features.resources.aligner import Aligner
from features.resources.stop_words import StopWords
from features.text.annotation import layer_tokens


@dataclass(frozen=True)
class TranslatedSequenceModels(Extractor):
    """Perplexity by a model of machine translations, and its ratio to that by a model of references.

    Both models are of the same sentences: `translated_corpus` has its own decoder's translations in the place
    of those of the system that is judged. `sequence_lm` learns from that system's, where there are enough.

    Stop words are the part `target_stop_words`; base forms come from simplemma, tags from the source's
    annotation. A perplexity is NaN for an empty sequence, as chains are where no two stop words meet. Raises
    InputError for a target language without base forms.
    """

    sequence_models: SequenceModels
    target_stop_words: StopWords
    aligner: Aligner

    @property
    def features(self) -> Sequence[Feature]:
        return perplexity_features("sequence_translated")

    def requires(self) -> tuple[str, ...]:
        return ("annotation_source",)

    def extract(self, segments: Segments) -> FloatArray:
        annotation = segments.require("annotation_source")
        tags = layer_tokens(annotation, segments.source_tokens, "xpos", "annotation_source")
        tokens = segments.target_tokens
        links = self.aligner.align(segments.source_tokens, tokens)
        texts = sequences(
            tokens,
            segments.target_tokenizer.language,
            aligned_tags(tags, links, tokens),
            frozenset(self.target_stop_words.words),
        )
        return perplexities(texts, self.sequence_models.models)
