"""Base of all annotators: training from files, storage without code, annotation of batches."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.assignments import assigned
from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, unknown_name
from features.basics.progress import Progress, silent
from features.text.annotation import NOTHING, Layer
from features.text.tokens import Tokens
from qe_treebanks.hashed_features import Hashes, attributes

Files = Sequence[Path]
Settings = Mapping[str, int]


@dataclass(eq=False)
class Batch:
    """Tokenized texts, and the layers that annotators have added, one value per token.

    heads     (n_tokens,) place of the head in its text, from 0; -1: root; None: not parsed
    comments  (n,) lines of every text's block, without `# `
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
        """Tokens as written in treebanks of the language."""
        return as_in_treebanks(self.tokens, self.language)

    @cached_property
    def attributes(self) -> Hashes:
        return attributes(self.treebank_tokens.types)

    def add(self, layer: Layer, names: Sequence[str], ids: NDArray[np.int32]) -> None:
        self.layers[layer] = Tokens(tuple(names), ids, self.tokens.offsets)

    def blocks(self) -> list[str]:
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


def as_in_treebanks(tokens: Tokens, language: str) -> Tokens:
    """The same number of tokens, with English negations split as in the Penn Treebank.

    >>> tokens = Tokens.from_lists([["I", "don", "'t"], ["can", "'T", "in", "it"]])
    >>> shown = as_in_treebanks(tokens, "en")
    >>> shown.words(0), shown.words(1)
    (['I', 'do', "n't"], ['ca', "n'T", 'in', 'it'])
    """
    if language != "en" or not len(tokens.ids):
        return tokens
    ends = np.array([t.lower() == "'t" for t in tokens.types], bool)
    before = np.array([len(t) > 1 and t[-1] in "nN" for t in tokens.types], bool)
    pairs = before[tokens.ids[:-1]] & ends[tokens.ids[1:]]
    pairs &= tokens.text_index[:-1] == tokens.text_index[1:]
    places = np.flatnonzero(pairs)
    if not len(places):
        return tokens
    index = {t: i for i, t in enumerate(tokens.types)}
    ids = tokens.ids.copy()
    for place in places.tolist():
        first, second = tokens.types[ids[place]], tokens.types[tokens.ids[place + 1]]
        ids[place] = index.setdefault(first[:-1], len(index))
        ids[place + 1] = index.setdefault(first[-1] + second, len(index))
    return Tokens(tuple(index), ids, tokens.offsets)


class Annotator(ABC):
    """Adds layers to batches; its module's name is its task.

    Attributes
    ----------
    needs : tuple of str
        Tasks whose layers it reads.
    adds : tuple of Layer
        Layers that it adds to a batch.
    treebank : str
        Format of its training files.
    defaults : mapping of str to int
        Settings of `train` with their defaults.
    settings : mapping of str to Any
        Settings used in training, as JSON values.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    adds: ClassVar[tuple[Layer, ...]] = ()
    treebank: ClassVar[str]
    defaults: ClassVar[Mapping[str, int]]
    settings: Mapping[str, Any]

    @classmethod
    @abstractmethod
    def train(cls, files: Files, language: str, settings: Settings, progress: Progress = silent) -> Self:
        """Trains on annotated files; raises InputError, with file and line, for invalid content."""

    @abstractmethod
    def annotate(self, batch: Batch) -> None:
        """Adds its layers."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Writes JSON and .npy files to the existing empty directory `path`."""

    @classmethod
    @abstractmethod
    def load(cls, path: Path) -> Self:
        """Loads the output of `save`; raises InputError for invalid content."""

    @classmethod
    @abstractmethod
    def evaluate(cls, gold: Files, language: str, annotators: "Sequence[Annotator]") -> dict[str, Any]:
        """Accuracy figures (JSON values) of `annotators` on the words of annotated files."""


ANNOTATORS: Catalogue[Annotator] = Catalogue("qe_treebanks.annotators", Annotator, "task")


def parse_settings(task: str, arguments: Sequence[str]) -> dict[str, int]:
    """Settings of a task from `NAME=NUMBER`; raises InputError for unknown names, and values below 0.

    >>> parse_settings("constituents", ["n_best=20"])
    {'n_best': 20}
    """
    known = list(ANNOTATORS.get(task).defaults)
    result = {}
    for setting in arguments:
        name, value = assigned(setting, "key=value", "--set")
        if name not in known:
            raise unknown_name(f"setting of '{task}'", name, known, location="--set")
        if not value.isascii() or not value.isdigit():
            raise InputError(f"{name} must be a whole number from 0, but is {value!r}", location="--set")
        result[name] = int(value)
    return result


def annotated(texts: Sequence[Sequence[str]], language: str, annotators: Sequence[Annotator]) -> Batch:
    batch = Batch(Tokens.from_lists(texts), language)
    for annotator in annotators:
        annotator.annotate(batch)
    return batch


def indexed(names: Iterable[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Distinct names, and the index (n,) of each name.

    >>> indexed(["b", "a", "b"])[0]
    ('b', 'a')
    """
    index: dict[str, int] = {}
    ids = [index.setdefault(name, len(index)) for name in names]
    return tuple(index), np.array(ids, np.int32)
