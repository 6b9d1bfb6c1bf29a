"""Files that hold an ONNX model's tensors, found by their names anywhere in its graph.

ONNX is protobuf. Its fields are walked where tensors can lie, and tensors are skipped, so that gigabytes of
weights are not read into memory for a few names.
"""

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from features.basics.errors import InputError
from features.encoding.protobuf import fields
from features.encoding.tokenizing import REMEDY
from features.storage.damage import Damaged, damage_reported

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
