"""Every kind of knowledge, and how families take it; columns of the decoder and of an encoder."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from features import Segments, Tokenizer
from features.basics.errors import InputError
from features.core.bundle import Bundle, build
from features.core.feature_set import configured, from_variant, make_extractor, parts_needed, variant
from features.decoder_output.tokens import DecoderTokens, SubwordMeans
from features.encoding.projections import Projection
from features.knowledge.kinds import GAP_COLUMNS, EncoderKnowledge, decoder_columns, projected
from features.word_level.knowledge import KNOWLEDGE, DescribedSegments, Knowledge
from features.word_level.places import judges
from features.word_level.tokens import TokenTable
from tests.factories import EN_ES, ENGLISH, corpus, decoded, tokens
from tests.features.encoding.made import Tiny, framed, onnx_folder

WORDS = ("house", "casa"), ("dog", "perro"), ("red", "rojo"), ("big", "grande"), ("sees", "ve"), ("a", "un")


def texts(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences that are translated word by word."""
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(len(WORDS), size=rng.integers(3, 8)) for _ in range(count)]
    return [(" ".join(WORDS[i][0] for i in row), " ".join(WORDS[i][1] for i in row)) for row in drawn]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    parts = parts_needed([{"kind": "word_quality", "knowledge": ["predictor"]}])
    pairs = corpus(texts(60, seed=0), EN_ES)
    return build(lambda: pairs, tmp_path_factory.mktemp("knowledge") / "bundle", parts)


@pytest.fixture(scope="module")
def segments() -> Segments:
    source, target = map(list, zip(*texts(30, seed=1), strict=True))
    target[::3] = [f"{line} un" for line in target[::3]]
    logs = [" ".join(f"-{1 + len(word) % 3}.5" for word in line.split()) + " -0.5" for line in target]
    columns = {"source": source, "target": target, "subwords": target, "token_log_probabilities": logs}
    return Segments.from_columns(columns, *EN_ES)


@pytest.fixture(scope="module")
def labels(segments: Segments) -> dict[str, Any]:
    post_edits = [line.removesuffix(" un") for line in segments.target]
    return {"post_edit": post_edits, "scores": np.arange(len(segments), dtype=float)}


def errors(*knowledge: Any, kind: str = "word_quality") -> list[str]:
    try:
        return [str(e) for e in configured({"kind": kind, "knowledge": list(knowledge)}).errors()]
    except InputError as error:
        return [str(error)]


@pytest.mark.parametrize("name", KNOWLEDGE.names)
def test_every_kind_says_what_it_is_and_is_taken_by_word_quality(name: str) -> None:
    assert KNOWLEDGE.documentation(name)
    assert issubclass(KNOWLEDGE.get(name), Knowledge) and not errors(name)
    assert len(parts_needed([from_variant(f"word_quality:knowledge={name}")])) >= 12


@pytest.mark.parametrize("family", ["word_network", "source_word_quality"])
def test_families_that_learn_from_labels_refuse_what_judges_without(family: str) -> None:
    (error,) = errors("synthetic", kind=family)
    assert f"'{family}' learns from labels" in error and "known here: decoder, encoder, predictor" in error


@pytest.mark.slow
def test_the_order_changes_no_value(bundle: Bundle, segments: Segments, labels: dict[str, Any]) -> None:
    values = []
    for knowledge in (["predictor", "vectors"], ["vectors", "predictor"]):
        config = {"kind": "word_quality", "knowledge": knowledge, "rounds": 3, "networks": 1}
        made: Any = make_extractor(config, bundle)
        assert made.names[0] == f"word_quality_{'_'.join(knowledge)}_word_mean"
        values.append(made.fit(segments, labels).extract(segments))
    np.testing.assert_array_equal(*values)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["word_quality", "word_network", "source_word_quality"])
