"""Artifacts of a model: dataclasses saved as JSON, with their arrays in .npy files."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from features.basics.errors import InputError
from features.basics.hints import described, fits
from features.storage.damage import Damaged, damage_reported, read_json, typed

REMEDY = "restore the folder from a copy, or train the model again"


class Artifact:
    """A dataclass saved in a model's folder as `file`.json and `file`.FIELD.npy; messages call it `noun`."""

    file: ClassVar[str]
    noun: ClassVar[str]
    absent: ClassVar[str] = ""
    absent_remedy: ClassVar[str] = "train it again"

    def check_arrays(self) -> None:
        """Raises Damaged if the arrays do not match each other."""

    def save(self, folder: Path) -> None:
        content = encode(self, folder / self.file)
        (folder / f"{self.file}.json").write_text(json.dumps(content, indent=1) + "\n", "utf-8")

    @classmethod
    def exists(cls, folder: Path) -> bool:
        return (folder / f"{cls.file}.json").is_file()

    @classmethod
    def load(cls, folder: Path) -> Self:
        path = folder / f"{cls.file}.json"
        if not cls.exists(folder):
            message = cls.absent or f"the model lacks {cls.noun}"
            raise InputError(message, location=folder, remedy=cls.absent_remedy)
        content = read_json(cls.noun, path, REMEDY)
        with damage_reported(cls.noun, path, REMEDY):
            artifact: Self = decode(cls, content, "", folder / cls.file)
            artifact.check_arrays()
        return artifact

    @classmethod
    def find(cls, folder: Path) -> Self | None:
        return cls.load(folder) if cls.exists(folder) else None


def encode(value: Any, stem: Path) -> Any:
    """Converts to JSON values; arrays become STEM.FIELD.npy, objects with `save` folders STEM.FIELD."""
    if isinstance(value, np.ndarray):
        np.save(f"{stem}.npy", value, allow_pickle=False)
        return str(value.dtype)
    if hasattr(value, "to_json"):
        return value.to_json()
    if hasattr(value, "save") and not isinstance(value, Artifact):
        Path(stem).mkdir()
        value.save(stem)
        return type(value).__name__
    if is_dataclass(value):
        names = [entry.name for entry in fields(value) if not entry.name.startswith("_")]
        return {name: encode(getattr(value, name), Path(f"{stem}.{name}")) for name in names}
    if isinstance(value, Mapping):
        return {key: encode(entry, Path(f"{stem}.{key}")) for key, entry in value.items()}
    if isinstance(value, tuple):
        return [encode(entry, Path(f"{stem}.{i}")) for i, entry in enumerate(value)]
    return value


def decode(hint: Any, content: Any, name: str, stem: Path = Path()) -> Any:
    """Converts the output of `encode` to a value of type `hint`, or raises Damaged; `name` is its key."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType) and arguments[1:] == (type(None),):
        return None if content is None else decode(arguments[0], content, name, stem)
    if origin is np.ndarray:
        array = np.load(f"{stem}.npy", allow_pickle=False)
        typed(name, array, np.dtype(get_args(arguments[1])[0]), *[None] * array.ndim)
        return np.asarray(array)
    if hasattr(hint, "from_json"):
        return hint.from_json(content)
    if hasattr(hint, "save") and not issubclass(hint, Artifact):
        return hint.load(stem)
    if is_dataclass(hint):
        return decode_fields(hint, content, f"{name}." if name else "", stem)
    if origin is tuple:
        repeated = arguments[1:] == (...,)
        if not isinstance(content, list) or not (repeated or len(content) == len(arguments)):
            raise Damaged(f"`{name}` must be a list, but is {content!r}"[:300])
        kinds = arguments[:1] * len(content) if repeated else arguments
        return tuple(
            decode(kind, item, f"{name}.{i}", Path(f"{stem}.{i}"))
            for i, (kind, item) in enumerate(zip(kinds, content, strict=True))
        )
    if origin is Mapping and isinstance(content, Mapping):
        return {
            key: decode(arguments[1], value, f"{name}.{key}", Path(f"{stem}.{key}"))
            for key, value in content.items()
        }
    if not fits(content, hint):
        raise Damaged(f"`{name}` must be {described(hint)}, but is {content!r}")
    return content


def decode_fields(kind: Any, content: Any, prefix: str, stem: Path = Path()) -> Any:
    if not isinstance(content, Mapping):
        raise Damaged(f"`{prefix}` must be a JSON object, but is {content!r}")
    hints, entries = get_type_hints(kind), {entry.name: entry for entry in fields(kind) if entry.init}
    for key in content:
        if key not in entries:
            raise Damaged(f"unknown key `{prefix}{key}`")
    for name, entry in entries.items():
        if name not in content and entry.default is MISSING and entry.default_factory is MISSING:
            raise Damaged(f"the key `{prefix}{name}` is missing")
    values = {
        name: decode(hints[name], value, f"{prefix}{name}", Path(f"{stem}.{name}"))
        for name, value in content.items()
    }
    return kind(**values)
