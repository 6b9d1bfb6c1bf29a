"""Encodings kept in the user's cache: each text is encoded once, and no figure depends on the cache."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features.encoding.cached import CachedEncoder, TextStore
from features.encoding.encoded import EncodedText
from features.encoding.folder import EncoderFolder, EncoderSettings, fastest_path
from tests.factories import Monkeypatch
from tests.features.encoding.made import Layered, layered_folder

for package in ("onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(package)

TEXTS = ["ab c", "A longer text, of more than twelve letters", "", "q"]
MEAN = EncoderSettings(pooling="mean")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Monkeypatch) -> Path:
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))
    return layered_folder(tmp_path / "e", Layered.of_seed())


class Counting:
    """An encoder, and the texts that it was asked for."""

    def __init__(self, cached: CachedEncoder) -> None:
        self.encoder, self.texts = cached.encoder, list[str]()

    def encode(self, texts: Any, prompt: str = "") -> list[EncodedText]:
        self.texts += texts
        return self.encoder.encode(texts, prompt)


def counted(folder: Path, settings: EncoderSettings = MEAN) -> tuple[CachedEncoder, list[str]]:
    cached = EncoderFolder(folder).load_cached(settings)
    counting = Counting(cached)
    return replace(cached, encoder=counting), counting.texts


def content(encoded: list[EncodedText]) -> list[list[Any]]:
    arrays = [(each.vector, each.layers, each.tokens, each.spans) for each in encoded]
    return [[None if x is None else x.tolist() for x in each] for each in arrays]


def test_a_text_is_encoded_once_whoever_asks(folder: Path) -> None:
    """For other layers, by another process, behind the same prompt."""
    first, asked = counted(folder)
    words = first.encode([*TEXTS, TEXTS[0]])
    assert sorted(asked) == sorted(TEXTS)
    later, asked = counted(folder, replace(MEAN, layers=(2, 1), batch=7))
    both = later.encode(TEXTS)
    assert asked == []
    assert content([replace(e, layers=words[0].layers) for e in both]) == content(words[:-1])
    raw = EncoderFolder(folder).load(replace(MEAN, layers=(2, 1))).encode(TEXTS)
    for kept, own in zip(both, raw, strict=True):
        np.testing.assert_array_equal(kept.layers, own.layers.astype(np.float16))
        np.testing.assert_array_equal(kept.tokens, own.tokens.astype(np.float16))
        assert (kept.vector is None) == (own.vector is None)
        # What an encoder gives for a text does not depend on layers but for rounding.
        if own.vector is not None:
            np.testing.assert_allclose(kept.vector, own.vector, atol=1e-6)
    later.encode(TEXTS[:1], "ab: ")
    assert asked == TEXTS[:1]


def test_results_are_the_same_without_a_cache(folder: Path, monkeypatch: Monkeypatch) -> None:
    kept = counted(folder)[0].encode(TEXTS)
    (folder.parent / "cache" / "encodings").chmod(0o777)  # others could write there
    without, asked = counted(folder)
    assert without.store is None
    assert content(without.encode(TEXTS)) == content(kept) and asked == TEXTS


def database(folder: Path) -> Path:
    (path,) = (folder.parent / "cache" / "encodings").iterdir()
    return path


def test_damaged_records_and_files_are_made_again(folder: Path) -> None:
    kept = content(counted(folder)[0].encode(TEXTS))
    with closing(sqlite3.connect(database(folder))) as opened, opened:
        opened.execute("UPDATE texts SET record = substr(record, 1, 30) || x'07' WHERE id = 2")
        opened.execute("UPDATE texts SET record = 'text' WHERE id = 3")
    encoder, asked = counted(folder)
    assert content(encoder.encode(TEXTS)) == kept and len(asked) == 2
    database(folder).write_bytes(b"no database at all" * 100)
    encoder, asked = counted(folder)
    assert content(encoder.encode(TEXTS)) == kept and asked == TEXTS
    encoder, asked = counted(folder)
    assert content(encoder.encode(TEXTS)) == kept and asked == []


def test_the_older_half_goes_when_the_file_is_full(folder: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setattr("features.encoding.cached._LIMIT", 40_000)
    store = TextStore.of_user("0" * 16)
    assert store is not None
    for i in range(20):
        store.write({bytes([i]) * 16: b"\0" * 5000})
    assert database(folder).stat().st_size < 80_000
    with closing(sqlite3.connect(database(folder))) as opened:
        keys = [key[0] for (key,) in opened.execute("SELECT key FROM texts ORDER BY id")]
    assert keys[-1] == 19 and 4 <= len(keys) < 12


def test_what_sixteen_bits_cannot_hold_is_not_kept(folder: Path) -> None:
    class Large:
        def encode(self, texts: Any, prompt: str = "") -> list[EncodedText]:
            (each,) = counted(folder)[0].encode(["ab"])
            return [replace(each, tokens=each.tokens * np.float32(1e6)) for _ in texts]

    large = CachedEncoder(Large(), TextStore.of_user("1" * 16))
    (each,) = large.encode(["ab"])
    assert np.isfinite(each.tokens).all() and each.tokens.max() > 1e5
    assert large.store is not None and large.store.read([b"\0" * 16]) == {}
    assert content(large.encode(["ab"])) == content([each])


def test_a_name_is_read_in_eight_bits_where_it_has_them(tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("QE_ENCODERS", str(tmp_path))
    (tmp_path / "e5").mkdir()
    assert fastest_path("e5") == tmp_path / "e5"
    (tmp_path / "e5-int8").mkdir()
    assert fastest_path("e5") == fastest_path("e5-int8") == tmp_path / "e5-int8"
    assert fastest_path(tmp_path / "e5") == tmp_path / "e5"
