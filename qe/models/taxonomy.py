"""Taxonomy: groups of segments whose intervals are calibrated separately."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from features.basics.array_types import FloatArray, IntArray
from features.basics.catalogue import Catalogue
from qe.models.artifact import decode_fields

Column = Sequence[str]
UNKNOWN = -1  # group without calibration rows


@dataclass(frozen=True)
class Grouping:
    """Grouping of an experiment: number of `bands`, their `edges`, or a `column`."""

    kind: str
    bands: int = 5
    edges: tuple[float, ...] = ()
    column: str | None = None


class Taxonomy(ABC):
    """Assigns segments to `size` groups with separately calibrated intervals.

    A subclass is a dataclass whose fields are JSON values. Source: Mondrian conformal prediction (Vovk,
    Gammerman and Shafer 2005, section 4.5).

    Attributes
    ----------
    options : frozenset of str
        The settings of `Grouping` that the taxonomy accepts.
    """

    options: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    @abstractmethod
    def make(cls, grouping: Grouping, predicted: FloatArray, gold: FloatArray, column: Column) -> Self:
        """Creates the groups from (n,) out-of-fold predictions, labels and column values (empty if none)."""

    @property
    def reads(self) -> str | None:
        """The segment column that it uses, or None."""
        return None

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of groups."""

    @abstractmethod
    def numbers(self, predicted: FloatArray, gold: FloatArray, column: Column) -> IntArray:
        """Group (n,) of each labelled row: 0 .. size - 1, or UNKNOWN."""

    @abstractmethod
    def bounds(
        self, predicted: FloatArray, reach: FloatArray, column: Column
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds (n,), NaN for an unknown group; `reach` (n, size) has half-widths by group."""

    def to_json(self) -> dict[str, Any]:
        name = next(name for name in TAXONOMIES.names if TAXONOMIES.get(name) is type(self))
        return {"by": name, **vars(self)}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "Taxonomy":
        """Restores the output of `to_json`; raises Damaged for unknown keys and wrong values."""
        values = {name: value for name, value in content.items() if name != "by"}
        taxonomy: Taxonomy = decode_fields(TAXONOMIES.get(content["by"]), values, "taxonomy.")
        return taxonomy

    def extended(self, column: Column) -> Self:
        """Adds groups for new values of the column, if groups depend on a column."""
        return self


TAXONOMIES: Catalogue[Taxonomy] = Catalogue("qe.models.taxonomies", Taxonomy, "taxonomy")
