"""Signatures of models: Ed25519 over model.json, which contains all other files' checksums."""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from features.basics.errors import InputError
from features.storage.damage import Damaged, damage_reported, read_json
from features.storage.files import atomic_file
from qe.models import description
from qe.models.artifact import REMEDY
from qe.models.description import SIGNATURE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_CONTEXT = b"mtqe model 1\n"  # signed prefix of model.json, so that no other signed text passes for a model
_MAKE_KEY = "make one with `openssl genpkey -algorithm ed25519 -out key.pem`"
_MAKE_PUBLIC = "make one with `openssl pkey -in key.pem -pubout -out key.pub`"


def sign(folder: Path, key: Path) -> str:
    """Signs the model in `folder` with a private key (PEM); returns the key's fingerprint.

    Raises InputError for a damaged model or an unusable key.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    private = _read_key(key, partial(load_pem_private_key, password=None), "private", _MAKE_KEY)
    if not isinstance(private, Ed25519PrivateKey):
        raise InputError("is no Ed25519 key", location=key, remedy=_MAKE_KEY)
    description.read(folder)
    signature = private.sign(_CONTEXT + (folder / description.NAME).read_bytes())
    fingerprint = _fingerprint(private.public_key())
    content = {"key": fingerprint, "signature": base64.b64encode(signature).decode()}
    with atomic_file(folder / SIGNATURE) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    return fingerprint


def verify(folder: Path, key: Path) -> str:
    """Verifies a model's signature with a public key (PEM); returns the key's fingerprint.

    Every file is read, even if its checksum is cached. Raises InputError if the model is unsigned, was signed
    with another key or has changed since, and if the key is unusable.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    public = _read_key(key, load_pem_public_key, "public", _MAKE_PUBLIC)
    if not isinstance(public, Ed25519PublicKey):
        raise InputError("is no Ed25519 key", location=key, remedy=_MAKE_PUBLIC)
    fingerprint = _fingerprint(public)
    path = folder / SIGNATURE
    if not path.is_file():
        raise InputError("the model is not signed", location=folder, remedy="sign it: `qe models sign`")
    content = read_json("the signature", path, "sign the model again")
    with damage_reported("the signature", path, "sign the model again"):
        signature = _decoded(content["signature"])
    if content.get("key") != fingerprint:
        raise InputError(
            f"the model is signed with the key {content.get('key')}, not {fingerprint}",
            location=folder,
            remedy="give the public key of who signed it, if you trust them",
        )
    try:
        public.verify(signature, _CONTEXT + (folder / description.NAME).read_bytes())
    except InvalidSignature:
        raise InputError(
            "the signature does not go with model.json, which has changed since",
            location=folder,
            remedy=REMEDY,
        ) from None
    description.read(folder, recompute=True)
    return fingerprint


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, binascii.Error):
        raise Damaged("no signature in base64") from None


def _fingerprint(key: "Ed25519PublicKey") -> str:
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def _read_key(path: Path, load: Callable[[bytes], Any], noun: str, remedy: str) -> Any:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", location=path, remedy="give a key") from None
    except TypeError:
        remedy = "decrypt it with `openssl pkey`"
        raise InputError("the key is encrypted", location=path, remedy=remedy) from None
    except ValueError:
        raise InputError(f"is no {noun} key (PEM)", location=path, remedy=remedy) from None
