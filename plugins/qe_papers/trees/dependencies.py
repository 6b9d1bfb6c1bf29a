"""Dependencies: trees whose nodes are words with their dependants."""

from dataclasses import dataclass

from features.core.segments import Segments
from features.core.tree_columns import TreeColumn
from features.syntax.trees import Tag, Trees


@dataclass(frozen=True)
class Dependencies(TreeColumn):
    """Dependency trees of CoNLL-U blocks, every word as `[tag [relation dependants ...] word]`.

    tag  upos: universal part of speech; xpos: the language's tag, `_` if a word has none

    Source: WMT12 UU, Section 2.2, Figure 1.
    """

    tag: Tag = "upos"

    @property
    def description(self) -> str:
        return f"dependency tree of the {self.side}"

    def requires(self) -> str:
        return f"annotation_{self.side}"

    def read(self, segments: Segments) -> Trees:
        return Trees.from_dependencies(segments.require(self.requires()), self.requires(), self.tag)
