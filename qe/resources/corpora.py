"""Corpora that a bundle can be built from, and further text of one side."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.bundle import RESOURCES, Builders, Bundle, builder_of, plain_parts
from features.core.resource import Resource
from features.core.segments import Segments
from features.storage.files import digest, read_lines, sha256
from features.text.corpus import ParallelCorpus, Side
from features.text.tokenizer import Tokenizer, batches
from features.text.tokens import Tokens, TokensBuilder

Tokenizers = tuple[Tokenizer, Tokenizer]


class Corpus(Protocol):
    @property
    def provenance(self) -> dict[str, Any]:
        """Identifies the content, in a bundle's manifest and in the name of a cached one."""

    def read(self, tokenizers: Tokenizers, progress: Progress = silent) -> ParallelCorpus:
        """The pairs, tokenized."""


@dataclass(frozen=True)
class CorpusFiles:
    """Two files, plain or gzip, one sentence per line."""

    source: Path
    target: Path

    @cached_property
    def provenance(self) -> dict[str, Any]:
        return {"source": sha256(self.source), "target": sha256(self.target)}

    def read(self, tokenizers: Tokenizers, progress: Progress = silent) -> ParallelCorpus:
        return ParallelCorpus.read(self.source, self.target, *tokenizers, progress=progress)


@dataclass(frozen=True)
class OwnText:
    pairs: Sequence[tuple[str, str]]

    @cached_property
    def provenance(self) -> dict[str, Any]:
        return {"segments": digest(*("\x1f".join(pair) for pair in self.pairs))}

    def read(self, tokenizers: Tokenizers, progress: Progress = silent) -> ParallelCorpus:
        return ParallelCorpus.from_lines(self.pairs, *tokenizers, total=len(self.pairs), progress=progress)


@dataclass(frozen=True, eq=False)
class TranslatedSegments:
    """Segments, each with its translations in all texts side by side.

    If a part of the corpus is held out, no other translation of it is then left in the rest. The pairs of
    `general` come before the segments.
    """

    texts: Sequence[Segments]
    general: Corpus | None = None
    shared_parts: str = ""

    @cached_property
    def provenance(self) -> dict[str, Any]:
        general = {} if self.general is None else self.general.provenance
        content = [text.fingerprint for text in self.texts]
        return {**general, "segments": digest("side by side", *content, self.shared_parts)}

    def read(self, tokenizers: Tokenizers, progress: Progress = silent) -> ParallelCorpus:
        pairs = [self._side_by_side()]
        if self.general is not None:
            corpus = self.general.read(tokenizers, progress)
            pairs.insert(0, (corpus.source, corpus.target))
        return ParallelCorpus.of_tokens(pairs, *tokenizers)

    def _side_by_side(self) -> tuple[Tokens, Tokens]:
        source, target = TokensBuilder(), TokensBuilder()
        for text in self.texts:
            source.add(text.source_tokens)
            target.add(text.target_tokens)
        order = np.arange(len(source)).reshape(len(self.texts), -1).T.ravel()
        return source.tokens().take(order), target.tokens().take(order)


def corpus_of(bundle: Bundle) -> ParallelCorpus:
    """The corpus that a bundle keeps; raises InputError if it left it behind, as a model's does."""
    folder = bundle.path / "corpus"
    if not folder.is_dir():
        raise InputError(
            "this bundle has no corpus", location=bundle.path, remedy="build one with qe resources build"
        )
    return ParallelCorpus.load(folder)


KINDS = ("language_model", "ngrams", "truecaser")  # of one side's words: they need no translations
_BATCH = 5000  # segments encoded, and reported, at a time


@dataclass(frozen=True, eq=False)
class Monolingual:
    """Side -> a file of further text, plain or gzip, one segment per line, tokenized as the corpus is."""

    files: Mapping[Side, Path]
    _longer: dict[str, ParallelCorpus] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_files(cls, source: Path | None, target: Path | None) -> Self:
        given: dict[Side, Path | None] = {"source": source, "target": target}
        return cls({side: path for side, path in given.items() if path is not None})

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        return {side: sha256(path) for side, path in self.files.items()}

    def builders(self, fallback: Builders) -> Builders:
        """Builders for parts of this text, made as `fallback` or their kinds make them."""
        return (
            {kind: self._with_text(builder_of(kind, kind, fallback)) for kind in KINDS} if self.files else {}
        )

    @property
    def wanted(self) -> Mapping[str, Mapping[str, str | None]]:
        return {
            name: {"monolingual": self.fingerprints.get(settings["side"])}
            for kind in KINDS
            for name, settings in _parts(kind).items()
        }

    def check_used(self, parts: Iterable[str]) -> None:
        taking = {name: settings["side"] for kind in KINDS for name, settings in _parts(kind).items()}
        sides = {taking[name] for name in parts if name in taking}
        for side, path in self.files.items():
            if side not in sides:
                raise InputError(
                    f"none of the parts to be built takes {side} text",
                    location=path,
                    remedy=f"build a language model, n-gram counts or the truecaser of the {side} side",
                )

    def _with_text(self, build: Callable[..., Resource]) -> Callable[..., Resource]:
        @wraps(build)
        def make(
            corpus: ParallelCorpus, *, side: Side, progress: Progress = silent, **settings: Any
        ) -> Resource:
            if side not in self.files or any(isinstance(value, Resource) for value in settings.values()):
                return build(corpus, side=side, progress=progress, **settings)
            longer = self.longer(corpus, side, progress)
            built: Any = build(longer, side=side, progress=progress, **settings)  # a dataclass
            made: Resource = replace(
                built, settings={**built.settings, "monolingual": self.fingerprints[side]}
            )
            return made

        return make

    def longer(self, corpus: ParallelCorpus, side: Side, progress: Progress = silent) -> ParallelCorpus:
        """A corpus whose sides are both the one side of `corpus` with the text after it (read once)."""
        if side not in self._longer:
            builder, tokenizer = TokensBuilder(), corpus.tokenizer(side)
            builder.add(corpus.side(side))
            for batch in batches(read_lines(self.files[side]), _BATCH):
                tokens = tokenizer.tokens(batch)
                builder.add(tokens.take(np.flatnonzero(tokens.lengths)))
                progress(f"reading further {side} text", len(builder) - len(corpus), None)
            if len(builder) == len(corpus):
                raise InputError(
                    "no words here", location=self.files[side], remedy="give one segment per line"
                )
            print_ = digest(corpus.fingerprint, self.fingerprints[side])
            text = builder.tokens()
            self._longer[side] = ParallelCorpus(text, text, tokenizer, tokenizer, 0, print_)
        return self._longer[side]


def _parts(kind: str) -> Mapping[str, Mapping[str, Any]]:
    return plain_parts(RESOURCES.get(kind))
