"""Annotation: base forms and parts of speech of one side of the corpus."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource, load_arrays, save_arrays
from features.storage.damage import Damaged
from features.storage.files import read_words, write_words
from features.text.annotation import LAYERS, NOTHING, Layer, layers
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import Tokens, TokensBuilder

Holds = Literal["tags", "dependencies", "entities"]
# What an annotation holds -> the layers that are kept.
KEPT: Final[Mapping[Holds, tuple[Layer, ...]]] = {
    "tags": LAYERS,
    "dependencies": ("deprel", "head"),
    "entities": ("entity",),
}
_WHAT: Final[Mapping[Holds, str]] = {
    "tags": "parts of speech",
    "dependencies": "dependencies",
    "entities": "entities",
}
_REMEDIES: Final[Mapping[Holds, str]] = {
    "tags": "give `annotations: {{{side}: apertium}}`, or a file as `resources.{side}_annotation`, in the "
    "experiment; --{side}-annotation to `qe resources build`",
    "dependencies": "give annotators with the task `dependencies` (qe annotate train --task dependencies, "
    "spacy:NAME, stanza:LANGUAGE), or CoNLL-U with heads and relations",
    "entities": "give annotators with the task `entities` (qe annotate train --task entities, spacy:NAME, "
    "stanza:LANGUAGE), or CoNLL-U with NER= in MISC; `units: name` needs no entities",
}
_NEEDED: Final[Mapping[Layer, str]] = {"head": "head", "entity": "entity tag"}  # of every word
_BATCH = 5000  # pairs read at a time


@dataclass(frozen=True, kw_only=True)
class AnnotationBuilder(Builder):
    """Text alone has no annotation: the caller makes this part with `from_blocks`."""

    side: Side
    holds: Holds = "tags"

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "Annotation":
        raise InputError(
            f"{_WHAT[self.holds]} are needed, but the {self.side} side of the corpus has no annotation",
            location="resources",
            remedy=_REMEDIES[self.holds].format(side=self.side),
        )


@dataclass(frozen=True, eq=False)
class Annotation(Resource):
    """The annotation of one side of the corpus, in step with its tokens. Other parts are built from its
    layers. What it `holds` is `tags` (base forms and parts of speech), `dependencies` (heads and relations)
    or `entities` (`B-PER`, `I-PER`, `O`).
    """

    parts: ClassVar[Parts] = {
        "source_annotation": {"side": "source"},
        "target_annotation": {"side": "target"},
        "source_dependency_annotation": {"side": "source", "holds": "dependencies"},
        "source_entity_annotation": {"side": "source", "holds": "entities"},
        "target_entity_annotation": {"side": "target", "holds": "entities"},
    }
    builder: ClassVar[type[Builder]] = AnnotationBuilder

    layers: Mapping[Layer, Tokens] = field(repr=False)

    @classmethod
    def from_blocks(
        cls,
        corpus: ParallelCorpus,
        side: Side,
        blocks: Iterable[str],
        settings: Mapping[str, Any],
        progress: Progress = silent,
        *,
        holds: Holds = "tags",
    ) -> Self:
        """From one CoNLL-U block per pair of the corpus, in order; `settings` give their origin.

        Raises InputError for another number of blocks, blocks that do not fit the tokens, and words without
        the dependencies or entities that it `holds`.
        """
        tokens, location, kept = corpus.side(side), f"annotation of the {side} side", KEPT[holds]
        rest = iter(blocks) if holds != "entities" else _tagged(blocks, location)
        lines = np.arange(len(corpus)) if corpus.lines is None else corpus.lines
        builders = [TokensBuilder() for _ in kept]
        for low in range(0, len(corpus), _BATCH):
            rows = np.arange(low, min(low + _BATCH, len(corpus)))
            batch = list(islice(rest, len(rows)))
            if len(batch) < len(rows):
                raise InputError(
                    f"{low + len(batch)} blocks, but the corpus has {len(corpus)} pairs", location=location
                )
            columns = layers(batch, tokens.take(rows), kept, location, (lines[rows] + 1).tolist())
            for builder, layer in zip(builders, columns, strict=True):
                builder.add(layer)
            progress(f"annotating the {side} side", low + len(rows), len(corpus))
        if next(rest, None) is not None:
            raise InputError(f"more blocks than the {len(corpus)} pairs of the corpus", location=location)
        read = {layer: builder.tokens() for layer, builder in zip(kept, builders, strict=True)}
        for needed, what in _NEEDED.items():
            if needed in read and NOTHING in read[needed].types:
                raise InputError(f"some words have no {what}", location=location, remedy=_REMEDIES[holds])
        held = {"side": side, **({} if holds == "tags" else {"holds": holds}), **settings}
        return cls(read, settings=held, corpus_fingerprint=corpus.fingerprint)

    def layer(self, name: Layer) -> Tokens:
        return self.layers[name]

    def heads(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Position of each token's head in its text, from 0 (-1: a root), of the texts `rows`."""
        layer = self.layer("head").take(rows)
        return np.array([int(number) - 1 for number in layer.types], np.int32)[layer.ids]

    def check_arrays(self) -> None:
        for tokens in self.layers.values():
            tokens.check_arrays()
        if "head" in self.layers and not all(number.isdecimal() for number in self.layer("head").types):
            raise Damaged("a head is no number")

    def save(self, path: Path) -> None:
        arrays: dict[str, NDArray[Any]] = {name: tokens.ids for name, tokens in self.layers.items()}
        meta = {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint}
        save_arrays(path, meta, **arrays, offsets=next(iter(self.layers.values())).offsets)
        for name, tokens in self.layers.items():
            write_words(path / f"{name}.txt", tokens.types)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = load_arrays(path)
        read = {
            name: Tokens(read_words(path / f"{name}.txt"), arrays[name], arrays["offsets"])
            for name in KEPT[meta["settings"].get("holds", "tags")]
        }
        return cls(read, **meta)


def _tagged(blocks: Iterable[str], location: str) -> Iterator[str]:
    for number, block in enumerate(blocks, start=1):
        if "ner=" not in block.lower():
            raise InputError(
                f"block {number} has no entity tags", location=location, remedy=_REMEDIES["entities"]
            )
        yield block
