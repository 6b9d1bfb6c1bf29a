"""model.json: description of a model, with checksums of all files in its folder; versions that trained it."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.basics.plugins import DISTRIBUTION, kinds_in
from features.basics.plugins import versions as installed
from features.storage.checksums import checksums, identity_of, is_sealed, regular_files, sealed, verify
from features.storage.damage import Damaged, damage_reported, read_json
from features.storage.files import atomic_file, sha256
from features.text.tokenizer import Tokenizer
from qe.data.dataset import LabelScale
from qe.models.artifact import REMEDY, decode
from qe.models.pipeline import Candidate

NAME = "model.json"
SIGNATURE = "model.sig"  # signature of model.json, so model.json cannot list its checksum
FORMAT = 3
_REPLACED = "run the command again, with one model from its beginning to its end"


@dataclass(frozen=True)
class Description:
    """The keys of model.json.

    limits    lowest and highest score; None: no limit
    plugins   distribution -> version of plugins that provide the learner, selector or extractors
    files     relative path -> SHA-256 of every other file
    checksum  SHA-256 of all other keys
    """

    format: int
    name: str
    candidate: Candidate
    features: list[dict[str, Any]]
    feature_names: list[str]
    feature_fingerprint: str
    columns: list[str]
    scale: LabelScale
    limits: tuple[float, float] | None
    tokenizers: tuple[Tokenizer, Tokenizer]
    made_columns: dict[str, str]
    about: dict[str, Any]
    trees: list[dict[str, Any]]
    files: dict[str, str]
    checksum: str
    plugins: dict[str, str] = field(default_factory=dict)


def kinds_of(candidate: Candidate, features: Sequence[Mapping[str, Any]]) -> list[str]:
    params = [candidate.learner_params, candidate.selector_params]
    return [candidate.learner, candidate.selector, *kinds_in([*params, *features])]


def write(folder: Path, content: Mapping[str, Any]) -> None:
    files = checksums(folder)
    for name in (NAME, SIGNATURE):
        files.pop(name, None)
    with atomic_file(folder / NAME) as temporary:
        temporary.write_text(json.dumps(sealed({**content, "files": files}), indent=1) + "\n", "utf-8")


@contextmanager
def one_model(folder: Path, expected: str | None = None) -> Iterator[str]:
    """Ensures that the block loads a single model; yields the SHA-256 of its model.json.

    Raises InputError if it is not `expected`, or if the folder or a file in it is replaced during the block.
    """
    path = folder / NAME
    if not path.is_file():
        raise InputError(f"is not a model directory (no {NAME})", location=folder)
    before, found = _stamps(folder), sha256(path)
    if expected not in (None, found):
        raise InputError(
            "is no longer the model that the command began with", location=folder, remedy=_REPLACED
        )
    try:
        yield found
    except (InputError, OSError):
        _check_unchanged(folder, before)
        raise
    _check_unchanged(folder, before)


def _check_unchanged(folder: Path, stamps: list[tuple[str, ...]]) -> None:
    if _stamps(folder) != stamps:
        raise InputError("was replaced while it was loaded", location=folder, remedy=_REPLACED) from None


def _stamps(folder: Path) -> list[tuple[str, ...]]:
    try:
        places = [folder, *(folder / name for name in regular_files(folder))]
        return [(str(place), *identity_of(place.stat())) for place in places]
    except OSError:  # replaced during the block
        return []


def read(folder: Path, *, recompute: bool = False) -> Description:
    """Reads model.json and verifies the files' checksums, cached ones only without `recompute`.

    Raises InputError if a file differs, or model.json is missing, damaged, or of a newer version.
    """
    described = read_unverified(folder)
    with damage_reported("the model", folder, REMEDY):
        verify(folder, described.files, (NAME, SIGNATURE), recompute=recompute)
    return described


def read_unverified(folder: Path) -> Description:
    path = folder / NAME
    if not path.is_file():
        raise InputError(f"is not a model directory (no {NAME})", location=folder)
    content = read_json(NAME, path, REMEDY)
    if content.get("format") != FORMAT:
        about = content.get("about")
        recorded = about.get("versions") if isinstance(about, dict) else None
        packages = recorded if isinstance(recorded, dict) else {}
        raise InputError(
            f"has model format {content.get('format')!r}, this version reads {FORMAT}",
            location=folder,
            remedy=f"use the version that trained it: {packages.get(DISTRIBUTION, 'unknown')}",
        )
    with damage_reported(NAME, path, REMEDY):
        described: Description = decode(Description, content, "")
        if not is_sealed(content):
            raise Damaged("its content does not go with its checksum")
    return described


# Packages that compute feature columns; another version may give other values.
MAKERS = (
    "jieba", "langcodes", "numba", "onnxruntime", "pythainlp", "rapidfuzz", "regex", "sacremoses",
    "simplemma", "snowballstemmer", "sudachipy", "tokenizers",
)  # fmt: skip
_LEARNING = ("numpy", "scipy", "pandas", "scikit-learn", "lightgbm", "optuna", "mlflow")
_log = logging.getLogger("qe.models")


def versions() -> dict[str, str]:
    return installed(DISTRIBUTION, *_LEARNING, *MAKERS)


def warn_of_versions(about: Mapping[str, Any], path: Path) -> None:
    """Warns (logger `qe.models`) if feature packages differ from those of training."""
    others = differing(about)
    if others:
        told = ", ".join(
            f"{name} {then} (here {now or 'not installed'})" for name, (then, now) in others.items()
        )
        _log.warning("%s: trained with %s: scores may differ; install these, or train again", path, told)


def differing(about: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Package -> versions in training and here, for packages that differ; empty string if absent."""
    recipe = about.get("recipe")  # only in models without labels
    recorded = about.get("versions") or (recipe.get("versions") if isinstance(recipe, Mapping) else None)
    then = recorded if isinstance(recorded, Mapping) else {}
    now = installed(*MAKERS)
    return {
        name: (str(then[name]), now.get(name, ""))
        for name in MAKERS
        if name in then and then[name] != now.get(name)
    }
