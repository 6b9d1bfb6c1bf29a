"""How the sides of a corpus come to their annotation: by a program, from CoNLL-U files, with the segments."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from features.core.corpus import ParallelCorpus
from features.core.errors import InputError
from features.core.files import digest, read_lines, sha256
from features.core.progress import Progress, silent
from features.core.resource import Resource
from features.core.tokenizer import Tokenizer
from features.resources.annotation import Annotation, Side
from qe.annotation import TAGGERS, Tagger, tagger

_TEXTS = 20_000  # given to a program at a time: what it says of them is held in memory


@dataclass(frozen=True)
class CorpusAnnotation:
    """The annotation of one side.

    by           a program, or what else it is
    fingerprint  identifies program and data, or content
    blocks       (corpus, side) -> one CoNLL-U block per pair of the corpus
    """

    by: str
    fingerprint: str
    blocks: Callable[[ParallelCorpus, Side], Iterator[str]]

    @property
    def settings(self) -> Mapping[str, str]:
        return {"by": self.by, "content": self.fingerprint}


def by_program(name: str, language: str, other: str) -> CorpusAnnotation:
    """By an annotator of `qe.annotation`; `other` is the language of the other side.

    Raises InputError for an unknown program, or one that is not installed.
    """
    found = tagger(name, language, other, together=2000)
    return CorpusAnnotation(name, found.fingerprint, lambda corpus, side: _tagged(found, corpus, side))


def _tagged(by: Tagger, corpus: ParallelCorpus, side: Side) -> Iterator[str]:
    tokens = corpus.side(side)
    for low in range(0, len(tokens), _TEXTS):
        texts = [tokens.words(i) for i in range(low, min(low + _TEXTS, len(tokens)))]
        yield from by.annotate(texts)


def from_file(path: Path) -> CorpusAnnotation:
    """From a CoNLL-U file, plain or gzip: a block per line of the corpus (comments alone: no words).

    Raises InputError where there is no such file.
    """
    if not path.is_file():
        near = difflib.get_close_matches(str(path), TAGGERS, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise InputError(
            f"'{path}' is neither an annotator nor a file",
            where="annotation of the corpus",
            remedy=f"give a CoNLL-U file with a block per line of the corpus, or an annotator: "
            f"{', '.join(TAGGERS)}{hint}",
        )
    return CorpusAnnotation(
        "file", sha256(path), lambda corpus, side: _of_pairs(read_blocks(path), corpus, path)
    )


def from_column(blocks: Sequence[str]) -> CorpusAnnotation:
    """That of the segments which the corpus is made of."""
    print_ = digest("\x1f".join(blocks).encode())
    return CorpusAnnotation("segments", print_, lambda corpus, side: _of_pairs(blocks, corpus, "annotations"))


def read_blocks(path: Path) -> Iterator[str]:
    """The blocks of a CoNLL-U file, an empty line after each."""
    lines: list[str] = []
    for line in read_lines(path):
        if line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _of_pairs(blocks: Iterator[str] | Sequence[str], corpus: ParallelCorpus, where: Any) -> Iterator[str]:
    """Without the blocks of the pairs that the corpus skipped."""
    total = len(corpus) + corpus.empty_pairs
    if corpus.empty_pairs and corpus.lines is None:
        raise InputError(
            f"the corpus was encoded by an older version, and without its {corpus.empty_pairs} empty pairs",
            where=where,
            remedy="build the resources in a new folder",
        )
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
            where=where,
            remedy="give one block per line, in the same order; comments alone for an empty line",
        )


@dataclass(frozen=True)
class Annotations:
    """The annotation of the sides that have one, as `features.core.bundle.build` takes it."""

    sides: Mapping[str, CorpusAnnotation]

    @property
    def makers(self) -> Mapping[str, Callable[..., Resource]]:
        return {"annotation": self._make}

    @property
    def wanted(self) -> Mapping[str, Mapping[str, str]]:
        """The settings that parts of these sides must have: of another annotation, they are built again."""
        return {f"{side}_annotation": found.settings for side, found in self.sides.items()}

    def _make(self, corpus: ParallelCorpus, *, side: Side, progress: Progress = silent) -> Annotation:
        if side not in self.sides:
            return Annotation.build(corpus, side=side, progress=progress)
        found = self.sides[side]
        return Annotation.from_blocks(corpus, side, found.blocks(corpus, side), found.settings, progress)


def annotations_of(given: Mapping[str, str | Path], tokenizers: tuple[Tokenizer, Tokenizer]) -> Annotations:
    """Side -> the name of a program, or the path of a CoNLL-U file.

    Raises InputError for a program that is not installed, or a file that is not there.
    """
    languages = {"source": tokenizers[0].language, "target": tokenizers[1].language}
    other = {"source": "target", "target": "source"}
    return Annotations(
        {
            side: by_program(str(what), languages[side], languages[other[side]])
            if what in TAGGERS
            else from_file(Path(what))
            for side, what in given.items()
        }
    )
