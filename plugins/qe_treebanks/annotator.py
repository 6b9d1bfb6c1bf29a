"""Base of all annotators: train from files, save without code, add layers to a batch."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.catalogue import Catalogue
from features.basics.progress import Progress, silent
from features.text.annotation import NOTHING, Layer
from features.text.tokens import Tokens
from qe_treebanks.contractions import as_in_treebanks
from qe_treebanks.linear import Hashes
from qe_treebanks.words import attributes


@dataclass(eq=False)
class Batch:
    """Tokenized texts, and the layers that annotators have added so far.

    tokens     as the texts have them
    language   code
    layers     one value per token
    heads      (n_tokens,) place of the head in its text, from 0; -1: root; None: not parsed
    comments   (n,) lines of every text's block, without `# `
    """

    tokens: Tokens
    language: str
    layers: dict[Layer, Tokens] = field(default_factory=dict)
    heads: NDArray[np.int32] | None = None
    comments: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.comments = self.comments or [[] for _ in range(len(self.tokens))]

    @cached_property
    def treebank_tokens(self) -> Tokens:
        """The tokens as treebanks of the language have them."""
        return as_in_treebanks(self.tokens, self.language)

    @cached_property
    def attributes(self) -> Hashes:
        """What the distinct words of `shown` show (`qe_treebanks.words`)."""
        return attributes(self.treebank_tokens.types)

    def add(self, layer: Layer, names: Sequence[str], ids: NDArray[np.int32]) -> None:
        """A layer: names[ids[k]] of token k."""
        self.layers[layer] = Tokens(tuple(names), ids, self.tokens.offsets)

    def blocks(self) -> list[str]:
        """(n,) CoNLL-U blocks, a word per token."""
        return [self._block(i) for i in range(len(self.tokens))]

    def _block(self, i: int) -> str:
        words = self.tokens.words(i)
        none = [NOTHING] * len(words)
        lemma, upos, xpos, feats, deprel, entity = (
            self.layers[layer].words(i) if layer in self.layers else none for layer in _ORDER
        )
        heads = none
        if self.heads is not None:
            low, high = self.tokens.offsets[i], self.tokens.offsets[i + 1]
            heads = [str(h + 1) for h in self.heads[low:high].tolist()]
        rows = zip(words, lemma, upos, xpos, feats, heads, deprel, entity, strict=True)
        lines = [f"# {comment}" for comment in self.comments[i]]
        lines += [
            f"{k}\t{word}\t{le}\t{up}\t{xp}\t{fe}\t{he}\t{de}\t_\t{en if en == NOTHING else 'NER=' + en}"
            for k, (word, le, up, xp, fe, he, de, en) in enumerate(rows, start=1)
        ]
        return "\n".join(lines)


_ORDER: tuple[Layer, ...] = ("lemma", "upos", "xpos", "feats", "deprel", "entity")


class Annotator(ABC):
    """Adds layers to batches; its module's name is its task.

    Attributes
    ----------
    needs : tuple of str
        Tasks whose layers it reads.
    adds : tuple of Layer
        Layers that it adds to a batch.
    treebank : str
        What files it is trained from.
    defaults : mapping of str to int
        The settings that `train` takes.
    settings : mapping of str to Any
        How it was trained, JSON values.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    adds: ClassVar[tuple[Layer, ...]] = ()
    treebank: ClassVar[str]
    defaults: ClassVar[Mapping[str, int]]
    settings: Mapping[str, Any]

    @classmethod
    @abstractmethod
    def train(
        cls,
        files: Sequence[Path],
        language: str,
        settings: Mapping[str, int],
        progress: Progress = silent,
    ) -> Self:
        """Learns from annotated files, with all of the settings. Raises InputError, with file and line, for
        what the files must not hold.
        """

    @abstractmethod
    def annotate(self, batch: Batch) -> None:
        """Adds its layers."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Writes JSON and .npy files into the existing empty directory `path`."""

    @classmethod
    @abstractmethod
    def load(cls, path: Path) -> Self:
        """What `save` wrote. Raises InputError for what it cannot have written."""

    @classmethod
    @abstractmethod
    def evaluate(
        cls, gold: Sequence[Path], language: str, annotators: "Sequence[Annotator]"
    ) -> dict[str, Any]:
        """Figures (JSON values) of what `annotators` make of the words of annotated files."""


ANNOTATORS: Catalogue[Annotator] = Catalogue("qe_treebanks.annotators", Annotator, "task")
