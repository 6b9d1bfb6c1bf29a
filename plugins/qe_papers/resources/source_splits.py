"""SourceSplits: adjacent source words whose translations are not adjacent."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, Longs
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.resources.aligner import Aligner, Symmetrization
from features.storage.damage import typed
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.tokens import UNK, Tokens, Vocabulary


@dataclass(frozen=True, kw_only=True)
class SourceSplitsBuilder(Builder):
    """Aligns the corpus and stores every bigram that is split somewhere."""

    aligner: Aligner
    symmetrization: Symmetrization = "grow-diag-final-and"

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "SourceSplits":
        links = self.aligner.align(corpus.source, corpus.target, self.symmetrization, progress=progress)
        words = corpus.source.lower()
        at = np.flatnonzero(split_places(words, links))
        used = np.unique(np.concatenate((words.ids[at], words.ids[at + 1])))
        vocabulary = Vocabulary([words.types[i] for i in used])
        place = vocabulary.lookup(words.types)
        codes = np.unique(_codes(place[words.ids[at]], place[words.ids[at + 1]], len(vocabulary)))
        return SourceSplits(
            vocabulary=vocabulary, codes=codes, settings=self.settings, corpus_fingerprint=corpus.fingerprint
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class SourceSplits(Resource):
    """Lower-cased bigrams that are split in the corpus.

    `codes` are first word * vocabulary size + second word, ascending. A bigram is split if both words have
    links, and at least one word separates their spans of linked target words.

    Source: SJTU at WMT12, section 3.2 (bi-gram source splitting).
    """

    parts: ClassVar[Parts] = {"source_splits": {}}
    builder: ClassVar[type[Builder]] = SourceSplitsBuilder

    vocabulary: Vocabulary
    codes: Longs

    def __len__(self) -> int:
        return len(self.codes)

    def check_arrays(self) -> None:
        typed("codes", self.codes, np.int64, None)

    def split(self, tokens: Tokens) -> BoolArray:
        """Whether each token (n_tokens,) and the next one of its text are a split bigram."""
        words = tokens.lower()
        ids = self.vocabulary.lookup(words.types)[words.ids]
        splits = np.zeros(len(ids), bool)
        if len(ids) > 1:
            same = (words.text_index[:-1] == words.text_index[1:]) & (ids[:-1] != UNK) & (ids[1:] != UNK)
            splits[:-1] = same & np.isin(_codes(ids[:-1], ids[1:], len(self.vocabulary)), self.codes)
        return splits


def split_places(source: Tokens, links: Links) -> BoolArray:
    """Whether the translations of each source token (n_tokens,) and the next one of its text are apart."""
    n = len(source.ids)
    first, last = np.full(n, np.iinfo(np.int32).max, np.int64), np.full(n, -1, np.int64)
    text = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    token = np.asarray(source.offsets)[text] + links.source
    np.minimum.at(first, token, links.target)
    np.maximum.at(last, token, links.target)
    linked = last >= 0
    apart = np.zeros(n, bool)
    if n > 1:
        both = linked[:-1] & linked[1:] & (source.text_index[:-1] == source.text_index[1:])
        apart[:-1] = both & ((first[1:] - last[:-1] > 1) | (first[:-1] - last[1:] > 1))
    return apart


def _codes(codes: NDArray[np.int32], right: NDArray[np.int32], size: int) -> Longs:
    return codes.astype(np.int64) * size + right
