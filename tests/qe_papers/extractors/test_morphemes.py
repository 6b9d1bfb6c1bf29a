"""Morphemes: segmentation as Morfessor's own, models of them, and features against sums done by hand."""

import math
import random
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features import ParallelCorpus
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.morphemes import Morphemes, frequent_words
from features.text.tokens import Tokens
from qe_papers.extractors.morphemes import MorphemeFeatures
from tests.factories import refuses, segments, table, tokens

STEMS, ENDINGS = ("cas", "mes", "gat", "perr", "libr", "roj", "verd"), ("a", "as", "o", "os", "ito", "itas")
WORDS = [stem + ending for stem in STEMS for ending in ENDINGS]


@pytest.fixture(scope="module")
def corpus() -> ParallelCorpus:
    return ParallelCorpus.from_lines([(f"the {w} 1990", f"la {w} 1990") for w in WORDS] * 2)


@pytest.fixture(scope="module")
def learned(corpus: ParallelCorpus) -> Morphemes:
    pytest.importorskip("morfessor", reason="morfessor is not installed (extra `morphemes`)")
    return Morphemes.build(corpus, side="target")


def toy(side: str) -> Morphemes:
    """A lexicon by hand: counts 3, 2 and 1, of 2 words."""
    return Morphemes(
        ("cas", "a", "as"), np.array([3, 2, 1]), 2, settings={"side": side}, corpus_fingerprint="toy"
    )


@pytest.mark.slow
@settings(max_examples=150)
@given(st.text(alphabet="casmegtoi1ñ-", min_size=1, max_size=12))
def test_segmentation_is_that_of_morfessor(word: str) -> None:
    """The package's own Viterbi search over the same lexicon; known and unknown letters."""
    morfessor = pytest.importorskip("morfessor", reason="morfessor is not installed (extra `morphemes`)")
    model = morfessor.BaselineModel()
    counts = {"cas": 3, "mes": 2, "a": 5, "as": 4, "ito": 2, "s": 1, "e": 2}
    model.load_segmentations([(count, morpheme, (morpheme,)) for morpheme, count in counts.items()])
    by_name = dict(model.get_constructions())
    words = model._corpus_coding.boundaries
    own = Morphemes(
        tuple(by_name), np.array(list(by_name.values())), words, settings={}, corpus_fingerprint="toy"
    )
    if any(letter.isalpha() for letter in word):
        theirs, _ = model.viterbi_segment(word, addcount=0)
        assert cost(own, own.segment(word)) == pytest.approx(cost(own, theirs))
        assert "".join(own.segment(word)) == word
    else:
        assert own.segment(word) == (word,)


def cost(model: Morphemes, parts: tuple[str, ...] | list[str]) -> float:
    """Negative log probability, a letter that the lexicon lacks dearer than any known morphemes."""
    known = dict(zip(model.morphemes, model.counts.tolist(), strict=True))
    total = math.log(sum(known.values()) + model.words)
    return sum(total - math.log(known[p]) if p in known else 1e6 * len(p) for p in parts)


def test_what_is_learned(learned: Morphemes, corpus: ParallelCorpus) -> None:
    """Fewer morphemes than words, every word made of them, and the state of random numbers left alone."""
    assert len(learned.morphemes) < len(WORDS)
    assert any(len(learned.segment(word)) > 1 for word in WORDS)
    assert all("".join(learned.segment(word)) == word for word in WORDS)
    random.seed(5)
    expected = random.random()
    random.seed(5)
    again = Morphemes.build(corpus, side="target")
    assert random.random() == expected
    assert again.morphemes == learned.morphemes and again.counts.tolist() == learned.counts.tolist()


def test_words_learned_from() -> None:
    assert frequent_words(tokens("b A a 7", "c c a ..."), 2) == ["a", "c"]
    assert frequent_words(tokens("b" * 251 + " A"), 2) == ["a"]  # a word of 20,000 letters took ten minutes


def test_units_of_texts() -> None:
    parts = toy("target").units(Tokens.from_lists([[], ["Casas", "7", "casa"], ["xa"], []]))
    assert [parts.words(i) for i in range(4)] == [[], ["cas", "as", "7", "cas", "a"], ["x", "a"], []]
    assert len(toy("target").units(Tokens.from_lists([]))) == 0


def test_without_the_package_it_says_so(corpus: ParallelCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "morfessor", None)
    refuses("morfessor.*not installed", Morphemes.build, corpus, side="source")
    assert toy("target").segment("casas") == ("cas", "as")


def features(corpus: ParallelCorpus) -> MorphemeFeatures:
    sides = {"source": toy("source"), "target": toy("target")}
    source_lm, target_lm = (
        LanguageModel.build(corpus, side=side, order=3, case="true", morphemes=sides[side]) for side in sides
    )
    settings = {"source_morphemes": sides["source"], "target_morphemes": sides["target"], "prune": 1e-5}
    directions = ("source_to_target", "target_to_source")
    forward, backward = (Lexicon.build(corpus, direction=d, **settings) for d in directions)
    return MorphemeFeatures(sides["source"], sides["target"], source_lm, target_lm, forward, backward)


@pytest.mark.slow
def test_parts_of_words_are_refused(corpus: ParallelCorpus) -> None:
    words = LanguageModel.build(corpus, side="target", order=3)
    made = features(corpus)
    refuses("'target_morpheme_lm' must", replace, made, target_morpheme_lm=words)


@pytest.mark.slow
def test_features_are_those_of_models_of_the_morphemes(corpus: ParallelCorpus) -> None:
    """A language model and a lexicon of words, given text whose words are the morphemes."""
    tokenizers = corpus.source_tokenizer, corpus.target_tokenizer
    by_name = table(features(corpus), segments(["the casa", "", "casas"], ["La casas", "la", ""], tokenizers))
    source, target = (toy(side).units(corpus.side(side)) for side in ("source", "target"))
    text, given = tokens("l a cas as"), tokens("t h e cas a")
    model = LanguageModel.from_tokens(target, order=3)
    log10 = float(model.log10_probability(text)[0])
    assert by_name["morpheme_lm_target_log10"][0] == pytest.approx(log10)
    assert by_name["morpheme_lm_target_per_morpheme"][0] == pytest.approx(log10 / 4)
    assert by_name["morpheme_lm_target_perplexity"][0] == pytest.approx(10 ** (-log10 / 5))
    lexical = float(Lexicon.from_tokens(source, target, prune=1e-5).score(given, text).log10()[0])
    assert by_name["morpheme_ibm1_target_log10"][0] == pytest.approx(lexical)
    assert by_name["morpheme_ibm1_target_per_morpheme"][0] == pytest.approx(lexical / 4)
    assert by_name["morphemes_source_per_word"].tolist()[::2] == [2.5, 2.0]
    for name, values in by_name.items():
        assert np.isnan(values[1]) == ("source" in name or "ibm1" in name), name
        assert np.isnan(values[2]) == ("target" in name or "ibm1" in name), name
