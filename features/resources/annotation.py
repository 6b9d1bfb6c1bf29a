"""Annotation: base forms and parts of speech of one side of the corpus."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.core.resource_files import load_arrays, save_arrays
from features.storage.files import read_words, write_words
from features.text.annotation import LAYERS, Layer, layers
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import Tokens, TokensBuilder

_BATCH = 5000  # pairs read at a time


@dataclass(frozen=True, kw_only=True)
class AnnotationBuilder(Builder):
    """Text alone has no annotation: the caller makes this part with `from_blocks`."""

    what: ClassVar[str] = "parts of speech"
    side: Side

    @property
    def remedy(self) -> str:
        """The ways to give an annotation."""
        return (
            f"give `annotations: {{{self.side}: apertium}}`, or a file as "
            f"`resources.{self.side}_annotation`, in the experiment; --{self.side}-annotation to "
            "`qe resources build`"
        )

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "Annotation":
        """Raises InputError always, with the ways to give one."""
        raise InputError(
            f"{self.what} are needed, but the {self.side} side of the corpus has no annotation",
            where="resources",
            remedy=self.remedy,
        )


@dataclass(frozen=True, eq=False)
class Annotation(Resource):
    """The layers of one side of the corpus, in step with its tokens; what other parts are built from.

    >>> from features.text.annotation import block_of
    >>> corpus = ParallelCorpus.from_lines([("a house", "una casa")])
    >>> block = block_of([("una", "uno", "DET", "det"), ("casa", "casa", "NOUN", "n")])
    >>> Annotation.from_blocks(corpus, "target", [block], {"by": "hand"}).layer("upos").words(0)
    ['DET', 'NOUN']
    """

    parts: ClassVar[Parts] = {
        "source_annotation": {"side": "source"},
        "target_annotation": {"side": "target"},
    }
    builder: ClassVar[type[Builder]] = AnnotationBuilder
    kept: ClassVar[tuple[Layer, ...]] = LAYERS

    layers: Mapping[Layer, Tokens] = field(repr=False)

    @classmethod
    def from_blocks(
        cls,
        corpus: ParallelCorpus,
        side: Side,
        blocks: Iterable[str],
        settings: Mapping[str, Any],
        progress: Progress = silent,
    ) -> Self:
        """From one CoNLL-U block per pair of the corpus, in order; `settings` say whose they are.

        Raises InputError for another number of blocks, or blocks that do not fit the tokens.
        """
        rest, tokens, where = iter(blocks), corpus.side(side), f"annotation of the {side} side"
        lines = np.arange(len(corpus)) if corpus.lines is None else corpus.lines
        builders = [TokensBuilder() for _ in cls.kept]
        for low in range(0, len(corpus), _BATCH):
            rows = np.arange(low, min(low + _BATCH, len(corpus)))
            batch = list(islice(rest, len(rows)))
            if len(batch) < len(rows):
                raise InputError(
                    f"{low + len(batch)} blocks, but the corpus has {len(corpus)} pairs", where=where
                )
            columns = layers(batch, tokens.take(rows), cls.kept, where, (lines[rows] + 1).tolist())
            for builder, layer in zip(builders, columns, strict=True):
                builder.add(layer)
            progress(f"annotating the {side} side", low + len(rows), len(corpus))
        if next(rest, None) is not None:
            raise InputError(f"more blocks than the {len(corpus)} pairs of the corpus", where=where)
        read = {layer: builder.tokens() for layer, builder in zip(cls.kept, builders, strict=True)}
        return cls(read, settings={"side": side, **settings}, corpus_fingerprint=corpus.fingerprint)

    def layer(self, name: Layer) -> Tokens:
        """One annotation per token of the corpus's side, as Tokens of the same offsets."""
        return self.layers[name]

    def check_arrays(self) -> None:
        for tokens in self.layers.values():
            tokens.check_arrays()

    def save(self, path: Path) -> None:
        arrays: dict[str, NDArray[Any]] = {name: tokens.ids for name, tokens in self.layers.items()}
        meta = {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint}
        save_arrays(path, meta, **arrays, offsets=self.layers[self.kept[0]].offsets)
        for name, tokens in self.layers.items():
            write_words(path / f"{name}.txt", tokens.types)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = load_arrays(path)
        read = {
            name: Tokens(read_words(path / f"{name}.txt"), arrays[name], arrays["offsets"])
            for name in cls.kept
        }
        return cls(read, **meta)


@dataclass(frozen=True, kw_only=True)
class LayerBuilder(Builder):
    """What is built from a layer of the annotation of one side: n-grams of `order` tags."""

    side: Side
    layer: Layer
    order: Count
    annotation: Annotation

    @property
    def tags(self) -> Tokens:
        return self.annotation.layer(self.layer)
