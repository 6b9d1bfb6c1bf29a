"""IBM Model 1 features by hand, and against the golden likelihood."""

import math
from itertools import pairwise

import numpy as np
import pytest

from features import ParallelCorpus, Segments
from features.ibm1 import THRESHOLDS, IBM1Features
from features.resources.lexicon import FLOOR, Lexicon
from features.resources.ngrams import NgramCounts
from tests.factories import PLAIN, Find, corpus, row, segments


@pytest.fixture(scope="module")
def extractor(tmp_path_factory: pytest.TempPathFactory) -> IBM1Features:
    folder = tmp_path_factory.mktemp("lexicons")
    # t(target | source) and t(source | target)
    (folder / "forward").write_text("NULL la .1\nthe la .5\nthe el .5\nhouse casa .8\nhouse hogar .2\n")
    (folder / "backward").write_text("NULL the .2\nla the .6\nel the .4\ncasa house .9\ncasa home .1\n")
    lexicons = (Lexicon.read_lex(folder / name) for name in ("forward", "backward"))
    pairs = corpus([("the house the", "la casa la"), ("the house", "el hogar")])
    counts = (NgramCounts.build(pairs, side=side, order=1) for side in ("source", "target"))
    return IBM1Features(*lexicons, *counts)


def test_scores_are_equations_2_and_3(extractor: IBM1Features) -> None:
    """p(la casa | the house) = 1/9 (.1 + .5) (.8); p(the house | la casa) = 1/9 (.2 + .6) (.9)."""
    features = row(extractor, segments("the house", "la casa"))
    assert features["ibm1_target_log10"] == pytest.approx(math.log10(0.6 * 0.8 / 9), abs=1e-5)
    assert features["ibm1_source_log10"] == pytest.approx(math.log10(0.8 * 0.9 / 9), abs=1e-5)
    assert features["ibm1_target_log10_per_source_token"] == pytest.approx(features["ibm1_target_log10"] / 2)
    assert features["ibm1_target_mean_probability"] == pytest.approx((0.6 + 0.8) / 6, abs=1e-6)


def test_word_confidences(extractor: IBM1Features) -> None:
    """Confidences .5 (la), .8 (casa) and the floor (x)."""
    features = row(extractor, segments("the house", "la casa x"))
    assert features["ibm1_target_confidence"] == pytest.approx(1.3 / 3, abs=1e-6)
    assert features["ibm1_target_confidence_median"] == pytest.approx(0.5)
    assert features["ibm1_target_confidence_quartile3"] == pytest.approx(np.quantile([0, 0.5, 0.8], 0.75))
    assert features["ibm1_target_confidence_highest"] == pytest.approx(0.8)
    assert features["ibm1_target_confidence_lowest"] == pytest.approx(math.log10(FLOOR))
    assert features["ibm1_target_unexplained"] == pytest.approx(1 / 3)
    assert math.isnan(features["ibm1_target_confidence_share_1"])  # a lexicon read from a file


def test_translations(extractor: IBM1Features) -> None:
    """Above .2: the 2, house 1, zebra 0; corpus counts 3, 2, 0."""
    features = row(extractor, segments("the house zebra", "la casa"))
    assert features["ibm1_source_translations_0.2"] == pytest.approx(1)
    assert features["ibm1_source_translations_0.1"] == pytest.approx(4 / 3)
    assert features["ibm1_source_translations_0.2_by_frequency"] == pytest.approx((2 * 3 + 1 * 2) / 5)
    assert features["ibm1_source_translations_0.2_by_rarity"] == pytest.approx((2 / 3 + 1 / 2) / 3)
    assert features["ibm1_source_generators_0.2"] == pytest.approx(1)  # la, el for `the`; casa for `house`
    assert features["ibm1_target_translations_0.05"] == pytest.approx(1.5)  # la 1, casa 2


def test_entropy_counts_known_words(extractor: IBM1Features) -> None:
    """H(the) = 1 bit, H(house) = H(.8, .2)."""
    house = -(0.8 * math.log2(0.8) + 0.2 * math.log2(0.2))
    features = row(extractor, segments("the house zebra", "x"))
    assert features["ibm1_source_entropy_sum"] == pytest.approx(1 + house, abs=1e-5)
    assert features["ibm1_source_entropy"] == pytest.approx((1 + house) / 2, abs=1e-5)
    assert math.isnan(features["ibm1_target_entropy"])


def test_fewer_translations_above_higher_thresholds(shared_data: Find) -> None:
    folder = shared_data("golden/ibm1")
    pairs = ParallelCorpus.read(folder / "pairs200.en", folder / "pairs200.es", PLAIN, PLAIN)
    lexicons = [
        Lexicon.build(pairs, direction=direction, prune=0.0)
        for direction in ("source_to_target", "target_to_source")
    ]
    counts = [NgramCounts.build(pairs, side=side, order=1) for side in ("source", "target")]
    extractor = IBM1Features(*lexicons, *counts)
    lines = [tuple((folder / f"pairs200.{side}").read_text().splitlines()) for side in ("en", "es")]
    block = extractor.extract(Segments(*lines, PLAIN, PLAIN))
    column = {name: block[:, i] for i, name in enumerate(extractor.names)}
    # the last line of em_loglik.tsv
    assert column["ibm1_target_log10"].sum() * math.log(10) == pytest.approx(-4983.198255094, rel=1e-6)
    for low, high in pairwise(THRESHOLDS):
        for stem in ("ibm1_source_translations", "ibm1_target_generators"):
            assert (column[f"{stem}_{low}"] >= column[f"{stem}_{high}"]).all()
    shares = sum(column[f"ibm1_target_confidence_share_{q}"] for q in (1, 2, 3, 4))
    np.testing.assert_allclose(shares, 1)
    lengths = np.array([len(line.split()) for line in lines[1]])
    first = (column["ibm1_target_confidence_share_1"] * lengths).sum() / lengths.sum()
    assert first == pytest.approx(0.25, abs=0.02)
