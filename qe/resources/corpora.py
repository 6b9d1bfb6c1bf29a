"""Corpora that a bundle can be built from: two files, or the text of the task itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.bundle import Bundle
from features.core.segments import Segments
from features.storage.files import digest, is_input_file, sha256
from features.text.corpus import ParallelCorpus
from features.text.tokenizer import Tokenizer
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
    """Two files, plain or gzip, one sentence per line. Raises InputError for one that is not there."""

    source: Path
    target: Path

    def __post_init__(self) -> None:
        for path in (self.source, self.target):
            if not is_input_file(path):
                raise InputError(
                    "is a directory, not a file" if path.is_dir() else "no such file",
                    location=path,
                    remedy="check the path of the corpus",
                )

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
