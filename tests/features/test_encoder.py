"""The family `encoder` against the same computed by plain numpy."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from features import FeatureSet, Segments
from features.encoder import Encoder
from features.encoding.encoded import as_read
from features.encoding.folder import EncoderFolder, EncoderSettings
from tests.factories import refuses
from tests.features.encoding.made import Layered, Tiny, framed, layered_folder, onnx_folder, static_folder

for package in ("onnx", "onnxruntime", "safetensors", "tokenizers"):
    pytest.importorskip(package)

TINY = Tiny.of_seed()
GENERATOR = np.random.default_rng(0)


def texts(count: int) -> tuple[str, ...]:
    return tuple(
        " ".join("".join(GENERATOR.choice(list("abcdefghij "), n)).split()) + "a"
        for n in GENERATOR.integers(3, 20, count)
    )


SEGMENTS = Segments(texts(40), texts(40), pseudo_reference=texts(40), back_translation=texts(40))
SCORES = GENERATOR.normal(size=40)
LABELS = {"scores": SCORES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return onnx_folder(tmp_path_factory.mktemp("encoder") / "tiny", TINY)


def fitted(folder: Path | str, **settings: Any) -> Encoder:
    return Encoder(folder, **settings).fit(SEGMENTS, LABELS)


def unrounded(folder: Path, **settings: Any) -> Encoder:
    """With vectors as the encoder gives them; the cache rounds tokens (`encoding/test_cached.py`)."""
    extractor = Encoder(folder, **settings)
    extractor._loaded.encoder = EncoderFolder(folder).load(EncoderSettings())
    return extractor.fit(SEGMENTS, LABELS)


def column(extractor: Encoder, name: str, segments: Segments = SEGMENTS) -> np.ndarray:
    return extractor.extract(segments)[:, extractor.names.index(name)]


def hidden(text: str) -> np.ndarray:
    return TINY.hidden(framed(text))


def cosine(left: np.ndarray, right: np.ndarray) -> float:
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))


QUANTILES = {"q10": 0.1, "q25": 0.25, "q50": 0.5}
PAIRS = {
    "source": ("target", "source"),
    "pseudo_reference": ("target", "pseudo_reference"),
    "back_translation": ("source", "back_translation"),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_of_texts_are_compared_as_numpy_does(pair: str, folder: Path) -> None:
    extractor = unrounded(folder, second=["pseudo_reference", "back_translation"])
    names = ["cosine", *(f"match_{name}" for name in ("precision", "recall", "f1", "lowest", *QUANTILES))]
    got = np.column_stack([column(extractor, f"encoder_{pair}_{name}") for name in names])
    first, second = (getattr(SEGMENTS, name) for name in PAIRS[pair])
    for row, left, right in zip(got, first, second, strict=True):
        a, b = hidden(left), hidden(right)
        similar = np.array([[cosine(x, y) for y in b[1:-1]] for x in a[1:-1]])
        precision, recall = similar.max(axis=1).mean(), similar.max(axis=0).mean()
        f1 = 2 * precision * recall / (precision + recall)
        best = similar.max(axis=1)
        expected = [cosine(a.mean(0), b.mean(0)), precision, recall, f1, best.min()]
        expected += [np.quantile(best, share) for share in QUANTILES.values()]
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_what_leaves_the_meaning_moves_nothing(folder: Path) -> None:
    """Typographic quotes, and blanks before a full stop, at the end or twice."""
    plain, typed = ('a "bad" c.', "a (b) c"), ("a  “bad” c . ", "a (b) c ")
    extractor, as_they_are = fitted(folder), fitted(folder, normalise=False)
    first, second = (Segments(SEGMENTS.source[:2], texts) for texts in (plain, typed))
    np.testing.assert_array_equal(extractor.extract(first), extractor.extract(second))
    assert (as_they_are.extract(first)[0] != as_they_are.extract(second)[0]).any()  # “ is no letter to it
    assert [*map(as_read, ["a  “bad” c . ", "e\u0301 (b) .5 , c ?"])] == ['a "bad" c.', "é (b) .5, c?"]


def test_norms_are_those_of_the_vectors_before_anything_is_scaled(folder: Path) -> None:
    extractor = fitted(folder)
    for side in ("source", "target"):
        expected = [np.linalg.norm(hidden(text).mean(0)) for text in getattr(SEGMENTS, side)]
        np.testing.assert_allclose(column(extractor, f"encoder_{side}_norm"), expected, atol=1e-5)


def joint(
    segments: Segments,
    train: Segments,
    vector: Callable[[str], np.ndarray] = lambda text: hidden(text).mean(0),
) -> np.ndarray:
    """The docstring's formula by numpy; the means are those of the training texts."""
    both = []
    for side in ("source", "target"):
        own, learned = (np.array([vector(t) for t in getattr(c, side)]) for c in (segments, train))
        own, learned = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (own, learned))
        centred = own - learned.mean(axis=0)
        both.append(centred / np.linalg.norm(centred, axis=1, keepdims=True))
    s, t = both
    return np.hstack([s, t, np.abs(s - t), s * t])


