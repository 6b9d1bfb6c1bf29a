"""Truecaser: each word's usual spelling with capitals, learned away from sentence starts."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.storage.damage import typed
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import Tokens

# A sentence, title or quotation may begin after these, so that capitals are not informative.
_OPENING = frozenset({".", "!", "?", ":", ";", '"', "'", "(", "[", "«", "¿", "¡", "-", "..."})


@dataclass(frozen=True, kw_only=True)
class TruecaserBuilder(Builder):
    side: Side

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "Truecaser":
        progress(f"truecaser, {self.side}", 0, 1)
        made = Truecaser.from_tokens(corpus.side(self.side))
        progress(f"truecaser, {self.side}", 1, 1)
        return replace(made, corpus_fingerprint=corpus.fingerprint).with_settings(side=self.side)


@dataclass(frozen=True, eq=False)
class Truecaser(Resource):
    """The most frequent spelling of each word away from sentence starts, as in Moses's train-truecaser.

    Words that only begin sentences are counted there. Ties go to the first spelling in code point order
    (capitals first).

    spellings  one for each known word
    shares     (known words,) its share of the counted occurrences of the word
    """

    parts: ClassVar[Parts] = {"source_truecaser": {"side": "source"}, "target_truecaser": {"side": "target"}}
    builder = TruecaserBuilder

    spellings: tuple[str, ...]
    shares: NDArray[np.float32]

    @classmethod
    def from_tokens(cls, tokens: Tokens) -> Self:
        inside = np.bincount(tokens.ids[~begins(tokens)], minlength=len(tokens.types))
        anywhere = np.bincount(tokens.ids, minlength=len(tokens.types))
        words = np.array([word.lower() for word in tokens.types])
        _, group = np.unique(words, return_inverse=True)
        totals = np.bincount(group, inside)
        counts = np.where(totals[group] > 0, inside, anywhere)
        totals = np.where(totals > 0, totals, np.bincount(group, anywhere))
        order = np.lexsort((np.array(tokens.types), -counts, group))
        best = order[np.flatnonzero(np.diff(group[order], prepend=-1))]
        best = best[counts[best] > 0]  # part of a corpus contains types of the whole
        shares = (counts[best] / totals[group[best]]).astype(np.float32)
        spellings = tuple(tokens.types[i] for i in best)
        settings = {"words": len(spellings)}
        return cls(spellings, shares, settings=settings, corpus_fingerprint=tokens.fingerprint)

    def check_arrays(self) -> None:
        typed("shares", self.shares, np.float32, len(self.spellings))

    @cached_property
    def _index(self) -> dict[str, str]:
        return {spelling.lower(): spelling for spelling in self.spellings}

    def usual(self, types: tuple[str, ...]) -> list[str | None]:
        """The usual spelling of each word, None for an unknown word."""
        return [self._index.get(word.lower()) for word in types]

    def truecase(self, tokens: Tokens) -> Tokens:
        """Tokens with the usual spelling at sentence and title starts; unknown words are unchanged."""
        index = {word: i for i, word in enumerate(tokens.types)}
        spelled = [usual or word for word, usual in zip(tokens.types, self.usual(tokens.types), strict=True)]
        mapping = np.array([index.setdefault(word, len(index)) for word in spelled], np.int32)
        ids = tokens.ids.copy()
        there = begins(tokens)
        ids[there] = mapping[ids[there]]
        texts = zip(tokens.offsets[:-1].tolist(), tokens.offsets[1:].tolist(), strict=True)
        words = tuple(index)
        return Tokens.from_lists([words[i] for i in ids[start:end]] for start, end in texts)


def begins(tokens: Tokens) -> NDArray[np.bool_]:
    """Whether each token (n_tokens,) begins its text, or follows a mark that may end a sentence."""
    opening = np.array([word in _OPENING for word in tokens.types], bool)
    starts = np.zeros(len(tokens.ids), bool)
    if len(starts):
        starts[1:] = opening[tokens.ids[:-1]]
        starts[tokens.offsets[:-1][tokens.lengths > 0]] = True
    return starts
