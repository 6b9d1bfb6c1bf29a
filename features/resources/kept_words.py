"""KeptWords: the words of a side that a network of words has a place for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.resources.word_lexicon import plain
from features.resources.word_sets import segments_with
from features.storage.files import read_lines
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class KeptWordsBuilder(Builder):
    """The `max_words` words in most segments of one side; of equally frequent ones, the first."""

    side: Side
    max_words: Count = 9000

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "KeptWords":
        words = _by_frequency(plain(corpus.side(self.side)))[: self.max_words]
        progress(f"kept words, {self.side}", 1, 1)
        return KeptWords(tuple(words), settings=self.settings, corpus_fingerprint=corpus.fingerprint)


@dataclass(frozen=True, eq=False)
class KeptWords(Resource):
    """The most frequent words of a side, or those of a text, named by `read` of an experiment's `resources`.

    words  lower-cased, those with digits one word; by falling number of segments

    Source: WMT12 UEdin, section 3.5, which keeps the words of the segments to be judged.
    """

    parts: ClassVar[Parts] = {
        "source_kept_words": {"side": "source", "max_words": 8365},
        "target_kept_words": {"side": "target", "max_words": 9000},
    }
    builder: ClassVar[type[Builder]] = KeptWordsBuilder

    words: tuple[str, ...] = field(repr=False)

    @classmethod
    def read(cls, path: Path, corpus: ParallelCorpus, side: Side, checksum: str) -> Self:
        """The words of a text, plain or gzip, that the corpus has; raises InputError if there are none."""
        tokenizer = corpus.source_tokenizer if side == "source" else corpus.target_tokenizer
        known = set(plain(corpus.side(side)).types)
        given = plain(tokenizer.tokens(list(read_lines(path))))
        words = [word for word in _by_frequency(given) if word in known]
        if not words:
            raise InputError(
                f"no word of the {side} side of the corpus",
                location=path,
                remedy="give a text of its language",
            )
        settings = {"side": side, "read": checksum}
        return cls(tuple(words), settings=settings, corpus_fingerprint=corpus.fingerprint)


def _by_frequency(tokens: Tokens) -> Sequence[str]:
    order = np.argsort(-segments_with(tokens), kind="stable")
    return [tokens.types[i] for i in order]
