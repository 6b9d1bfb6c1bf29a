"""SequenceModels: language models of sequences made from a corpus's translations, and from its references."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from features._texts.sequences import (
    SEQUENCES,
    Models,
    aligned_tags,
    load_models,
    save_models,
    sequences,
)
from features.core.corpus import ParallelCorpus
from features.core.errors import InputError
from features.core.hints import Count
from features.core.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.core.storage import load_arrays, save_arrays
from features.core.tokens import Tokens
from features.learned.translated_corpus import TranslatedCorpus
from features.resources.aligner import Aligner
from features.resources.annotation import Annotation
from features.resources.language_model import LanguageModel
from features.resources.stop_words import StopWords


@dataclass(frozen=True, kw_only=True)
class SequenceModelsBuilder(Builder):
    """Models of `order`."""

    translated_corpus: TranslatedCorpus
    source_annotation: Annotation
    aligner: Aligner
    target_stop_words: StopWords
    order: Count = 3

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "SequenceModels":
        """Raises InputError for a language without base forms, and if one of the sequences is nowhere."""
        texts = self.translated_corpus
        stop = frozenset(self.target_stop_words.words)
        tags = self.source_annotation.layer("xpos").take(texts.rows)
        models: dict[str, LanguageModel] = {}
        total = 2 * len(SEQUENCES)
        for kind, tokens in (("sys", texts.machine), ("ref", texts.reference)):
            links = self.aligner.align(texts.source, tokens)
            made = self._sequences(tokens, corpus, aligned_tags(tags, links, tokens), stop)
            for name, sequence in made.items():
                models[f"{name}_{kind}"] = LanguageModel.from_tokens(sequence, order=self.order)
                progress("models of sequences", len(models), total)
        return SequenceModels(models, settings=self.settings, corpus_fingerprint=corpus.fingerprint)

    def _sequences(
        self, tokens: Tokens, corpus: ParallelCorpus, tags: list[list[str]], stop: frozenset[str]
    ) -> dict[str, Tokens]:
        made = sequences(tokens, corpus.target_tokenizer.language, tags, stop)
        for name, sequence in made.items():
            if not sequence.lengths.any():  # chains, in few texts
                raise InputError(
                    f"the corpus and its translations have no {SEQUENCES[name]}",
                    where="sequence_models",
                    remedy="give more text, or more stop words",
                )
        return made


@dataclass(frozen=True, eq=False)
class SequenceModels(Resource):
    """For each sequence of `features._texts.sequences`, a model of `translated_corpus`'s machine translations
    (`words_sys`, ...) and one of its references (`words_ref`, ...)."""

    parts: ClassVar[Parts] = {"sequence_models": {}}
    builder: ClassVar[type[Builder]] = SequenceModelsBuilder

    models: Models = field(repr=False)

    def check_arrays(self) -> None:
        for model in self.models.values():
            model.check_stored()

    def save(self, path: Path) -> None:
        meta: Mapping[str, Any] = {
            "settings": dict(self.settings),
            "corpus_fingerprint": self.corpus_fingerprint,
        }
        save_arrays(path, meta)
        save_models(path, self.models)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, _ = load_arrays(path)
        return cls(load_models(path), **meta)
