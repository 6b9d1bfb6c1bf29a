"""Encoders: transformers in ONNX, run by onnxruntime on the CPU, and tables of static vectors."""

import mmap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.encoding.encoded import NO_LAYERS, NO_SPANS, EncodedText, Floats, Spans, units, within_text
from features.encoding.tokenizing import REMEDY, load_tokenizer, package
from features.storage.damage import Damaged, damage_reported, within

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # kinds of fields
_FIXED: Final = {_EIGHT: 8, _FOUR: 4}


def fields(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Number and bytes of every protobuf field that holds bytes; raises Damaged."""
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
    """Relative paths of a model's files of external tensors; raises InputError for unsafe or damaged ones."""
    with damage_reported("the encoder", weights, REMEDY), weights.open("rb") as stream:
        if not weights.stat().st_size:
            raise Damaged("the file is empty")
        names = tuple(dict.fromkeys(_locations(_mapped(stream), "model", 0)))
    for name in names:
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
    return names


def _mapped(stream: BinaryIO) -> memoryview:
    # Closed when nothing refers to it: what refuses a damaged part holds that part.
    return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


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
    """Names of the states after embeddings and after each layer's second normalisation (BERT, XLM-R)."""
    with damage_reported("the encoder", weights, REMEDY), weights.open("rb") as stream:
        graphs = _values_of(_mapped(stream), _GRAPH)
        normalised = [name for graph in graphs for name in _normalised(graph)]
    if len(normalised) < 3 or len(normalised) % 2 == 0:
        raise InputError(
            f"the layers of this encoder cannot be identified: it has {len(normalised)} normalisations, and "
            "an encoder as BERT has two a layer and one more",
            location=weights,
            remedy="leave `layers` out, or export it with `--opset 17` or higher",
        )
    return tuple(normalised[2::2])


def _normalised(graph: memoryview) -> Iterator[str]:
    for node in _values_of(graph, _NODE):
        parts = dict(reversed(list(fields(node))))  # the first of several results
        if bytes(parts.get(_OPERATION, b"")) == _NORMALISATION:
            yield str(parts[_RESULT], "utf-8")


def _values_of(content: memoryview, field: int) -> Iterator[memoryview]:
    return (value for number, value in fields(content) if number == field)


Pooling = Literal["mean", "cls"]
INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
LONGEST: Final = 512  # tokens, where the tokenizer sets no limit
_SLOW: Final = ("SkipLayerNormFusion",)  # fusions of onnxruntime that take longer than what they fuse
_BESIDE: Final = "session.model_external_initializers_file_folder_path"  # of a model that is not a file
_ERRORS_ONLY: Final = 3  # of onnxruntime's levels of logging


@dataclass(frozen=True, eq=False)
class _Piece:
    text: int
    ids: list[int]
    types: list[int]
    content: NDArray[np.bool_]
    spans: Spans


class _Read(NamedTuple):
    vector: Floats
    tokens: Floats
    spans: Spans
    layers: Floats
    weight: int


@dataclass(frozen=True, eq=False)
class OnnxEncoder:
    """A transformer: vectors of tokens, and of the text by its own output or by pooling.

    A longer text than the encoder can read is read in pieces, and its vector is the mean over all of them.
    Texts of equally many tokens are read together, and none is padded: no text changes another's vector. An
    encoder with dynamic quantization has one scale for all that it reads at once: it reads text by text.

    tokens       the output with vectors of tokens; None if there is none
    text_output  the output with vectors of texts; None to pool those of tokens
    layers       values after inner layers that are pooled, too
    """

    session: Any
    tokenizer: Any
    input_names: tuple[str, ...]
    tokens: str | None
    text_output: str | None
    layers: tuple[str, ...]
    pooling: Pooling
    batch: int

    @classmethod
    def load(
        cls,
        weights: Path,
        tokenizer: Path,
        *,
        pooling: Pooling | None,
        longest: int | None,
        threads: int,
        batch: int,
        layers: tuple[int, ...] = (),
    ) -> "OnnxEncoder":
        """Loads a model; `pooling` None takes the output of whole texts, if there is one, else the mean.

        Raises InputError if a file is damaged, or takes or gives other things than encoders do, and for a
        layer that it does not have.
        """
        loaded = load_tokenizer(tokenizer)
        limit = longest or (loaded.truncation or {}).get("max_length", LONGEST)
        with damage_reported("the tokenizer", tokenizer, REMEDY):
            loaded.enable_truncation(limit, stride=0)
        inner = tuple(_layer(weights, number) for number in layers)
        session = _session(weights, threads, tuple(dict.fromkeys(inner)))
        with weights.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(b"DynamicQuantize") >= 0:
                batch = 1
        with damage_reported("the encoder", weights, REMEDY):
            input_names = tuple(entry.name for entry in session.get_inputs())
            if "input_ids" not in input_names or set(input_names) - set(INPUTS):
                raise Damaged(f"it takes {', '.join(input_names)}; an encoder takes {', '.join(INPUTS)}")
            tokens, of_text = _outputs(session, inner)
        return cls(
            session=session,
            tokenizer=loaded,
            input_names=input_names,
            tokens=tokens,
            text_output=None if pooling and tokens else of_text,
            layers=inner,
            pooling=pooling or "mean",
            batch=batch,
        )

    def encode(self, texts: Sequence[str], prompt: str = "") -> list[EncodedText]:
        read: list[list[_Read]] = [[] for _ in texts]
        pieces = sorted(self._pieces(texts, prompt), key=lambda piece: len(piece.ids))
        for _, equal in groupby(pieces, key=lambda piece: len(piece.ids)):
            group = list(equal)
            for start in range(0, len(group), self.batch):
                self._read(group[start : start + self.batch], read)
        return [_joined(parts) for parts in read]

    def _pieces(self, texts: Sequence[str], prompt: str) -> Iterator[_Piece]:
        for text, encoding in enumerate(self.tokenizer.encode_batch([prompt + text for text in texts])):
            for part in (encoding, *encoding.overflowing):
                spans = within_text(part.offsets, prompt)
                own = (np.array(part.special_tokens_mask) == 0) & ((spans[:, 1] > 0) | (not prompt))
                yield _Piece(text, part.ids, part.type_ids, own, spans)

    def _read(self, pieces: Sequence[_Piece], read: list[list[_Read]]) -> None:
        content = np.array([piece.content for piece in pieces])
        outputs = self._outputs(pieces) if content.size else {}
        states = outputs.get(self.tokens)
        normed = None if states is None else units(states)
        pooled = outputs.get(self.text_output) if self.text_output else _pooled(states, self.pooling)
        inner = [_pooled(outputs.get(name), self.pooling) for name in self.layers]
        if pooled is not None and any(each is not None and each.shape != pooled.shape for each in inner):
            raise Damaged("its layers have other dimensions than its output for texts: leave `layers` out")
        for i, piece in enumerate(pieces):
            if pooled is None or not content[i].any():
                continue
            tokens = np.empty((0, 0), np.float32) if normed is None else normed[i][content[i]]
            spans = NO_SPANS if normed is None else piece.spans[content[i]]
            weight = len(piece.ids) if self.pooling == "mean" else 1
            layers = np.array([each[i] for each in inner if each is not None]) if inner else NO_LAYERS
            read[piece.text].append(_Read(pooled[i], tokens, spans, layers, weight))

    def _outputs(self, pieces: Sequence[_Piece]) -> dict[str | None, Floats]:
        ids = np.array([piece.ids for piece in pieces], np.int64)
        types = np.array([piece.types for piece in pieces], np.int64)
        rows = len(ids)
        if ids.shape == (1, 1):  # products with a single row are computed, and round, in another way
            ids, types = np.repeat(ids, 2, axis=0), np.repeat(types, 2, axis=0)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
        asked = (self.text_output, self.tokens, *self.layers)
        wanted = list(dict.fromkeys(name for name in asked if name is not None))
        values = self.session.run(wanted, {name: feed[name] for name in self.input_names})
        return {
            name: np.asarray(value[:rows], np.float32) for name, value in zip(wanted, values, strict=True)
        }


def _layer(weights: Path, number: int) -> str:
    outputs = layer_outputs(weights)
    if not 1 <= number < len(outputs):
        raise InputError(
            f"the encoder has no inner layer {number}",
            location=weights,
            remedy=f"name layers from 1 to {len(outputs) - 1} (the last, {len(outputs)}, is read anyway)",
        )
    return outputs[number - 1]


def _session(weights: Path, threads: int, inner: tuple[str, ...]) -> Any:
    runtime = package("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = _ERRORS_ONLY
    options.use_deterministic_compute = True
    with damage_reported("the encoder", weights, REMEDY):
        content: str | bytes = str(weights)
        if inner:
            options.add_session_config_entry(_BESIDE, str(weights.parent))
            outputs = b"".join(message(_OUTPUT, message(_NAME, name.encode())) for name in inner)
            content = weights.read_bytes() + message(_GRAPH, outputs)
        session = runtime.InferenceSession(
            content, options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOW
        )
    session.disable_fallback()  # there is no other provider, for which it keeps the model's bytes
    vars(session)["_model_bytes"] = None
    return session


def _outputs(session: Any, inner: Collection[str]) -> tuple[str | None, str | None]:
    own = [entry for entry in session.get_outputs() if entry.name not in inner]
    ranks: Mapping[str, int] = {entry.name: len(entry.shape) for entry in own}
    tokens = next((name for name, rank in ranks.items() if rank == 3), None)
    of_text = ranks.get("sentence_embedding") == 2 and "sentence_embedding"
    if tokens is None and not of_text:
        shown = ", ".join(f"{name} of {rank} axes" for name, rank in ranks.items())
        raise Damaged(f"it gives {shown}; an encoder gives vectors of tokens, or a sentence_embedding")
    return tokens, of_text or None


def _pooled(hidden: Floats | None, pooling: Pooling) -> Floats | None:
    if hidden is None:
        return None
    return np.asarray(hidden[:, 0] if pooling == "cls" else hidden.mean(axis=1), np.float32)


def _joined(parts: Sequence[_Read]) -> EncodedText:
    if not parts:
        return EncodedText(None, np.empty((0, 0), np.float32), NO_SPANS)
    if len(parts) == 1:
        return EncodedText(parts[0].vector, parts[0].tokens, parts[0].spans, parts[0].layers)
    weights = [part.weight for part in parts]
    mean, layers = (
        np.average(values, axis=0, weights=weights).astype(np.float32)
        for values in ([part.vector for part in parts], [part.layers for part in parts])
    )
    tokens, spans = ([part.tokens for part in parts], [part.spans for part in parts])
    return EncodedText(mean, np.concatenate(tokens), np.concatenate(spans), layers)


TABLES: Final = ("embeddings", "embedding.weight")  # of model2vec, and of sentence-transformers


@dataclass(frozen=True, eq=False)
class StaticEncoder:
    """The mean of the vectors (v, d), multiplied by their weights, of a text's known tokens."""

    vectors: Floats
    tokenizer: Any
    unknown: int | None

    @classmethod
    def load(cls, weights: Path, tokenizer: Path) -> "StaticEncoder":
        loaded = load_tokenizer(tokenizer)
        loaded.no_truncation()
        safetensors = package("safetensors.numpy")
        with damage_reported("the encoder", weights, REMEDY):
            vectors = _table(safetensors.load_file(weights))
            if len(vectors) < loaded.get_vocab_size():
                raise Damaged(f"{len(vectors)} vectors for {loaded.get_vocab_size()} tokens")
        unknown = getattr(loaded.model, "unk_token", None)
        return cls(vectors, loaded, None if unknown is None else loaded.token_to_id(unknown))

    def encode(self, texts: Sequence[str], prompt: str = "") -> list[EncodedText]:
        given = [prompt + text for text in texts]
        encodings = self.tokenizer.encode_batch(given, add_special_tokens=False)
        encoded = []
        for encoding in encodings:
            ids = np.array(encoding.ids, np.int64)
            known = ids != self.unknown
            vectors, spans = self.vectors[ids[known]], within_text(encoding.offsets, prompt)[known]
            shown = vectors.any(axis=1) & (spans[:, 1] > 0)
            if (spans[:, 1] > 0).any():
                encoded.append(EncodedText(vectors.mean(axis=0), units(vectors[shown]), spans[shown]))
            else:
                encoded.append(EncodedText(None, vectors[:0], NO_SPANS))
        return encoded


def _table(tensors: dict[str, NDArray[Any]]) -> Floats:
    table = next((tensors[name] for name in TABLES if name in tensors), None)
    if table is None or table.ndim != 2 or not table.size:
        raise Damaged(f"no table named {' or '.join(TABLES)} among {', '.join(tensors) or 'no tensors'}")
    vectors = np.asarray(table, np.float32)
    if "mapping" in tensors:
        rows = tensors["mapping"].astype(np.int64).ravel()
        within("mapping", rows, 0, len(vectors))
        vectors = vectors[rows]
    if "weights" in tensors:
        weights = tensors["weights"].astype(np.float32).ravel()
        if len(weights) != len(vectors):
            raise Damaged(f"{len(weights)} weights for {len(vectors)} tokens")
        vectors = vectors * weights[:, np.newaxis]
    if not np.isfinite(vectors).all():
        raise Damaged("the table holds numbers that are not finite")
    return vectors
