"""Tiny encoders, and the same computed by plain numpy."""

import json
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
TOKENS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *string.ascii_letters,
    *string.digits,
    *".,!?;:()[]'\"&<>/|-%$¿¡«»",
]
UNKNOWN, BEGIN, END = 1, 2, 3
WIDTH = 6


@dataclass(frozen=True)
class Tiny:
    """The tables of an encoder of letters: vectors of tokens, and of one layer of attention."""

    vectors: Floats
    output: Floats

    @classmethod
    def of_seed(cls, seed: int = 0) -> "Tiny":
        generator = np.random.default_rng(seed)
        draw = [generator.normal(size=shape) for shape in ((len(TOKENS), WIDTH), (WIDTH, WIDTH))]
        return cls(draw[0].astype(np.float32), draw[1].astype(np.float32))

    def hidden(self, ids: Sequence[int]) -> NDArray[np.float64]:
        """(length, width) attention of the token vectors on each other, then a layer of tanh."""
        x = self.vectors[list(ids)].astype(np.float64)
        scores = np.exp(x @ x.T)
        return np.tanh((scores / scores.sum(axis=1, keepdims=True)) @ x @ self.output)


def ids_of(text: str) -> list[int]:
    """Letters as ids; white space is nothing."""
    return [TOKENS.index(c) if c in TOKENS else UNKNOWN for c in text if not c.isspace()]


def framed(text: str) -> list[int]:
    """What the encoder reads of a text: its letters between the marks of begin and end."""
    return [BEGIN, *ids_of(text), END]


def write_tokenizer(path: Path, longest: int | None = None) -> None:
    """A vocabulary of letters, with marks of begin and end."""
    import tokenizers
    from tokenizers import Regex, models, pre_tokenizers, processors

    tokenizer = tokenizers.Tokenizer(models.WordLevel({t: i for i, t in enumerate(TOKENS)}, "[UNK]"))
    letters = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), letters])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", BEGIN), ("[SEP]", END)]
    )
    if longest:
        tokenizer.enable_truncation(longest)
    tokenizer.save(str(path))


def static_folder(folder: Path, tiny: Tiny, name: str = "embeddings", **more: NDArray[np.generic]) -> Path:
    """As model2vec writes it."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True)
    write_tokenizer(folder / "tokenizer.json")
    save_file({name: tiny.vectors, **more}, folder / "model.safetensors")
    return folder


def onnx_folder(
    folder: Path, tiny: Tiny, *, sentence: bool = False, tokens: bool = True, cls: bool = False,
    longest: int | None = None,
) -> Path:  # fmt: skip
    """As exporters write it. `sentence`: with an output for texts, the first vector doubled."""
    from onnx import TensorProto, helper

    node = helper.make_node
    nodes = [
        node("Gather", ["vectors", "input_ids"], ["x"]),
        node("Transpose", ["x"], ["xt"], perm=[0, 2, 1]),
        node("MatMul", ["x", "xt"], ["scores"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["mask", "one"], ["keys"]),
        node("Log", ["keys"], ["bias"]),
        node("Add", ["scores", "bias"], ["masked"]),
        node("Softmax", ["masked"], ["weights"], axis=-1),
        node("MatMul", ["weights", "x"], ["mixed"]),
        node("MatMul", ["mixed", "output"], ["linear"]),
        node("Tanh", ["linear"], ["last_hidden_state"]),
        node("Gather", ["last_hidden_state", "zero"], ["first"], axis=1),
        node("Add", ["first", "first"], ["sentence_embedding"]),
    ]
    tables = {
        "vectors": tiny.vectors,
        "output": tiny.output,
        "one": np.array([1], np.int64),
        "zero": np.array(0, np.int64),
    }
    value = helper.make_tensor_value_info
    outputs = []
    if tokens:
        outputs.append(value("last_hidden_state", TensorProto.FLOAT, ["batch", "length", WIDTH]))
    if sentence:
        outputs.append(value("sentence_embedding", TensorProto.FLOAT, ["batch", WIDTH]))
    _write(folder, nodes, ("input_ids", "attention_mask"), outputs, tables, longest)
    if cls:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    return folder


@dataclass(frozen=True)
class Layered:
    """The tables of an encoder of letters built as BERT: two normalisations a layer, one before all."""

    vectors: Floats
    maps: Floats  # (layers, 2, width, width)

    @classmethod
    def of_seed(cls, layers: int = 3, seed: int = 0) -> "Layered":
        generator = np.random.default_rng(seed)
        draw = [generator.normal(size=size) for size in ((len(TOKENS), WIDTH), (layers, 2, WIDTH, WIDTH))]
        return cls(draw[0].astype(np.float32), draw[1].astype(np.float32))

    def states(self, ids: Sequence[int]) -> list[NDArray[np.float64]]:
        """(length, width) behind each layer."""
        x, result = _normalised(self.vectors[list(ids)].astype(np.float64)), []
        for mixing, mapping in self.maps.astype(np.float64):
            x = _normalised(x + x.mean(axis=0) @ mixing)
            x = _normalised(x + np.tanh(x @ mapping))
            result.append(x)
        return result


def _normalised(x: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + 1e-5)


def layered_folder(folder: Path, layered: Layered, *, longest: int | None = None) -> Path:
    """A folder as exporters write it: its one output is the last layer."""
    from onnx import TensorProto, helper

    node = helper.make_node
    tables = {"vectors": layered.vectors, "ones": np.ones(WIDTH, np.float32)}
    nodes = [
        node("Gather", ["vectors", "input_ids"], ["read"]),
        node("LayerNormalization", ["read", "ones"], ["state0"]),
    ]
    for k, (mixing, mapping) in enumerate(layered.maps):
        tables |= {f"mixing{k}": mixing, f"mapping{k}": mapping}
        nodes += [
            node("ReduceMean", [f"state{k}"], [f"mean{k}"], axes=[1]),
            node("MatMul", [f"mean{k}", f"mixing{k}"], [f"mixed{k}"]),
            node("Add", [f"state{k}", f"mixed{k}"], [f"sum{k}"]),
            node("LayerNormalization", [f"sum{k}", "ones"], [f"middle{k}"]),
            node("MatMul", [f"middle{k}", f"mapping{k}"], [f"mapped{k}"]),
            node("Tanh", [f"mapped{k}"], [f"tanh{k}"]),
            node("Add", [f"middle{k}", f"tanh{k}"], [f"outer{k}"]),
            node("LayerNormalization", [f"outer{k}", "ones"], [f"state{k + 1}"]),
        ]
    nodes.append(node("Identity", [f"state{len(layered.maps)}"], ["last_hidden_state"]))
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", WIDTH])
    _write(folder, nodes, ("input_ids",), [output], tables, longest)
    return folder


def _write(
    folder: Path, nodes: list[Any], inputs: Sequence[str], outputs: list[Any],
    tables: Mapping[str, NDArray[np.generic]], longest: int | None,
) -> None:  # fmt: skip
    """A new folder with the graph of these nodes, and the tokenizer."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "made",
        [value(name, TensorProto.INT64, ["batch", "length"]) for name in inputs],
        outputs,
        [numpy_helper.from_array(table, name) for name, table in tables.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    folder.mkdir(parents=True)
    write_tokenizer(folder / "tokenizer.json", longest)
    onnx.save(model, folder / "model.onnx")
