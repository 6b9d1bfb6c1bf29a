"""What folders of encoders refuse, a row each: the place with words of the rule, and the call."""

from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features.encoding.folder import EncoderFolder, EncoderSettings
from tests.factories import Monkeypatch, refuses
from tests.features.encoding.made import TOKENS, layered_folder, onnx_folder, static_folder
from tests.features.encoding.test_folder import EXPLOSIVE, LAYERED, SETTINGS, TINY, encoded, with_rules

E, cut = Path("e"), itemgetter(slice(40))


def load(folder: Path, *layers: int) -> Any:
    return EncoderFolder(folder).load(EncoderSettings(layers=layers) if layers else SETTINGS)


def without_tokenizer() -> None:
    (onnx_folder(E, TINY) / "tokenizer.json").unlink()
    load(E)


def changed(make: Any, name: str, change: Any) -> None:
    file = make(E, TINY) / name
    before = file.read_bytes()
    file.write_bytes(change(before))
    assert file.read_bytes() != before
    encoded(E, ["你好"])


def no_unknown(tokenizer: bytes) -> bytes:
    return tokenizer.replace(b'"unk_token": "[UNK]"', b'"unk_token": "[ABSENT]"')


def identity(name: str) -> None:
    """An ONNX model that gives back its only input."""
    import onnx
    from onnx import TensorProto, helper

    given, y = (helper.make_tensor_value_info(each, TensorProto.INT64, [1, 2]) for each in (name, "y"))
    graph = helper.make_graph([helper.make_node("Identity", [name], ["y"])], "none", [given], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, onnx_folder(E, TINY) / "model.onnx")
    load(E)


def table(name: str = "embeddings", **more: Any) -> Any:
    return lambda: encoded(static_folder(E, TINY, name, **more))


REFUSED = [
    ("nothing: no such folder", lambda: load(Path("nothing"))),
    (r"model\.onnx or model\.safetensors", lambda: load(Path())),
    (r"^e: .* holds tokenizer\.json", without_tokenizer),
    (r"^e/tokenizer\.json: .*EOF while parsing", partial(changed, static_folder, "tokenizer.json", cut)),
    (r"^e/tokenizer\.json: .*EOF while parsing", partial(changed, onnx_folder, "tokenizer.json", cut)),
    (r"^e/model\.safetensors: .*Error while", partial(changed, static_folder, "model.safetensors", cut)),
    (r"^e/model\.onnx: .*damaged \(it ends too early", partial(changed, onnx_folder, "model.onnx", cut)),
    (r"model\.safetensors: .*no table named", table("something")),
    (r"model\.safetensors: .*`mapping` must be in 0 \.\. 89", table(mapping=np.array([len(TOKENS)]))),
    ("2 vectors for 90 tokens", table(mapping=np.array([0, 1]))),
    ("3 weights for 90 tokens", table(weights=np.ones(3, np.float32))),
    (r"model\.safetensors: .*not finite", table(weights=np.full(len(TOKENS), np.inf, np.float32))),
    (r"model\.onnx: .*it takes pixels", partial(identity, "pixels")),
    (r"model\.onnx: .*it gives y", partial(identity, "input_ids")),
    ("^e: the encoder .*Missing", partial(changed, static_folder, "tokenizer.json", no_unknown)),
    ("^e: the encoder .*Missing", partial(changed, onnx_folder, "tokenizer.json", no_unknown)),
    ("no inner layer 3", lambda: load(layered_folder(E, LAYERED), 3)),
    ("no inner layer 4", lambda: load(layered_folder(E, LAYERED), 4)),
    (r"model\.onnx: .*0 normalisations", lambda: load(onnx_folder(E, TINY), 1)),
    (r"model\.safetensors: .*no inner layers", lambda: load(static_folder(E, TINY), 1)),
    *((r"e/tokenizer\.json: .* times as long", lambda rules=rules: load(with_rules(E, **rules)))
      for rules in EXPLOSIVE.values()),
]  # fmt: skip


@pytest.mark.parametrize(("location", "call"), REFUSED)
def test_refused(location: str, call: Any, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    refuses(location, call)
