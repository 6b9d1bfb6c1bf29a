"""Morphemes: the words of one side of the corpus in parts, by Morfessor Baseline; units instead of words."""

import importlib
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of
from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from features.basics.plugins import install
from features.basics.progress import Progress, silent
from features.core.resource import Builder, OnlyForParts, Parts, Resource
from features.resources.annotation import Annotation
from features.storage.damage import Damaged, typed, within
from features.text.annotation import Layer
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import Tokens

# Most frequent words that are learned from: training time grows with them, not with the corpus.
TYPES = 30_000
_LONGEST_WORD = 250  # letters of words that are learned from: time grows with their square
_LONGEST = 30  # letters of the longest morpheme that a new word can have, as in Morfessor


@dataclass(frozen=True, kw_only=True)
class MorphemesBuilder(Builder):
    """From the `types` most frequent words; `seed` orders them in training."""

    side: Side
    types: Count = TYPES
    seed: Seed = 0

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "Morphemes":
        progress(f"morphemes of the {self.side} side", 0, 1)
        words = frequent_words(corpus.side(self.side), self.types)
        counts = _trained(words, self.seed)
        return Morphemes(
            tuple(counts),
            np.array(list(counts.values()), np.int64),
            len(words),
            settings=self.settings,
            corpus_fingerprint=corpus.fingerprint,
        )


@dataclass(frozen=True, eq=False)
class Morphemes(Resource):
    """A morpheme lexicon with counts; the most probable segmentation of a word by it. All is lower-cased.
    Creutz and Lagus 2005 (Morfessor Baseline), trained on word types. Words without a letter stay whole.
    Training needs the package `morfessor`; segmenting does not.

    morphemes  the lexicon
    counts     (morphemes,) how often each occurs in the words that it was learned from
    words      number of words that it was learned from
    """

    parts: ClassVar[Parts] = {"source_morphemes": {"side": "source"}, "target_morphemes": {"side": "target"}}
    builder = MorphemesBuilder

    morphemes: tuple[str, ...]
    counts: NDArray[np.int64]
    words: int

    def check_arrays(self) -> None:
        typed("counts", self.counts, np.int64, len(self.morphemes))
        within("counts", self.counts, 1, 2**31)
        if not 0 <= self.words < 2**31 or self.words + len(self.counts) == 0:
            raise Damaged(f"`words` must be a whole number from 0, but is {self.words}")

    @cached_property
    def _costs(self) -> tuple[dict[str, float], float]:
        total = math.log(int(self.counts.sum()) + self.words)
        costs = total - np.log(np.asarray(self.counts, np.float64))
        return dict(zip(self.morphemes, costs.tolist(), strict=True)), total

    def segment(self, word: str) -> tuple[str, ...]:
        """The morphemes of a lower-cased word; a letter that no morpheme fits is one."""
        if not any(letter.isalpha() for letter in word):
            return (word,)
        costs, total = self._costs
        alone = len(word) * total + 1.0  # dearer than any segmentation into known morphemes
        best, start = [0.0], [0]
        for end in range(1, len(word) + 1):
            lowest, origin = math.inf, end - 1
            for low in range(max(0, end - _LONGEST), end):
                cost = costs.get(word[low:end])
                if cost is None:
                    if low < end - 1:
                        continue
                    cost = alone
                if best[low] + cost < lowest:
                    lowest, origin = best[low] + cost, low
            best.append(lowest)
            start.append(origin)
        morphs: list[str] = []
        end = len(word)
        while end > 0:
            morphs.append(word[start[end] : end])
            end = start[end]
        return tuple(reversed(morphs))

    def units(self, tokens: Tokens) -> Tokens:
        lowered = tokens.lower()
        return expanded(lowered, [self.segment(word) for word in lowered.types])


def frequent_words(tokens: Tokens, limit: int) -> list[str]:
    lowered = tokens.lower()
    counts = np.bincount(lowered.ids, minlength=len(lowered.types))
    order = np.argsort(-counts, kind="stable").tolist()
    types = (lowered.types[i] for i in order if len(lowered.types[i]) <= _LONGEST_WORD)
    words = [word for word in types if any(letter.isalpha() for letter in word)]
    if not words:
        problem = f"no token of at most {_LONGEST_WORD} characters has a letter"
        raise InputError(f"morphemes are learned from words, but {problem}")
    return words[:limit]


def expanded(tokens: Tokens, parts: Sequence[tuple[str, ...]]) -> Tokens:
    index: dict[str, int] = {}
    flat = np.array([index.setdefault(part, len(index)) for group in parts for part in group], np.int32)
    sizes = np.array([len(group) for group in parts], np.int64)
    firsts = offsets_of(sizes)[:-1]
    ids = np.asarray(tokens.ids)
    lengths = sizes[ids] if len(parts) else np.empty(0, np.int64)
    ends = offsets_of(lengths)
    starts = firsts[ids] if len(parts) else lengths
    places = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)
    return Tokens(tuple(index), flat[places], ends[np.asarray(tokens.offsets)])


def _trained(words: Sequence[str], seed: int) -> dict[str, int]:
    try:
        morfessor: Any = importlib.import_module("morfessor")
    except ImportError:
        raise InputError(
            "morphemes are learned by the package morfessor, which is not installed",
            remedy=install("morphemes"),
        ) from None
    # The package draws from Python's own generator, and prints dots.
    state, shown = random.getstate(), morfessor.utils.show_progress_bar
    random.seed(seed)
    morfessor.utils.show_progress_bar = False
    try:
        model = morfessor.BaselineModel()
        model.load_data([(1, word) for word in words])
        model.train_batch()
    finally:
        random.setstate(state)
        morfessor.utils.show_progress_bar = shown
    return {str(morpheme): int(count) for morpheme, count in model.get_constructions()}


SAMPLE: Final = 100_000  # pairs; DFKI (Popovic 2012), table 1: 97,122


@dataclass(frozen=True, kw_only=True)
class SideBuilder(Builder):
    """Builds from one side of the corpus: its words, or the units used instead of them.

    layer   of `annotation`, for parts that name one
    sample  pairs, spread over the corpus, whose words are split by `morphemes`, for parts that name these
    """

    side: Side
    layer: Annotated[Layer, OnlyForParts("annotation")] = "xpos"
    sample: Annotated[Count, OnlyForParts("morphemes")] = SAMPLE
    annotation: Annotation | None = None
    morphemes: Morphemes | None = None

    def text(self, corpus: ParallelCorpus) -> Tokens:
        if self.annotation is not None:
            return self.annotation.layer(self.layer)
        if self.morphemes is not None:
            return self.morphemes.units(corpus.side(self.side).take(corpus.spread(self.sample)))
        return corpus.side(self.side)

    def units(self, text: Tokens) -> dict[str, Any]:
        if self.annotation is not None:
            return {"layer": self.layer, "annotation": self.annotation.fingerprint}
        if self.morphemes is not None:
            return {"sample": len(text), "morphemes": self.morphemes.fingerprint}
        return {}
