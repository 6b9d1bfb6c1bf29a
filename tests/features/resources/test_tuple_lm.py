"""The tuple language model: its units, and that it is the Kneser-Ney model of them."""

from pathlib import Path

import numpy as np
import pytest

from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.tuple_lm import TupleLM, units
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.tokens import Tokens
from tests.factories import refuses

LINES = [
    ("the house is red", "la casa es roja"),
    ("the house is green", "la casa es verde"),
    ("the table is red", "la mesa es roja"),
    ("a house", "una casa"),
    ("a table", "una mesa"),
    ("the table is green", "la mesa es verde"),
] * 5


@pytest.fixture(scope="module")
def corpus() -> ParallelCorpus:
    return ParallelCorpus.from_lines(LINES)


@pytest.fixture(scope="module")
def aligner(corpus: ParallelCorpus) -> Aligner:
    return Aligner.build(corpus)


def test_units_of_links() -> None:
    source, target = Tokens.from_lists([["a", "B"], ["c"]]), Tokens.from_lists([["X", "y", "z"], []])
    parts = units(source, target, Links.from_pharaoh(["0-1 1-1 1-0", ""]))
    assert parts.words(0) == ["x|||b", "y|||a", "z|||<null>"]
    assert parts.words(1) == []


@pytest.mark.slow
def test_it_is_the_model_of_the_units(corpus: ParallelCorpus, aligner: Aligner, tmp_path: Path) -> None:
    built = TupleLM.build(corpus, aligner=aligner, order=3, minimum=1)
    links = aligner.align(corpus.source, corpus.target, "source-target")
    text = units(corpus.source, corpus.target, links)
    own = LanguageModel.from_tokens(text, order=3, case="true").score(text)
    scores = built.score(corpus.source, corpus.target, links)
    np.testing.assert_allclose(scores.log10, own.log10, rtol=1e-6)
    built.save(tmp_path)
    loaded = TupleLM.load(tmp_path)
    again = loaded.score(corpus.source, corpus.target, links)
    assert np.array_equal(again.log10, scores.log10) and loaded.fingerprint == built.fingerprint


def test_pruned_it_keeps_no_trigram_that_occurs_once(aligner: Aligner) -> None:
    once = ("the red table is a house", "la mesa roja es una casa")
    corpus = ParallelCorpus.from_lines([*LINES, once])
    whole = TupleLM.build(corpus, aligner=aligner, minimum=1)
    pruned = TupleLM.build(corpus, aligner=aligner, minimum=1, prune=True)
    links = aligner.align(corpus.source, corpus.target, "source-target")
    text = units(corpus.source, corpus.target, links)
    own = LanguageModel.from_tokens(text, order=3, case="true", prune=True).score(text)
    scores = pruned.score(corpus.source, corpus.target, links)
    np.testing.assert_allclose(scores.log10, own.log10, rtol=1e-6)
    assert pruned.settings["ngrams"][:2] == whole.settings["ngrams"][:2]
    assert 0 < pruned.settings["ngrams"][2] < whole.settings["ngrams"][2]


def test_links_must_fit(corpus: ParallelCorpus, aligner: Aligner) -> None:
    built = TupleLM.build(corpus, aligner=aligner)
    pair = Tokens.from_lists([["a"]]), Tokens.from_lists([["una"]])
    refuses("outside", built.score, *pair, Links.from_pharaoh(["0-1"]))
