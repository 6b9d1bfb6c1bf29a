"""The small decoder and the forced one against exhaustive search; costs and residuals by hand."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features import Tokenizer
from features.comparisons import phrase_decoder as beam_search
from features.comparisons.phrase_decoder import decode
from features.decoder_output.tokens import PRIOR, DecoderTokens, SubwordMeans
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable
from features.resources.phrases import keys_of
from features.resources.tuple_lm import TupleLM
from features.storage.damage import Damaged
from features.text.links import Links
from features.text.tokens import Tokens, Vocabulary
from qe_papers.extractors.forced_decoding import DecoderImitation, DecoderResidual, ForcedDecoding, force
from tests.factories import EN_ES, corpus, decoded, paired, refuses, row, segments, tokens
from tests.factories import table as feature_table

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
    (("red", "house", "the"), ("casa",)): 0.01,
}


def model(order: int = 3) -> LanguageModel:
    return LanguageModel.from_tokens(tokens(*TEXT), order=order)


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


def check_decoder(source: Sequence[str], lm: LanguageModel) -> None:
    """The translation has a derivation with the best score of all, which is the decoder's."""
    translated = decode(Tokens.from_lists([source]), table(PAIRS), lm)
    scores: dict[Phrase, float] = {}
    for words, score in derivations(tuple(word.lower() for word in source), PAIRS):
        log10 = float(lm.log10_probability(Tokens.from_lists([words]))[0])
        score += beam_search._WORD * len(words) + beam_search._LM * math.log(10) * log10
        scores[tuple(words)] = max(score, scores.get(tuple(words), score))
    assert translated.score[0] == pytest.approx(max(scores.values()), abs=1e-4)
    assert scores[tuple(translated.tokens.words(0))] == pytest.approx(max(scores.values()), abs=1e-4)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.sampled_from(["the", "red", "green", "house", "is", "Oslo"]), min_size=1, max_size=4))
def test_the_decoder_finds_the_best_translation(source: list[str]) -> None:
    """All segmentations, options and swaps of short texts are tried: their hypotheses all fit the beam."""
    check_decoder(source, model())


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_small_language_models_have_no_trigrams(order: int) -> None:
    lm = model(order)
    for source in product(["the", "red", "house", "oslo"], repeat=3):
        check_decoder(source, lm)


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
    words = LanguageModel.from_tokens(tokens("la casa", "la roja"), order=3)
    aligner = Aligner.build(corpus([("the", "la"), ("house", "casa"), ("red", "roja")] * 3))
    texts = corpus([("the house", "la casa"), ("the red", "la roja")])
    units = TupleLM.from_links(texts, Links.from_pharaoh(["0-0 1-1", "0-0 1-1"]), minimum=1)
    return DecoderImitation(pairs, words, aligner, units)


def columns(*pairs: tuple[str, str]) -> dict[str, list[float]]:
    columns = feature_table(imitation(), paired(pairs, (Tokenizer(), Tokenizer())), "decoder_imitation_")
    return {name: values.tolist() for name, values in columns.items()}


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


SPOKEN = (("a b a", "-1 -4 -3 -0.1"), ("a c@@ b", "-2 -5 -3 -0.1"))


def test_means_are_smoothed_towards_the_overall_mean() -> None:
    means = SubwordMeans.fit(DecoderTokens.from_segments(decoded(*SPOKEN)))
    assert means.mean == -3
    new = DecoderTokens.from_segments(decoded(("a d", "-1 -1 -1")))
    expected = [-1 - (-6 - 3 * PRIOR) / (3 + PRIOR), -1 - (-3)]  # an unknown subword has the overall mean
    assert means.residuals(new).tolist() == pytest.approx(expected)
    assert means.log_counts(new).tolist() == pytest.approx([np.log(4), 0])


def test_a_text_learned_from_is_left_out_of_its_own_means() -> None:
    spoken = DecoderTokens.from_segments(decoded(*SPOKEN))
    means = SubwordMeans.fit(spoken)
    own = means.residuals(spoken, leave_one_out=True)
    # `a` of the first text: only the second text's -2 speaks for it; `c@@` occurs in its own text alone
    assert own[0] == pytest.approx(-1 - (-2 - 3 * PRIOR) / (1 + PRIOR))
    assert own[4] == pytest.approx(-5 - (-3))


def test_columns_by_hand() -> None:
    extractor = DecoderResidual().fit(decoded(*SPOKEN), {})
    outputs = decoded(("d@@ e", "-1 -7 -1"), ("", "-1"))
    values = feature_table(extractor, outputs, "decoder_residual_")
    assert values["mean"][0] == -1 and values["minimum"][0] == -4
    assert values["word_minimum"][0] == -2 and values["unseen"][0] == 1
    assert np.isnan(extractor.extract(decoded(("", "-1")))).all()


def test_counts_below_nothing_are_damage(tmp_path: Path) -> None:
    SubwordMeans(("a", "b"), np.array([-1.0, -2.0]), np.array([1.0, 2.0])).save(tmp_path)
    assert SubwordMeans.load(tmp_path).counts.tolist() == [1, 2]
    SubwordMeans(("a", "b"), np.array([-1.0, -2.0]), np.array([1.0, -1.0])).save(tmp_path)
    refuses("`subwords` must hold numbers from 0", SubwordMeans.load, tmp_path, error=Damaged)


MODEL = LanguageModel.from_tokens(tokens("la casa", "la la"), order=2)


