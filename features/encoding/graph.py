"""Graphs of ONNX, read as protobuf without their tensors: external files and inner layers."""

import mmap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from features.basics.errors import InputError
from features.encoding.tokenizing import REMEDY
from features.storage.damage import Damaged, damage_reported

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # kinds of fields
_FIXED: Final = {_EIGHT: 8, _FOUR: 4}


def fields(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Number and bytes of every field that holds bytes; numbers are passed over. Raises Damaged."""
    values_at = 0
    while values_at < len(content):
        tag, values_at = _varint(content, values_at)
        kind = tag & 7
        if kind == _VARINT:
            _, values_at = _varint(content, values_at)
        elif kind in _FIXED:
            values_at += _FIXED[kind]
        elif kind == _BYTES:
            size, values_at = _varint(content, values_at)
            yield tag >> 3, content[values_at : values_at + size]
            values_at += size
        else:
            raise Damaged("no model of ONNX")
    if values_at > len(content):
        raise Damaged("it ends too early")


def _varint(content: memoryview, values_at: int) -> tuple[int, int]:
    value = shift = 0
    while values_at < len(content) and shift < 64:
        byte = content[values_at]
        value, values_at, shift = value | (byte & 127) << shift, values_at + 1, shift + 7
        if byte < 128:
            return value, values_at
    raise Damaged("it ends too early")


def message(field: int, content: bytes) -> bytes:
    return _number(field << 3 | _BYTES) + _number(len(content)) + content


def _number(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _number(rest) if rest else bytes([low])


# Message -> field -> the message it holds (onnx.proto3); every way from a model to its tensors.
_MESSAGES: Final[Mapping[str, Mapping[int, str]]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
_DEEPEST: Final = 100  # messages within each other, as protobuf itself has it


def external_files(weights: Path) -> tuple[str, ...]:
    """The files with external tensors of a model of ONNX, as relative paths, each once. Raises InputError if
    a name leads elsewhere, to a link or to no file, or if the model is damaged.
    """
    with damage_reported("the encoder", weights, REMEDY), weights.open("rb") as stream:
        if not weights.stat().st_size:
            raise Damaged("the file is empty")
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as content:
            names = tuple(dict.fromkeys(_locations(content, "model", 0)))
    for name in names:
        _check_beside(weights, name)
    return names


def _check_beside(weights: Path, name: str) -> None:
    parts, wrong = PurePosixPath(name).parts, ""
    places = [weights.parent.joinpath(*parts[: i + 1]) for i in range(len(parts))]
    if not parts or name.startswith("/") or ".." in parts or any(c in "\\:*\0" for c in name):
        wrong = "which leads out of its folder"
    elif any(place.is_symlink() for place in places):
        wrong = "which is a link, or in a linked folder"
    elif not places[-1].is_file():
        wrong = "which is not there"
    if wrong:
        raise InputError(
            f"keeps weights in {name!r}, {wrong}",
            location=weights,
            remedy="put the file itself next to the model, or export it again",
        )


def _locations(content: memoryview, message: str, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        raise Damaged(f"more than {_DEEPEST} messages within each other")
    for field, value in fields(content):
        inner = _MESSAGES[message].get(field)
        if inner == "entry":
            entry = dict(fields(value))
            if bytes(entry.get(1, b"")) == b"location":
                yield str(entry.get(2, b""), "utf-8")
        elif inner is not None:
            yield from _locations(value, inner, depth + 1)


# Fields of onnx.proto3: of a model, of its graph, of a node, of a value.
_GRAPH: Final = 7
_NODE, _OUTPUT = 1, 12
_RESULT, _OPERATION = 2, 4
_NAME: Final = 1
_NORMALISATION: Final = b"LayerNormalization"


def layer_outputs(weights: Path) -> tuple[str, ...]:
    """The values that hold the states behind each layer, from the first to the last. Each layer ends with the
    second of its two normalisations, as BERT's and XLM-R's do; one more is that of the embeddings. Raises
    InputError for a graph that is built in another way, or damaged.
    """
    with (
        damage_reported("the encoder", weights, REMEDY),
        weights.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as content,
    ):
        normalised = [name for graph in _values_of(content, _GRAPH) for name in _normalised(graph)]
    if len(normalised) < 3 or len(normalised) % 2 == 0:
        raise InputError(
            f"the layers of this encoder cannot be identified: it has {len(normalised)} normalisations, and "
            "an encoder as BERT has two a layer and one more",
            location=weights,
            remedy="leave `layers` out, or export it with `--opset 17` or higher",
        )
    return tuple(normalised[2::2])


def with_outputs(weights: Path, names: Sequence[str]) -> bytes:
    """The model whose graph gives these values, too: messages that follow each other are one."""
    added = b"".join(message(_OUTPUT, message(_NAME, name.encode())) for name in names)
    return weights.read_bytes() + message(_GRAPH, added)


def _normalised(graph: memoryview) -> Iterator[str]:
    for node in _values_of(graph, _NODE):
        parts = dict(reversed(list(fields(node))))  # the first of several results
        if bytes(parts.get(_OPERATION, b"")) == _NORMALISATION:
            yield str(parts[_RESULT], "utf-8")


def _values_of(content: memoryview, field: int) -> Iterator[memoryview]:
    return (value for number, value in fields(content) if number == field)
