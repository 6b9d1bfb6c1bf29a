"""Features that another program computed, read from files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import real
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.storage.files import digest, read_lines, sha256

_ID = re.compile(r"(.+)-([1-9][0-9]*)")


@dataclass(frozen=True, eq=False)
class Precomputed(Extractor):
    """One file of numbers per split: row N of the file for split S belongs to the segment `S-N`.

    files    split -> file: one segment per line, values separated by tabs (one more at the end of a line
             does no harm), plain or gzip; `NaN` is undefined
    columns  their names: `baseline17` (the official files), `header` (the first line of every file has
             them), or a list
    prefix   put before every name, for files used together with features of the same names

    Raises InputError, with file and line, for a wrong number of values, values that are not finite numbers or
    NaN, and headers that differ; for names that repeat; and for a segment that no row belongs to.
    """

    plain: ClassVar[str] = "figures that you have given"

    reads_files: ClassVar[bool] = True

    files: Mapping[str, str | Path]
    columns: Literal["baseline17", "header"] | Sequence[str]
    prefix: str = ""
    _tables: dict[str, FloatArray] = field(default_factory=dict, init=False, repr=False)
    _features: list[Feature] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.files:
            raise InputError(
                "precomputed features need `files`", remedy="for example {train: FILE, test: FILE}"
            )

    @property
    def features(self) -> Sequence[Feature]:
        """Reads the first line of every file where it has the names."""
        if self._features:
            return self._features
        if self.columns == "baseline17":
            from features.baseline17 import COLUMNS  # with its resources, which are not needed here

            named = [(c.name, c.description, c.unit) for c in COLUMNS]
        else:
            names = self._header() if self.columns == "header" else self.columns
            named = [(name, "read from a file", "as in the file") for name in names]
        names = [name for name, _, _ in named]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"the column '{name}' occurs {names.count(name)} times")
        origin = f"files {', '.join(Path(f).name for f in self.files.values())}"
        self._features.extend(Feature(self.prefix + name, what, origin, unit) for name, what, unit in named)
        return self._features

    def _header(self) -> list[str]:
        headers = {path: _fields(next(read_lines(Path(path)), "")) for path in self.files.values()}
        first, *others = headers.items()
        for path, names in others:
            if names != first[1]:
                raise InputError(
                    f"the header must be that of {first[0]}, but it differs from it", location=f"{path}:1"
                )
        return first[1]

    def extract(self, segments: Segments) -> FloatArray:
        result = np.empty((len(segments), len(self.names)))
        for i, identifier in enumerate(segments.id):
            match = _ID.fullmatch(identifier)
            if match is None or match[1] not in self.files:
                raise InputError(
                    f"no file of precomputed features has a row for the segment '{identifier}'",
                    remedy=f"ids must be SPLIT-NUMBER with SPLIT one of {', '.join(self.files)}; add a file "
                    "for the split under `files`, or compute the features from text (kind: baseline17)",
                )
            split, row = match[1], int(match[2]) - 1
            table = self._table(split)
            if row >= len(table):
                raise InputError(
                    f"segment '{identifier}' needs row {row + 1}, but there are {len(table)} rows",
                    location=str(self.files[split]),
                    remedy="give the file that belongs to this dataset, one row per segment",
                )
            result[i] = table[row]
        return result

    def _table(self, split: str) -> FloatArray:
        if split not in self._tables:
            path, width, rows = Path(self.files[split]), len(self.names), []
            for number, line in enumerate(read_lines(path), start=1):
                if number == 1 and self.columns == "header":
                    continue
                values = _fields(line)
                if len(values) != width:
                    raise InputError(
                        f"expected {width} values separated by tabs, but got {len(values)}",
                        location=f"{path}:{number}",
                    )
                rows.append([_number(value, path, number) for value in values])
            self._tables[split] = np.array(rows, np.float64).reshape(len(rows), width)
        return self._tables[split]

    def content_fingerprint(self) -> str:
        return digest(*self.checksums().items())

    def checksums(self) -> Mapping[str, str]:
        return {split: sha256(Path(path)) for split, path in sorted(self.files.items())}


def _fields(line: str) -> list[str]:
    return line.removesuffix("\t").split("\t")


def _number(value: str, path: Path, line: int) -> float:
    try:
        number = real(value)
    except ValueError:
        raise InputError(f"{value!r} is not a number", location=f"{path}:{line}") from None
    if np.isinf(number):
        raise InputError(
            f"{value!r} is not finite", location=f"{path}:{line}", remedy="write NaN for what is undefined"
        )
    return number
