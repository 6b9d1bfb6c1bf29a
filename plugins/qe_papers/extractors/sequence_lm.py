"""Perplexities of a translation's sequences under models of translations and of references."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count
from features.core.extractor import Corpus, Extractor, Feature, FittedExtractor
from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.stop_words import StopWords
from features.text.annotation import layer_tokens
from features.text.tokens import Tokens
from qe_papers.learned.sequence_models import (
    SEQUENCES,
    Models,
    SequenceModels,
    aligned_tags,
    load_models,
    perplexities,
    perplexity_features,
    save_models,
    sequences,
)


@dataclass(frozen=True)
class _OfSequences(Extractor):
    target_stop_words: StopWords
    aligner: Aligner

    def requires(self) -> tuple[str, ...]:
        return ("annotation_source",)

    def _sequences(self, segments: Segments, tokens: Tokens) -> dict[str, Tokens]:
        source, column = segments.source_tokens, "annotation_source"
        tags = layer_tokens(segments.require(column), source, "xpos", column)
        aligned = aligned_tags(tags, self.aligner.align(source, tokens), tokens)
        stop = frozenset(self.target_stop_words.words)
        return sequences(tokens, segments.target_tokenizer.language, aligned, stop)


@dataclass(frozen=True)
class SequenceLanguageModels(_OfSequences, FittedExtractor):
    """Perplexity under a model of the system's translations, and ratio to that of references.

    Both models are trained on the same rows: the translations, and the label `reference`.

    corpus  source of the translations: the training rows (`training`), or `translated_corpus`, in which case
            nothing is fitted and our own decoder's translations replace those of the evaluated system
    order   order of the models

    Stop words are the part `target_stop_words`; stems are Snowball's, tags come from the source's annotation.
    A perplexity is NaN for an empty sequence, for example chains if no two stop words are adjacent. Raises
    InputError if a sequence is empty in all training rows.
    """

    plain: ClassVar[str] = "whether it reads as if a machine had written it"

    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"corpus": "translated"},)

    corpus: Corpus = "training"
    order: Count = 3
    models: Models | None = field(default=None, init=False, repr=False)

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _OfTranslatedCorpus if settings.get("corpus") == "translated" else cls

    @property
    def features(self) -> Sequence[Feature]:
        return perplexity_features("sequence")

    def labels_used(self) -> tuple[str, ...]:
        return ("reference",)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        references = segments.target_tokenizer.tokens([str(text) for text in labels["reference"]])
        models = {}
        for kind, tokens in (("sys", segments.target_tokens), ("ref", references)):
            for name, texts in self._sequences(segments, tokens).items():
                if not texts.lengths.any():  # chains can be absent from few rows
                    raise InputError(
                        f"no training row has {SEQUENCES[name]}",
                        location="extractor 'sequence_lm'",
                        remedy="train on more segments, or with more stop words",
                    )
                models[f"{name}_{kind}"] = LanguageModel.from_tokens(texts, order=self.order)
        return self.with_learned(models=models)

    def extract(self, segments: Segments) -> FloatArray:
        models = self.learned(self.models)
        return perplexities(self._sequences(segments, segments.target_tokens), models)

    def save(self, path: Path) -> None:
        save_models(path, self.learned(self.models))

    def restore(self, path: Path) -> Self:
        return self.with_learned(models=load_models(path))


@dataclass(frozen=True)
class _OfTranslatedCorpus(_OfSequences):
    sequence_models: SequenceModels
    corpus: Corpus = "translated"

    @property
    def features(self) -> Sequence[Feature]:
        return perplexity_features("sequence_translated")

    def extract(self, segments: Segments) -> FloatArray:
        return perplexities(self._sequences(segments, segments.target_tokens), self.sequence_models.models)
