"""TreeColumn: which trees of a segment a learner gets."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from features.core.configured import Configured
from features.core.extractor import TEXTS
from features.core.segments import Segments
from features.syntax.trees import Trees, column

if TYPE_CHECKING:
    import pandas as pd

Side = Literal["source", "target"]


@dataclass(frozen=True)
class TreeColumn(ABC):
    """A column of trees in a feature table, from a column of segments; fields of subclasses are parameters.

    A segment without a parse has a tree without nodes.
    """

    side: Side

    @property
    def kind(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.side}"

    @property
    def config(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}

    @property
    @abstractmethod
    def description(self) -> str:
        """One line."""

    @property
    def plain(self) -> str:
        return f"how the sentences of the {TEXTS[self.side]} are built"

    @abstractmethod
    def requires(self) -> str:
        """The optional column of Segments that it is read from."""

    @abstractmethod
    def read(self, segments: Segments) -> Trees:
        """One tree per segment; raises InputError if the column is absent or has no trees."""


TREES: Catalogue[TreeColumn] = Catalogue("", TreeColumn, "kind of trees", group="trees")


def make_trees(configs: Sequence[Mapping[str, Any]]) -> tuple[TreeColumn, ...]:
    """Columns of trees from `{kind: NAME, side: source, ...}`; raises InputError for bad or repeated ones."""
    made: list[TreeColumn] = []
    for config in configs:
        if "kind" not in config:
            raise InputError(f"every entry needs a `kind`, but got {dict(config)}", location="trees")
        name, settings = str(config["kind"]), {key: value for key, value in config.items() if key != "kind"}
        tree = Configured(TREES.get(name), settings, f"{TREES.noun} '{name}'")
        for error in tree.errors():
            raise error
        made.append(tree.make(None))
    names = [tree.name for tree in made]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the trees '{name}' are requested {names.count(name)} times", location="trees")
    return tuple(made)


def tree_table(trees: Sequence[TreeColumn], segments: Segments) -> "pd.DataFrame":
    """Columns of trees (n, t), by segment id; each value is a `Tree`."""
    import pandas as pd  # listing features needs none

    columns = {tree.name: column(tree.read(segments)) for tree in trees}
    return pd.DataFrame(columns, index=pd.Index(segments.id, name="id"), dtype=object)


def tree_names(table: "pd.DataFrame") -> list[str]:
    from pandas.api.types import is_object_dtype

    return [str(name) for name, kind in table.dtypes.items() if is_object_dtype(kind)]


def without_trees(table: "pd.DataFrame") -> "pd.DataFrame":
    trees = tree_names(table)
    return table.drop(columns=trees) if trees else table


def numbers(table: "pd.DataFrame") -> FloatArray:
    """Features (n, k) of a table, without its trees."""
    return without_trees(table).to_numpy(np.float64)
