"""How a resource is stored in its directory: one kind of file per type of field.

an array           NAME.npy, memory-mapped when it is loaded
a Vocabulary       NAME.txt
Tokens             NAME.txt (the types), NAME_ids.npy and NAME_offsets.npy
tuple[str, ...]    NAME.txt, one text per line
another dataclass  its own fields, next to the others
anything else      an entry of meta.json, which must be able to hold it

NAME is the field's, or `stored` in its metadata. Fields whose names begin with `_` are caches, and are not
saved.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.hints import mistakes
from features.storage.damage import REBUILD, Damaged
from features.storage.files import read_words, write_words
from features.text.tokens import Tokens
from features.text.vocabulary import Vocabulary

T = TypeVar("T")
_META = "meta.json"


class Recorded(dict[str, Any]):
    """Recorded settings of a resource; a missing key raises InputError."""

    def __missing__(self, key: str) -> Any:
        raise InputError(f"a resource is damaged: its {_META} does not say '{key}'", remedy=REBUILD)


def save_fields(path: Path, thing: Any) -> None:
    meta, arrays = dict[str, Any](), dict[str, NDArray[Any]]()
    _write(path, thing, meta, arrays)
    save_arrays(path, meta, **arrays)


def _write(path: Path, thing: Any, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    for attribute, name, hint in _stored(type(thing)):
        value = getattr(thing, attribute)
        if hint is Tokens:
            write_words(path / f"{name}.txt", value.types)
            arrays |= {f"{name}_ids": value.ids, f"{name}_offsets": value.offsets}
        elif isinstance(hint, type) and is_dataclass(hint):
            _write(path, value, meta, arrays)
        elif hint is Vocabulary:
            value.save(path / f"{name}.txt")
        elif hint == tuple[str, ...]:
            write_words(path / f"{name}.txt", value)
        elif get_origin(hint) is np.ndarray:
            arrays[name] = value
        else:
            meta[name] = dict(value) if isinstance(value, Mapping) else value


def load_fields(path: Path, kind: type[T]) -> T:
    return _read(path, kind, *load_arrays(path))


def _read(path: Path, kind: type[T], meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> T:
    values = dict[str, Any]()
    for attribute, name, hint in _stored(kind):
        if hint is Tokens:
            types = read_words(path / f"{name}.txt")
            values[attribute] = Tokens(types, arrays[f"{name}_ids"], arrays[f"{name}_offsets"])
        elif isinstance(hint, type) and is_dataclass(hint):
            values[attribute] = _read(path, hint, meta, arrays)
        elif hint is Vocabulary:
            values[attribute] = Vocabulary.load(path / f"{name}.txt")
        elif hint == tuple[str, ...]:
            values[attribute] = read_words(path / f"{name}.txt")
        elif get_origin(hint) is np.ndarray:
            values[attribute] = arrays[name]
        else:
            values[attribute] = _entry(name, meta[name], hint)
    return kind(**values)


def _entry(name: str, value: Any, hint: Any) -> Any:
    for place, mistake in mistakes(value, hint, name):
        raise Damaged(f"`{place}` in {_META} {mistake}")
    origin = get_origin(hint)
    if origin is Mapping:
        return Recorded(value)
    return tuple(value) if origin is tuple else value


def _stored(kind: Any) -> Iterator[tuple[str, str, Any]]:
    hints = get_type_hints(kind)
    for entry in fields(kind):
        if not entry.name.startswith("_"):
            yield entry.name, entry.metadata.get("stored", entry.name), hints[entry.name]


def save_arrays(path: Path, meta: Mapping[str, Any], **arrays: NDArray[Any]) -> None:
    """Writes `meta.json` and one .npy file per array into the directory `path`."""
    (path / _META).write_text(json.dumps(dict(meta), indent=1, sort_keys=True), "utf-8")
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array, allow_pickle=False)


def load_arrays(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Loads the output of `save_arrays`; arrays memory-mapped, read-only."""
    meta = json.loads((path / _META).read_text("utf-8"))
    arrays = {
        f.stem: np.load(f, mmap_mode="r" if f.stat().st_size > 128 + 64 else None, allow_pickle=False)
        for f in sorted(path.glob("*.npy"))
    }
    return meta, arrays
