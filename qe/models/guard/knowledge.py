"""Knowledge: vocabulary, word order and translations in the texts of the training rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import regex
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.resource import load_fields, save_fields
from features.core.segments import Segments
from features.resources.lexicon import Lexicon
from features.storage.damage import rising, typed, within
from features.text.tokenizer import normalise
from features.text.tokens import Tokens, Vocabulary
from qe.models.language_profile import BUCKETS, LanguageProfile

_FREQUENT = 400  # words with their own class; the class of other words is their last two letters
_FEWEST = 3  # minimum count of a letter that belongs to the language
_BLANK = regex.compile(r"\s+(?=[.,;:!?…])")


@dataclass(frozen=True, eq=False)
class WordOrder:
    """A bigram model of word classes: frequent words have their own, others are classed by ending.

    `keys` are ascending `before * len(classes) + class` of observed pairs; class 0 begins a text, 1 ends it.
    """

    classes: tuple[str, ...]
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def make(cls, tokens: Tokens) -> Self:
        counts = np.bincount(tokens.ids, minlength=len(tokens.types))
        frequent = {tokens.types[i] for i in np.argsort(-counts, kind="stable")[:_FREQUENT].tolist()}
        names = dict.fromkeys(["<s>", "</s>", "<unk>"])
        names |= dict.fromkeys(_class(word, frequent) for word in tokens.types)
        model = cls(tuple(names), np.empty(0, np.int64), np.empty(0, np.int64))
        before, after = model._pairs(tokens)
        keys, seen = np.unique(before * len(names) + after, return_counts=True)
        return cls(tuple(names), keys, seen)

    def gain(self, tokens: Tokens) -> FloatArray:
        """Mean log ratio (n,) of p(class given previous class) to p(class) (Witten-Bell)."""
        size = len(self.classes)
        before, after = self._pairs(tokens)
        seen = np.bincount(self.keys % size, weights=self.counts, minlength=size)
        unigram = (seen + 0.5) / (seen.sum() + 0.5 * size)
        contexts = np.bincount(self.keys // size, weights=self.counts, minlength=size)
        kinds = np.bincount(self.keys // size, minlength=size)
        places = np.searchsorted(self.keys, before * size + after)
        places = np.minimum(places, max(len(self.keys) - 1, 0))
        hit = self.keys[places] == before * size + after if len(self.keys) else np.zeros(len(after), np.bool_)
        counts = np.where(hit, self.counts[places] if len(self.keys) else 0, 0)
        base = unigram[after]
        total = contexts[before] + kinds[before]
        p = np.where(total > 0, (counts + kinds[before] * base) / np.maximum(total, 1), base)
        rows = np.repeat(np.arange(len(tokens)), tokens.lengths + 1)
        sums = np.bincount(rows, weights=np.log(p / base), minlength=len(tokens))
        return np.asarray(sums / (tokens.lengths + 1))

    def _pairs(self, tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        number = {name: i for i, name in enumerate(self.classes)}
        frequent = set(self.classes)
        by_type = np.array([number.get(_class(w, frequent), 2) for w in tokens.types], np.int64)
        ends = tokens.offsets[1:] + np.arange(len(tokens))
        after = np.full(len(tokens.ids) + len(tokens), 1, np.int64)
        inner = np.ones(len(after), np.bool_)
        inner[ends] = False
        after[inner] = by_type[tokens.ids] if len(tokens.types) else 0
        before = np.concatenate([[0], after[:-1]]) if len(after) else after
        before[before == 1] = 0
        return before, after

    def check_arrays(self) -> None:
        typed("keys", self.keys, np.int64, None)
        typed("counts", self.counts, np.int64, len(self.keys))
        within("keys", self.keys, 0, max(len(self.classes), 3) ** 2)


def _class(word: str, frequent: "set[str] | frozenset[str]") -> str:
    if word in frequent:
        return word
    return "#" if word[:1].isdigit() else "~" + word[-2:]


@dataclass(frozen=True, eq=False)
class Texts:
    """Monolingual knowledge: words, letters, language profiles, usual lengths.

    words, counts    target words, lower-cased, with their counts (aligned to the vocabulary)
    letters          lower-case letters of the target, in one string
    lengths          median and deviation of the log ratio of target to source, in words and in characters
    """

    words: Vocabulary
    counts: NDArray[np.int64]
    source_words: Vocabulary
    source_counts: NDArray[np.int64]
    letters: str
    target_costs: NDArray[np.int32]
    source_costs: NDArray[np.int32]
    lengths: tuple[float, ...]
    classes: tuple[str, ...]
    keys: NDArray[np.int64]
    key_counts: NDArray[np.int64]

    def save(self, folder: Path) -> None:
        save_fields(folder, self)

    @classmethod
    def load(cls, folder: Path) -> Self:
        return load_fields(folder, cls)

    @property
    def order(self) -> WordOrder:
        return WordOrder(self.classes, self.keys, self.key_counts)

    def check_arrays(self) -> None:
        typed("counts", self.counts, np.int64, len(self.words))
        typed("source_counts", self.source_counts, np.int64, len(self.source_words))
        for name, costs in (("target_costs", self.target_costs), ("source_costs", self.source_costs)):
            typed(name, costs, np.int32, BUCKETS)
        self.order.check_arrays()
        if len(self.keys):
            rising("keys", self.keys, int(self.keys[0]), int(self.keys[-1]))


@dataclass(frozen=True, eq=False)
class Knowledge:
    """All inputs of the guard's columns; no label is used.

    `forward` is t(target word | source word) of IBM Model 1 on the training rows, `backward` the reverse.
    """

    forward: Lexicon
    backward: Lexicon
    texts: Texts

    @classmethod
    def learn(cls, segments: Segments) -> Self:
        source, target = segments.source_tokens.lower(), segments.target_tokens.lower()
        source_texts, target_texts = plain(segments.source), plain(segments.target)
        forward, backward = Lexicon.from_tokens(source, target), Lexicon.from_tokens(target, source)
        words, counts = _counted(target)
        source_words, source_counts = _counted(source)
        joined = "".join(target_texts).lower()
        codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
        distinct, uses = np.unique(codes, return_counts=True)
        letters = "".join(c for c in map(chr, distinct[uses >= _FEWEST].tolist()) if c.isalpha())
        order = WordOrder.make(target)
        lengths = (
            *_usual(log_ratio(target.lengths, source.lengths)),
            *_usual(log_ratio(characters(target_texts), characters(source_texts))),
        )
        texts = Texts(
            words, counts, source_words, source_counts, letters,
            LanguageProfile.make(target_texts).costs, LanguageProfile.make(source_texts).costs,
            lengths, order.classes, order.keys, order.counts,
        )  # fmt: skip
        return cls(forward, backward, texts)

    def check_arrays(self) -> None:
        for part in (self.forward, self.backward, self.texts):
            part.check_arrays()


def plain(texts: Sequence[str]) -> tuple[str, ...]:
    """Normalises punctuation and removes spaces before punctuation and at the ends."""
    return tuple(_BLANK.sub("", normalise(text)) for text in texts)


def log_ratio(target: NDArray[np.int64], source: NDArray[np.int64]) -> FloatArray:
    """Natural logarithm (n,) of (target + 1) / (source + 1)."""
    return np.asarray(np.log((target + 1.0) / (source + 1.0)))


def characters(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.array([len(text) for text in texts], np.int64)


def _usual(values: FloatArray) -> tuple[float, float]:
    return float(np.median(values)), float(values.std()) + 1e-6


def _counted(tokens: Tokens) -> tuple[Vocabulary, NDArray[np.int64]]:
    vocabulary, mapping = Vocabulary.by_frequency(tokens.types, tokens.ids)
    return vocabulary, np.bincount(mapping[tokens.ids], minlength=len(vocabulary)).astype(np.int64)