def ridge() -> Pipeline:
    """Its penalty is chosen by leave-one-out."""
    return make_pipeline(StandardScaler(), RidgeCV(30 * 10.0 ** np.arange(-4, 3.1, 0.5)))


def test_projections_are_learned_from_the_training_rows_alone(folder: Path) -> None:
    train, other = SEGMENTS.take(range(30)), SEGMENTS.take(range(30, 40))
    extractor = Encoder(folder, pca=2, pls=3).fit(train, {"scores": SCORES[:30]})
    theirs = {
        "pca": PCA(2).fit(joint(train, train)),
        "pls": PLSRegression(3, scale=False).fit(joint(train, train), SCORES[:30]),
    }
    for kind, model in theirs.items():
        for k in range(model.n_components):
            expected = model.transform(joint(other, train))[:, k]
            got = column(extractor, f"encoder_{kind}_{k + 1}", other)
            np.testing.assert_allclose(got * np.sign(got @ expected), expected, atol=2e-4)


def test_labels_are_needed_for_what_is_learned_from_them_alone(folder: Path) -> None:
    assert Encoder(folder).labels_used() == ("scores",)
    assert Encoder(folder, prediction=False, pls=2).labels_used() == ("scores",)
    assert Encoder(folder, prediction=False).labels_used() == ()
    plain = Encoder(folder, pca=0, prediction=False).fit(SEGMENTS, {})
    assert len(plain.names) == 11 and plain.extract(SEGMENTS).shape == (40, 11)


@pytest.mark.parametrize("pair", PAIRS)
def test_centred_cosines_leave_out_the_mean_of_the_language(pair: str, folder: Path) -> None:
    """The mean is that of training texts; second translations take the mean of their language."""
    train, other = SEGMENTS.take(range(30)), SEGMENTS.take(range(30, 40))
    others = ["pseudo_reference", "back_translation"]
    extractor = Encoder(folder, second=others).fit(train, {"scores": SCORES[:30]})

    def unit(text: str) -> np.ndarray:
        return hidden(text).mean(0) / np.linalg.norm(hidden(text).mean(0))

    means = {side: np.mean([unit(t) for t in getattr(train, side)], axis=0) for side in ("source", "target")}
    sides = {"pseudo_reference": "target", "back_translation": "source"}
    first, second = PAIRS[pair]
    expected = [
        cosine(unit(a) - means[first], unit(b) - means[sides.get(second, second)])
        for a, b in zip(getattr(other, first), getattr(other, second), strict=True)
    ]
    got = column(extractor, f"encoder_{pair}_centred_cosine", other)
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_the_prediction_by_layers_is_the_mean_of_a_ridge_on_each(tmp_path: Path) -> None:
    layered, train, other = Layered.of_seed(), SEGMENTS.take(range(30)), SEGMENTS.take(range(30, 40))

    def parts(segments: Segments, layer: int) -> np.ndarray:
        return joint(segments, train, lambda text: layered.states(framed(text))[layer].mean(axis=0))

    labels = parts(train, 0)[:, 0] * 3 + SCORES[:30] * 0.1
    extractor = Encoder(layered_folder(tmp_path / "e", layered), layers=[1, 2]).fit(train, {"scores": labels})
    expected = [ridge().fit(parts(train, k), labels).predict(parts(other, k)) for k in range(3)]
    got = column(extractor, "encoder_prediction", other)
    np.testing.assert_allclose(got, np.mean(expected, axis=0), atol=1e-3)
    extractor.save(tmp_path)
    restored = Encoder(tmp_path / "e", layers=[1, 2]).restore(tmp_path)
    assert np.array_equal(restored.extract(other), extractor.extract(other))


def prompted(folder: Path, content: dict[str, Any]) -> Path:
    (folder / "config_sentence_transformers.json").write_text(json.dumps(content))
    return folder


TWO = {"prompts": {"query": "ab: ", "passage": "cd "}, "default_prompt_name": "passage"}


@pytest.mark.parametrize(
    ("content", "setting", "expected"),
    [
        ({"prompts": {"query": "ab: "}}, None, ("ab: ", "ab: ")),
        (TWO, None, ("cd ", "cd ")),
        (TWO, "ef", ("ef", "ef")),
        (TWO, {"source": "g "}, ("g ", "cd ")),
        (TWO, "", ("", "")),
        ({"__version__": {}}, None, ("", "")),
    ],
)
def test_a_prompt_goes_before_the_texts_of_a_side(
    content: dict[str, Any], setting: Any, expected: tuple[str, str], tmp_path: Path
) -> None:
    """It is read with the text, and its tokens are not matched."""
    place = prompted(onnx_folder(tmp_path / "tiny", TINY), content)
    extractor = unrounded(place, prompt=setting)
    cosines = column(extractor, "encoder_source_cosine")
    lowest = column(extractor, "encoder_source_match_lowest")
    first, second = (len(framed(prompt)) - 1 for prompt in expected)
    for row, (source, target) in enumerate(zip(SEGMENTS.source, SEGMENTS.target, strict=True)):
        a, b = hidden(expected[0] + source), hidden(expected[1] + target)
        similar = [[cosine(x, y) for y in a[first:-1]] for x in b[second:-1]]
        assert cosines[row] == pytest.approx(cosine(a.mean(0), b.mean(0)), abs=1e-5)
        assert lowest[row] == pytest.approx(np.max(similar, axis=1).min(), abs=1e-5)


