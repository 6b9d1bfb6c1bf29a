"""IBM Model 1 against an outside EM, closed forms, and files of other tools."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse

from features.resources import lexicon as _lexicon
from features.resources.lexicon import FLOOR, NULL, Lexicon, pair_values
from features.storage.compact import decoded, length
from features.text.corpus import ParallelCorpus
from tests.factories import PLAIN, Find, corpus, tokens


@pytest.fixture(scope="module")
def golden_corpus(shared_data: Find) -> ParallelCorpus:
    folder = shared_data("golden/ibm1")
    return ParallelCorpus.read(folder / "pairs200.en", folder / "pairs200.es", PLAIN, PLAIN)


@pytest.fixture(scope="module")
def golden(golden_corpus: ParallelCorpus) -> Lexicon:
    return Lexicon.build(golden_corpus, prune=1e-4)


def test_equals_textbook_em(golden: Lexicon, shared_data: Find) -> None:
    rows = [line.split("\t") for line in shared_data("golden/ibm1/em_5iter.tsv").read_text().splitlines()]
    left = np.array([NULL if s == "NULL" else golden.source.index[s] for s, _, _ in rows])
    right = np.array([golden.target.index[t] for _, t, _ in rows])
    expected = np.array([float(p) for _, _, p in rows])
    assert length(golden.values) == len(rows)  # the file too has the entries >= 1e-4
    np.testing.assert_allclose(golden.probability(left, right), expected, rtol=6e-8, atol=5.1e-10)


def test_log_likelihoods(golden: Lexicon, shared_data: Find) -> None:
    lines = shared_data("golden/ibm1/em_loglik.tsv").read_text().splitlines()[1:]
    np.testing.assert_allclose(golden.log_likelihoods, [float(x.split("\t")[2]) for x in lines], atol=6e-10)


def test_directions_mirror() -> None:
    pairs = [("the house", "la casa"), ("the book", "el libro"), ("a book", "un libro")]
    forward = Lexicon.build(corpus(pairs), direction="source_to_target")
    mirrored = Lexicon.build(corpus((t, s) for s, t in pairs), direction="target_to_source")
    assert forward.source.words == mirrored.source.words
    np.testing.assert_array_equal(forward.values, mirrored.values)


def lexicon_of(folder: Path, lines: str) -> Lexicon:
    (folder / "lex").write_text(lines)
    return Lexicon.read_lex(folder / "lex")


def test_translations_above_by_hand(tmp_path: Path) -> None:
    lines = "NULL la .5\nhouse casa .8\nhouse hogar .2\nhouse vivienda .005\n"
    lexicon = lexicon_of(tmp_path, f"{lines}the la .6\nthe el .4\nThe EL .1\nhome hogar .7\n")
    counts = lexicon.translations_above(0.2)
    assert [counts[lexicon.source.index[w]] for w in ("house", "the", "home")] == [1, 2, 1]
    assert counts[0] == counts[NULL] == 0
    by_target = lexicon.translations_above(0.15, side="target")
    assert [by_target[lexicon.target.index[w]] for w in ("hogar", "casa", "la", "el")] == [2, 1, 1, 1]
    assert lexicon.translations_above(0.2) is counts
    rare = [lexicon.translations_above(t)[lexicon.source.index["house"]] for t in (0.01, 0.004, 0.005)]
    assert rare == [2, 3, 2]  # below .01, too; an equal t is not above


@pytest.mark.slow
def test_entropies(tmp_path: Path) -> None:
    fours = "four a .2\nfour b .2\nfour c .2\nfour d .2\n"
    lexicon = lexicon_of(tmp_path, f"one uno 1\ntwo a .5\ntwo b .5\n{fours}")
    ids = [lexicon.source.index[w] for w in ("one", "two", "four")]
    np.testing.assert_allclose(lexicon.entropies[ids], [0, 1, 2], atol=1e-6)
    assert np.isnan(lexicon.entropies[[0, NULL, 2]]).all()


def test_score_by_hand(tmp_path: Path) -> None:
    lexicon = lexicon_of(tmp_path, "NULL la .1\nhouse casa .8\nthe la .6\n")
    scores = lexicon.score(tokens("The house", "", "x", "the"), tokens("La CASA", "la", "y", ""))
    expected = [(0.1 + 0.6 + FLOOR) / 3, (0.8 + 2 * FLOOR) / 3, 0.1, FLOOR]
    np.testing.assert_allclose(scores.probability, expected, rtol=1e-6)
    np.testing.assert_allclose(scores.maximum, [0.6, 0.8, 0.1, FLOOR], rtol=1e-6)
    assert scores.log10()[3] == 0


def test_read_lex_orders_agree(shared_data: Find, tmp_path: Path) -> None:
    quest = Lexicon.read_lex(shared_data("golden/questpp/lex.e2s.gz"))
    turned = tmp_path / "lex.f2e"
    turned.write_text("casa house 0.75\nhogar house 0.25\n")
    moses = Lexicon.read_lex(turned, order="generated_first")
    assert moses.probability(np.array([3]), np.array([3, 4])).tolist() == [0.75, 0.25]
    ids = np.array([NULL] * 2), quest.target.lookup([",", "por"])
    np.testing.assert_allclose(quest.probability(*ids), [0.0516653, 0.00472887], rtol=1e-6)


sentences = st.lists(st.sampled_from("abcde"), min_size=1, max_size=5).map(" ".join)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8))
def test_rows_are_distributions_and_likelihood_never_falls(pairs: list[tuple[str, str]]) -> None:
    lexicon = Lexicon.build(corpus(pairs), prune=0.0)
    present = np.diff(lexicon.offsets) > 0
    sums = np.add.reduceat(decoded(lexicon.values).astype(float), lexicon.offsets[:-1][present])
    np.testing.assert_allclose(sums, 1, atol=1e-5)
    assert (np.diff(lexicon.log_likelihoods) >= -1e-9).all()


def test_quartiles_are_of_the_word_scores(golden: Lexicon, golden_corpus: ParallelCorpus) -> None:
    scores = golden.score(golden_corpus.source, golden_corpus.target).maximum
    below = [(scores <= cut).mean() for cut in golden.quartiles]
    np.testing.assert_allclose(below, [0.25, 0.5, 0.75], atol=0.01)


ROWS, COLUMNS = 6, 9
WORDS = st.lists(st.integers(0, ROWS - 1), max_size=7)
TEXTS = st.lists(st.tuples(WORDS, WORDS), max_size=5)
TABLES = npst.arrays(np.float32, (ROWS, COLUMNS), elements=st.sampled_from([0.0, 0.0, 0.25, -3.0]))


def _flat(texts):
    ids = np.array([word for text in texts for word in text], np.int32)
    return ids, np.cumsum([0, *map(len, texts)], dtype=np.int64)


@pytest.mark.slow
@settings(deadline=None)  # the first call compiles
@pytest.mark.parametrize("cells", [1, 20, 1 << 22])
@given(dense=TABLES, texts=TEXTS)
def test_every_pair_of_words_has_its_entry_of_the_dense_table(cells, dense, texts):
    rows = sparse.csr_array(dense)
    table = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float32)
    sides = (_flat([text[side] for text in texts]) for side in (0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lexicon, "_CELLS", cells)
        blocks = list(pair_values(table, COLUMNS, *sides))
    listed = [
        listed[offsets[k] : offsets[k + 1]] for _, offsets, listed in blocks for k in range(len(offsets) - 1)
    ]
    counts = [len(offsets) - 1 for _, offsets, _ in blocks]
    assert [first for first, _, _ in blocks] == np.cumsum([0, *counts])[:-1].tolist()
    assert len(listed) == len(texts)
    for values, (left, right) in zip(listed, texts, strict=True):
        np.testing.assert_array_equal(values, dense[np.ix_(left, right)].ravel())


def test_long_rows_asked_for_seldom_are_searched_with_the_same_result():
    columns = np.arange(0, 2000, 2, dtype=np.int32)
    values = np.arange(1000, dtype=np.float32) + 1
    table = (np.array([0, 1000], np.int64), columns, values)
    one = np.array([0], np.int32)
    ((_, _, cells),) = pair_values(
        table, 2000, (one, np.array([0, 1])), (np.array([0, 1, 1998], np.int32), np.array([0, 3]))
    )
    assert cells.tolist() == [1, 0, 1000]
