"""SequenceModels: language models of sequences from translations, and from references."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.core.resource_files import load_arrays, save_arrays
from features.learned.translated_corpus import TranslatedCorpus
from features.resources.aligner import Aligner
from features.resources.annotation import Annotation
from features.resources.language_model import LanguageModel
from features.resources.stop_words import StopWords
from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens
from qe_papers.comparisons.sequences import (
    SEQUENCES,
    Models,
    aligned_tags,
    load_models,
    save_models,
    sequences,
)


@dataclass(frozen=True, kw_only=True)
class SequenceModelsBuilder(Builder):
    """Models of `order`."""

    translated_corpus: TranslatedCorpus
    source_annotation: Annotation
    aligner: Aligner
    target_stop_words: StopWords
    order: Count = 3

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "SequenceModels":
        """Raises InputError if one of the sequences is nowhere."""
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
                    location="sequence_models",
                    remedy="give more text, or more stop words",
                )
        return made


@dataclass(frozen=True, eq=False)
class SequenceModels(Resource):
    """Models of each sequence of `qe_papers.comparisons.sequences`. `words_sys`, ... model the machine
    translations of `translated_corpus`, `words_ref`, ... its references.
    """

    version: ClassVar[int] = 3
    older: ClassVar[frozenset[int]] = frozenset({2})  # models of version 1
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
