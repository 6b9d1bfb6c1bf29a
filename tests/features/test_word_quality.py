"""Word-level quality: labels against edit distances, aggregates by hand, the model on WMT12, source words."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from features import Segments, Tokenizer
from features.core.bundle import Bundle, build
from features.core.feature_set import make_extractor, parts_needed
from features.storage.files import read_lines
from features.text.tokens import Tokens
from features.word_level.columns import places, shifted
from features.word_level.keys import Encoding, gap_sides, out_of_fold, paired
from features.word_level.knowledge import aggregate
from features.word_level.labels import post_edit_labels, source_tag_labels, tag_labels
from features.word_level.lookups import given_links
from features.word_level.model import Inputs, TokenModel
from features.word_level.two_sides import linked_target, projected
from tests import factories
from tests.factories import TOKENIZERS, Find, corpus, refuses, tokens

texts = st.lists(st.lists(st.sampled_from("abcd"), max_size=12), min_size=1, max_size=4)


# --- labels ------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(deadline=None)  # numba compiles in the first example
@given(texts, st.data())
def test_labels_fit_the_edit_distance(left: list[list[str]], data: st.DataObject) -> None:
    """rapidfuzz's distance = BAD words + insertions; a BAD gap has at least one insertion."""
    right = [data.draw(st.lists(st.sampled_from("abcd"), max_size=12)) for _ in left]
    labels = post_edit_labels(Tokens.from_lists(left), Tokens.from_lists(right))
    words = gaps = 0
    for one, other in zip(left, right, strict=True):
        bad = int(labels.words[words : words + len(one)].sum())
        open_gaps = int(labels.gaps[gaps : gaps + len(one) + 1].sum())
        distance = Levenshtein.distance(one, other)
        assert bad + open_gaps <= distance
        assert distance <= bad + max(len(other) - (len(one) - bad), 0)
        assert (distance == 0) == (bad + open_gaps == 0)
        kept = [w for w, wrong in zip(one, labels.words[words : words + len(one)], strict=True) if not wrong]
        rest = iter(other)
        assert all(word in rest for word in kept)  # in this order
        words, gaps = words + len(one), gaps + len(one) + 1


@pytest.mark.parametrize(
    ("target", "post_edit", "words", "gaps"),
    [
        ("a b c", "a b c", "000", "0000"),
        ("a b c", "a c", "010", "0000"),
        ("a c", "a b c", "00", "010"),
        ("a c", "x a c y z", "00", "101"),
        ("a x c", "a b c", "010", "0000"),
        ("", "a b", "", "1"),
        ("a b", "", "11", "000"),
        ("", "", "", "0"),
    ],
)
def test_labels_by_hand(target: str, post_edit: str, words: str, gaps: str) -> None:
    labels = post_edit_labels(tokens(target), tokens(post_edit))
    assert "".join(map(str, labels.words.astype(int))) == words
    assert "".join(map(str, labels.gaps.astype(int))) == gaps


def test_tags_alternate_gap_and_word() -> None:
    labels = tag_labels(["OK BAD OK OK BAD", "BAD"], tokens("a b", ""))
    assert labels.words.tolist() == [True, False]
    assert labels.gaps.tolist() == [False, False, True, True]


# --- columns, encodings, aggregates ------------------------------------------------------------------


@pytest.mark.slow
@settings(deadline=None)  # numba compiles in the first example
@given(texts, st.integers(-3, 3))
def test_shifted_stays_in_the_text(lists: list[list[str]], by: int) -> None:
    batch = Tokens.from_lists(lists)
    outcome = shifted(batch.ids, batch.offsets, by)
    expected = [
        float(batch.ids[batch.offsets[k] + i + by]) if 0 <= i + by < len(text) else np.nan
        for k, text in enumerate(lists)
        for i in range(len(text))
    ]
    np.testing.assert_array_equal(outcome, expected)
    assert places(batch.offsets).tolist() == [i for text in lists for i in range(len(text))]


