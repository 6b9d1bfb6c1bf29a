"""Files of annotators: JSON and .npy arrays, whose content is checked on reading."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.storage.damage import Damaged, finite, read_json, typed

REMEDY = "train the annotator again"
Arrays = Mapping[str, NDArray[Any]]


def save(path: Path, meta: Mapping[str, Any], **arrays: NDArray[Any]) -> None:
    (path / "meta.json").write_text(json.dumps(dict(meta), ensure_ascii=False), "utf-8")
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array, allow_pickle=False)


def load(path: Path, version: str = "") -> tuple[dict[str, Any], Arrays]:
    """Loads the output of `save`; raises InputError for another `version`."""
    meta = read_json("the annotator", path / "meta.json", REMEDY)
    same_version(str(meta.get("version", "")), version, path)
    files = sorted(path.glob("*.npy"))
    return meta, {file.stem: np.ascontiguousarray(np.load(file, allow_pickle=False)) for file in files}


def same_version(version: str, expected: str, path: Path) -> None:
    if version != expected:
        raise InputError("was trained by another version of this program", location=path, remedy=REMEDY)


def check(holds: object, problem: str) -> None:
    if not holds:
        raise Damaged(problem)


def weights(arrays: Arrays, name: str, n_labels: int) -> NDArray[np.float32]:
    """Hashed weights: a power of two of cells and one more per label, all finite."""
    array = arrays[name]
    typed(name, array, np.float32, None)
    cells = len(array) - n_labels
    check(cells > 0 and cells & (cells - 1) == 0, f"{name} has {len(array)} cells")
    finite(name, array)
    return array


def texts(value: Any, name: str) -> tuple[str, ...]:
    """A list of distinct strings, at least one; raises Damaged for anything else."""
    good = isinstance(value, list) and value and all(isinstance(text, str) for text in value)
    check(good and len(set(value)) == len(value), f"{name} is no list of texts")
    return tuple(value)
