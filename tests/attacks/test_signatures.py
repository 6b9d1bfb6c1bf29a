"""Signatures: a model loads where it is required to be signed only as it was signed. A case is a line."""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from features.storage import cache_folder, checksums
from features.storage.files import sha256
from qe.api.models import model_folder
from qe.models import Model, description, sign, verify
from qe.models.pipeline import Candidate
from qe.production.server.protocol import Limits
from qe.production.server.service import Service
from qe.scoring import Options, Scorer
from tests.attacks.models import Workshop, copy_of, edit, sealed_again, unsealed
from tests.factories import Monkeypatch, qe, ran, refuses, score_file

PEM, NO_PASSWORD = serialization.Encoding.PEM, serialization.NoEncryption()
PRIVATE, PUBLIC = serialization.PrivateFormat.PKCS8, serialization.PublicFormat.SubjectPublicKeyInfo


def write_keys(folder: Path, name: str) -> None:
    """NAME.pem and NAME.pub, as OpenSSL writes them."""
    key = ed25519.Ed25519PrivateKey.generate()
    (folder / f"{name}.pem").write_bytes(key.private_bytes(PEM, PRIVATE, NO_PASSWORD))
    (folder / f"{name}.pub").write_bytes(key.public_key().public_bytes(PEM, PUBLIC))


@pytest.fixture
def signed(model: Path, tmp_path: Path) -> Path:
    """A model signed with own.pem; other.pem is somebody else's."""
    write_keys(tmp_path, "own")
    write_keys(tmp_path, "other")
    folder = copy_of(model, tmp_path / "model")
    sign(folder, tmp_path / "own.pem")
    return folder


def signed_by_another(folder: Path) -> None:
    sign(folder, folder.parent / "other.pem")


def signature(**changes: object) -> Callable[[Path], None]:
    return lambda folder: edit(folder / "model.sig", lambda content: {**content, **changes})


def retrained(folder: Path) -> None:
    edit(folder / "model.json", lambda content: {**content, "name": "another"})


def another_file(folder: Path) -> None:
    (folder / "profile.json").write_text("{}")


def a_file_with_its_checksum(folder: Path) -> None:
    another_file(folder)
    content = (folder / "model.sig").read_text()
    (folder / "model.sig").unlink()
    sealed_again(folder)
    (folder / "model.sig").write_text(content)


def own_key_within(folder: Path) -> None:
    """The fingerprint of the required key, the signature of another."""
    wanted = json.loads((folder / "model.sig").read_text())["key"]
    sign(folder, folder.parent / "other.pem")
    signature(key=wanted)(folder)


