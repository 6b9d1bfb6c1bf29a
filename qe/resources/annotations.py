"""Annotations of the sides of a corpus: by programs, from CoNLL-U files, or from the segments."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from features.basics.errors import InputError, did_you_mean
from features.basics.progress import Progress, silent
from features.core.bundle import Builders, with_needs
from features.resources.annotation import KEPT, Annotation, Holds
from features.storage.files import digest, is_input_file, read_lines, sha256
from features.text.annotation import LAYERS, Layer
from features.text.corpus import ParallelCorpus, Side
from features.text.tokenizer import Tokenizer
from qe.language.taggers import KNOWN, TAGGERS, annotated, for_corpora, is_tagger, tagger

# What an annotation holds -> its parts, by side.
_PARTS: Final[Mapping[Holds, Mapping[str, str]]] = {
    holds: {
        str(settings["side"]): name
        for name, settings in Annotation.parts.items()
        if settings.get("holds", "tags") == holds
    }
    for holds in KEPT
}

_TEXTS = 20_000  # given to a program at a time: what it says of them is held in memory


@dataclass(frozen=True)
class CorpusAnnotation:
    """The annotation of one side: program, fingerprint, and a CoNLL-U block per pair of the corpus."""

    annotator: str
    fingerprint: str
    blocks: Callable[[ParallelCorpus, Side], Iterator[str]]

    @property
    def settings(self) -> Mapping[str, str]:
        return {"by": self.annotator, "content": self.fingerprint}


def by_program(
    name: str, language: str, other_language: str, cache: Path | None = None, layers: Sequence[Layer] = LAYERS
) -> CorpusAnnotation:
    """Annotation by an annotator of `qe.language.taggers`; `layers` is what is kept of it."""
    annotator = for_corpora(tagger(name, language, other_language, texts_per_process=2000), layers)

    def blocks(corpus: ParallelCorpus, side: Side) -> Iterator[str]:
        tokens = corpus.side(side)
        for low in range(0, len(tokens), _TEXTS):
            rows = np.arange(low, min(low + _TEXTS, len(tokens)))
            yield from annotated(tokens.take(rows), annotator, cache)

    return CorpusAnnotation(name, annotator.fingerprint, blocks)


def from_file(path: Path) -> CorpusAnnotation:
    """Annotation from a CoNLL-U file with a block per line of the corpus (comments alone: no words)."""
    if not is_input_file(path):
        raise InputError(
            f"'{path}' is neither an annotator nor a file",
            location="annotation of the corpus",
            remedy=f"give a CoNLL-U file with a block per line of the corpus, or an annotator: {KNOWN}"
            f"{did_you_mean(str(path), TAGGERS)}",
        )
    return CorpusAnnotation(
        "file", sha256(path), lambda corpus, side: _of_pairs(read_blocks(path), corpus, path)
    )


def from_column(blocks: Sequence[str]) -> CorpusAnnotation:
    print_ = digest("\x1f".join(blocks).encode())
    return CorpusAnnotation("segments", print_, lambda corpus, side: _of_pairs(blocks, corpus, "annotations"))


def read_blocks(path: Path) -> Iterator[str]:
    lines: list[str] = []
    for line in read_lines(path):
        if line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _of_pairs(blocks: Iterator[str] | Sequence[str], corpus: ParallelCorpus, location: Any) -> Iterator[str]:
    total = len(corpus) + corpus.empty_pairs
    kept = range(total) if corpus.lines is None else corpus.lines.tolist()
    wanted = iter(kept)
    following, count = next(wanted, None), 0
    for count, block in enumerate(blocks, start=1):
        if following == count - 1:
            yield block
            following = next(wanted, None)
    if count != total:
        raise InputError(
            f"{count} CoNLL-U blocks, but the corpus has {total} lines",
            location=location,
            remedy="give one block per line, in the same order; comments alone for an empty line",
        )


@dataclass(frozen=True)
class Annotations:
    """The annotation of the sides that have one, as `features.core.bundle.build` takes it.

    sources  what it holds -> side -> what it comes from
    """

    sources: Mapping[Holds, Mapping[str, CorpusAnnotation]] = field(default_factory=dict)

    @classmethod
    def alike(cls, sides: Mapping[str, CorpusAnnotation]) -> "Annotations":
        return cls(dict.fromkeys(KEPT, sides))

    def builders(self) -> Builders:
        return {"annotation": self._built}

    @property
    def wanted(self) -> Mapping[str, Mapping[str, str]]:
        """Settings of the annotated parts; a part of another annotation is built again."""
        return {
            _PARTS[holds][side]: annotation.settings
            for holds, sides in self.sources.items()
            for side, annotation in sides.items()
            if side in _PARTS[holds]
        }

    def _built(
        self, corpus: ParallelCorpus, *, side: Side, holds: Holds = "tags", progress: Progress = silent
    ) -> Annotation:
        sides = self.sources.get(holds, {})
        if side not in sides:
            return Annotation.build(corpus, side=side, holds=holds, progress=progress)
        blocks = sides[side].blocks(corpus, side)
        return Annotation.from_blocks(corpus, side, blocks, sides[side].settings, progress, holds=holds)


def annotated_sides(parts: Sequence[str], holds: Holds | None = None) -> list[str]:
    """The sides of the corpus that need an annotation for these parts, or for sources of them."""
    needed = with_needs(parts)
    wanted = [named for what, named in _PARTS.items() if holds in (None, what)]
    return [side for side in ("source", "target") if any(named.get(side) in needed for named in wanted)]


def annotations_for(
    parts: Sequence[str],
    annotators: Mapping[str, str | Path],
    tokenizers: tuple[Tokenizer, Tokenizer],
    cache: Path | None = None,
) -> Annotations:
    """Annotations of the sides that the parts need; no other program has to be installed."""
    languages = {"source": tokenizers[0].language, "target": tokenizers[1].language}
    sources: dict[Holds, dict[str, CorpusAnnotation]] = {holds: {} for holds in KEPT}
    for holds, layers in KEPT.items():
        for side in annotated_sides(parts, holds):
            if side not in annotators:
                continue
            name, other_side = str(annotators[side]), "target" if side == "source" else "source"
            if is_tagger(name):
                pair = languages[side], languages[other_side]
                sources[holds][side] = by_program(name, *pair, cache, layers)
            else:
                sources[holds][side] = from_file(Path(name))
    return Annotations(sources)
