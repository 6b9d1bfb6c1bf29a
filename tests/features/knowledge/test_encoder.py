"""What an encoder says of words, against plain numpy."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from features import Segments, Tokenizer
from features.encoding.projections import Projection
from features.knowledge.kinds import EncoderKnowledge, projected
from features.word_level.knowledge import DescribedSegments
from features.word_level.tokens import TokenTable
from tests.factories import ENGLISH
from tests.features.encoding.made import BEGIN, END, Tiny, ids_of, onnx_folder

for package in ("onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(package)

TINY = Tiny.of_seed()
LETTERS = np.random.default_rng(0).choice(list("abcdefgh"), (40, 2, 4, 3))
SOURCES = tuple(" ".join("".join(word) for word in pair[0]) for pair in LETTERS)
TARGETS = tuple(" ".join("".join(word) for word in pair[1]) for pair in LETTERS)
SEGMENTS = Segments(SOURCES, TARGETS, ENGLISH, ENGLISH)


@pytest.fixture(autouse=True)
def straight_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Word k of the target is aligned with word k of the source, but for the last, which is with none."""

    def links(segments: Segments, aligner: Any) -> SimpleNamespace:
        source, target = segments.source_tokens.offsets, segments.target_tokens.offsets
        pairs = zip(source[:-1], np.diff(source), np.diff(target), strict=True)
        best = [np.append(begin + np.minimum(np.arange(m - 1), n - 1), -1)[:m] for begin, n, m in pairs]
        return SimpleNamespace(best=np.concatenate(best))

    monkeypatch.setattr("features.knowledge.kinds.aligned_links", links)


def table(segments: Segments) -> TokenTable:
    offsets = np.asarray(segments.target_tokens.offsets)
    words, gaps = int(offsets[-1]), int(offsets[-1]) + len(segments)
    none = np.empty((words, 0), np.float32), np.empty((gaps, 0), np.float32)
    rows = np.zeros((words, 4), np.int32), np.zeros((gaps, 2), np.int32)
    return TokenTable((), (), *none, {}, {}, *rows, offsets)


def states(text: str, prompt: str = "") -> np.ndarray:
    """(words, d) the mean of the letters' vectors of length 1, of length 1."""
    hidden = TINY.hidden([BEGIN, *ids_of(prompt + text), END])[1 + len(ids_of(prompt)) : -1]
    hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
    ends = np.cumsum([len(word) for word in text.split()])
    means = np.array([part.mean(axis=0) for part in np.split(hidden, ends[:-1])])
    return means / np.linalg.norm(means, axis=1, keepdims=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return onnx_folder(tmp_path / "tiny", TINY)


def described(knowledge: EncoderKnowledge, segments: Segments = SEGMENTS) -> TokenTable:
    return knowledge.extended(table(segments), DescribedSegments(segments, None))  # type: ignore[arg-type]


def fitted(folder: Path, **settings: Any) -> EncoderKnowledge:
    return EncoderKnowledge(folder, **settings).fit(SEGMENTS, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("components", [0, 1, 2, 16])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_components_of_words_are_those_of_the_projection_to_the_last_bit(components: int, count: int) -> None:
    generator = np.random.default_rng(components)
    mean, directions = generator.normal(size=48), generator.normal(size=(48, components))
    projection = Projection(mean, directions, components + 1)
    rows = generator.normal(size=(count, 48)).astype(np.float32)
    rows[1:2, 5] = np.nan
    expected = projection.apply(rows.astype(np.float64))
    assert np.array_equal(projected(projection, rows), expected, equal_nan=True)
    assert np.array_equal(projected(projection, rows[::2]), expected[::2], equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["", "ab: "])
def test_cosines_of_words_are_those_of_numpy(prompt: str, folder: Path) -> None:
    got = described(fitted(folder, components=0, prompt=prompt))
    column = dict(zip(got.word_names, got.words.T, strict=True))
    row = 0
    for source, target in zip(SOURCES, TARGETS, strict=True):
        cosines = states(target, prompt) @ states(source, prompt).T
        size = len(cosines)
        np.testing.assert_allclose(column["encoder_best"][row : row + size], cosines.max(axis=1), atol=2e-3)
        partner = column["encoder_partner"][row : row + size]
        np.testing.assert_allclose(partner[:-1], cosines.diagonal()[:-1], atol=2e-3)
        assert np.isnan(partner[-1])
        free = column["encoder_text_free"][row : row + size]
        np.testing.assert_allclose(free, cosines.max(axis=0).min(), atol=2e-3)
        row += size


def test_gaps_have_the_words_at_their_sides(folder: Path) -> None:
    got = described(fitted(folder, components=0))
    best = got.words[:, got.word_names.index("encoder_best")].reshape(40, 4)
    left = got.gaps[:, got.gap_names.index("left_encoder_best")].reshape(40, 5)
    assert np.isnan(left[:, 0]).all() and np.array_equal(left[:, 1:], best)


def test_components_are_those_of_the_training_words(folder: Path) -> None:
    from sklearn.decomposition import PCA

    train, other = SEGMENTS.take(range(30)), SEGMENTS.take(range(30, 40))
    knowledge = EncoderKnowledge(folder, components=2).fit(train, None)  # type: ignore[arg-type]
    got = described(knowledge, other)
    ours = got.words[:, [got.word_names.index(f"encoder_state_{k}") for k in (1, 2)]]
    learned, applied = (np.vstack([states(text) for text in part.target]) for part in (train, other))
    theirs = PCA(2).fit(learned).transform(applied)
    np.testing.assert_allclose(ours * np.sign((ours * theirs).sum(axis=0)), theirs, atol=5e-3)


def test_what_leaves_the_meaning_moves_no_word(folder: Path) -> None:
    """Typographic quotes, blanks before a full stop, at the end or twice, and letters in parts."""
    tokenizer = Tokenizer("en")
    plain, typed = ('é "bad" abc.', "a (b) abc."), ("e\u0301  “bad” abc . ", "a (b) abc . ")
    first, second = (Segments(texts[::-1], texts, tokenizer, tokenizer) for texts in (plain, typed))
    knowledge, as_they_are = fitted(folder), fitted(folder, normalise=False)
    np.testing.assert_array_equal(described(knowledge, first).words, described(knowledge, second).words)
    one, other = (described(as_they_are, segments).words for segments in (first, second))
    assert not np.array_equal(one, other, equal_nan=True)


def test_a_saved_one_needs_the_folder_no_more(folder: Path, tmp_path: Path) -> None:
    knowledge = fitted(folder, components=3)
    before = described(knowledge)
    (tmp_path / "saved").mkdir()
    knowledge.save(tmp_path / "saved")
    fingerprint = knowledge.content_fingerprint()
    shutil.rmtree(folder)
    restored = EncoderKnowledge(folder, components=3).restore(tmp_path / "saved")
    assert np.array_equal(described(restored).words, before.words, equal_nan=True)
    assert restored.content_fingerprint() == fingerprint


def test_blocks_of_segments_say_what_one_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third word is learned from, wherever a block begins."""
    monkeypatch.setattr("features.knowledge.kinds._LEARNED_FROM", 60)
    whole = described(fitted(folder, components=2))
    monkeypatch.setattr("features.knowledge.kinds._BLOCK", 7)
    blocks = described(fitted(folder, components=2))
    np.testing.assert_allclose(blocks.words, whole.words, atol=1e-6)
    np.testing.assert_allclose(blocks.gaps, whole.gaps, atol=1e-6)