# What is done to a signed model, and what is said of it.
CASES: dict[str, tuple[Callable[[Path], None], str]] = {
    "no signature": (lambda folder: (folder / "model.sig").unlink(), "the model is not signed"),
    "another key": (signed_by_another, "is signed with the key"),
    "another key under the same name": (own_key_within, "does not go with model.json"),
    "another model.json": (retrained, "does not go with model.json"),
    "another file": (another_file, r"profile\.json has changed"),
    "another file and its checksum": (a_file_with_its_checksum, "does not go with model.json"),
    "checksums left out": (unsealed, "does not go with model.json"),
    "no base64": (signature(signature="?"), "the signature is damaged"),
    "a number": (signature(signature=1), "the signature is damaged"),
    "another signature": (signature(signature=base64.b64encode(bytes(64)).decode()), "does not go with"),
    "an empty signature": (signature(signature=""), "does not go with"),
    "no JSON": (lambda folder: (folder / "model.sig").write_text("x") and None, "the signature is damaged"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_signature_that_does_not_hold(case: str, signed: Path, tmp_path: Path) -> None:
    spoil, message = CASES[case]
    assert verify(signed, tmp_path / "own.pub")
    spoil(signed)
    refuses(message, verify, signed, tmp_path / "own.pub")
    (tmp_path / "in.tsv").write_text("source\ttarget\na\tb\n")
    score = ["score", "-m", signed, "-i", tmp_path / "in.tsv", "-o", tmp_path / "out.tsv"]
    for command in (["models", "verify", signed, "--key"], [*score, "--require-signature"]):
        done = qe(*command, tmp_path / "own.pub")
        assert done.code == 2 and done.out == "" and done.err.count("\n") == 1
    assert not (tmp_path / "out.tsv").exists()


@pytest.mark.slow
def test_keys_that_are_none(signed: Path, tmp_path: Path) -> None:
    other, own = rsa.generate_private_key(65537, 2048), ed25519.Ed25519PrivateKey.generate()
    locked = own.private_bytes(PEM, PRIVATE, serialization.BestAvailableEncryption(b"secret"))
    private_keys = [key.private_bytes(PEM, PRIVATE, NO_PASSWORD) for key in (other, own)]
    public_keys = [key.public_key().public_bytes(PEM, PUBLIC) for key in (other, own)]
    # What stands in the place of the private and the public key.
    keys = {
        "RSA": (private_keys[0], public_keys[0]),
        "exchanged": (public_keys[1], private_keys[1]),
        "encrypted": (locked, locked),
        "no key": (b"secret", b""),
    }
    before = (signed / "model.sig").read_bytes()
    for name, (private, public) in keys.items():
        (tmp_path / "bad.pem").write_bytes(private)
        (tmp_path / "bad.pub").write_bytes(public)
        refuses(r"bad\.pem: (is no|the key is encrypted)", sign, signed, tmp_path / "bad.pem")
        refuses(r"bad\.pub: is no", verify, signed, tmp_path / "bad.pub")
        assert (signed / "model.sig").read_bytes() == before, name
    refuses(r"absent: cannot be read", verify, signed, tmp_path / "absent")


@pytest.mark.parametrize(
    ("change", "message"), [(another_file, r"profile\.json has changed"), (unsealed, "`files` is missing")]
)
def test_a_damaged_model_is_not_signed(
    model: Path, tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    write_keys(tmp_path, "own")
    folder = copy_of(model, tmp_path / "model")
    change(folder)
    refuses(message, sign, folder, tmp_path / "own.pem")
    assert not (folder / "model.sig").exists()


@pytest.mark.slow
def test_a_signed_model_scores_with_its_key_required(signed: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("source\ttarget\na house\tuna casa\n")
    command = ["score", "-m", signed, "-i", tmp_path / "in.tsv", "-o", tmp_path / "out.tsv", "--workers", 1]
    ran(*command, "--require-signature", tmp_path / "own.pub", "--quiet")
    assert len((tmp_path / "out.tsv").read_text().splitlines()) == 2


def altered(folder: Path) -> Path:
    """A large file of the model with another last byte; its name."""
    path = max(folder.rglob("*.npy"), key=lambda file: file.stat().st_size)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    return path


def test_what_is_remembered_of_a_signed_models_files_is_not_asked(
    signed: Path, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.setattr(checksums, "_LARGE", 1)
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))
    path = max(signed.rglob("*.npy"), key=lambda file: file.stat().st_size)
    right = checksums.checksum(path)
    assert altered(signed) == path
    device, inode, *stamp = checksums.identity_of(path.stat())
    cache_folder.keep(f"{device}-{inode}", " ".join([*stamp, right]))
    assert checksums.checksum(path) == right  # the planted entry is one that is believed: without a signature
    description.read(signed)
    refuses(f"{path.name} has changed", verify, signed, tmp_path / "own.pub")


@pytest.mark.parametrize("place", ["checked", "."])
def test_entries_that_others_could_have_written_are_not_believed(
    place: str, signed: Path, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.setattr(checksums, "_LARGE", 1)
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))
    path = altered(signed)
    device, inode, *stamp = checksums.identity_of(path.stat())
    cache_folder.keep(f"{device}-{inode}", " ".join([*stamp, "0" * 64]))
    assert checksums.checksum(path) == "0" * 64
    (tmp_path / "cache" / place).chmod(0o777)
    assert checksums.checksum(path) == sha256(path)


def exchanged(folder: Path, other: Path) -> None:
    """As `mv` does it."""
    folder.rename(folder.with_name("old"))
    shutil.copytree(other, folder)


@pytest.mark.slow
def test_a_model_that_is_exchanged_after_its_signature_was_verified_is_not_loaded(
    signed: Path, workshop: Workshop, tmp_path: Path
) -> None:
    folder, identity = model_folder(str(signed), tmp_path / "own.pub")
    exchanged(signed, workshop.model("another"))
    for load in (
        lambda: Model.load(folder, identity),
        lambda: Scorer.load(folder, Options(), identity=identity),
        lambda: Service.load(folder, Limits(), identity=identity),
        lambda: score_file(folder, [], tmp_path / "out.tsv", identity=identity),
    ):
        refuses("is no longer the model that the command began with", load)


@pytest.mark.slow
def test_a_model_that_is_exchanged_there_and_back_while_it_is_loaded(
    signed: Path, workshop: Workshop, monkeypatch: Monkeypatch
) -> None:
    other, read = workshop.model("another"), description.read

    def exchanges(folder: Path) -> description.Description:
        described = read(folder)
        signed.rename(signed.with_name("old"))
        shutil.copytree(other, signed)
        shutil.rmtree(signed)
        signed.with_name("old").rename(signed)
        return described

    monkeypatch.setattr(description, "read", exchanges)
    refuses("was replaced while it was loaded", Model.load, signed)


@pytest.mark.slow
@pytest.mark.parametrize("key", [True, False], ids=["signed", "not signed"])
def test_worker_processes_load_the_model_that_the_job_began_with(
    key: bool, signed: Path, workshop: Workshop, tmp_path: Path
) -> None:
    rows = tmp_path / "in.tsv"
    rows.write_text("source\ttarget\n" + "a b\tc d\n" * 6, "utf-8")
    folder, identity = model_folder(str(signed), tmp_path / "own.pub" if key else None)
    other = workshop.model("another", Candidate("ridge"))

    def progress(what: str, done: int, total: int | None) -> None:
        if not done:  # the job's own process has loaded its model, and no worker has begun
            exchanged(signed, other)

    def score(**more: Any) -> None:
        score_file(folder, [rows], tmp_path / "out.tsv", identity=identity, workers=2, chunk=2, **more)

    refuses("is no longer the model that the command began with", score, progress=progress)
    assert not (tmp_path / "out.tsv").exists()
    shutil.rmtree(signed)
    signed.with_name("old").rename(signed)
    score()
    assert (tmp_path / "out.tsv").read_text().count("\n") == 7
