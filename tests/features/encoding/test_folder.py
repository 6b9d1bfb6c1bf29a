"""Folders of encoders: what is read of them, and what is said where something is wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features.basics.errors import InputError
from features.encoding.folder import EncoderFolder, EncoderSettings
from features.encoding.guarded import guarded
from tests.features.encoding.made import BEGIN, END, TOKENS, Tiny, ids_of, onnx_folder, static_folder

for package in ("onnx", "onnxruntime", "safetensors", "tokenizers"):
    pytest.importorskip(package)

TINY = Tiny.of_seed()
TEXTS = ["ab c", "Die Katze schläft.", "", "你好", "q", "A longer text, of more than twelve letters"]
SETTINGS = EncoderSettings()


def encoded(folder: Path, texts: list[str] = TEXTS, settings: EncoderSettings = SETTINGS) -> list:
    return EncoderFolder(folder).load(settings).encode(texts)


def hidden(text: str) -> np.ndarray:
    return TINY.hidden([BEGIN, *ids_of(text), END])


def test_a_static_text_is_the_mean_of_its_known_tokens(tmp_path: Path) -> None:
    for text, each in zip(TEXTS, encoded(static_folder(tmp_path / "e", TINY)), strict=True):
        known = TINY.vectors[[i for i in ids_of(text) if i != 1]]
        if not len(known):
            assert each.vector is None and not len(each.tokens)
            continue
        np.testing.assert_allclose(each.vector, known.mean(axis=0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(
            each.tokens, known / np.linalg.norm(known, axis=1, keepdims=True), rtol=1e-5
        )


def test_static_weights_and_mapping_of_model2vec(tmp_path: Path) -> None:
    """Rows of shared vectors, each token with a weight of its own."""
    mapping = np.arange(len(TOKENS))[::-1].copy()
    weights = np.linspace(0.1, 2, len(TOKENS)).astype(np.float32)
    folder = static_folder(tmp_path / "e", TINY, mapping=mapping, weights=weights)
    ids = ids_of("abc")
    expected = (TINY.vectors[mapping[ids]] * weights[ids][:, np.newaxis]).mean(axis=0)
    np.testing.assert_allclose(encoded(folder, ["abc"])[0].vector, expected, rtol=1e-5)


def test_static_table_of_sentence_transformers(tmp_path: Path) -> None:
    folder = static_folder(tmp_path / "e", TINY, "embedding.weight")
    expected = TINY.vectors[ids_of("ab")].mean(axis=0)
    np.testing.assert_allclose(encoded(folder, ["ab"])[0].vector, expected, rtol=1e-5)


def test_a_transformer_is_that_of_numpy(tmp_path: Path) -> None:
    for text, each in zip(TEXTS, encoded(onnx_folder(tmp_path / "e", TINY)), strict=True):
        if not text:
            assert each.vector is None and not len(each.tokens)
            continue
        np.testing.assert_allclose(each.vector, hidden(text).mean(axis=0), atol=2e-6)
        inner = hidden(text)[1:-1]
        np.testing.assert_allclose(each.tokens, inner / np.linalg.norm(inner, axis=1)[:, None], atol=2e-5)


@pytest.mark.parametrize("pooling", ["auto", "cls"])
def test_pooling_by_the_first_token_as_the_folder_or_the_user_says(pooling: str, tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "e", TINY, cls=pooling == "auto")
    (each,) = encoded(folder, ["abc"], EncoderSettings(pooling=pooling))
    np.testing.assert_allclose(each.vector, hidden("abc")[0], atol=2e-6)


def test_an_output_for_texts_is_taken_unless_pooling_is_named(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "e", TINY, sentence=True)
    np.testing.assert_allclose(encoded(folder, ["abc"])[0].vector, 2 * hidden("abc")[0], atol=2e-6)
    mean = encoded(folder, ["abc"], EncoderSettings(pooling="mean"))[0].vector
    np.testing.assert_allclose(mean, hidden("abc").mean(axis=0), atol=2e-6)


def test_an_encoder_without_token_vectors_has_none(tmp_path: Path) -> None:
    (each,) = encoded(onnx_folder(tmp_path / "e", TINY, sentence=True, tokens=False), ["abc"])
    assert each.tokens.size == 0 and each.vector is not None


@pytest.mark.parametrize("longest", [None, 12])
def test_a_text_longer_than_the_encoder_reads_is_read_in_pieces(longest: int | None, tmp_path: Path) -> None:
    """`longest` counts the marks of begin and end; it is the tokenizer's unless the user names it."""
    folder = onnx_folder(tmp_path / "e", TINY, longest=None if longest else 12)
    (each,) = encoded(folder, [TEXTS[-1]], EncoderSettings(longest=longest))
    letters = ids_of(TEXTS[-1])
    pieces = [TINY.hidden([BEGIN, *letters[i : i + 10], END]) for i in range(0, len(letters), 10)]
    assert len(pieces) > 3
    np.testing.assert_allclose(each.vector, np.concatenate(pieces).mean(axis=0), atol=2e-6)
    assert len(each.tokens) == len(letters)


