"""Sequences of tags and of words: closed forms, counts by hand, models scored one by one."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features import Segments
from features.core.bundle import Bundle
from features.core.feature_set import make_extractor, parts_needed
from features.resources.aligner import AlignerBuilder
from features.resources.language_model import LanguageModel
from features.resources.lexicon import FLOOR
from features.resources.word_lexicon import StopWords
from features.text.annotation import block_of
from features.text.ngram_tables import unit_ngrams
from features.text.tokens import Tokens
from qe_papers.extractors.sequences import SequenceLanguageModels
from qe_papers.learned.sequence_models import SEQUENCES
from tests import factories
from tests.factories import EN_ES, SPANISH, annotated_bundle, corpus, paired, rows, tokens

Pairs = Sequence[tuple[str, str]]

# Tags of two sentence pairs, their translations of disjoint 4-grams.
PARTS = parts_needed([{"kind": "pos_sequences"}])
CORPUS: Pairs = [("d n v d n", "D N V D N"), ("p v a n", "V P A N")]


def block(tags: str) -> str:
    return block_of([(f"w{i}", "_", tag.upper(), tag) for i, tag in enumerate(tags.split())])


def words(tags: str) -> str:
    return " ".join(f"w{i}" for i in range(len(tags.split())))


def segments(pairs: Pairs) -> Segments:
    source, target = zip(*pairs, strict=True)
    blocks = {"annotation_source": list(map(block, source)), "annotation_target": list(map(block, target))}
    return factories.segments(list(map(words, source)), list(map(words, target)), EN_ES, **blocks)


def values(bundle: Bundle, pairs: Pairs) -> list[dict[str, float]]:
    return rows(make_extractor({"kind": "pos_sequences"}, bundle), segments(pairs))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return annotated_bundle(tmp_path_factory.mktemp("pos") / "b", segments(CORPUS), PARTS)


@pytest.mark.slow
def test_counts_of_another_layer(tmp_path: Path) -> None:
    """Base forms, `_` throughout: 5 and 4 of them in the corpus, so 4 + 3 in twos; tags are as they were."""
    layer = {"source_pos_ngrams": {"layer": "lemma"}}
    lemmas = annotated_bundle(tmp_path / "b", segments(CORPUS), PARTS, layer)
    features = values(lemmas, [("d n", "D N"), ("z z", "D N")])
    assert [row["pos_ngrams_source_least_2"] for row in features] == [7, 7]
    assert [row["pos_ngrams_target_least_2"] for row in features] == [2, 2]


@pytest.mark.slow
def test_ibm1_of_two_mates_is_three_quarters(tmp_path: Path) -> None:
    """Two pairs of one 4-gram: t(u1 | v1) = 1 and, by symmetry, t(u1 | NULL) = 1 / 2, so p = 3 / 4."""
    pairs = [("a b c d", "A B C D"), ("e f g h", "E F G H")]
    part = annotated_bundle(tmp_path / "b", segments(pairs), PARTS)
    row = values(part, [("a b c d", "A B C D"), ("a b c", "A B C D"), ("z z z z", "A B C D")])
    assert row[0]["pos_ibm1_source_log10"] == pytest.approx(math.log10(0.75), abs=1e-6)
    assert row[0]["pos_ibm1_target_per_ngram"] == pytest.approx(math.log10(0.75), abs=1e-6)
    assert math.isnan(row[1]["pos_ibm1_source_log10"]) and math.isnan(row[1]["pos_ibm1_target_log10"])
    assert row[2]["pos_ibm1_source_log10"] == pytest.approx(math.log10(FLOOR))


@pytest.mark.slow
def test_counts_of_tag_ngrams(bundle: Bundle) -> None:
    """`d n` occurs twice in the source corpus, `n v` and `v d` once, `v a` once, `a d` never."""
    features = values(bundle, [("d n v", "D"), ("v a d", "D")])
    assert (features[0]["pos_ngrams_source_least_2"], features[0]["pos_ngrams_source_least_3"]) == (1, 1)
    assert (features[1]["pos_ngrams_source_least_2"], features[1]["pos_ngrams_source_unseen_2"]) == (0, 0.5)
    assert math.isnan(features[0]["pos_ngrams_source_least_4"])
    assert math.isnan(features[0]["pos_ngrams_target_unseen_2"])
    counts = bundle.part("source_pos_ngrams")
    assert counts.order == 7
    assert counts.counts(Tokens.from_lists([["d", "n"]]), 2)[0].tolist() == [2]


@pytest.mark.slow
def test_least_counts_below_limits(bundle: Bundle) -> None:
    """`d n` occurs twice in the source corpus, `n v` and `d n v` once; three words have no 4-gram."""
    extractor = make_extractor({"kind": "pos_sequences", "below": [1, 2, 3]}, bundle)
    found = rows(extractor, segments([("d n", "D"), ("d n v", "D N"), ("z d n", "D")]))
    least = [[row[f"pos_ngrams_source_least_2_below_{limit}"] for limit in (1, 2, 3)] for row in found]
    assert least == [[0, 0, 1], [0, 1, 1], [1, 1, 1]]
    assert found[1]["pos_ngrams_source_least_3_below_1"] == 0
    assert found[1]["pos_ngrams_source_least_3_below_2"] == 1
    assert all(math.isnan(row["pos_ngrams_source_least_4_below_3"]) for row in found)
    assert math.isnan(found[0]["pos_ngrams_target_least_2_below_1"])


def test_language_models_read_their_layer_and_cut_orders(bundle: Bundle) -> None:
    detailed = bundle.part("source_pos_lm")
    simple = bundle.part("source_upos_lm")
    assert set(detailed.vocabulary.words[3:]) == set("dnvpa")
    assert set(simple.vocabulary.words[3:]) == set("DNVPA")
    assert (detailed.order, simple.order) == (6, 6)
    features = values(bundle, [("d n v", "D N V"), ("", "D")])
    for stem in ("pos_lm_source", "upos_lm_source"):
        log10, perplexity = features[0][f"{stem}_log10"], features[0][f"{stem}_perplexity"]
        assert perplexity == pytest.approx(10 ** (-log10 / 4))
        assert features[0][f"{stem}_per_token"] == pytest.approx(log10 / 3)
        assert math.isnan(features[1][f"{stem}_log10"])
    # What the corpus says word for word is likelier than its tags in another order.
    good, bad = values(bundle, [("p v a n", "D"), ("n a v p", "D")])
    assert good["pos_lm_source_log10"] > bad["pos_lm_source_log10"]
    assert good["pos_lm_source_log10_3"] > bad["pos_lm_source_log10_3"]


texts = st.lists(st.lists(st.sampled_from("abc"), max_size=7), max_size=5)


@pytest.mark.slow
@given(texts, st.integers(1, 4))
def test_units_are_the_ngrams_of_each_text(lists: list[list[str]], order: int) -> None:
    outcome = unit_ngrams(Tokens.from_lists(lists), order)
    expected = [[" ".join(t[i : i + order]) for i in range(len(t) - order + 1)] for t in lists]
    assert [outcome.words(i) for i in range(len(outcome))] == expected


PAIRS = [("the houses", "las casas"), ("of the house", "de la casa"), ("the red", "la roja"), ("of", "de")]
TAGS = {"the": "DT", "houses": "NNS", "house": "NN", "of": "IN", "red": "JJ"}


def sequence_lm_segments(pairs: list[tuple[str, str]]) -> Segments:
    blocks = [block_of([(word, "_", "_", TAGS[word]) for word in source.split()]) for source, _ in pairs]
    return replace(paired(pairs, EN_ES), annotation_source=tuple(blocks))


def unfitted() -> SequenceLanguageModels:
    texts = corpus(PAIRS * 20, EN_ES)
    stop_words = StopWords.build(texts, side="target", max_words=2)
    return SequenceLanguageModels(stop_words, AlignerBuilder().build(texts))


@pytest.mark.slow
def test_sequences_by_hand() -> None:
    """Stop words are `la` and `de`, twice in the four pairs each."""
    batch = sequence_lm_segments([("of the houses", "de la casas"), ("of", "de")])
    made = unfitted()._sequences(batch, batch.target_tokens)
    assert {name: made[name].words(0) for name in SEQUENCES} == {
        "words": ["de", "la", "casas"],
        "roots": ["de", "la", "cas"],
        "suffixes": ["-", "-", "as"],
        "root_stop": ["de", "la", "cas"],
        "suffix_stop": ["de", "la", "as"],
        "pos_stop": ["de", "la", "NNS"],
        "chains": ["de_la"],
    }
    assert made["chains"].words(1) == []


@pytest.mark.slow
def test_perplexities_are_those_of_the_models() -> None:
    references = ["las casas", "de la casa", "la casa roja", "de la"]
    extractor = unfitted().fit(sequence_lm_segments(PAIRS), {"reference": references})
    row = factories.row(extractor, sequence_lm_segments([("of the houses", "de las casas")]))
    perplexity = {}
    for kind, lines in (("sys", [target for _, target in PAIRS]), ("ref", references)):
        model = LanguageModel.from_tokens(SPANISH.tokens(lines), order=3)
        perplexity[kind] = 10 ** -model.score(tokens("de las casas")).log10.mean()
    assert row["sequence_words_sys"] == pytest.approx(perplexity["sys"])
    assert row["sequence_words_sys_ref"] == pytest.approx(perplexity["sys"] / perplexity["ref"])
    assert row["sequence_words_ref_sys"] == pytest.approx(perplexity["ref"] / perplexity["sys"])
    assert len(row) == 21
    assert np.isnan(row["sequence_chains_sys"])  # no two stop words meet