@settings(deadline=None)  # numba compiles in the first example
@given(texts)
def test_gap_sides_are_the_neighbours(lists: list[list[str]]) -> None:
    batch = Tokens.from_lists(lists)
    left, right = gap_sides(batch.ids, batch.offsets, -1)
    expected = [
        ([-1, *batch.ids[a:b].tolist()], [*batch.ids[a:b].tolist(), -1])
        for a, b in zip(batch.offsets[:-1], batch.offsets[1:], strict=True)
    ]
    assert left.tolist() == [x for one, _ in expected for x in one]
    assert right.tolist() == [x for _, other in expected for x in other]


def test_pairs_are_ordered_and_distinct() -> None:
    keys = np.arange(200, dtype=np.uint64)
    left, right = (side.ravel() for side in np.meshgrid(keys, keys))
    assert len(np.unique(paired(left, right))) == 200 * 200


def test_an_encoding_is_the_smoothed_share() -> None:
    keys = np.array([7, 7, 7, 9], np.uint64)
    encoding = Encoding.fit(keys, np.array([True, True, False, False]))
    computed = encoding.columns(np.array([7, 9, 8], np.uint64))
    np.testing.assert_allclose(computed[:, 0], [(2 + 2.5) / 8, 2.5 / 6, 0.5])
    np.testing.assert_allclose(computed[:, 1], np.log([4, 2, 1]))


def test_a_training_token_does_not_see_its_own_label() -> None:
    """Turning the labels of one segment around leaves its own encodings as they were."""
    rng = np.random.default_rng(0)
    segment = np.repeat(np.arange(40), 5)
    keys = {"word": rng.integers(0, 6, 200).astype(np.uint64)}
    bad = rng.random(200) < 0.3
    turned = np.where(segment == 17, ~bad, bad)
    before, after = out_of_fold(keys, bad, segment), out_of_fold(keys, turned, segment)
    assert np.array_equal(before[segment == 17], after[segment == 17])
    assert not np.array_equal(before, after)


@pytest.mark.slow
@given(st.lists(st.lists(st.floats(0, 1), max_size=12), min_size=1, max_size=6))
def test_aggregates_are_numpys_text_by_text(texts: list[list[float]]) -> None:
    offsets = np.cumsum([0, *map(len, texts)])
    rows = aggregate(np.array([p for text in texts for p in text], np.float64), offsets)
    for row, text in zip(rows, texts, strict=True):
        if not text:
            assert np.isnan(row).all()
            continue
        p = np.array(text)
        falling = np.sort(p)[::-1]
        run = max(len(part) for part in "".join("x" if v > 0.4 else " " for v in text).split(" "))
        expected = [
            p.mean(), *(falling[:k].mean() for k in (3, 5, 10)), *((p > t).mean() for t in (0.3, 0.5, 0.7)),
            *np.quantile(p, [0.25, 0.5, 0.75, 0.9]), p.max(), np.log1p(-np.minimum(p, 1 - 1e-6)).sum(),
            p.sum(), (p > 0.5).sum(), run,
        ]  # fmt: skip
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-12)


# --- the model ---------------------------------------------------------------------------------------


def test_the_token_model_finds_what_is_there(tmp_path: Path) -> None:
    """A column and a key that decide the label; saved and loaded, it says the same."""
    rng = np.random.default_rng(1)
    size = 4000
    columns = rng.normal(size=(size, 3)).astype(np.float32)
    keys = {"word": rng.integers(0, 20, size).astype(np.uint64)}
    bad = (columns[:, 1] + (keys["word"] % 2 == 0) + rng.normal(0, 0.3, size)) > 0.8
    segment = np.arange(size) // 10
    vectors = rng.normal(size=(size, 2)).astype(np.float32)
    known, held_out = (
        Inputs(columns[part], {"word": keys["word"][part]}, [(vectors, np.arange(size)[part])])
        for part in (slice(3000), slice(3000, None))
    )
    model = TokenModel.fit(known, bad[:3000], segment[:3000], rounds=60, seed=0)
    p = model.probability(held_out)
    order = np.argsort(p)
    assert bad[3000:][order[-200:]].mean() > 0.95 and bad[3000:][order[:200]].mean() < 0.05
    assert abs(p.mean() - bad[3000:].mean()) < 0.05
    model.save(tmp_path / "model")
    assert np.array_equal(TokenModel.load(tmp_path / "model").probability(held_out), p)


