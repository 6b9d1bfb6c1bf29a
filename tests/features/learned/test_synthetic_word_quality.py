"""Word-level quality from parallel text alone: what is held out, what is learned of it, on Europarl."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from features import Segments
from features.comparisons.phrase_decoder import decode
from features.core.bundle import Bundle, build, resource_parameters
from features.core.feature_set import from_variant, make_extractor, parts_needed
from features.learned.synthetic_word_quality import SyntheticWordQuality
from features.text.corpus import ParallelCorpus, split_pairs
from features.word_level.columns import concatenated
from features.word_level.knowledge import JudgedWords
from features.word_level.labels import TokenLabels, post_edit_labels
from features.word_level.tokens import TokenMemory, TokenResources, TokenTable, remembered
from features.word_quality import WordQuality
from tests.factories import EN_ES, Find, TempPaths, europarl, refuses

PAIRS, TRIED = 3000, 200  # of the corpus, and after it

texts = st.text("abc", min_size=4, max_size=8).map(" ".join)


@pytest.fixture(scope="module")
def pairs(shared_data: Find) -> list[tuple[str, str]]:
    return europarl(shared_data, PAIRS + TRIED)


@pytest.fixture(scope="module")
def corpus(pairs: list[tuple[str, str]]) -> ParallelCorpus:
    return ParallelCorpus.from_lines(pairs[:PAIRS], *EN_ES)


@pytest.fixture(scope="module")
def resource(corpus: ParallelCorpus, tmp_path_factory: TempPaths) -> SyntheticWordQuality:
    return learned(corpus, tmp_path_factory.mktemp("whole"))


def learned(corpus: ParallelCorpus, folder: Path, **settings: Any) -> SyntheticWordQuality:
    """Beside the parts of the whole corpus that it needs."""
    names = resource_parameters(SyntheticWordQuality.builder)
    whole = build(lambda: corpus, folder, names)
    given = {"pairs": 500, "rounds": 40, **settings, **{name: whole.part(name) for name in names}}
    return SyntheticWordQuality.build(corpus, **given)


@pytest.fixture(scope="module")
def bundle(corpus: ParallelCorpus, resource: SyntheticWordQuality, tmp_path_factory: TempPaths) -> Bundle:
    parts = parts_needed([{"kind": "word_quality", "knowledge": ["pretrained", "predictor"]}])
    folder = tmp_path_factory.mktemp("synthetic") / "bundle"
    builders = {"synthetic_word_quality": lambda *_, **__: resource}
    return build(lambda: corpus, folder, parts, builders=builders)


@pytest.fixture(scope="module")
def tried(pairs: list[tuple[str, str]], bundle: Bundle) -> tuple[Segments, list[str]]:
    """Translations of other pairs by the decoder of the whole corpus, and the references."""
    source, reference = ([pair[side] for pair in pairs[PAIRS:]] for side in (0, 1))
    parts = {name: bundle.part(name) for name in resource_parameters(TokenResources)}
    knowledge = TokenResources(**parts)  # type: ignore[arg-type]
    decoded = decode(EN_ES[0].tokens(source), knowledge.phrase_table, knowledge.target_lm).tokens
    target = [" ".join(decoded.words(i)) for i in range(len(decoded))]
    return Segments.from_columns({"source": source, "target": target}, *EN_ES), reference


# --- what is held out --------------------------------------------------------------------------------


def keys(corpus: ParallelCorpus, rows: np.ndarray[tuple[int], np.dtype[np.int64]], side: str) -> set[str]:
    tokens = corpus.side(side).lower().take(rows)
    return {" ".join(tokens.words(i)) for i in range(len(tokens))}


def test_nothing_held_out_is_left(corpus: ParallelCorpus) -> None:
    left, held_out = split_pairs(corpus, 500, 8, seed=0)
    assert len(held_out) == 500 and len(left) == PAIRS * 2 // 3
    for side in ("source", "target"):
        assert not keys(corpus, left, side) & keys(corpus, held_out, side)
    assert not np.array_equal(split_pairs(corpus, 500, 8, seed=1)[1], held_out)
    lengths = corpus.source.lengths[held_out]
    assert lengths.min() >= 5 and lengths.max() <= 45


@settings(max_examples=30)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=80), st.integers(0, 3))
def test_repeated_texts_are_not_held_out(rows: list[tuple[str, str]], seed: int) -> None:
    """The law, on corpora of three words where half of the texts repeat."""
    corpus = ParallelCorpus.from_lines(rows)
    left, held_out = split_pairs(corpus, 1000, 3, seed)
    assert not set(left.tolist()) & set(held_out.tolist())
    for side in ("source", "target"):
        assert not keys(corpus, left, side) & keys(corpus, held_out, side)


@pytest.mark.slow
def test_a_large_corpus_gives_its_share() -> None:
    rows = [(f"a b c d {i}", f"a b c {i}") for i in range(20_000)]
    left, held_out = split_pairs(ParallelCorpus.from_lines(rows), 10_000, 8, seed=0)
    assert len(held_out) == 2500 and len(left) == 17_500
    assert len(np.unique(held_out // 100)) == 25  # whole blocks


@pytest.mark.slow
def test_too_small_a_corpus_is_refused(tmp_path: Path) -> None:
    rows = [(f"a b c d {i}", f"a b c {i}") for i in range(120)]
    refuses("only 36 could be held out", learned, ParallelCorpus.from_lines(rows), tmp_path)


# --- what is learned ---------------------------------------------------------------------------------


def labels(tried: tuple[Segments, list[str]]) -> TokenLabels:
    segments, reference = tried
    return post_edit_labels(segments.target_tokens.lower(), EN_ES[1].tokens(reference).lower())


def table_of(bundle: Bundle, segments: Segments) -> TokenTable:
    extractor = make_extractor(from_variant("word_quality:knowledge=synthetic"), bundle)
    assert isinstance(extractor, JudgedWords)
    return extractor.table(segments)


def test_it_finds_what_is_wrong_in_other_texts(bundle: Bundle, tried: tuple[Segments, list[str]]) -> None:
    """AUC over .6 on 200 pairs that neither it nor the bundle has seen; chance is .5."""
    resource = bundle.part("synthetic_word_quality")
    assert isinstance(resource, SyntheticWordQuality)
    words, gaps = resource.probabilities(table_of(bundle, tried[0]))
    bad = labels(tried)
    assert roc_auc_score(bad.words, words) > 0.6
    assert roc_auc_score(bad.gaps, gaps) > 0.6
    assert abs(words.mean() - bad.words.mean()) < 0.1


def test_word_quality_sees_its_log_odds(bundle: Bundle, tried: tuple[Segments, list[str]]) -> None:
    """Beside the columns of plain word quality; learned with them, it is saved and comes back."""
    plain, pretrained = (
        make_extractor({"kind": "word_quality", "knowledge": knowledge, "use": []}, bundle)
        for knowledge in ([], ["pretrained"])
    )
    assert isinstance(plain, WordQuality) and isinstance(pretrained, WordQuality)
    few = tried[0].take(range(40))
    one, other = (extractor._table(few, frozenset()) for extractor in (plain, pretrained))
    more = ("synthetic", "synthetic_previous", "synthetic_next")
    assert other.word_names == (*one.word_names, *more) and other.gap_names == (*one.gap_names, "synthetic")
    synthetic: Any = bundle.part("synthetic_word_quality")
    words, gaps = synthetic.probabilities(table_of(bundle, few))
    np.testing.assert_allclose(1 / (1 + np.exp(-other.words[:, -3])), words, rtol=1e-5)
    np.testing.assert_allclose(1 / (1 + np.exp(-other.gaps[:, -1])), gaps, rtol=1e-5)
    first = np.asarray(other.offsets[:-1])
    assert np.isnan(other.words[first, -2]).all()
    inside = np.setdiff1d(np.arange(len(words)), first)
    np.testing.assert_array_equal(other.words[inside, -2], other.words[inside - 1, -3])


def test_synthetic_examples_beside_predictions(bundle: Bundle, tried: tuple[Segments, list[str]]) -> None:
    """What each says is what it says alone: examples do not see predictions, nor the other way round."""
    few = tried[0].take(range(40))
    pretrained, predicted, both, network = (
        remembered(make_extractor(from_variant(name), bundle), few, frozenset())  # type: ignore[arg-type]
        for name in (
            "word_quality:knowledge=pretrained",
            "word_quality:knowledge=predictor",
            "word_quality:knowledge=pretrained+predictor",
            "word_network:knowledge=predictor+pretrained",
        )
    )
    assert network is both
    for names, columns, alone in (
        (both.word_names, both.words, [(t.word_names, t.words) for t in (pretrained, predicted)]),
        (both.gap_names, both.gaps, [(t.gap_names, t.gaps) for t in (pretrained, predicted)]),
    ):
        assert set(names) == {name for some, _ in alone for name in some}
        for some, values in alone:
            np.testing.assert_array_equal(columns[:, [names.index(name) for name in some]], values)


def test_tables_of_several_segments_are_joined(bundle: Bundle, tried: tuple[Segments, list[str]]) -> None:
    whole = table_of(bundle, tried[0].take(range(12)))
    parts = [table_of(bundle, tried[0].take(range(a, b))) for a, b in ((0, 5), (5, 6), (6, 12))]
    together = concatenated(parts)
    assert np.array_equal(together.offsets, whole.offsets)
    np.testing.assert_array_equal(together.words, whole.words)
    np.testing.assert_array_equal(together.gaps, whole.gaps)
    remembered = TokenMemory()
    remembered.table(tried[0].take(range(5)), frozenset(), lambda some: table_of(bundle, some))
    again = remembered.table(tried[0].take(range(12)), frozenset(), lambda some: table_of(bundle, some))
    np.testing.assert_array_equal(again.words, whole.words)
