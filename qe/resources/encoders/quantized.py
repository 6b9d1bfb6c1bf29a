"""A smaller and faster encoder: its matrices in eight bits."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.encoding.folder import EncoderFolder, EncoderSettings
from features.encoding.tokenizing import REMEDY, package
from features.storage.damage import damage_reported
from features.storage.files import atomic_directory, digest
from features.storage.outputs import check_no_overlap
from qe.resources.encoders.checked import (
    ENGLISH,
    GERMAN,
    Origin,
    check_unchanged,
    is_up_to_date,
    origin_of,
    pairs_a_second,
    vectors,
)

_RUNTIME: Final = "com.microsoft"  # the domain of onnxruntime's own operations
_LEVELS: Final = 127  # on either side of 0
_AXES_ARE_INPUTS: Final = 18  # of reductions, since this version of ONNX
_LEAST: Final = np.float32(1e-12)  # in the place of the largest value of a row of zeros
# In the graph: one, the byte of 0, a level, the last axis.
_CONSTANTS: Final = {
    "eight.one": np.float32(1),
    "eight.middle": np.uint8(128),
    "eight.level": np.float32(1 / _LEVELS),
    "eight.last": np.array([-1], np.int64),
    "eight.least": _LEAST,
}


def write_eight_bits(weights: Path, output: Path) -> None:
    """Write the encoder in `weights` with a scale for each column of its matrices; GELU by tanh."""
    onnx = package("onnx")
    with damage_reported("the encoder", weights, REMEDY):
        model = onnx.load(weights)
    graph = _Graph(onnx, model)
    nodes = [new for node in model.graph.node for new in graph.quantized(node)]
    if not graph.matrices:
        raise InputError("the encoder has no matrices in single precision to quantize", location=weights)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    graph.write_constants()
    if all(entry.domain != _RUNTIME for entry in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(_RUNTIME, 1))
    onnx.save(model, output)


class _Graph:
    def __init__(self, onnx: Any, model: Any) -> None:
        self._onnx, self._graph = onnx, model.graph
        self._version = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
        self._given = {tensor.name: tensor for tensor in model.graph.initializer}
        self.matrices: set[str] = set()
        self.inputs: set[str] = set()

    def quantized(self, node: Any) -> Iterator[Any]:
        tensor = self._given.get(node.input[1]) if node.op_type == "MatMul" else None
        if tensor is not None and tensor.data_type == self._onnx.TensorProto.FLOAT and len(tensor.dims) == 2:
            yield from self._product(node)
            return
        if node.op_type == "Gelu":
            del node.attribute[:]
            node.attribute.append(self._onnx.helper.make_attribute("approximate", "tanh"))
        yield node

    def write_constants(self) -> None:
        read = {name for node in self._graph.node for name in node.input}
        for name in self.matrices - read:
            self._graph.initializer.remove(self._given[name])
        for name, value in _CONSTANTS.items():
            self._keep(name, np.asarray(value))

    def _product(self, node: Any) -> Iterator[Any]:
        (rows, matrix), (result,) = node.input, node.output
        if matrix not in self.matrices:
            values = self._onnx.numpy_helper.to_array(self._given[matrix])
            scale = np.maximum(np.abs(values).max(axis=0) / _LEVELS, _LEAST).astype(np.float32)
            self._keep(f"{matrix}.eight", np.rint(values / scale).astype(np.int8))
            self._keep(f"{matrix}.scale", scale)
            self._keep(f"{matrix}.zero", np.zeros(len(scale), np.int8))
            self.matrices.add(matrix)
        if rows not in self.inputs:
            yield from self._quantize_rows(rows)
        operands = (
            f"{rows}.eight",
            f"{matrix}.eight",
            "eight.one",
            f"{matrix}.scale",
            "eight.middle",
            f"{matrix}.zero",
        )
        yield self._node("MatMulIntegerToFloat", operands, f"{result}.eight.product", domain=_RUNTIME)
        yield self._node("Mul", (f"{result}.eight.product", f"{rows}.eight.scale"), result)

    def _quantize_rows(self, name: str) -> Iterator[Any]:
        high, low, far, scale = (f"{name}.eight.{part}" for part in ("high", "low", "far", "scale"))
        yield self._reduction("ReduceMax", name, high)
        yield self._reduction("ReduceMin", name, low)
        yield self._node("Neg", (low,), f"{low}.negative")
        yield self._node("Max", (high, f"{low}.negative", "eight.least"), far)
        yield self._node("Mul", (far, "eight.level"), scale)
        yield self._node("Reciprocal", (scale,), f"{scale}.reciprocal")
        yield self._node("Mul", (name, f"{scale}.reciprocal"), f"{name}.eight.levels")
        yield self._node(
            "QuantizeLinear", (f"{name}.eight.levels", "eight.one", "eight.middle"), f"{name}.eight"
        )
        self.inputs.add(name)

    def _reduction(self, operation: str, name: str, result: str) -> Any:
        if self._version >= _AXES_ARE_INPUTS:
            return self._node(operation, (name, "eight.last"), result, keepdims=1)
        return self._node(operation, (name,), result, keepdims=1, axes=[-1])

    def _node(self, operation: str, inputs: tuple[str, ...], result: str, **attributes: Any) -> Any:
        return self._onnx.helper.make_node(operation, list(inputs), [result], **attributes)

    def _keep(self, name: str, value: NDArray[Any]) -> None:
        self._graph.initializer.append(self._onnx.numpy_helper.from_array(value, name))


_WEIGHTS = "model.onnx"


@dataclass(frozen=True)
class Quantized:
    """An encoder with quantized weights: lowest cosine with its original, pairs a second, bytes."""

    folder: Path
    cosine: float
    speed: tuple[float, float]
    size: tuple[int, int]
    new: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            key: value for key, value in {**asdict(self), "folder": str(self.folder)}.items() if key != "new"
        }

    def lines(self) -> list[str]:
        (before, after), (large, small) = self.speed, self.size
        return [
            f"{self.folder}: {small / 1e6:.0f} MB, the original {large / 1e6:.0f} MB",
            f"{after:.0f} pairs of short sentences a second of processor time, the original {before:.0f}",
            f"lowest cosine of six sentences with the original's vectors: {self.cosine:.4f}",
        ]


def quantize_encoder(folder: Path, output: Path, overwrite: bool = False) -> Quantized:
    """Writes an encoder with matrices in eight bits into the folder `output`."""
    place = EncoderFolder(folder)
    names, origin = place.files(), origin_of(folder)
    if not place.weights.endswith(".onnx"):
        raise InputError("static vectors have no matrices to quantize", location=folder)
    check_no_overlap(output, [folder])
    if origin is not None:
        check_unchanged(origin, folder)
    origin = origin or Origin(folder.name, "brought by you", "", "not said", place.checksums())
    command = f"quantize {folder.name} ({digest(json.dumps(origin.files, sort_keys=True))[:12]})"
    if is_up_to_date(output, command, overwrite):
        return Quantized(output, *_compared(place, EncoderFolder(output)), new=False)
    with atomic_directory(output) as temporary:
        notices = [name for name in ("NOTICE", "LICENSE") if (folder / name).is_file()]
        texts = [name for name in names if name == place.tokenizer or name.endswith(".json")]
        for name in (*texts, *notices):
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, temporary / name)
        write_eight_bits(folder / place.weights, temporary / _WEIGHTS)
        files = EncoderFolder(temporary).checksums()
        source = f"{origin.source}, matrices in eight bits"
        Origin(output.name, source, origin.revision, origin.licence, files, command).write(temporary)
        result = _compared(place, EncoderFolder(temporary))
    return Quantized(output, *result)


def _compared(
    original: EncoderFolder, quantized: EncoderFolder
) -> tuple[float, tuple[float, float], tuple[int, int]]:
    texts, prompt = [*ENGLISH, *GERMAN], original.prompt
    encoders = [place.load(EncoderSettings()) for place in (original, quantized)]
    first, second = (vectors(encoder, texts, prompt) for encoder in encoders)
    speeds = [pairs_a_second(encoder, prompt) for encoder in encoders]
    sizes = [
        sum((place.path / name).stat().st_size for name in place.files() if not name.endswith(".json"))
        for place in (original, quantized)
    ]
    cosine = float(np.einsum("nd,nd->n", first, second).min())
    return cosine, (speeds[0], speeds[1]), (sizes[0], sizes[1])
