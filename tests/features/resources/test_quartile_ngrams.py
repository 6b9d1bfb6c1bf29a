"""The quarters of a corpus that translate best and worst."""

import numpy as np
import pytest

from features.resources.lexicon import Lexicon
from features.resources.ngrams import QuartileNgrams, literalness
from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens

PAIRS = [
    *[("red house", "casa roja"), ("red car", "coche rojo"), ("house", "casa"), ("car", "coche")] * 3,
    *[("the free one", "zig zag zog"), ("what it is", "una cosa rara"), ("so be it", "vale pues nada")],
    ("never mind", "otra vez dijo"),
]  # fmt: skip


@pytest.fixture(scope="module")
def corpus() -> ParallelCorpus:
    return ParallelCorpus.from_lines(PAIRS)


def test_quarters_by_how_literally_pairs_translate(corpus: ParallelCorpus) -> None:
    lexicon = Lexicon.build(corpus, direction="source_to_target")
    scores = literalness(corpus, lexicon)
    ranked = np.argsort(-scores, kind="stable")
    for quarter, rows in (("best", ranked[:4]), ("worst", ranked[-4:])):
        made = QuartileNgrams.build(
            corpus, side="target", quarter=quarter, order=2, lexicon_source_to_target=lexicon
        )  # type: ignore[arg-type]
        chosen = [PAIRS[i][1].split() for i in rows]
        counts, _ = made.counts(Tokens.from_lists(chosen), 1)
        assert made.total(1) == sum(map(len, chosen)) and counts.min() >= 1
        assert made.settings["quarter"] == quarter and made.settings["lexicon"] == lexicon.fingerprint
    assert scores[0] > scores[-1]


def test_a_sample_spreads_over_the_corpus(corpus: ParallelCorpus) -> None:
    lexicon = Lexicon.build(corpus, direction="source_to_target")
    made = QuartileNgrams.build(
        corpus, side="source", quarter="worst", order=1, lexicon_source_to_target=lexicon, sample=2
    )
    assert made.total(1) == 2  # of the first pair and the last, the last
