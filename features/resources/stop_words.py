"""StopWords: the words that sentences of a language share."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.storage.files import read_lines
from features.text.corpus import ParallelCorpus, Side


@dataclass(frozen=True, kw_only=True)
class StopWordsBuilder(Builder):
    """The `max_words` most frequent words of letters of one side, lower-cased."""

    side: Side
    max_words: Count = 150

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "StopWords":
        text = corpus.side(self.side).lower()
        counts = np.bincount(text.ids, minlength=len(text.types))
        words = sorted(
            (word for word in text.types if word.isalpha()),
            key=dict(zip(text.types, (-counts).tolist(), strict=True)).__getitem__,
        )
        if not words:
            raise InputError(
                f"the {self.side} side of the corpus has no words of letters", location="stop_words"
            )
        progress(f"stop words, {self.side}", 1, 1)
        return StopWords(
            tuple(sorted(words[: self.max_words])),
            settings=self.settings,
            corpus_fingerprint=corpus.fingerprint,
        )


@dataclass(frozen=True, eq=False)
class StopWords(Resource):
    """The most frequent words of a side, or those of a list. The list is named by `read` of an experiment's
    `resources`.

    words  lower-cased, ascending
    """

    parts: ClassVar[Parts] = {
        "source_stop_words": {"side": "source"},
        "target_stop_words": {"side": "target"},
    }
    builder: ClassVar[type[Builder]] = StopWordsBuilder

    words: tuple[str, ...] = field(repr=False)

    @classmethod
    def read(cls, path: Path, side: Side, checksum: str) -> Self:
        """From a list, a word a line, plain or gzip; raises InputError if it has no words."""
        words = {line.strip().lower() for line in read_lines(path)} - {""}
        if not words:
            raise InputError("no words", location=path, remedy="give a list of stop words, one a line")
        settings = {"side": side, "read": checksum}
        return cls(tuple(sorted(words)), settings=settings, corpus_fingerprint=checksum)
