"""Guide of the chart parser: limits on tags and constituent ends, from a sequence model of words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from features.basics.progress import Progress, silent
from features.storage.files import digest
from features.text.tokens import Tokens
from qe_treebanks.annotator import indexed
from qe_treebanks.annotators import _storage
from qe_treebanks.annotators._brackets import Node
from qe_treebanks.annotators._grammar import TAG, kind_name
from qe_treebanks.annotators._word_models import SequenceModel, Training, fit_sequence
from qe_treebanks.hashed_features import Hashes, templates

Flags = NDArray[np.bool_]

MARGIN: Final = 20.0  # maximum score distance from the best labelling
_WITHIN, _END = "", " )"  # a label is the kind of a tag followed by one of them
_EPOCHS: Final = 6
_TEMPLATES: Final = templates(
    "form+0|lower+0|lower-1|lower+1|lower-2|lower+2|prefix1+0|prefix2+0|prefix3+0|suffix1+0|suffix2+0|"
    "suffix3+0|suffix4+0|suffix5+0|short_shape+0|kind+0|lower-1 lower+0|lower+0 lower+1|suffix3-1|suffix3+1|"
    "suffix2-1 suffix3+0|suffix3+0 suffix2+1|kind-1 kind+0|short_shape-1|short_shape+1|lower-1 lower+1|"
    "lower-2 lower-1|lower+1 lower+2|suffix2-1 suffix2+1|suffix2+1 suffix2+2"
)
VERSION: Final = digest(_TEMPLATES)  # weights are valid for these features only


class Limits(NamedTuple):
    """Limits on a text of n words: kinds of tags (n, K), and words (n,) that can end a constituent."""

    kinds: Flags
    ends: Flags


@dataclass(frozen=True, eq=False)
class Guide:
    """A sequence model, trained on a treebank, that labels words with tags and ends of constituents.

    A label joins the kind of a word's tag (`kind_name`), and whether a constituent of several words, shorter
    than the text, ends with the word; unlike in Roark and Hollingshead 2008, several labels remain possible.
    """

    model: SequenceModel

    @classmethod
    def learned(cls, trees: Sequence[Node], progress: Progress = silent) -> "Guide":
        names = [name for tree in trees for name in _labels(tree)]
        labels, gold = indexed(names)
        tokens = Tokens.from_lists([tree.words() for tree in trees])
        training = Training(_EPOCHS, progress=progress, stage="tags and ends of constituents")
        return cls(fit_sequence(tokens, gold, labels, _TEMPLATES, training))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label.removesuffix(_END) for label in self.model.labels))

    def limits(self, tokens: Tokens, hashes: Hashes | None = None) -> Iterator[Limits]:
        near = self.model.near(tokens, MARGIN, hashes)
        kinds = self.kinds
        places = np.array([kinds.index(label.removesuffix(_END)) for label in self.model.labels])
        closing = np.array([label.endswith(_END) for label in self.model.labels])
        for low, high in zip(tokens.offsets[:-1].tolist(), tokens.offsets[1:].tolist(), strict=True):
            of_text: Flags = near[low:high]
            words, labels = np.nonzero(of_text)
            possible: Flags = np.zeros((high - low, len(kinds)), np.bool_)
            possible[words, places[labels]] = True
            ends = of_text @ closing  # logical or
            ends[-1:] = True
            yield Limits(possible, ends)

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        return {"guide": self.model.weights, "transitions": self.model.transitions}

    @classmethod
    def load(cls, path: Path, labels: tuple[str, ...]) -> "Guide":
        _storage.check(
            all(label.startswith(TAG) and len(label) > 1 for label in labels), "a label is no tag", path
        )
        return cls(SequenceModel.load(path, "guide", labels, _TEMPLATES))


def _labels(tree: Node) -> list[str]:
    """The label of every word.

    >>> phrase = Node("NP", (Node("DT", word="the"), Node("NN", word="cat")))
    >>> _labels(Node("S", (phrase, Node("VB", word="sleeps"))))
    ['/DT', '/NN )', '/VB']
    """
    kinds: list[str] = []
    ends: set[int] = set()
    _walk(tree, kinds, ends)
    last = len(kinds) - 1
    return [kind + (_END if k in ends and k < last else _WITHIN) for k, kind in enumerate(kinds)]


def _walk(node: Node, kinds: list[str], ends: set[int]) -> None:
    if node.word:
        kinds.append(kind_name(TAG + node.label))
        return
    first = len(kinds)
    for child in node.children:
        _walk(child, kinds, ends)
    if len(kinds) - first > 1:
        ends.add(len(kinds) - 1)