@pytest.fixture(scope="module")
def small(shared_data: Find, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A bundle of 4,000 pairs of news."""
    sides = [read_lines(shared_data(f"parallel/en-es/train.{language}.gz")) for language in ("en", "es")]
    pairs = islice(zip(*sides, strict=False), 4000)
    parts = parts_needed([{"kind": "word_quality"}])
    return build(lambda: corpus(pairs, TOKENIZERS), tmp_path_factory.mktemp("small") / "bundle", parts)


@pytest.fixture(scope="module")
def wmt12(shared_data: Find) -> dict[str, list[str]]:
    folder = shared_data("wmt12-qe")
    files = {
        "source": "training_set/source.eng",
        "target": "training_set/target_system.spa",
        "post_edit": "training_set_annotations/target_postedited.spa",
    }
    return {name: (folder / file).read_text("utf-8").split("\n")[:400] for name, file in files.items()}


def segments(columns: dict[str, list[str]], first: int, last: int, **more: Sequence[str]) -> Segments:
    source, target = (columns[name][first:last] for name in ("source", "target"))
    return factories.segments(source, target, TOKENIZERS, **more)


def test_better_than_chance_on_wmt12(small: Bundle, wmt12: dict[str, list[str]]) -> None:
    """300 segments to learn from, 4,000 pairs of corpus: AUC over .65 on 100 other segments."""
    from sklearn.metrics import roc_auc_score

    extractor = make_extractor({"kind": "word_quality", "rounds": 40}, small)
    fitted = extractor.fit(segments(wmt12, 0, 300), {"post_edit": wmt12["post_edit"][:300]})
    held_out = segments(wmt12, 300, 400)
    labels = post_edit_labels(held_out.target_tokens, Tokenizer("es").tokens(wmt12["post_edit"][300:400]))
    quality = fitted.tokens(held_out)
    assert roc_auc_score(labels.words, quality.words) > 0.65
    assert roc_auc_score(labels.gaps, quality.gaps) > 0.6
    assert fitted.requires() == () and extractor.extract is not None
    refuses("fitted", extractor.extract, held_out)


def test_what_training_used_is_required_in_scoring(small: Bundle, wmt12: dict[str, list[str]]) -> None:
    other = {"pseudo_reference": wmt12["post_edit"][:60]}
    post_edit = {"post_edit": wmt12["post_edit"][:60]}
    extractor = make_extractor({"kind": "word_quality", "rounds": 5}, small)
    fitted = extractor.fit(segments(wmt12, 0, 60, **other), post_edit)
    assert fitted.requires() == ("pseudo_reference",)
    refuses("pseudo_reference", fitted.tokens, segments(wmt12, 0, 5))
    ignoring = make_extractor({"kind": "word_quality", "rounds": 5, "use": []}, small)
    assert ignoring.fit(segments(wmt12, 0, 60, **other), post_edit).requires() == ()


# --- what makes it cheaper ---------------------------------------------------------------------------


def test_without_decoding_the_other_columns_stay(small: Bundle, wmt12: dict[str, list[str]]) -> None:
    """Both described in one process: what is remembered of one is not taken for the other."""
    rows = segments(wmt12, 0, 20)
    tables = []
    for decode in (True, False):
        extractor = make_extractor({"kind": "word_quality", "decode": decode}, small)
        tables.append(extractor._table(rows, frozenset()))
    whole, rest = tables
    there = [k for k, name in enumerate(whole.word_names) if not name.startswith("decoder_")]
    assert rest.word_names == tuple(whole.word_names[k] for k in there) != whole.word_names
    np.testing.assert_array_equal(rest.words, whole.words[:, there])
    assert not any("decoder_" in name for name in rest.gap_names)


def test_trees_alone_and_beside_networks(small: Bundle, wmt12: dict[str, list[str]], tmp_path: Path) -> None:
    labels, rows = {"post_edit": wmt12["post_edit"][:60]}, segments(wmt12, 60, 70)
    fitted = []
    for networks in (0, 1):
        extractor = make_extractor({"kind": "word_quality", "rounds": 5, "networks": networks}, small)
        fitted.append(extractor.fit(segments(wmt12, 0, 60), labels))
    alone, beside = (each._models for each in fitted)
    assert alone is not None and beside is not None
    for kind in ("word", "gap"):
        assert alone[kind].trees == beside[kind].trees and not alone[kind].networks
    fitted[0].save(tmp_path)
    extractor = make_extractor({"kind": "word_quality", "rounds": 5, "networks": 0}, small)
    np.testing.assert_array_equal(extractor.restore(tmp_path).extract(rows), fitted[0].extract(rows))


def test_a_network_of_one_side_alone(small: Bundle, wmt12: dict[str, list[str]], tmp_path: Path) -> None:
    labels: dict[str, Any] = {"post_edit": wmt12["post_edit"][:60], "scores": np.linspace(0, 1, 60)}
    rows, said = segments(wmt12, 60, 70), []
    for sides in ("both", "target"):
        config = {"kind": "word_network", "sides": sides, "networks": 1, "epochs": 2}
        extractor = make_extractor(config, small)
        fitted = extractor.fit(segments(wmt12, 0, 60), labels)
        said.append(fitted.extract(rows))
        (tmp_path / sides).mkdir()
        fitted.save(tmp_path / sides)
        np.testing.assert_array_equal(extractor.restore(tmp_path / sides).extract(rows), said[-1])
        assert said[-1].shape[1] == len(extractor.features)
    np.testing.assert_array_equal(said[1], said[0][:, :2])


def test_a_source_word_follows_the_target_words_it_is_linked_with() -> None:
    ends = np.array([0, 0, 1, 3]), np.array([0, 1, 1, 2])
    bad = np.array([True, False, False])
    assert projected(bad, ends, 4).tolist() == [True, False, False, False]  # word 2 has no link
    assert projected(np.zeros(0, bool), (np.zeros(0, int), np.zeros(0, int)), 2).tolist() == [False, False]


def test_the_linked_target_word_is_mutual_where_it_can_be() -> None:
    outcome = given_links(factories.segments("a b c d", "x y", alignment="0-0 0-1 1-1 2-1"))
    # y is linked with a, b and c, and its middle is b: a has x for itself, b has y; c has only y; d nothing
    source, target = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])
    assert linked_target(outcome, source, target, 4).tolist() == [0, 1, 1, -1]


def test_tags_are_one_per_source_word() -> None:
    assert source_tag_labels(["OK BAD", "", "BAD"], np.array([2, 0, 1])).tolist() == [False, True, True]


def test_projected_tags_are_near_the_given_ones(shared_data: Find) -> None:
    """MLQE-PE's own source tags, from its target tags over its own alignment: they agree on nearly all."""
    base = shared_data("mlqe-pe/en-de/post-editing/dev") / "dev"
    lines = {
        end: tuple(base.with_name(f"dev.{end}").read_text("utf-8").split("\n")[:300])
        for end in ("src", "mt", "tags", "source_tags", "src-mt.alignments")
    }
    links = [
        [tuple(map(int, link.split("-"))) for link in line.split()] for line in lines["src-mt.alignments"]
    ]
    agreed = total = 0
    for k, pairs in enumerate(links):
        ends = np.array([i for i, _ in pairs], int), np.array([j for _, j in pairs], int)
        bad = np.array([tag == "BAD" for tag in lines["tags"][k].split()[1::2]])
        given = np.array([tag == "BAD" for tag in lines["source_tags"][k].split()])
        agreed += int((projected(bad, ends, len(given)) == given).sum())
        total += len(given)
    assert agreed / total > 0.95
