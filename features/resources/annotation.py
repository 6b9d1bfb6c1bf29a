"""Annotation: base forms and parts of speech of one side of the corpus."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.core.annotation import LAYERS, Layer, layers
from features.core.corpus import ParallelCorpus
from features.core.errors import InputError
from features.core.progress import Progress, silent
from features.core.resource import Resource, load_arrays, save_arrays
from features.core.tokens import Tokens, TokensBuilder

Side = Literal["source", "target"]

_BATCH = 5000  # pairs read at a time


@dataclass(frozen=True, eq=False)
class Annotation(Resource):
    """The layers of one side of the corpus, in step with its tokens; what other parts are built from.

    >>> from features.core.annotation import block_of
    >>> corpus = ParallelCorpus.from_lines([("a house", "una casa")])
    >>> block = block_of([("una", "uno", "DET", "det"), ("casa", "casa", "NOUN", "n")])
    >>> Annotation.from_blocks(corpus, "target", [block], {"by": "hand"}).layer("upos").words(0)
    ['DET', 'NOUN']
    """

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "source_annotation": {"side": "source"},
        "target_annotation": {"side": "target"},
    }

    settings: Mapping[str, Any]
    corpus_fingerprint: str
    layers: Mapping[Layer, Tokens] = field(repr=False)

    @classmethod
    def build(  # type: ignore[override]
        cls, corpus: ParallelCorpus, *, side: Side, progress: Progress = silent
    ) -> Self:
        """Text alone has no annotation: the caller makes this part with `from_blocks`.

        Raises InputError always, with the ways to give one.
        """
        raise InputError(
            f"parts of speech are needed, but the {side} side of the corpus has no annotation",
            where="resources",
            remedy=f"give `annotations: {{{side}: apertium}}`, or a file as `resources.{side}_annotation`, "
            f"in the experiment; --{side}-annotation to `qe resources build`",
        )

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
        builders = [TokensBuilder() for _ in LAYERS]
        for low in range(0, len(corpus), _BATCH):
            rows = np.arange(low, min(low + _BATCH, len(corpus)))
            batch = list(islice(rest, len(rows)))
            if len(batch) < len(rows):
                raise InputError(
                    f"{low + len(batch)} blocks, but the corpus has {len(corpus)} pairs", where=where
                )
            found = layers(batch, tokens.take(rows), LAYERS, where, (lines[rows] + 1).tolist())
            for builder, layer in zip(builders, found, strict=True):
                builder.add(layer)
            progress(f"annotating the {side} side", low + len(rows), len(corpus))
        if next(rest, None) is not None:
            raise InputError(f"more blocks than the {len(corpus)} pairs of the corpus", where=where)
        read = {layer: builder.tokens() for layer, builder in zip(LAYERS, builders, strict=True)}
        return cls({"side": side, **settings}, corpus.fingerprint, read)

    def layer(self, name: Layer) -> Tokens:
        """One annotation per token of the corpus's side, as Tokens of the same offsets."""
        return self.layers[name]

    def save(self, path: Path) -> None:
        arrays: dict[str, NDArray[Any]] = {name: tokens.ids for name, tokens in self.layers.items()}
        meta = {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint}
        save_arrays(path, meta, **arrays, offsets=self.layers["upos"].offsets)
        for name, tokens in self.layers.items():
            (path / f"{name}.txt").write_text("".join(t + "\n" for t in tokens.types), "utf-8", newline="")

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = load_arrays(path)
        found = {}
        for name in LAYERS:
            with (path / f"{name}.txt").open(encoding="utf-8", newline="\n") as stream:
                types = tuple(stream.read().split("\n")[:-1])
            found[name] = Tokens(types, arrays[name], arrays["offsets"])
        return cls(meta["settings"], meta["corpus_fingerprint"], found)
