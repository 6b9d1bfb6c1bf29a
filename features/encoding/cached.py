"""Encodings of texts, kept in the user's cache by content: each text is encoded once."""

import hashlib
import sqlite3
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from features.basics.errors import InputError
from features.encoding.encoded import NO_LAYERS, EncodedText, TextEncoder
from features.storage.cache_folder import cache_entry, default_cache, of_user_alone

Result = TypeVar("Result")
_HEAD: Final = struct.Struct("<5I")  # checksum; dimensions, layers; tokens, their dimensions
_LIMIT: Final = 2 << 30  # bytes of a file; beyond it the older half of the texts goes
_CHUNK: Final = 256  # texts that are encoded and written together
_SECONDS: Final = 30  # to wait for another process that writes
_TABLE: Final = "CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, key BLOB UNIQUE, record BLOB)"
_INSERT: Final = "INSERT OR REPLACE INTO texts (key, record) VALUES (?, ?)"
_HALVE: Final = "DELETE FROM texts WHERE id <= (SELECT (MIN(id) + MAX(id)) / 2 FROM texts)"
_USED: Final = (
    "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, "
    "pragma_page_size"
)


@dataclass(frozen=True, eq=False)
class CachedEncoder:
    """An encoder whose results are kept by prompt and text: vectors of tokens and layers in 16 bits.

    They are rounded whether they were kept or not, so that no figure depends on the cache. A text with
    numbers beyond 16 bits is encoded each time, and is not rounded.

    store   None: nothing is kept
    layers  the inner layers that are given, counted from 0 among those that the encoder gives
    """

    encoder: TextEncoder
    store: "TextStore | None"
    layers: tuple[int, ...] = ()

    def encode(self, texts: Sequence[str], prompt: str = "") -> list[EncodedText]:
        keys = [_key(prompt, text) for text in texts]
        known: dict[bytes, EncodedText] = {}
        if self.store is not None:
            known = {key: _unpacked(record) for key, record in self.store.read(keys).items()}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        waiting = list(new.items())
        for first in range(0, len(waiting), _CHUNK):
            chunk = dict(waiting[first : first + _CHUNK])
            encoded = dict(zip(chunk, self.encoder.encode(list(chunk.values()), prompt), strict=True))
            packed = {key: _packed(each) for key, each in encoded.items()}
            records = {key: record for key, record in packed.items() if record is not None}
            if self.store is not None:
                self.store.write(records)
            known |= encoded | {key: _unpacked(record) for key, record in records.items()}
        result = []
        for key in keys:
            each = known[key]
            if each.layers.size:
                layers = each.layers[list(self.layers)] if self.layers else NO_LAYERS
                each = replace(each, layers=layers)
            result.append(each)
        return result


def _key(prompt: str, text: str) -> bytes:
    content = f"{len(prompt)} {prompt}{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).digest()[:16]


def _packed(encoded: EncodedText) -> bytes | None:
    vector = np.empty(0, "<f4") if encoded.vector is None else np.asarray(encoded.vector, "<f4")
    with np.errstate(over="ignore"):
        halves = [np.asarray(part, "<f2") for part in (encoded.layers, encoded.tokens)]
    parts = [vector, *halves]
    if not all(np.isfinite(part).all() for part in parts):
        return None
    body = b"".join(part.tobytes() for part in (*parts, np.asarray(encoded.spans, "<i4")))
    return _HEAD.pack(zlib.crc32(body), len(vector), len(encoded.layers), *encoded.tokens.shape) + body


def _is_record(record: Any) -> bool:
    if not isinstance(record, bytes) or len(record) < _HEAD.size:
        return False
    checksum, width, layers, tokens, dimensions = _HEAD.unpack_from(record)
    size = 4 * width + 2 * (layers * width + tokens * dimensions) + 8 * tokens
    return len(record) == _HEAD.size + size and zlib.crc32(record[_HEAD.size :]) == int(checksum)


def _unpacked(record: bytes) -> EncodedText:
    _, width, layers, tokens, dimensions = _HEAD.unpack_from(record)
    begin, inner = _HEAD.size + 4 * width, layers * width
    halves = np.frombuffer(record, "<f2", inner + tokens * dimensions, begin).astype(np.float32)
    spans = np.frombuffer(record, "<i4", 2 * tokens, begin + 2 * len(halves))
    return EncodedText(
        np.frombuffer(record, "<f4", width, _HEAD.size).astype(np.float32) if width else None,
        halves[inner:].reshape(tokens, dimensions),
        spans.astype(np.int32).reshape(tokens, 2),
        halves[:inner].reshape(layers, width) if layers else NO_LAYERS,
    )


@dataclass(frozen=True)
class TextStore:
    """Records of texts by key, in a file that several processes share.

    A file that cannot be read or written costs time later, and is no error; a damaged one is removed.
    """

    path: Path

    @classmethod
    def of_user(cls, name: str) -> "TextStore | None":
        """The file of that name in the user's cache; None if others can write there, or it cannot be used."""
        with suppress(OSError, InputError):
            path = cache_entry(default_cache(), "encodings", f"{name}.sqlite")
            return cls(path) if of_user_alone(path.parent) else None
        return None

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        def rows(database: sqlite3.Connection) -> dict[bytes, bytes]:
            found: dict[bytes, bytes] = {}
            for first in range(0, len(keys), _CHUNK):
                some = keys[first : first + _CHUNK]
                marks = ",".join("?" * len(some))
                found |= database.execute(f"SELECT key, record FROM texts WHERE key IN ({marks})", some)
            return found

        unread: dict[bytes, bytes] = {}
        return {key: record for key, record in self._run(rows, unread).items() if _is_record(record)}

    def write(self, records: Mapping[bytes, bytes]) -> None:
        def insert(database: sqlite3.Connection) -> None:
            (used,) = database.execute(_USED).fetchone()
            if used > _LIMIT:
                database.execute(_HALVE)
            database.executemany(_INSERT, records.items())

        self._run(insert, None)

    def _run(self, action: Callable[[sqlite3.Connection], Result], otherwise: Result) -> Result:
        try:
            with closing(sqlite3.connect(self.path, timeout=_SECONDS)) as database, database:
                database.text_factory = bytes  # of damaged records, too
                database.execute(_TABLE)
                return action(database)
        except sqlite3.OperationalError:  # locked, full, or not writable
            return otherwise
        except sqlite3.DatabaseError:
            with suppress(OSError):
                self.path.unlink()
            return otherwise
