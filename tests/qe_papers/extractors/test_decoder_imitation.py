"""The small decoder against exhaustive search; its features where it agrees and where it cannot."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features import ParallelCorpus, Segments
from features.comparisons import phrase_decoder as beam_search
from features.comparisons.phrase_decoder import decode
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable
from features.resources.phrases import keys_of
from features.resources.tuple_lm import TupleLM
from features.text.links import Links
from features.text.tokens import Tokens, Vocabulary
from qe_papers.extractors.forced_decoding import DecoderImitation

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
        settings={"longest": longest},
        corpus_fingerprint="toy",
    )


def phrase_keys(phrases: Sequence[Phrase], vocabulary: Vocabulary, longest: int) -> np.ndarray:
    text = Tokens.from_lists(phrases)
    outcome = keys_of(text.ids_in(vocabulary), text.offsets, longest)
    return outcome[text.offsets[:-1], text.lengths - 1]


def derivations(source: Phrase, pairs: Pairs) -> Iterator[tuple[list[str], float]]:
    """Every translation with its weighted score but for the language model and the words."""
    if not source:
        yield [], 0.0
    for n in range(1, len(source) + 1):
        for words, score in options(source[:n], pairs):
            for rest, more in derivations(source[n:], pairs):
                yield [*words, *rest], score + more
    for m, n in product(range(1, beam_search._SWAPPED + 1), repeat=2):
        if m + n <= len(source):
            for first, second in product(options(source[m : m + n], pairs), options(source[:m], pairs)):
                for rest, more in derivations(source[m + n :], pairs):
                    yield ([*first[0], *second[0], *rest], first[1] + second[1] + beam_search._SWAP + more)


def options(phrase: Phrase, pairs: Pairs) -> list[tuple[Phrase, float]]:
    listed = [
        (target, 4 * beam_search._PAIR * math.log(np.float32(p)) + beam_search._PHRASE)
        for (source, target), p in pairs.items()
        if source == phrase
    ]
    return listed or ([(phrase, beam_search._COPY + beam_search._PHRASE)] if len(phrase) == 1 else [])


def best(source: Phrase, pairs: Pairs, lm: LanguageModel) -> tuple[list[str], float]:
    scored = [
        (
            words,
            score
            + beam_search._WORD * len(words)
            + beam_search._LM * math.log(10) * float(lm.log10_probability(tokens(words))[0]),
        )
        for words, score in derivations(source, pairs)
    ]
    return max(scored, key=lambda entry: entry[1])


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.sampled_from(["the", "red", "green", "house", "is", "Oslo"]), min_size=1, max_size=4))
def test_the_decoder_finds_the_best_translation(source: list[str]) -> None:
    """Of all segmentations, options and swaps of short texts, whose hypotheses all fit the beam."""
    lm = model()
    decoded = decode(tokens(source), table(PAIRS), lm)
    words, score = best(tuple(word.lower() for word in source), PAIRS, lm)
    assert decoded.score[0] == pytest.approx(score, abs=1e-4)
    assert decoded.tokens.words(0) == words or best_is_tied(source, decoded.tokens.words(0), score, lm)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_small_language_models_have_no_trigrams(order: int) -> None:
    lm = model(order)
    for source in product(["the", "red", "house", "oslo"], repeat=3):
        decoded = decode(tokens(source), table(PAIRS), lm)
        words, score = best(source, PAIRS, lm)
        assert decoded.score[0] == pytest.approx(score, abs=1e-4)
        assert decoded.tokens.words(0) == words or best_is_tied(source, decoded.tokens.words(0), score, lm)


def best_is_tied(source: Sequence[str], words: list[str], score: float, lm: LanguageModel) -> bool:
    """Whether the words have a derivation with the best score too."""
    lowered = tuple(word.lower() for word in source)
    language = beam_search._LM * math.log(10) * float(lm.log10_probability(tokens(words))[0])
    own = [s for w, s in derivations(lowered, PAIRS) if w == words]
    found = language + beam_search._WORD * len(words)
    return bool(own) and max(own) + found == pytest.approx(score, abs=1e-4)


def test_words_swap_where_the_language_model_wants_it() -> None:
    pairs = {pair: p for pair, p in PAIRS.items() if len(pair[0]) == 1}
    decoded = decode(tokens(["the", "red", "house"]), table(pairs), model())
    assert decoded.tokens.words(0) == ["la", "casa", "roja"]


@pytest.mark.slow
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


# Kneser-Ney models of order 3 of two texts, `x y` and `x z`: of words (la casa, la roja), and of units (la of
# the, casa of house; la of the, roja of red). Orders 1 and 2 are those of `test_bigram_values_worked_by_hand`
# in test_language_model: x y z 0.176, </s> 0.376, <unk> 0.096; the backoff weight of <s> is 1/3, that of
# x y z 2/3. All four trigrams occur once, which defines no discounts: 0.5 is taken off each, for the bigram.
FIRST = 2 / 3 + 0.176 / 3  # x after <s>
SECOND = 0.25 + 0.5 * (1 / 6 + 2 / 3 * 0.176)  # y after <s> x
END = 0.5 + 0.5 * (1 / 3 + 2 / 3 * 0.376)  # </s> after x y
END_ALONE = 1 / 3 + 2 / 3 * 0.376  # </s> after y alone
NAN = math.nan
log = math.log


def imitation() -> DecoderImitation:
    """Lexical weights are -1 and -2 for every phrase pair, so that they are told from its probabilities."""
    pairs = table(PAIRS)
    weights = {"forward_weight": -1, "backward_weight": -2}
    pairs = replace(pairs, **{name: np.full_like(pairs.forward, w) for name, w in weights.items()})
    words = LanguageModel.from_tokens(tokens(["la", "casa"], ["la", "roja"]), order=3)
    aligner = Aligner.build(
        ParallelCorpus.from_lines([("the", "la"), ("house", "casa"), ("red", "roja")] * 3)
    )
    corpus = ParallelCorpus.from_lines([("the house", "la casa"), ("the red", "la roja")])
    units = TupleLM.from_links(corpus, Links.from_pharaoh(["0-0 1-1", "0-0 1-1"]), minimum=1)
    return DecoderImitation(pairs, words, aligner, units)


def columns(*pairs: tuple[str, str]) -> dict[str, list[float]]:
    extractor = imitation()
    values = extractor.extract(Segments(*(tuple(side) for side in zip(*pairs, strict=True))))
    names = [name.removeprefix("decoder_imitation_") for name in extractor.names]
    return dict(zip(names, values.T.tolist(), strict=True))


@pytest.mark.slow
def test_comparison_by_hand() -> None:
    """The decoder says `la casa`: the same text; one that shares a word of three; the same words swapped.

    chrF of `larojahoy` and `lacasa`: 3 of 9 letters and 1 of 8 pairs match, of 6 and 5 in the other; of
    `casala` and `lacasa`: all letters, 4 of 5 pairs, 2 of 4 triples, 1 of 3 fours.
    """
    computed = columns(("the house", "La casa"), ("the house", "La roja hoy"), ("the house", "casa la"))
    precision, recall = (1 / 3 + 1 / 8) / 6, (1 / 2 + 1 / 5) / 6
    unlike, swapped = 5 * precision * recall / (4 * precision + recall), (1 + 4 / 5 + 2 / 4 + 1 / 3) / 6
    expected = {
        "bleu": [1, (1 / 3 * 1 / 3 * 1 / 2) ** (1 / 3), (1 * 1 / 2) ** (1 / 2)],
        "chrf": [1, unlike, swapped],
        "ter": [0, 2 / 2, 1 / 2],  # a substitution and an insertion; a shift
        "word_edits": [0, 2, 2],
        "word_distance": [0, 2 / 3, 2 / 2],
        "character_edits": [0, 7, 5],  # of 11 letters `la `, `a` stay; of 7 two `a`
        "character_distance": [0, 7 / 11, 5 / 7],
        "precision_1": [1, 1 / 3, 1],
        "precision_2": [1, 0, 0],
        "precision_3": [NAN, 0, NAN],
        "precision_4": [NAN, NAN, NAN],
        "recall_1": [1, 1 / 2, 1],
        "recall_2": [1, 0, 0],
        "recall_3": [NAN, NAN, NAN],
        "recall_4": [NAN, NAN, NAN],
        "words_only_in_text": [0, 2, 0],
        "words_only_in_other": [0, 1, 0],
        "length_ratio": [1, 3 / 2, 1],
    }
    for name, values in expected.items():
        assert computed[name] == pytest.approx(values, nan_ok=True), name


def test_costs_of_the_decoder_by_hand() -> None:
    """`la casa` and `casa`: 0.3 of the language model, 0.2 of the four scores of each pair, 0.85 a word, -0.2
    a phrase; whatever the translation.
    """
    computed = columns(("the house", "La casa"), ("The house", "hoy"), ("house", "una casa"))
    two = 0.3 * log(FIRST * SECOND * END) + 0.2 * (2 * log(0.6) + 2 * log(0.8) - 6) + 2 * 0.85 - 2 * 0.2
    one = 0.3 * log(0.176 / 3 * END_ALONE) + 0.2 * (2 * log(0.8) - 3) + 0.85 - 0.2
    assert computed["score"] == pytest.approx([two, two, one], abs=1e-5)
    assert computed["score_per_word"] == pytest.approx([two / 2, two / 2, one], abs=1e-5)


@pytest.mark.slow
def test_costs_of_units_by_hand() -> None:
    """The aligner links la with the, and casa with house; no other unit of these is one of the model's."""
    computed = columns(*(("the house", text) for text in ("La casa", "La roja hoy", "casa la", "hoy")))
    units = [
        [FIRST, SECOND],
        [FIRST, 0.5 * 2 / 3 * 0.096, 0.096],  # trigram and bigram left; nothing is known after <unk>
        [0.176 / 3, 2 / 3 * 0.176],  # each alone is known
        [0.096 / 3],
    ]
    means = [sum(map(math.log10, values)) / len(values) for values in units]
    assert computed["units"] == pytest.approx(means, abs=1e-6)
    assert computed["units_lowest"] == pytest.approx([math.log10(min(values)) for values in units], abs=1e-6)
    matched = [[2, 3], [2, 0, 0], [1, 1], [0]]
    assert computed["units_matched"] == pytest.approx([sum(orders) / len(orders) for orders in matched])
    for order in range(4):
        shares = [orders.count(order) / len(orders) for orders in matched]
        assert computed[f"units_matched_{order}"] == pytest.approx(shares)


def test_costs_of_the_forced_derivation_by_hand() -> None:
    """Two pairs; one, and two tokens and `house` left out; one that makes two tokens; none."""
    sources = ("the house", "the house", "house", "the house")
    computed = columns(*zip(sources, ("La casa", "La roja hoy", "una casa", "hoy"), strict=True))
    phrase = [2 * log(0.6 * 0.8) / 2, 2 * log(0.6) / 1, 2 * log(0.1) / 2, NAN]  # by the tokens they make
    lexical = [-6 / 2, -3 / 1, -3 / 2, NAN]
    expected = {
        "forced_log": [p + w for p, w in zip(phrase, lexical, strict=True)],
        "forced_phrase_log": phrase,
        "forced_lexical_log": lexical,
        "forced_phrases": [2, 1, 1, 0],
        "forced_length": [1, 1, 2, NAN],
        "forced_uncovered": [0, 2, 0, 1],
        "forced_uncovered_share": [0, 2 / 3, 0, 1],
        "forced_unused_share": [0, 1 / 2, 0, 1],
    }
    for name, values in expected.items():
        assert computed[name] == pytest.approx(values, abs=1e-6, nan_ok=True), name