def test_a_prompt_alone_is_no_text(tmp_path: Path) -> None:
    place = prompted(onnx_folder(tmp_path / "tiny", TINY), TWO)
    values = fitted(place).extract(replace(SEGMENTS.take([0, 1]), source=("", "abc")))
    assert np.isnan(values[0, 2:]).all() and np.isfinite(values[1]).all()


def test_a_folder_that_names_a_prompt_it_has_not_is_one_message(tmp_path: Path) -> None:
    place = prompted(onnx_folder(tmp_path / "tiny", TINY), {"prompts": {}, "default_prompt_name": "query"})
    refuses("has no prompt 'query'", fitted, place)


def test_a_name_is_one_of_the_users_encoders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QE_ENCODERS", str(tmp_path))
    onnx_folder(tmp_path / "tiny", TINY)
    (tmp_path / ".hidden").mkdir()
    assert np.array_equal(fitted("tiny").extract(SEGMENTS), fitted(tmp_path / "tiny").extract(SEGMENTS))
    refuses(r"no encoder is named 'tinny'.*known: tiny.*'tiny'", fitted, "tinny")
    monkeypatch.delenv("QE_ENCODERS")
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))
    refuses(r"cache/encoders: no encoder is named 'tiny'.*known: none", fitted, "tiny")


def test_a_saved_extractor_needs_the_folder_no_more(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "e", TINY)
    extractor = fitted(folder)
    extractor.save(tmp_path)
    expected, fingerprint = extractor.extract(SEGMENTS), extractor.content_fingerprint()
    shutil.rmtree(folder)
    restored = Encoder(folder).restore(tmp_path)
    assert np.array_equal(restored.extract(SEGMENTS), expected)
    assert restored.content_fingerprint() == fingerprint


def test_the_encoder_is_part_of_the_fingerprint_and_of_the_recipe(folder: Path, tmp_path: Path) -> None:
    def of(place: Path) -> FeatureSet:
        return FeatureSet(({"kind": "encoder"},), (Encoder(place),))

    shutil.copytree(folder, tmp_path / "copy")
    other = onnx_folder(tmp_path / "other", Tiny.of_seed(1))
    assert of(folder).fingerprint == of(tmp_path / "copy").fingerprint != of(other).fingerprint
    (entry,) = of(folder).checksums()
    assert entry["kind"] == "encoder" and set(entry["files"]) == {"tiny/model.onnx", "tiny/tokenizer.json"}
    assert entry["files"] != of(other).checksums()[0]["files"]


def test_an_unknown_language_is_one_message(tmp_path: Path) -> None:
    static = static_folder(tmp_path / "static", TINY)
    segments = Segments(("你好", "世界"), ("שלום", "عالم"))
    labels = {"scores": np.array([1.0, 2.0])}
    refuses("no training segment has a token", Encoder(static).fit, segments, labels)
    mixed = fitted(static).extract(replace(SEGMENTS.take([0, 1]), source=("你好", "abc")))
    assert np.isnan(mixed[0, 2:]).all() and np.isfinite(mixed[1]).all()


def test_the_prediction_is_that_of_a_ridge_with_its_penalty_by_leave_one_out(folder: Path) -> None:
    train, other = SEGMENTS.take(range(30)), SEGMENTS.take(range(30, 40))
    labels = joint(train, train)[:, 0] * 3 + SCORES[:30] * 0.1
    extractor = Encoder(folder).fit(train, {"scores": labels})
    theirs = ridge().fit(joint(train, train), labels)
    got = column(extractor, "encoder_prediction", other)
    np.testing.assert_allclose(got, theirs.predict(joint(other, train)), atol=1e-3)
    assert np.corrcoef(got, joint(other, train)[:, 0])[0, 1] > 0.9


def test_a_text_is_encoded_once(folder: Path) -> None:
    """Folds that share rows share the work: what is remembered is the text, wherever it stands."""
    extractor = Encoder(folder)
    encoder, asked = extractor._encoder, []

    class Counting:
        def encode(self, texts: list[str], prompt: str) -> Any:
            asked.extend(texts)
            return encoder.encode(texts, prompt)

    extractor._loaded.encoder = Counting()
    first = extractor.fit(SEGMENTS.take(range(30)), {"scores": SCORES[:30]})
    assert len(asked) == len(set(asked))
    before = len(asked)
    extractor.fit(SEGMENTS.take(range(5, 30)), {"scores": SCORES[5:30]})
    first.extract(SEGMENTS.take(range(30)))
    assert len(asked) == before
    first.extract(SEGMENTS)
    assert set(asked) == {*SEGMENTS.source, *SEGMENTS.target}
