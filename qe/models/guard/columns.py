"""Columns of the guard: signs of corrupted translations (larger is worse), with phrases for people."""

import html
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from features.basics.array_types import FloatArray
from features.basics.distinct import distinct, numbered
from features.core.segments import Segments
from features.text.tokens import Tokens, ratio, segment_mean, segment_sum
from qe.models.guard.knowledge import Knowledge, characters, log_ratio, plain
from qe.models.language_profile import LanguageProfile, trigram_overlap

_SYMBOLS = ("So", "Cn", "Co", "Cc", "Cs")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, eq=False)
class Characters:
    """Characters of n concatenated texts, without whitespace; `rows` has the text of each."""

    alphabet: tuple[str, ...]
    ids: NDArray[np.int64]
    rows: NDArray[np.int64]
    begins: NDArray[np.bool_]
    n: int

    @classmethod
    def make(cls, texts: Sequence[str]) -> "Characters":
        joined = "".join(texts)
        codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
        present, ids = numbered(codes)
        alphabet = tuple(map(chr, present.tolist()))
        rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        blank = np.array([c.isspace() for c in alphabet], np.bool_)[ids]
        before = np.concatenate([[True], blank[:-1] | (rows[1:] != rows[:-1])]) if len(ids) else blank
        return cls(alphabet, ids[~blank], rows[~blank], before[~blank], len(texts))

    def count(self, mask: NDArray[np.bool_]) -> FloatArray:
        return np.bincount(self.rows[mask], minlength=self.n).astype(np.float64)

    def share(self, mask: NDArray[np.bool_]) -> FloatArray:
        """Share (n,) of characters that the mask selects; NaN for a text without characters."""
        return ratio(self.count(mask), np.bincount(self.rows, minlength=self.n))

    @cached_property
    def categories(self) -> tuple[str, ...]:
        return tuple(unicodedata.category(c) for c in self.alphabet)

    def of_category(self, *begins: str) -> NDArray[np.bool_]:
        return np.array([c.startswith(begins) for c in self.categories], np.bool_)[self.ids]

    @cached_property
    def symbols(self) -> NDArray[np.bool_]:
        """Mask of emoji, control characters and signs of failed decoding."""
        strange = np.array([c == _REPLACEMENT for c in self.alphabet], np.bool_)[self.ids]
        return strange | self.of_category(*_SYMBOLS)

    def marks(self) -> FloatArray:
        return self.count(self.of_category("P"))

    def outside(self, letters: str) -> NDArray[np.bool_]:
        """Mask of letters that are not among `letters` (lower case)."""
        known = set(letters)
        return np.array([c.isalpha() and c.lower() not in known for c in self.alphabet], np.bool_)[self.ids]

    def longest_run(self) -> FloatArray:
        """Length (n,) of the longest run of one mark or symbol, ignoring whitespace."""
        marks = self.of_category("P", "S")
        same = np.zeros(len(self.ids), np.bool_)
        same[1:] = (self.ids[1:] == self.ids[:-1]) & (self.rows[1:] == self.rows[:-1])
        starts = np.flatnonzero(~same)
        lengths = np.diff(np.append(starts, len(self.ids)))
        longest = np.zeros(self.n)
        kept = marks[starts]
        np.maximum.at(longest, self.rows[starts[kept]], lengths[kept])
        return longest

    def longest_word(self) -> FloatArray:
        """Characters (n,) in the longest stretch without whitespace."""
        starts = np.flatnonzero(self.begins)
        lengths = np.diff(np.append(starts, len(self.ids)))
        longest = np.zeros(self.n)
        np.maximum.at(longest, self.rows[starts], lengths)
        return longest

    def capitals_inside(self) -> FloatArray:
        small, capital = self.of_category("Ll"), self.of_category("Lu")
        inside = np.zeros(len(self.ids), np.bool_)
        inside[1:] = small[:-1] & capital[1:] & ~self.begins[1:]
        return self.count(inside)


_MARKERS = ("@@", "\u0120", "\u2581")  # subword markers of BPE, GPT and SentencePiece


def mismatch(segments: Segments) -> FloatArray:
    """Share (n,) of letters and digits that differ between subwords and translation; 0 without subwords."""
    distances = np.zeros(len(segments))
    if segments.subwords is not None:
        for row, (subwords, target) in enumerate(zip(segments.subwords, segments.target, strict=True)):
            for marker in _MARKERS:
                subwords = subwords.replace(marker, " ")
            distances[row] = Levenshtein.normalized_distance(_letters(subwords), _letters(target))
    return distances


