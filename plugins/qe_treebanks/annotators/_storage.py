"""Files of annotators: JSON and .npy arrays, with types, sizes and bounds checked on reading."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.storage.damage import damage_reported

_REMEDY = "train the annotator again"


def save(path: Path, meta: Mapping[str, Any], **arrays: NDArray[Any]) -> None:
    (path / "meta.json").write_text(json.dumps(dict(meta), ensure_ascii=False), "utf-8")
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array, allow_pickle=False)


def load_meta(path: Path, keys: Sequence[str], version: str = "") -> dict[str, Any]:
    """Reads `meta.json`; raises InputError for a missing key, a damaged file, or another `version`."""
    with damage_reported("the annotator", path / "meta.json", _REMEDY):
        meta = json.loads((path / "meta.json").read_text("utf-8"))
    missing = [key for key in keys if not isinstance(meta, dict) or key not in meta]
    if missing:
        raise InputError(f"lacks {', '.join(missing)}", location=path / "meta.json", remedy=_REMEDY)
    check(meta.get("version", "") == version, "it was trained by another version of this program", path)
    return dict(meta)


def load_array(path: Path, name: str, kind: Any, dimensions: int) -> NDArray[Any]:
    """Loads an array; raises InputError for another type or number of dimensions."""
    file = path / f"{name}.npy"
    with damage_reported("the annotator", file, _REMEDY):
        array = np.load(file, allow_pickle=False)
    if array.dtype != np.dtype(kind) or array.ndim != dimensions:
        raise InputError(
            f"must hold {dimensions} dimensions of {np.dtype(kind)}, but holds {array.ndim} of {array.dtype}",
            location=file,
            remedy=_REMEDY,
        )
    return np.ascontiguousarray(array)


def check(holds: bool, name: str, path: Path) -> None:
    if not holds:
        raise InputError(f"cannot be used: {name}", location=path, remedy=_REMEDY)


def weights(path: Path, name: str, n_labels: int) -> NDArray[np.float32]:
    """Loads hashed weights: a power of two of cells and one more per label, all finite."""
    array = load_array(path, name, np.float32, 1)
    cells = len(array) - n_labels
    check(cells > 0 and cells & (cells - 1) == 0, f"{name} has {len(array)} cells", path)
    check(bool(np.isfinite(array).all()), f"{name} holds what is not finite", path)
    return array


def texts(value: Any, name: str, path: Path, min_count: int = 0) -> tuple[str, ...]:
    """A list of distinct strings; raises InputError for anything else."""
    good = isinstance(value, list) and all(isinstance(text, str) for text in value)
    check(
        good and len(set(value)) == len(value) and len(value) >= min_count,
        f"{name} is no list of texts",
        path,
    )
    return tuple(value)


def indices(array: NDArray[Any], limit: int, name: str, path: Path) -> None:
    """Raises InputError if an index is outside 0 .. limit - 1."""
    check(not len(array) or (array.min() >= 0 and array.max() < limit), f"{name} is out of bounds", path)


def starts(array: NDArray[Any], groups: int, items: int, name: str, path: Path) -> None:
    """Raises InputError if an array of starts does not divide `items` into `groups`."""
    good = len(array) == groups + 1 and array[0] == 0 and array[-1] == items and (np.diff(array) >= 0).all()
    check(bool(good), f"{name} do not divide {items} items into {groups}", path)