@pytest.mark.parametrize("kind", [static_folder, onnx_folder])
@pytest.mark.parametrize("batch", [1, 3, 32])
def test_no_text_changes_another_not_by_a_bit(kind, batch: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    texts = ["".join(generator.choice(list("abcdef "), size)) for size in generator.integers(1, 30, 200)]
    folder = kind(tmp_path / "e", TINY)
    together = encoded(folder, texts, EncoderSettings(batch=batch))
    encoder = EncoderFolder(folder).load(SETTINGS)
    for text, each in zip(texts, together, strict=True):
        (alone,) = encoder.encode([text])
        assert (alone.vector is None) == (each.vector is None)
        assert alone.vector is None or np.array_equal(alone.vector, each.vector)
        assert np.array_equal(alone.tokens, each.tokens)


def test_the_checksum_is_of_what_is_read(tmp_path: Path) -> None:
    folder = EncoderFolder(onnx_folder(tmp_path / "e", TINY, cls=True))
    assert set(folder.checksums()) == {"model.onnx", "tokenizer.json", "1_Pooling/config.json"}
    (folder.path / "README.md").write_text("of the hub")
    before = folder.checksums()
    folder.copy(tmp_path / "copy")
    assert EncoderFolder(tmp_path / "copy").checksums() == before
    (folder.path / "tokenizer.json").write_text("{}")
    assert folder.checksums() != before


# --- what is wrong is one message ----------------------------------------------------------------------


def test_no_folder_or_no_encoder_in_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        EncoderFolder(tmp_path / "nothing").load(SETTINGS)
    with pytest.raises(InputError, match=r"model\.onnx or model\.safetensors"):
        EncoderFolder(tmp_path).load(SETTINGS)
    (tmp_path / "model.onnx").write_text("")
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        EncoderFolder(tmp_path).load(SETTINGS)


@pytest.mark.parametrize("kind", [static_folder, onnx_folder])
@pytest.mark.parametrize("name", ["tokenizer.json", "model.onnx", "model.safetensors"])
def test_damaged_files(kind, name: str, tmp_path: Path) -> None:
    folder = kind(tmp_path / "e", TINY)
    if not (folder / name).is_file():
        return
    (folder / name).write_bytes((folder / name).read_bytes()[:40])
    with pytest.raises(InputError, match=f"{name}: the (tokenizer|encoder) is damaged"):
        EncoderFolder(folder).load(SETTINGS)


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("something", {}, "no table named"),
        ("embeddings", {"mapping": np.array([len(TOKENS)])}, "mapping"),
        ("embeddings", {"mapping": np.array([0, 1])}, "2 vectors for"),
        ("embeddings", {"weights": np.ones(3, np.float32)}, "3 weights"),
        ("embeddings", {"weights": np.full(len(TOKENS), np.inf, np.float32)}, "not finite"),
    ],
)
def test_tables_that_do_not_fit(name: str, more: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        encoded(static_folder(tmp_path / "e", TINY, name, **more))


def test_a_way_of_pooling_that_is_not_known(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "e", TINY, cls=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(InputError, match="pooling_mode_max_tokens.*pooling: mean"):
        EncoderFolder(folder).load(SETTINGS)
    assert EncoderFolder(folder).load(EncoderSettings(pooling="mean"))


def test_a_model_that_is_no_encoder(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    folder = onnx_folder(tmp_path / "e", TINY)
    value = helper.make_tensor_value_info
    for given, shape, message in (("pixels", [1, 2], "it takes pixels"), ("input_ids", [1, 2], "it gives y")):
        graph = helper.make_graph(
            [helper.make_node("Identity", [given], ["y"])], "none",
            [value(given, TensorProto.INT64, shape)], [value("y", TensorProto.INT64, shape)],
        )  # fmt: skip
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
            folder / "model.onnx",
        )
        with pytest.raises(InputError, match=message):
            EncoderFolder(folder).load(SETTINGS)


@pytest.mark.parametrize("make", [static_folder, onnx_folder])
def test_a_tokenizer_that_fails_at_the_first_unknown_word_is_one_message(make: Any, tmp_path: Path) -> None:
    folder = make(tmp_path / "e", TINY)
    told = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    told["model"]["unk_token"] = "[ABSENT]"
    (folder / "tokenizer.json").write_text(json.dumps(told), "utf-8")
    with pytest.raises(InputError, match=r"e: the encoder is damaged \(.*; export the encoder again"):
        encoded(folder, ["你好"])


def test_panics_of_libraries_are_one_message(tmp_path: Path) -> None:
    """What PyO3 raises is no `Exception`."""

    class PanicException(BaseException):
        pass

    with pytest.raises(InputError, match="its library panics"), guarded(tmp_path):
        raise PanicException("index out of bounds")
    with pytest.raises(KeyboardInterrupt), guarded(tmp_path):
        raise KeyboardInterrupt