def made() -> ForcedDecoding:
    """Every entry's scores: p(t|s) as given, p(s|t) a half of it, lexical weights a fourth and an eighth."""
    whole = table({(("the",), ("la",)): 0.5, (("house",), ("casa",)): 0.25})
    weights = {"forward_weight": np.log(whole.forward / 4), "backward_weight": np.log(whole.forward / 8)}
    return ForcedDecoding(replace(whole, backward=whole.forward / 2, **weights), MODEL)


def values(source: str, target: str) -> dict[str, float]:
    return row(made(), segments(source, target, EN_ES))


def test_by_hand() -> None:
    cells = values("the house", "la casa")
    sums = {"phrase_forward": 1, "phrase_backward": 2, "lexical_forward": 4, "lexical_backward": 8}
    for name, divisor in sums.items():
        expected = np.log(0.5 / divisor) + np.log(0.25 / divisor)
        assert cells[f"forced_{name}"] == pytest.approx(expected, rel=1e-6), name


def test_the_other_costs_of_a_decoder() -> None:
    """Monotone: no jump. Length and pairs by counting, the model's cost by its own sum of events."""
    cells = values("the house", "la casa")
    costs = [cells[f"forced_{name}"] for name in ("distortion", "word_penalty", "phrase_penalty")]
    assert costs == [0, 2, 2]
    log10 = MODEL.score(tokens("la casa")).log10
    assert cells["forced_lm"] == pytest.approx(log10.sum() * np.log(10))


def test_the_distortion_of_a_swap_and_of_a_skipped_word() -> None:
    """`casa la`: from 0 to `house` at 1 is 1, from 2 back to 0 is 2, from 1 to the end at 2 is 1."""
    assert values("the house", "casa la")["forced_distortion"] == 1 + 2 + 1
    assert values("the big house", "la casa")["forced_distortion"] == 1


def test_the_trace_by_hand() -> None:
    """`la`, `casa` and the unknown `zz` for four source words: 3 phrases, of 3 target words."""
    batch = segments(["the big big house", "dog"], ["la casa zz", "zz"], EN_ES)
    extractor = replace(made(), trace=True)
    assert extractor.names[:-2] == made().names
    density, length = extractor.extract(batch)[:, -2:].T
    assert density[0] == 3 / 4 and length[0] == 3 / 3
    assert np.isnan([density[1], length[1]]).all()  # no pair applies


def pairs_of(source: Phrase, target: Phrase) -> list[tuple[Phrase, Phrase, float]]:
    """Pairs that begin both texts."""
    return [(s, t, p) for (s, t), p in PAIRS.items() if source[: len(s)] == s and target[: len(t)] == t]


def swapped(source: Phrase, target: Phrase) -> Iterator[tuple[int, int, float]]:
    for s, t in ((s, t) for s in range(1, len(source)) for t in range(1, len(target))):
        for late, first, p in pairs_of(source[s:], target):
            if len(first) == t:
                for early, second, q in pairs_of(source, target[t:]):
                    if len(early) == s:
                        yield s + len(late), t + len(second), p * q


def forced(source: Phrase, target: Phrase) -> Iterator[tuple[int, float, int, int]]:
    """Uncovered, cost, phrases and unused of every way to derive the target; the least is the best."""
    if not source and not target:
        yield 0, 0.0, 0, 0
    if source:
        yield from ((u, c, n, left + 1) for u, c, n, left in forced(source[1:], target))
    if target:
        yield from ((u + 1, c, n, left) for u, c, n, left in forced(source, target[1:]))
    steps = [(len(s), len(t), p, 1) for s, t, p in pairs_of(source, target)]
    steps += [(s, t, p, 2) for s, t, p in swapped(source, target)]
    for s, t, p, more in steps:
        for u, c, n, left in forced(source[s:], target[t:]):
            yield u, c - 4 * math.log(p), n + more, left


sources = st.lists(st.sampled_from(["the", "red", "house", "Oslo"]), max_size=4)
targets = st.lists(st.sampled_from(["la", "el", "roja", "casa", "una", "Oslo"]), max_size=4)


@pytest.mark.slow
@settings(max_examples=150)
@given(sources, targets)
def test_the_best_of_all_derivations(source: list[str], target: list[str]) -> None:
    outcome = force(Tokens.from_lists([source]), Tokens.from_lists([target]), table(PAIRS))
    ways = list(forced(tuple(source), tuple(target)))
    uncovered, cost, *_ = min(ways)
    assert outcome.uncovered[0] == uncovered
    assert -outcome.phrase_log[0] - outcome.lexical_log[0] == pytest.approx(cost, abs=1e-5)
    same = [(n, left) for u, c, n, left in ways if u == uncovered and c < cost + 1e-6]
    assert (outcome.phrases[0], outcome.unused[0]) in same


def test_each_score_has_its_place() -> None:
    """Forward, backward and both weights differ: phrase probabilities on one side, weights on the other."""
    scores = {"forward": 0.5, "backward": 0.25, "forward_weight": -2, "backward_weight": -3}
    own = table({(("red",), ("roja",)): 0.5})
    changed = replace(own, **{name: np.full(1, score, np.float32) for name, score in scores.items()})
    outcome = force(tokens("red"), tokens("roja"), changed)
    assert outcome.phrase_log[0] == pytest.approx(math.log(0.125))
    assert outcome.lexical_log[0] == pytest.approx(-5)


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


def test_words_swap_where_the_language_model_wants_it() -> None:
    pairs = {pair: p for pair, p in PAIRS.items() if len(pair[0]) == 1}
    translated = decode(tokens("the red house"), table(pairs), model())
    assert translated.tokens.words(0) == ["la", "casa", "roja"]