def test_what_an_encoder_says_is_saved_and_comes_back(
    kind: str, bundle: Bundle, segments: Segments, labels: dict[str, Any], tmp_path: Path
) -> None:
    """The model holds the encoder: its folder is gone."""
    folder = onnx_folder(tmp_path / "tiny", Tiny.of_seed())
    knowledge = [{"kind": "encoder", "model": str(folder), "components": 2}]
    made: Any = make_extractor({"kind": kind, "knowledge": knowledge}, bundle)
    fitted = made.fit(segments, labels)
    fitted.save(tmp_path)
    expected = fitted.extract(segments)
    shutil.rmtree(folder)
    np.testing.assert_array_equal(made.restore(tmp_path).extract(segments), expected)
    plain: Any = make_extractor({"kind": kind}, bundle)
    assert not np.array_equal(plain.fit(segments, labels).extract(segments), expected)


@pytest.mark.slow
def test_a_network_uses_the_decoder_where_it_is_there_asked_for_or_not(
    bundle: Bundle, segments: Segments, labels: dict[str, Any], tmp_path: Path
) -> None:
    values = []
    for knowledge in ([], ["decoder"]):
        config = {"kind": "word_network", "knowledge": knowledge, "networks": 1, "epochs": 1}
        made: Any = make_extractor(config, bundle)
        fitted = made.fit(segments, labels)
        assert fitted.requires() == ("subwords", "token_log_probabilities")
        values.append(fitted.extract(segments))
    np.testing.assert_array_equal(*values)


def test_of_several_families_the_one_that_knows_more_judges_words(bundle: Bundle) -> None:
    names = ("word_quality", "word_quality:knowledge=predictor+decoder", "word_quality:knowledge=predictor")
    assert judges([make_extractor(from_variant(name), bundle) for name in names]) == {"word": 1, "gap": 1}


def test_the_parts_of_knowledge_can_be_other_parts(bundle: Bundle) -> None:
    entry = {"kind": "predictor", "predictor": "own_predictor"}
    config = {"kind": "word_quality", "knowledge": [entry]}
    assert "own_predictor" in parts_needed([config]) and "predictor" not in parts_needed([config])


def test_names_with_settings_say_what_they_are() -> None:
    name = "word_quality:knowledge=pretrained+predictor"
    config = from_variant(name)
    assert config == {"kind": "word_quality", "knowledge": ["pretrained", "predictor"]}
    assert variant({**config, "rounds": 3, "only": ["a"]}) == name
    assert variant({"kind": "word_quality", "knowledge": [{"kind": "decoder"}]}).endswith("=decoder")
    for wrong in ("word_quality:knowledge=x", "word_quality:know=predictor", "word_qualit"):
        with pytest.raises(InputError):
            from_variant(wrong)


