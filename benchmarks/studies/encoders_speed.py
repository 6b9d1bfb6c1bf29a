"""Cost of the family `encoder` beside onnxruntime alone, and a loop of padded batches.

python benchmarks/studies/encoders_speed.py                  # 300 segments of the WMT 2012 training set

The encoder is made here: a transformer of the size of all-MiniLM-L6 (6 layers, 384 wide) with random weights,
as its time does not depend on what it has learned. Processor time on one thread, around `extract` of a fitted
extractor for segments not seen before. The alternative is a loop that sorts texts by length, pads batches
of 32 and takes the mean, and does nothing else.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from features.core.segments import Segments
from features.encoder import Encoder

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
LAYERS, WIDTH, HEADS, INNER, VOCABULARY = 6, 384, 12, 1536, 8000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    training = options.data / "wmt12-qe" / "training_set"
    names = ("source.eng", "target_system.spa")
    source, target = (lines(training / name)[: options.rows] for name in names)
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_tokenizer(folder / "tokenizer.json", [*source, *target])
        write_transformer(folder / "model.onnx")
        results = [measured(folder, Segments(source, target)) for _ in range(options.repeats)]
    best = min(results, key=lambda result: result["extract"])
    print(json.dumps({key: round(value, 3) for key, value in best.items()}, indent=1))
    print(f"overhead over onnxruntime's own time: {100 * (best['extract'] / best['onnxruntime'] - 1):.1f} %")
    print(f"against a plain loop of padded batches: {100 * (best['extract'] / best['plain'] - 1):+.1f} %")


def lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text("utf-8").splitlines())


def measured(folder: Path, segments: Segments) -> dict[str, float]:
    """Processor seconds: the family, its runs of onnxruntime, and the plain loop."""
    extractor = Encoder(folder).fit(segments.take(range(20)), {"scores": np.arange(20.0)})
    encoder: Any = extractor._encoder.encoder  # type: ignore[attr-defined]
    timed = Timed(encoder.session)
    vars(encoder)["session"] = timed
    rest = segments.take(range(20, len(segments)))
    whole = seconds(lambda: extractor.extract(rest))
    plain = seconds(lambda: padded(timed.session, encoder.tokenizer, [*rest.source, *rest.target]))
    return {"segments": float(len(rest)), "extract": whole, "onnxruntime": timed.total, "plain": plain}


class Timed:
    """A session that says how long it ran."""

    def __init__(self, session: Any) -> None:
        self.session, self.total = session, 0.0

    def run(self, outputs: list[str], feed: dict[str, Any]) -> Any:
        started = time.process_time()
        values = self.session.run(outputs, feed)
        self.total += time.process_time() - started
        return values


def padded(session: Any, tokenizer: Any, texts: list[str], batch: int = 32) -> None:
    """What a loop does that sorts texts by length, pads batches and takes the mean."""
    encodings = sorted(tokenizer.encode_batch(list(dict.fromkeys(texts))), key=lambda e: len(e.ids))
    for start in range(0, len(encodings), batch):
        some = encodings[start : start + batch]
        longest = max(len(e.ids) for e in some)
        ids = np.array([e.ids + [0] * (longest - len(e.ids)) for e in some], np.int64)
        mask = np.array([[1] * len(e.ids) + [0] * (longest - len(e.ids)) for e in some], np.int64)
        (hidden,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
        (hidden * mask[..., np.newaxis]).sum(axis=1) / mask.sum(axis=1, keepdims=True)


def seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def write_tokenizer(path: Path, texts: list[str]) -> None:
    """Byte pairs of these texts."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=marks))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(path))


def write_transformer(path: Path) -> None:
    """Attention of several heads with residuals, layer normalisation and a layer of Gelu."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    generator, tables, nodes = np.random.default_rng(0), {}, []

    def table(name: str, *shape: int) -> str:
        tables[name] = (generator.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)
        return name

    def constant(name: str, value: Any) -> str:
        tables[name] = value
        return name

    def node(kind: str, *inputs: str, **attributes: Any) -> str:
        output = f"v{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def dense(x: str, name: str, rows: int, columns: int) -> str:
        return node("Add", node("MatMul", x, table(f"{name}.w", rows, columns)), table(f"{name}.b", columns))

    def normed(x: str, name: str) -> str:
        scale = constant(f"{name}.s", np.ones(WIDTH, np.float32))
        return node(
            "LayerNormalization", x, scale, constant(f"{name}.z", np.zeros(WIDTH, np.float32)), axis=-1
        )

    split = constant("split", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
    merge = constant("merge", np.array([0, 0, WIDTH], np.int64))
    mask = node("Cast", "attention_mask", to=TensorProto.FLOAT)
    mask = node("Unsqueeze", mask, constant("axes", np.array([1, 2], np.int64)))
    bias = node("Mul", node("Sub", mask, constant("one", np.float32(1))), constant("much", np.float32(1e9)))
    x = node("Gather", table("embeddings", VOCABULARY, WIDTH), "input_ids")
    for layer in range(LAYERS):
        heads = []
        for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            projected = dense(x, f"{layer}.{name}", WIDTH, WIDTH)
            heads.append(node("Transpose", node("Reshape", projected, split), perm=order))
        root = constant(f"{layer}.root", np.float32(np.sqrt(WIDTH // HEADS)))
        scores = node("Add", node("Div", node("MatMul", heads[0], heads[1]), root), bias)
        mixed = node("MatMul", node("Softmax", scores, axis=-1), heads[2])
        merged = node("Reshape", node("Transpose", mixed, perm=[0, 2, 1, 3]), merge)
        x = normed(node("Add", x, dense(merged, f"{layer}.o", WIDTH, WIDTH)), f"{layer}.n1")
        inner = node("Gelu", dense(x, f"{layer}.f", WIDTH, INNER))
        x = normed(node("Add", x, dense(inner, f"{layer}.g", INNER, WIDTH)), f"{layer}.n2")
    nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "transformer",
        [value(name, TensorProto.INT64, ["batch", "length"]) for name in ("input_ids", "attention_mask")],
        [value("last_hidden_state", TensorProto.FLOAT, ["batch", "length", WIDTH])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in tables.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, path)


if __name__ == "__main__":
    main()
