"""Annotation of texts by Apertium's taggers: base forms and parts of speech as CoNLL-U blocks."""

import json
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from features.core.annotation import NOTHING, block_of
from features.core.errors import InputError
from features.core.files import atomic_file, digest, read_lines, sha256
from features.core.progress import Progress, silent
from features.core.segments import Segments
from features.core.tokenizer import batches
from features.core.tokens import Tokens
from qe.apertium import MODES, apertium_code, call, unseen

STOP = "."  # around every text: the tagger's context ends there
CHUNK = 250  # texts analysed at a time

# Signs of Apertium's stream format are shown to it as a letter that no analysis begins with.
_SIGNS: Final = str.maketrans(dict.fromkeys("^$/<>{}[]\\@|*~+#", "_"))
_UNIT: Final = re.compile(r"\^(.*?)\$", re.DOTALL)
_TAG: Final = re.compile(r"<([^<>]+)>")

# The first tag of an Apertium analysis -> universal part of speech.
_UNIVERSAL: Final[Mapping[str, str]] = {
    "n": "NOUN", "np": "PROPN", "vblex": "VERB", "vbser": "AUX", "vbhaver": "AUX", "vbmod": "AUX",
    "vaux": "AUX", "vbdo": "AUX", "adj": "ADJ", "adv": "ADV", "preadv": "ADV", "det": "DET", "predet": "DET",
    "prn": "PRON", "rel": "PRON", "pr": "ADP", "post": "ADP", "cnjcoo": "CCONJ", "cnjsub": "SCONJ",
    "cnjadv": "SCONJ", "num": "NUM", "ij": "INTJ", "part": "PART", "cm": "PUNCT", "sent": "PUNCT",
    "guio": "PUNCT", "lpar": "PUNCT", "rpar": "PUNCT", "lquest": "PUNCT", "quot": "PUNCT", "apos": "PUNCT",
}  # fmt: skip

# Column of Segments -> the side that is annotated.
_SIDES: Final[Mapping[str, str]] = {"annotation_source": "source", "annotation_target": "target"}


class Tagger(Protocol):
    """An annotator of tokenized text in one language."""

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        """One CoNLL-U block per text, with a word per token."""

    @property
    def fingerprint(self) -> str:
        """Identifies program, version and language."""


@dataclass(frozen=True)
class ApertiumTagger:
    """Apertium's morphological analyser and part-of-speech tagger for one side of an installed language pair.

    A word of several tokens (`New York`) gives each its analysis; of a contraction (`del`) the first part
    counts. `xpos` is the whole analysis (`n.f.sg`); a word that the analyser does not know is `X`, `_`, and
    so are all words of a text whose letters the program does not give back as they were.

    The tagger learns ambiguities that it meets, so that a word's tag can depend on texts before it: by
    default texts with any have a process of their own, and every text is annotated alike in every batch. For
    corpora, `together` is faster.

    Raises InputError where the program or the language pair is not installed, or where the program fails.
    """

    language: str
    other: str
    folder: Path = MODES
    workers: int = 0  # processes at a time; 0: one per core
    together: int = 1  # texts that one process of the tagger sees

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        """One block per text, in order."""
        paths = self._paths
        with ThreadPoolExecutor(self.workers or os.cpu_count() or 1) as pool:
            for blocks in pool.map(
                lambda chunk: self._chunk(paths, chunk),
                batches(texts, self.together if self.together > 1 else CHUNK),
            ):
                yield from blocks

    def _chunk(self, paths: tuple[Path, Path], texts: Sequence[Sequence[str]]) -> list[str]:
        return [
            block_of([_word(form, analysis) for form, analysis in zip(text, analyses, strict=True)])
            for text, analyses in zip(texts, self._analyse(paths, texts), strict=True)
        ]

    def _analyse(self, paths: tuple[Path, Path], texts: Sequence[Sequence[str]]) -> list[list[str]]:
        """Analyses of every token; none in texts whose letters the programs garble."""
        shown = [[STOP, *(_shown(token) for token in text), STOP] for text in texts]
        text = "".join(" ".join(tokens) + "\n\0" for tokens in shown)
        analysed, _ = call(["lt-proc", "-z", "-w", str(paths[0])], text)
        found: dict[int, list[str]] = {}
        for rows, tagged in self._tagged(paths[1], analysed.split("\0")[: len(texts)]):
            found |= zip(rows, _analyses_of_lines(tagged, [shown[i] for i in rows]), strict=True)
        return [found[i][1:-1] for i in range(len(texts))]

    def _tagged(self, path: Path, analysed: Sequence[str]) -> list[tuple[list[int], str]]:
        """Which texts were tagged by one process, and what it wrote for them: a line for each."""

        def run(some: Sequence[str]) -> tuple[str, str]:
            return call(["apertium-tagger", "-g", "-d", "-p", str(path)], "".join(some))

        if self.together > 1:
            return [(list(range(len(analysed))), run(analysed)[0])]
        return unseen(analysed, run)

    @cached_property
    def _paths(self) -> tuple[Path, Path]:
        """Analyser and tagger of the pair that translates from the language, else of one into it."""
        if not (shutil.which("lt-proc") and shutil.which("apertium-tagger")):
            raise InputError(
                "the program apertium-tagger is not installed",
                remedy="on Debian: apt-get install apertium apertium-eng-spa",
            )
        mode = f"{apertium_code(self.language)}-{apertium_code(self.other)}"
        for folder in sorted(self.folder.glob("apertium-*")):
            files = folder / f"{mode}.automorf.bin", folder / f"{mode}.prob"
            if all(file.is_file() for file in files):
                return files
        raise InputError(
            f"Apertium has no tagger for {mode} here",
            where=self.folder,
            remedy=f"on Debian: apt-get install apertium-{mode} or the pair the other way round",
        )

    @property
    def fingerprint(self) -> str:
        """Identifies the language data and how analyses are read."""
        return digest("apertium-tagger", 3, self.together, *(sha256(path) for path in self._paths))