def test_columns_of_tokens_by_hand() -> None:
    outputs = ("Ha@@ us da", "-1 -3 -2 -0.5"), ("gut", "-4 -0.25")
    decoder = DecoderTokens.from_segments(decoded(*outputs, target=("Haus da", "gut")))
    means = SubwordMeans.fit(decoder)
    columns = decoder_columns(tokens("Haus da !", "gut"), decoder, means, is_training=False)
    unknown = np.nan  # also of the `!`, which the decoder never wrote
    expected = {
        "decoder_sum": [-4, -2, unknown, -4],
        "decoder_first": [-1, -2, unknown, -4],
        "decoder_minimum": [-3, -2, unknown, -4],
        "decoder_pieces": [2, 1, 0, 1],
        "decoder_rank": [0, 1 / 3, unknown, 0],
        "decoder_end": [-0.5, -0.5, -0.5, -0.25],
        "decoder_sum_-1": [unknown, -4, -2, unknown],
        "decoder_sum_+1": [-2, unknown, unknown, unknown],
        "decoder_text_mean": [-2, -2, -2, -4],
        "decoder_window": [-3, -3, -2, -4],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(columns[name], values, equal_nan=True, err_msg=name)
    residuals = means.residuals(decoder)
    np.testing.assert_allclose(columns["decoder_residual"][[0, 3]], [residuals[:2].sum(), residuals[3]])
    assert set(GAP_COLUMNS) <= set(columns)
    assert all(len(column) == 4 for column in columns.values())


for package in ("onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(package)

TINY = Tiny.of_seed()
LETTERS = np.random.default_rng(0).choice(list("abcdefgh"), (40, 2, 4, 3))
SOURCES = tuple(" ".join("".join(word) for word in pair[0]) for pair in LETTERS)
TARGETS = tuple(" ".join("".join(word) for word in pair[1]) for pair in LETTERS)
SEGMENTS = Segments(SOURCES, TARGETS, ENGLISH, ENGLISH)


def states(text: str, prompt: str = "") -> np.ndarray:
    """(words, d) the mean of the letters' vectors of length 1, of length 1."""
    hidden = TINY.hidden(framed(prompt + text))[len(framed(prompt)) - 1 : -1]
    hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
    ends = np.cumsum([len(word) for word in text.split()])
    means = np.array([part.mean(axis=0) for part in np.split(hidden, ends[:-1])])
    return means / np.linalg.norm(means, axis=1, keepdims=True)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An encoder; word k of the target is aligned with word k of the source, but for the last, with none."""

    def links(segments: Segments, aligner: Any) -> SimpleNamespace:
        source, target = segments.source_tokens.offsets, segments.target_tokens.offsets
        pairs = zip(source[:-1], np.diff(source), np.diff(target), strict=True)
        best = [np.append(begin + np.minimum(np.arange(m - 1), n - 1), -1)[:m] for begin, n, m in pairs]
        return SimpleNamespace(best=np.concatenate(best))

    monkeypatch.setattr("features.knowledge.kinds.aligned_links", links)
    return onnx_folder(tmp_path / "tiny", TINY)


def described(knowledge: EncoderKnowledge, segments: Segments = SEGMENTS) -> TokenTable:
    offsets = np.asarray(segments.target_tokens.offsets)
    words, gaps = int(offsets[-1]), int(offsets[-1]) + len(segments)
    none = np.empty((words, 0), np.float32), np.empty((gaps, 0), np.float32)
    rows = np.zeros((words, 4), np.int32), np.zeros((gaps, 2), np.int32)
    bare = TokenTable((), (), *none, {}, {}, *rows, offsets)
    return knowledge.extended(bare, DescribedSegments(segments, None))  # type: ignore[arg-type]


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


def test_blocks_of_segments_say_what_one_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third word is learned from, wherever a block begins."""
    monkeypatch.setattr("features.knowledge.kinds._LEARNED_FROM", 60)
    whole = described(fitted(folder, components=2))
    monkeypatch.setattr("features.knowledge.kinds._BLOCK", 7)
    blocks = described(fitted(folder, components=2))
    np.testing.assert_allclose(blocks.words, whole.words, atol=1e-6)
    np.testing.assert_allclose(blocks.gaps, whole.gaps, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["word_quality", "word_network", "source_word_quality"])
def test_what_the_decoder_taught_is_saved_and_comes_back(
    kind: str, bundle: Bundle, segments: Segments, labels: dict[str, Any], tmp_path: Path
) -> None:
    made: Any = make_extractor({"kind": kind, "knowledge": ["predictor", "decoder"]}, bundle)
    assert made.requires() == ("subwords", "token_log_probabilities")
    fitted = made.fit(segments, labels)
    fitted.save(tmp_path)
    np.testing.assert_array_equal(made.restore(tmp_path).extract(segments), fitted.extract(segments))


def test_a_saved_one_needs_the_folder_no_more(folder: Path, tmp_path: Path) -> None:
    knowledge = fitted(folder, components=3)
    before = described(knowledge)
    knowledge.save(tmp_path)
    fingerprint = knowledge.content_fingerprint()
    shutil.rmtree(folder)
    restored = EncoderKnowledge(folder, components=3).restore(tmp_path)
    assert np.array_equal(described(restored).words, before.words, equal_nan=True)
    assert restored.content_fingerprint() == fingerprint
