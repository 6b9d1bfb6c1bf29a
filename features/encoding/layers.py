"""Inner layers of a transformer in ONNX, whose graph gives its last one alone."""

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from features.basics.errors import InputError
from features.encoding.protobuf import fields, message
from features.encoding.tokenizing import REMEDY
from features.storage.damage import damage_reported

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