TAGGERS: Final[Mapping[str, type[ApertiumTagger]]] = {"apertium": ApertiumTagger}


def tagger(name: str, language: str, other: str, together: int = 1) -> Tagger:
    """The annotator `name` of a language; `other` is the language of the pair whose data are used, `together`
    the number of texts that may see each other (of a corpus: many).

    Raises InputError for an unknown name.
    """
    if name not in TAGGERS:
        raise InputError(f"unknown annotator '{name}'", remedy=f"known: {', '.join(TAGGERS)}")
    return TAGGERS[name](language, other, together=together)


def with_annotations(
    segments: Segments, columns: Mapping[str, str], cache: Path | None = None, progress: Progress = silent
) -> Segments:
    """The segments with the columns `annotation_source`, `annotation_target`: CoNLL-U of their tokens.

    columns  column -> name of the annotator that makes it
    cache    folder where annotations are kept, by annotator and tokens

    Raises InputError for another column, one that is there already, an unknown annotator, or a program or
    language that is not installed.
    """
    made: dict[str, tuple[str, ...]] = {}
    languages = {"source": segments.source_tokenizer.language, "target": segments.target_tokenizer.language}
    for column, name in columns.items():
        if column not in _SIDES:
            raise InputError(f"'{column}' is no annotation", remedy=f"known: {', '.join(_SIDES)}")
        if getattr(segments, column) is not None:
            raise InputError(
                f"the segments have a column '{column}' already", remedy="leave it out of `annotations`"
            )
        side = _SIDES[column]
        by = tagger(name, languages[side], languages["target" if side == "source" else "source"])
        tokens = segments.source_tokens if side == "source" else segments.target_tokens
        made[column] = annotated(tokens, by, cache, f"{column} by {name}", progress)
    return replace(segments, **made)  # type: ignore[arg-type]


def annotated(
    tokens: Tokens, by: Tagger, cache: Path | None, stage: str = "annotating", progress: Progress = silent
) -> tuple[str, ...]:
    """(n,) CoNLL-U blocks of n tokenized texts; kept in `cache`, one JSON string a line."""
    path = cache and cache / "annotations" / f"{digest(by.fingerprint, tokens.fingerprint)}.jsonl"
    if path and path.is_file():
        return tuple(json.loads(line) for line in read_lines(path))
    found = []
    for block in by.annotate([tokens.words(i) for i in range(len(tokens))]):
        found.append(block)
        progress(stage, len(found), len(tokens))
    if path:
        with atomic_file(path) as temporary:
            temporary.write_text("".join(json.dumps(block) + "\n" for block in found), "utf-8", newline="")
    return tuple(found)


def _analyses_of_lines(tagged: str, texts: Sequence[Sequence[str]]) -> list[list[str]]:
    """The analyses of every token of every text, from one line each.

    Raises InputError for another number of lines.
    """
    lines = tagged.split("\n")[:-1]
    if len(lines) != len(texts):
        raise InputError(f"apertium-tagger gave {len(lines)} lines for {len(texts)} texts")
    return [_analyses(line, text) for line, text in zip(lines, texts, strict=True)]


def _analyses(tagged: str, tokens: Sequence[str]) -> list[str]:
    """The analysis of every token: that of the first unit which covers one of its letters, else empty.

    All are empty where the programs did not give the tokens back letter by letter.
    """
    letters: list[str] = []
    owner: list[str] = []
    last = 0
    for unit in _UNIT.finditer(tagged):
        surface, _, analysis = unit.group(1).partition("/")
        between = tagged[last : unit.start()]
        letters += [between, surface]
        owner += [""] * len(between) + [analysis] * len(surface)
        last = unit.end()
    letters.append(tagged[last:])
    owner += [""] * len(letters[-1])
    text, place = "".join(letters), 0
    found = []
    for token in tokens:
        while place < len(text) and text[place].isspace():
            place += 1
        if not text.startswith(token, place):
            return [""] * len(tokens)
        found.append(next((a for a in owner[place : place + len(token)] if a), ""))
        place += len(token)
    return found


def _shown(token: str) -> str:
    """The token without signs and control characters that the stream format could mistake; never empty."""
    return "".join("_" if unicodedata.category(c)[0] in "CZ" else c for c in token.translate(_SIGNS)) or "_"


def _word(form: str, analysis: str) -> tuple[str, str, str, str]:
    """(form, lemma, upos, xpos) of a token and its analysis (`casa<n><f><sg>`)."""
    first = analysis.split("+", 1)[0]
    tags = _TAG.findall(first)
    if not tags:
        return form, NOTHING, "X", NOTHING
    return form, first.split("<", 1)[0] or NOTHING, _UNIVERSAL.get(tags[0], "X"), ".".join(tags)
