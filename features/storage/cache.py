"""Values that take long to make, kept by name in files and folders of a cache."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.storage.cache_folder import cache_entry
from features.storage.damage import damage_reported
from features.storage.files import atomic_directory, atomic_file
from features.storage.outputs import locked_file

Value = TypeVar("Value")
Arrays = Mapping[str, NDArray[Any]]
_log = logging.getLogger("features.storage")


@dataclass(frozen=True)
class Codec(Generic[Value]):
    """How values of one type are written and read: as files with an ending, or as folders without one."""

    ending: str
    write: Callable[[Path, Value], None]
    read: Callable[[Path], Value]


def _write_arrays(path: Path, arrays: Arrays) -> None:
    with path.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _read_arrays(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as arrays:  # compares the checksum of each
        return dict(arrays)


def _write_texts(path: Path, texts: Sequence[str]) -> None:
    _write_arrays(path, {"texts": np.frombuffer(json.dumps(texts).encode(), np.uint8)})


def _read_texts(path: Path) -> Sequence[str]:
    return tuple(json.loads(_read_arrays(path)["texts"].tobytes()))


ARRAYS: Final = Codec(".npz", _write_arrays, _read_arrays)
TEXTS: Final = Codec(".npz", _write_texts, _read_texts)


@dataclass(frozen=True)
class Cache:
    """Values by kind and name; without a folder, nothing is kept."""

    folder: Path | None

    def get(self, kind: str, name: str, codec: Codec[Value], make: Callable[[], Value]) -> Value:
        """The value, read if it is there; else one process makes it, and others wait.

        A damaged value is made again. Raises InputError if the folder cannot be written.
        """
        if self.folder is None:
            return make()
        path = cache_entry(self.folder, kind, f"{name}{codec.ending}")
        value = _read(path, codec)
        if value is None:
            with locked_file(path, patience=-1):
                value = _read(path, codec)
                if value is None:
                    value = make()
                    with (atomic_file if codec.ending else atomic_directory)(path) as temporary:
                        codec.write(temporary, value)
        return value


def _read(path: Path, codec: Codec[Value]) -> Value | None:
    if not path.exists():
        return None
    try:
        with damage_reported("this entry of the cache", path, "it is made again"):
            return codec.read(path)
    except InputError as error:
        _log.warning("%s", error)
        return None
