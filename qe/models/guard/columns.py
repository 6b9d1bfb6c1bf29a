"""Columns of the guard: signs of corrupted translations (larger is worse), with phrases for people."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.distinct import distinct
from features.core.segments import Segments
from features.resources.lexicon import Lexicon
from features.text.tokens import Tokens, Vocabulary, segment_mean, segment_sum
from qe.models.guard.characters import Characters
from qe.models.guard.knowledge import Knowledge, characters, log_ratio, plain
from qe.models.language_profile import trigram_overlap

_MIXED = 0.9  # weight of the lexicon; the rest is the word's frequency
_TRANSLATED = 0.05  # minimum t(source word | target word) of a translated source word
_LONG = 4  # minimum letters of a word that two languages rarely share by chance
_Signs = Mapping[str, FloatArray]
_Texts = tuple[Sequence[str], Sequence[str]]

# Signs, larger is worse, with phrases for translators.
PHRASES: Final = {
    "few words": "few words for the source's length",
    "many words": "many words for the source's length",
    "short": "short for the source",
    "long": "long for the source",
    "punctuation": "much punctuation",
    "digits": "many digits",
    "symbols": "emoji or undecoded characters",
    "runs of marks": "a mark repeated many times",
    "repeated words": "words repeated",
    "repeated phrases": "phrases repeated",
    "one word": "one word again and again",
    "copied": "words of the source left untranslated",
    "unknown words": "words that no training translation has",
    "letters": "spelling unlike the target language",
    "language": "closer to the source language",
    "word order": "unusual word order",
    "target words": "words that do not go with the source",
    "source words": "source words that nothing renders",
    "untranslated": "source words without a translation",
    "unlike the source": "no names or related words of the source",
    "marks": "more or fewer punctuation marks than the source",
    "strange letters": "letters of another alphabet",
    "capitals": "capitals inside words",
    "longest word": "a very long word",
}


def columns(segments: Segments, knowledge: Knowledge) -> FloatArray:
    """Signs (n, columns) of each row; 0, as in an ordinary row, if a sign is undefined."""
    if not len(segments):
        return np.empty((0, len(PHRASES)))
    source, target = segments.source_tokens.lower(), segments.target_tokens.lower()
    texts = plain(segments.source), plain(segments.target)
    values = {
        **_length_signs(source, target, texts, knowledge.texts.lengths),
        **_character_signs(texts, knowledge.texts.letters),
        **_repetition_signs(source, target),
        **_word_signs(source, target, texts, knowledge),
    }
    return np.nan_to_num(np.column_stack([values[name] for name in PHRASES]))


def _length_signs(source: Tokens, target: Tokens, texts: _Texts, usual: Sequence[float]) -> _Signs:
    words = (log_ratio(target.lengths, source.lengths) - usual[0]) / usual[1]
    letters = (log_ratio(characters(texts[1]), characters(texts[0])) - usual[2]) / usual[3]
    return {
        "few words": np.maximum(-words, 0),
        "many words": np.maximum(words, 0),
        "short": np.maximum(-letters, 0),
        "long": np.maximum(letters, 0),
    }


def _character_signs(texts: _Texts, letters: str) -> _Signs:
    source, target = (Characters.make(side) for side in texts)
    marks = target.count(target.of_category("P")) - source.count(source.of_category("P"))
    return {
        "digits": target.share(target.of_category("N")),
        "symbols": target.share(target.symbols),
        "runs of marks": np.maximum(target.longest_run() - source.longest_run(), 0),
        "marks": np.abs(marks),
        "strange letters": target.share(target.outside(letters)),
        "capitals": target.capitals_inside(),
        "longest word": target.longest_word(),
    }


def _repetition_signs(source: Tokens, target: Tokens) -> _Signs:
    size, numbers = len(target.types), {word: i for i, word in enumerate(target.types)}
    in_target = np.array([numbers.get(word, -1) for word in source.types], np.int64)
    ids = in_target[source.ids] if len(in_target) else np.empty(0, np.int64)
    # Cells are pairs of a text and a word of the target.
    source_cells = source.text_index[ids >= 0] * size + ids[ids >= 0]
    target_cells = target.text_index * size + target.ids
    own = target_cells[_words(target)]
    cells, places = np.unique(np.concatenate([own, source_cells]), return_inverse=True)
    signs = np.repeat([1, -1], [len(own), len(source_cells)])
    surplus = np.bincount(places, signs, len(cells)).astype(np.int64)
    most = np.zeros(len(target), np.int64)
    np.maximum.at(most, cells // max(size, 1), surplus)
    return {
        "repeated words": _repeated_words(target) - _repeated_words(source),
        "repeated phrases": _repeated_trigrams(target),
        "one word": most / np.sqrt(np.maximum(target.lengths, 1)),
        "copied": _share(target, np.isin(target_cells, source_cells), _words(target, _LONG)),
    }


def _repeated_words(tokens: Tokens) -> FloatArray:
    own = _words(tokens)
    cells = distinct(tokens.text_index[own] * max(len(tokens.types), 1) + tokens.ids[own])
    kinds = np.bincount(cells // max(len(tokens.types), 1), minlength=len(tokens))
    return np.asarray(1 - kinds / np.maximum(segment_sum(own, tokens.offsets), 1))


def _repeated_trigrams(target: Tokens) -> FloatArray:
    ids, rows = target.ids.astype(np.int64), target.text_index
    size = max(len(target.types), 1)
    inside = rows[:-2] == rows[2:]
    pairs = np.unique(ids[:-2] * size + ids[1:-1], return_inverse=True)[1]
    kinds, grams = np.unique(pairs * size + ids[2:], return_inverse=True)
    wide, n = max(len(kinds), 1), len(target)
    all_ = np.bincount(rows[:-2][inside], minlength=n)
    own = np.bincount(distinct(rows[:-2][inside] * wide + grams[inside]) // wide, minlength=n)
    return np.asarray(1 - own / np.maximum(all_, 1)) * (all_ > 0)


def _word_signs(source: Tokens, target: Tokens, texts: _Texts, knowledge: Knowledge) -> _Signs:
    known, everything = knowledge.texts, np.ones(len(target.ids), np.bool_)
    source_bits, target_bits = (profile.bits(texts[1]) for profile in known.profiles)
    best = knowledge.backward.score(target, source).maximum
    return {
        "punctuation": _share(target, ~_words(target), everything),
        "unknown words": _share(target, target.ids_in(known.words) == 0, everything),
        "letters": target_bits,
        "language": target_bits - source_bits,
        "word order": -known.order.gain(target),
        "target words": -_agreement(knowledge.forward, source, target, known.words, known.counts),
        "source words": -_agreement(
            knowledge.backward, target, source, known.source_words, known.source_counts
        ),
        "untranslated": _share(source, best <= _TRANSLATED, np.ones(len(best), np.bool_)),
        "unlike the source": -trigram_overlap(*texts),
    }


def _agreement(
    lexicon: Lexicon, context: Tokens, words: Tokens, vocabulary: Vocabulary, counts: NDArray[np.int64]
) -> FloatArray:
    ids = words.ids_in(vocabulary)
    base = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
    p = _MIXED * lexicon.score(context, words).probability + (1 - _MIXED) * base[ids]
    gain = np.where(ids > 0, np.log(p / base[ids]), 0.0)
    return np.nan_to_num(segment_mean(gain, words.offsets))


def _words(tokens: Tokens, min_length: int = 1) -> NDArray[np.bool_]:
    by_type = [len(w) >= min_length and any(map(str.isalnum, w)) for w in tokens.types]
    return np.array(by_type, np.bool_)[tokens.ids] if by_type else np.zeros(0, np.bool_)


def _share(tokens: Tokens, mask: NDArray[np.bool_], among: NDArray[np.bool_]) -> FloatArray:
    some = segment_sum(among, tokens.offsets)
    return np.asarray(segment_sum(mask & among, tokens.offsets) / np.maximum(some, 1))
