"""Columns of the user's table as features: numbers, and categories value by value."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, unknown_name
from features.basics.hints import Count
from features.basics.numerals import is_finite, real
from features.core.extractor import VALUE, Extractor, Feature, FittedExtractor, TableColumn
from features.core.segments import Segments, Texts
from features.storage.damage import read_json

OTHER: Final = "other"  # stands for all values of a category that have no feature of their own
_FILE: Final = "categories.json"
_ORIGIN: Final = "the table"


@dataclass(frozen=True, eq=False)
class Columns(Extractor):
    """Columns of the table by their names: scores of other metrics, match rates, domains, engines.

    names       columns of numbers; values may be missing, and a second feature tells where they are
    categories  columns of texts: a feature for each value of `min_rows` rows, and one for all others
    optional    those of both that a table may lack: all values are missing then
    values      category -> its values that have a feature; default: those of the training rows. In a fold
                whose training rows lack one, it counts as `other`.
    min_rows    rows that a value of a category must have in training

    A number is NaN if it is missing. Raises InputError for text that is no finite number.
    """

    plain: ClassVar[str] = "figures of the table"

    names: Sequence[str] = ()  # type: ignore[assignment]
    categories: Sequence[str] = ()
    optional: Sequence[str] = ()
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    min_rows: Count = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = [*self.names, *self.categories]
        if not columns:
            raise InputError("`columns` names no column", remedy="give `names`, `categories` or both")
        for name in columns:
            if columns.count(name) > 1:
                raise InputError(f"`columns` names the column '{name}' twice")
        for name in self.optional:
            if name not in columns:
                raise unknown_name("optional column", name, columns)
        for name in self.values:
            if name not in self.categories:
                raise unknown_name("category", name, self.categories)

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _WithCategories if settings.get("categories") else cls

    @property
    def features(self) -> Sequence[Feature]:
        return tuple(self._features_of_numbers())

    def _features_of_numbers(self) -> Iterator[Feature]:
        for name in self.names:
            description = f"column '{name}'; undefined if it is missing"
            yield Feature(
                f"column_{name}", description, _ORIGIN, "as in the table", f"{_plain(name)} {VALUE}"
            )
            yield _missing(name)

    def extract(self, segments: Segments) -> FloatArray:
        blocks = []
        for name in self.names:
            numbers = np.array(
                [_number(name, *cell) for cell in zip(segments.id, self._texts(segments, name), strict=True)],
                np.float64,
            )
            blocks += [numbers, np.isnan(numbers).astype(np.float64)]
        return np.stack(blocks, axis=1) if blocks else np.empty((len(segments), 0))

    def _texts(self, segments: Segments, name: str) -> Texts:
        """The texts of a column, blanks made alike; empty ones if the table may lack it and does."""
        if name in self.optional and name not in dict(segments.columns()):
            return ("",) * len(segments)
        return tuple(" ".join(text.split()) for text in segments.require(name))

    def requires(self) -> tuple[str, ...]:
        return tuple(name for name in (*self.names, *self.categories) if name not in self.optional)

    def optional_columns(self) -> tuple[str, ...]:
        return tuple(self.optional)

    def table_columns(self) -> Sequence[TableColumn]:
        numbers = [TableColumn(name, True, name in self.optional) for name in self.names]
        return [*numbers, *(TableColumn(name, False, name in self.optional) for name in self.categories)]


@dataclass(frozen=True, eq=False)
class _WithCategories(Columns, FittedExtractor):
    """Columns with categories, whose frequent values are those of the training rows."""

    vocabulary: Mapping[str, Sequence[str]] | None = field(default=None, init=False, repr=False)

    @classmethod
    def completed(cls, settings: Mapping[str, Any], segments: Segments) -> Mapping[str, Any]:
        found = cls(**{key: value for key, value in settings.items() if key not in ("kind", "only")})
        values = {name: found._frequent(segments, name) for name in found.categories}
        return {**settings, "values": {**values, **found.values}}

    def _frequent(self, segments: Segments, name: str) -> list[str]:
        counts = Counter(self._texts(segments, name))
        return sorted(text for text, n in counts.items() if n >= self.min_rows and text not in ("", OTHER))

    @property
    def features(self) -> Sequence[Feature]:
        features = list(self._features_of_numbers())
        for name in self.categories:
            for value in (*self.values.get(name, ()), OTHER):
                description = f"whether the column '{name}' has the value '{value}'"
                features.append(
                    Feature(f"column_{name}={value}", description, _ORIGIN, "0 or 1", _plain(name))
                )
            features.append(_missing(name))
        return tuple(features)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        return self.with_learned(
            vocabulary={name: self._frequent(segments, name) for name in self.categories}
        )

    def labels_used(self) -> tuple[str, ...]:
        return ()

    def extract(self, segments: Segments) -> FloatArray:
        vocabulary = self.learned(self.vocabulary)
        blocks = [super().extract(segments)]
        for name in self.categories:
            values = [value for value in self.values.get(name, ()) if value in vocabulary[name]]
            names = ["", OTHER, *values]
            place = {value: number for number, value in enumerate(names)}
            chosen = np.array([place.get(text, 1) for text in self._texts(segments, name)], np.int64)
            order = [place.get(value, -1) for value in (*self.values.get(name, ()), OTHER, "")]
            blocks.append((chosen[:, np.newaxis] == np.array(order)).astype(np.float64))
        return np.hstack(blocks)

    def save(self, path: Path) -> None:
        (path / _FILE).write_text(json.dumps(self.learned(self.vocabulary), ensure_ascii=False), "utf-8")

    def restore(self, path: Path) -> Self:
        content = read_json("the categories", path / _FILE)
        return self.with_learned(vocabulary={name: list(map(str, content[name])) for name in self.categories})


def _missing(name: str) -> Feature:
    description = f"whether the column '{name}' is missing"
    return Feature(f"column_{name}_missing", description, _ORIGIN, "0 or 1", f"{_plain(name)} is missing")


def _plain(name: str) -> str:
    return name.replace("{", "(").replace("}", ")")  # `{}` stands for the value


def _number(name: str, segment: str, text: str) -> float:
    if text and not is_finite(text):
        raise InputError(
            f"the column '{name}' must hold finite numbers, but has '{text}'",
            location=f"segment '{segment}'",
            remedy="leave the cell empty if the number is missing",
        )
    return real(text) if text else float("nan")