def _letters(text: str) -> str:
    composed = unicodedata.normalize("NFKC", html.unescape(text)).casefold()
    return "".join(filter(str.isalnum, composed))


_MIXED = 0.9  # weight of the lexicon; the rest is the word's frequency
_TRANSLATED = 0.05  # minimum t(source word | target word) of a translated source word
_LONG = 4  # minimum letters of a word that two languages rarely share by chance


@dataclass(frozen=True, eq=False)
class _Row:
    segments: Segments
    knowledge: Knowledge

    @cached_property
    def source(self) -> Tokens:
        return self.segments.source_tokens.lower()

    @cached_property
    def target(self) -> Tokens:
        return self.segments.target_tokens.lower()

    @cached_property
    def texts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return plain(self.segments.source), plain(self.segments.target)

    @cached_property
    def source_characters(self) -> Characters:
        return Characters.make(self.texts[0])

    @cached_property
    def characters(self) -> Characters:
        return Characters.make(self.texts[1])

    def words(self, tokens: Tokens, min_length: int = 1) -> NDArray[np.bool_]:
        by_type = [len(w) >= min_length and any(map(str.isalnum, w)) for w in tokens.types]
        return np.array(by_type, np.bool_)[tokens.ids] if by_type else np.zeros(0, np.bool_)

    def share(self, tokens: Tokens, mask: NDArray[np.bool_], among: NDArray[np.bool_]) -> FloatArray:
        some = segment_sum(among, tokens.offsets)
        return np.asarray(segment_sum(mask & among, tokens.offsets) / np.maximum(some, 1))

    @cached_property
    def length(self) -> FloatArray:
        middle, deviation = self.knowledge.texts.lengths[:2]
        return (log_ratio(self.target.lengths, self.source.lengths) - middle) / deviation

    @cached_property
    def character_length(self) -> FloatArray:
        middle, deviation = self.knowledge.texts.lengths[2:]
        sizes = characters(self.texts[1]), characters(self.texts[0])
        return (log_ratio(*sizes) - middle) / deviation

    @cached_property
    def bits(self) -> tuple[FloatArray, FloatArray]:
        known, target = self.knowledge.texts, self.texts[1]
        profiles = LanguageProfile(known.source_costs), LanguageProfile(known.target_costs)
        return profiles[0].bits(target), profiles[1].bits(target)

    @cached_property
    def source_cells(self) -> NDArray[np.int64]:
        numbers = {word: i for i, word in enumerate(self.target.types)}
        in_target = np.array([numbers.get(word, -1) for word in self.source.types], np.int64)
        ids = in_target[self.source.ids] if len(in_target) else np.empty(0, np.int64)
        return np.asarray(self.source.text_index[ids >= 0] * len(self.target.types) + ids[ids >= 0])

    @cached_property
    def target_cells(self) -> NDArray[np.int64]:
        return np.asarray(self.target.text_index * len(self.target.types) + self.target.ids)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        own = self.target_cells[self.words(self.target)]
        cells, places = np.unique(np.concatenate([own, self.source_cells]), return_inverse=True)
        signs = np.repeat([1, -1], [len(own), len(self.source_cells)])
        surplus = np.bincount(places, signs, len(cells)).astype(np.int64)
        most = np.zeros(len(self.target), np.int64)
        np.maximum.at(most, cells // max(len(self.target.types), 1), surplus)
        return most

    @cached_property
    def copied(self) -> FloatArray:
        copied = np.isin(self.target_cells, self.source_cells)
        return self.share(self.target, copied, self.words(self.target, _LONG))

    def distinct(self, tokens: Tokens) -> FloatArray:
        own = self.words(tokens)
        cells = distinct(tokens.text_index[own] * max(len(tokens.types), 1) + tokens.ids[own])
        kinds = np.bincount(cells // max(len(tokens.types), 1), minlength=len(tokens))
        return np.asarray(1 - kinds / np.maximum(segment_sum(own, tokens.offsets), 1))

    def repeated_trigrams(self) -> FloatArray:
        ids, rows = self.target.ids.astype(np.int64), self.target.text_index
        size = max(len(self.target.types), 1)
        inside = rows[:-2] == rows[2:]
        pairs = np.unique(ids[:-2] * size + ids[1:-1], return_inverse=True)[1]
        kinds, grams = np.unique(pairs * size + ids[2:], return_inverse=True)
        wide, n = max(len(kinds), 1), len(self.target)
        all_ = np.bincount(rows[:-2][inside], minlength=n)
        own = np.bincount(distinct(rows[:-2][inside] * wide + grams[inside]) // wide, minlength=n)
        return np.asarray(1 - own / np.maximum(all_, 1)) * (all_ > 0)

    def unknown(self) -> FloatArray:
        strange = self.target.ids_in(self.knowledge.texts.words) == 0
        return self.share(self.target, strange, np.ones(len(strange), np.bool_))

    def agreement(self, forward: bool) -> FloatArray:
        """Mean log gain (n,) of the words by the other side over their frequency; `forward`: the target's."""
        knowledge, texts = self.knowledge, self.knowledge.texts
        lexicon, context, words = knowledge.forward, self.source, self.target
        vocabulary, counts = texts.words, texts.counts
        if not forward:
            lexicon, context, words = knowledge.backward, self.target, self.source
            vocabulary, counts = texts.source_words, texts.source_counts
        ids = words.ids_in(vocabulary)
        base = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
        p = _MIXED * lexicon.score(context, words).probability + (1 - _MIXED) * base[ids]
        gain = np.where(ids > 0, np.log(p / base[ids]), 0.0)
        return np.nan_to_num(segment_mean(gain, words.offsets))

    def untranslated(self) -> FloatArray:
        best = self.knowledge.backward.score(self.target, self.source).maximum
        return self.share(self.source, best <= _TRANSLATED, np.ones(len(best), np.bool_))


@dataclass(frozen=True)
class Column:
    """A sign of corruption: name, function (larger is worse), and phrase for translators."""

    name: str
    value: Callable[[_Row], FloatArray]
    phrase: str


COLUMNS: Final = (
    Column("few words", lambda r: np.maximum(-r.length, 0), "few words for the source's length"),
    Column("many words", lambda r: np.maximum(r.length, 0), "many words for the source's length"),
    Column("short", lambda r: np.maximum(-r.character_length, 0), "short for the source"),
    Column("long", lambda r: np.maximum(r.character_length, 0), "long for the source"),
    Column(
        "punctuation",
        lambda r: r.share(r.target, ~r.words(r.target), np.ones(len(r.target.ids), np.bool_)),
        "much punctuation",
    ),
    Column("digits", lambda r: r.characters.share(r.characters.of_category("N")), "many digits"),
    Column("symbols", lambda r: r.characters.share(r.characters.symbols), "emoji or undecoded characters"),
    Column(
        "runs of marks",
        lambda r: np.maximum(r.characters.longest_run() - r.source_characters.longest_run(), 0),
        "a mark repeated many times",
    ),
    Column("repeated words", lambda r: r.distinct(r.target) - r.distinct(r.source), "words repeated"),
    Column("repeated phrases", lambda r: r.repeated_trigrams(), "phrases repeated"),
    Column(
        "one word",
        lambda r: r.counts / np.sqrt(np.maximum(r.target.lengths, 1)),
        "one word again and again",
    ),
    Column("copied", lambda r: r.copied, "words of the source left untranslated"),
    Column("unknown words", lambda r: r.unknown(), "words that no training translation has"),
    Column("letters", lambda r: r.bits[1], "spelling unlike the target language"),
    Column("language", lambda r: r.bits[1] - r.bits[0], "closer to the source language"),
    Column("word order", lambda r: -r.knowledge.texts.order.gain(r.target), "unusual word order"),
    Column("target words", lambda r: -r.agreement(True), "words that do not go with the source"),
    Column("source words", lambda r: -r.agreement(False), "source words that nothing renders"),
    Column("untranslated", lambda r: r.untranslated(), "source words without a translation"),
    Column(
        "unlike the source",
        lambda r: -trigram_overlap(*r.texts),
        "no names or related words of the source",
    ),
    Column(
        "marks",
        lambda r: np.abs(r.characters.marks() - r.source_characters.marks()),
        "more or fewer punctuation marks than the source",
    ),
    Column(
        "strange letters",
        lambda r: r.characters.share(r.characters.outside(r.knowledge.texts.letters)),
        "letters of another alphabet",
    ),
    Column("capitals", lambda r: r.characters.capitals_inside(), "capitals inside words"),
    Column("longest word", lambda r: r.characters.longest_word(), "a very long word"),
)


def columns(segments: Segments, knowledge: Knowledge) -> FloatArray:
    """Signs (n, columns) of each row; 0, as in an ordinary row, if a sign is undefined."""
    row = _Row(segments, knowledge)
    values = [column.value(row) for column in COLUMNS]
    return np.nan_to_num(np.column_stack(values)) if len(segments) else np.empty((0, len(COLUMNS)))
