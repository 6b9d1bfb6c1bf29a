"""The small decoder against exhaustive search; its features where it agrees and where it cannot."""

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features import _decoder
from features._decoder import decode
from features.core.tokens import Tokens
from features.core.vocabulary import Vocabulary
from features.resources._phrases import keys_of
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable

Phrase = tuple[str, ...]
Pairs = dict[tuple[Phrase, Phrase], float]

TEXT = ["la casa roja", "una casa verde", "la mesa roja es grande", "la casa es una casa", "el gato come"]
PAIRS: Pairs = {
    (("the",), ("la",)): 0.6,
    (("the",), ("el",)): 0.4,
    (("red",), ("roja",)): 0.9,
    (("house",), ("casa",)): 0.8,
    (("house",), ("una", "casa")): 0.1,
    (("green",), ("verde",)): 1.0,
    (("the", "red"), ("la", "roja")): 0.3,
    (("is",), ("es",)): 1.0,
    (("red", "house"), ("casa", "roja")): 0.05,
}


def tokens(*texts: Sequence[str]) -> Tokens:
    return Tokens.from_lists(texts)


def model(order: int = 3) -> LanguageModel:
    return LanguageModel.from_tokens(tokens(*(line.split() for line in TEXT)), order=order)


def table(pairs: Pairs, longest: int = 3) -> PhraseTable:
    """A phrase table whose four scores are the given probability."""
    sides = [sorted({pair[side] for pair in pairs}) for side in (0, 1)]
    vocabularies = [Vocabulary(sorted({word for phrase in side for word in phrase})) for side in sides]
    keys = [phrase_keys(side, v, longest) for side, v in zip(sides, vocabularies, strict=True)]
    order = [np.argsort(k) for k in keys]
    row, column = ({sides[s][i]: r for r, i in enumerate(order[s].tolist())} for s in (0, 1))
    entries = sorted((row[s], column[t], p) for (s, t), p in pairs.items())
    rows, columns, p = (np.array(values) for values in zip(*entries, strict=True))
    targets = [sides[1][i] for i in order[1].tolist()]
    p = p.astype(np.float32)
    return PhraseTable(
        vocabularies[0],
        vocabularies[1],
        keys[0][order[0]],
        keys[1][order[1]],
        np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(row))))).astype(np.int64),
        columns.astype(np.int32),
        np.ones(len(p), np.int32),
        p,
        p,
        np.log(p),
        np.log(p),
        np.concatenate(([0], np.cumsum([len(t) for t in targets]))).astype(np.int64),
        vocabularies[1].lookup([word for t in targets for word in t]),
        {"longest": longest},
        "toy",
    )


def phrase_keys(phrases: Sequence[Phrase], vocabulary: Vocabulary, longest: int) -> np.ndarray:
    text = Tokens.from_lists(phrases)
    found = keys_of(text.ids_in(vocabulary), text.offsets, longest)
    return found[text.offsets[:-1], text.lengths - 1]


def derivations(source: Phrase, pairs: Pairs) -> Iterator[tuple[list[str], float]]:
    """Every translation with its weighted score but for the language model and the words."""
    if not source:
        yield [], 0.0
    for n in range(1, len(source) + 1):
        for words, score in options(source[:n], pairs):
            for rest, more in derivations(source[n:], pairs):
                yield [*words, *rest], score + more
    for m, n in product(range(1, _decoder._SWAPPED + 1), repeat=2):
        if m + n <= len(source):
            for first, second in product(options(source[m : m + n], pairs), options(source[:m], pairs)):
                for rest, more in derivations(source[m + n :], pairs):
                    yield (
                        [*first[0], *second[0], *rest],
                        first[1] + second[1] + _decoder._SWAP + more,
                    )


def options(phrase: Phrase, pairs: Pairs) -> list[tuple[Phrase, float]]:
    found = [
        (target, 4 * _decoder._PAIR * math.log(np.float32(p)) + _decoder._PHRASE)
        for (source, target), p in pairs.items()
        if source == phrase
    ]
    return found or ([(phrase, _decoder._COPY + _decoder._PHRASE)] if len(phrase) == 1 else [])


def best(source: Phrase, pairs: Pairs, lm: LanguageModel) -> tuple[list[str], float]:
    scored = [
        (
            words,
            score
            + _decoder._WORD * len(words)
            + _decoder._LM * math.log(10) * float(lm.log10_probability(tokens(words))[0]),
        )
        for words, score in derivations(source, pairs)
    ]
    return max(scored, key=lambda entry: entry[1])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["the", "red", "green", "house", "is", "Oslo"]), min_size=1, max_size=4))
def test_the_decoder_finds_the_best_translation(source: list[str]) -> None:
    """Of all segmentations, options and swaps of short texts, whose hypotheses all fit the beam."""
    lm = model()
    found = decode(tokens(source), table(PAIRS), lm)
    words, score = best(tuple(word.lower() for word in source), PAIRS, lm)
    assert found.score[0] == pytest.approx(score, abs=1e-4)
    assert found.tokens.words(0) == words or best_is_tied(source, found.tokens.words(0), score, lm)


@pytest.mark.parametrize("order", [1, 2])
def test_small_language_models_have_no_trigrams(order: int) -> None:
    lm = model(order)
    for source in product(["the", "red", "house", "oslo"], repeat=3):
        found = decode(tokens(source), table(PAIRS), lm)
        words, score = best(source, PAIRS, lm)
        assert found.score[0] == pytest.approx(score, abs=1e-4)
        assert found.tokens.words(0) == words or best_is_tied(source, found.tokens.words(0), score, lm)


def best_is_tied(source: Sequence[str], words: list[str], score: float, lm: LanguageModel) -> bool:
    """Whether the words have a derivation with the best score too."""
    lowered = tuple(word.lower() for word in source)
    language = _decoder._LM * math.log(10) * float(lm.log10_probability(tokens(words))[0])
    own = [s for w, s in derivations(lowered, PAIRS) if w == words]
    return bool(own) and max(own) + language + _decoder._WORD * len(words) == pytest.approx(score, abs=1e-4)


def test_words_swap_where_the_language_model_wants_it() -> None:
    pairs = {pair: p for pair, p in PAIRS.items() if len(pair[0]) == 1}
    found = decode(tokens(["the", "red", "house"]), table(pairs), model())
    assert found.tokens.words(0) == ["la", "casa", "roja"]


def test_texts_do_not_disturb_each_other() -> None:
    """Empty texts, unknown words and long texts; each alone as in the batch."""
    texts = [[], ["zzz"], ["the", "red", "house"] * 30, ["Oslo"], []]
    together = decode(tokens(*texts), table(PAIRS), model())
    for i, text in enumerate(texts):
        alone = decode(tokens(text), table(PAIRS), model())
        assert together.tokens.words(i) == alone.tokens.words(0)
        assert together.score[i] == alone.score[0]
    assert together.tokens.words(1) == ["zzz"] and together.tokens.words(3) == ["oslo"]
    assert together.tokens.lengths[0] == 0 and together.score[0] == 0
