"""Constituents: phrase-structure trees."""

from dataclasses import dataclass
from typing import Final

from features.core.segments import Segments
from features.core.tree_columns import TreeColumn
from features.syntax.trees import Trees

_COMMENT: Final = "# constituency ="


@dataclass(frozen=True)
class Constituents(TreeColumn):
    """Phrase-structure trees in Penn Treebank brackets, without traces and functions.

    A segment's annotation is its tree, or a CoNLL-U block with the comment `# constituency = (S ...)`. A
    segment that was not parsed has no tree.

    Source: WMT12 UU, Section 2.2.
    """

    @property
    def description(self) -> str:
        return f"constituent tree of the {self.side}"

    def requires(self) -> str:
        return f"annotation_{self.side}"

    def read(self, segments: Segments) -> Trees:
        location = self.requires()
        return Trees.from_brackets(
            [_brackets(text) for text in segments.require(location)], location, plain=True
        )


def _brackets(annotation: str) -> str:
    r"""The concatenated bracketed trees of an annotation; empty without any."""
    if annotation.lstrip().startswith("("):
        return annotation
    comments = [line for line in annotation.split("\n") if line.startswith(_COMMENT)]
    return " ".join(line.removeprefix(_COMMENT).strip() for line in comments)
