"""Encoders fetched from a hub on the loopback interface."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from features.encoding.folder import EncoderFolder, EncoderSettings
from qe.resources.encoders.checked import check_encoder, origin_of
from qe.resources.encoders.fetched import fetch_encoder
from tests.factories import qe, refuses
from tests.features.encoding.made import Tiny, onnx_folder, static_folder
from tests.resources.encoders.hub import COMMIT, Hub, serving

for package in ("huggingface_hub", "onnx", "onnxruntime", "safetensors", "tokenizers"):
    pytest.importorskip(package)

REPOSITORY = "someone/tiny"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    """What a repository of sentence-transformers holds."""
    made = content(onnx_folder(tmp_path / "made", Tiny.of_seed(), cls=True))
    made = {"onnx/model.onnx" if name == "model.onnx" else name: data for name, data in made.items()}
    kinds = ("Transformer", "Pooling", "Dense", "Normalize")
    modules = [{"idx": i, "type": f"sentence_transformers.models.{kind}"} for i, kind in enumerate(kinds)]
    return {
        **made,
        "modules.json": json.dumps(modules).encode(),
        "pytorch_model.bin": b"\x80",
        "README.md": b"#",
    }


@pytest.fixture
def hub(files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setenv("QE_ENCODERS", str(tmp_path / "home"))
    known = {REPOSITORY: files, "intfloat/multilingual-e5-small": files}
    with serving(Hub(known)) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.address)
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        yield served


@pytest.mark.slow
def test_what_is_read_is_fetched_and_recorded(hub: Hub, files: dict[str, bytes], tmp_path: Path) -> None:
    fetched = fetch_encoder(REPOSITORY)
    assert fetched.folder == tmp_path / "home" / "tiny"
    origin = origin_of(fetched.folder)
    assert origin == fetched.origin and (origin.source, origin.revision) == (REPOSITORY, COMMIT)
    assert origin.licence == "mit" and origin.files == EncoderFolder(fetched.folder).checksums()
    got = content(fetched.folder)
    assert {name: got[name] for name in origin.files} == {name: files[name] for name in origin.files}
    assert "pytorch_model.bin" not in got and "README.md" not in got
    assert fetched.notes == ("its layer Dense after pooling is not computed",)
    encoder = EncoderFolder(fetched.folder).load(EncoderSettings())
    assert encoder.encode(["abc"])[0].vector is not None


@pytest.mark.slow
def test_what_was_fetched_is_not_fetched_again(hub: Hub) -> None:
    commands = (["fetch", REPOSITORY, "--revision", "main"], ["list"], ["check", "tiny"])
    done = [qe("encoders", *arguments) for arguments in commands]
    assert [each.code for each in done] == [0, 0, 0]
    out, err = "".join(each.out for each in done), "".join(each.err for each in done)
    assert "model: tiny" in out and "mit" in out and "0123456789ab" in out
    assert "6 dimensions, with vectors of tokens" in out and "layer Dense" in err
    asked = len(hub.fetched)
    assert not fetch_encoder(REPOSITORY, "main").new and len(hub.fetched) == asked
    refuses("holds what `qe encoders fetch .* made", fetch_encoder, REPOSITORY)
    assert fetch_encoder(REPOSITORY, overwrite=True).new


@pytest.mark.slow
def test_the_prompt_that_a_card_asks_for_is_written(hub: Hub) -> None:
    folder = fetch_encoder("multilingual-e5-small").folder
    assert EncoderFolder(folder).prompt == "query: " and check_encoder(folder).prompt == "query: "


@pytest.mark.slow
def test_weights_in_files_beside_and_static_vectors(hub: Hub, tmp_path: Path) -> None:
    static = content(static_folder(tmp_path / "static", Tiny.of_seed()))
    hub.repositories = {
        "a/static": {**static, "0_StaticEmbedding/README.md": b""},
        "a/torch": {**static, "config.json": b"{}"},
    }
    assert set(fetch_encoder("a/static").origin.files) == {"model.safetensors", "tokenizer.json"}
    refuses("a/torch has no weights", fetch_encoder, "a/torch")


@pytest.mark.slow
def test_broken_connections(hub: Hub, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # the client waits before it tries again
    files["onnx/model.onnx_data"] = b"x" * 25_000_000
    hub.stop_after = 16_000_000
    folder = fetch_encoder(REPOSITORY).folder
    assert (folder / "onnx/model.onnx_data").read_bytes() == files["onnx/model.onnx_data"]
    assert any(int(asked.removeprefix("bytes=").split("-")[0]) >= 10_000_000 for asked in hub.ranges)


@pytest.mark.slow
def test_a_fetch_that_was_stopped_keeps_the_files_that_are_whole(
    hub: Hub, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    files["onnx/model.onnx_data"] = b"x" * 2_000_000
    hub.stop_after, hub.fragile = 1_000_000, True
    refuses("what was fetched is kept", fetch_encoder, REPOSITORY)
    assert not (tmp_path / "home" / "tiny").exists()
    hub.stop_after, hub.down = None, False
    fetch_encoder(REPOSITORY)
    assert hub.fetched.count("onnx/model.onnx") == 1
    assert [path.name for path in (tmp_path / "home").iterdir() if path.is_dir()] == ["tiny"]


@pytest.mark.slow
def test_files_that_are_not_what_the_hub_says_are_refused(hub: Hub, tmp_path: Path) -> None:
    hub.claims["onnx/model.onnx"] = "0" * 64
    refuses(r"onnx/model.onnx of someone/tiny@.*not what the hub says", fetch_encoder, REPOSITORY)
    assert not (tmp_path / "home" / "tiny").exists()


@pytest.mark.slow
def test_files_that_differ_from_the_first_fetch_are_refused(hub: Hub, files: dict[str, bytes]) -> None:
    folder = fetch_encoder(REPOSITORY).folder
    shutil.rmtree(folder)
    files["tokenizer.json"] += b"\n"
    refuses(r"tokenizer.json of .*not what was fetched before", fetch_encoder, REPOSITORY)


@pytest.mark.slow
def test_a_folder_that_changed_since_is_refused_by_check(hub: Hub) -> None:
    folder = fetch_encoder(REPOSITORY).folder
    (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes() + b"\n")
    refuses(r"tokenizer.json changed since", check_encoder, folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "revision", "message"),
    [
        ("someone/nothing", None, "no repository someone/nothing"),
        (REPOSITORY, "nowhere", "check --revision"),
        ("LaBsE", None, "unknown encoder 'LaBsE'.*LaBSE"),
        ("someone/", None, "OWNER/NAME.*unknown encoder 'someone/'"),
        ("someone/..", None, "OWNER/NAME.*unknown encoder 'someone/..'"),
    ],
)
def test_what_the_hub_has_not(hub: Hub, name: str, revision: str | None, message: str) -> None:
    refuses(message, fetch_encoder, name, revision)


def test_without_a_network_there_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setenv("QE_ENCODERS", str(tmp_path / "home"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    done = qe("encoders", "fetch", "LaBSE")
    assert done.code == 2 and done.err.count("\n") == 1 and "the hub cannot be reached" in done.err
    assert not (tmp_path / "home").exists()
