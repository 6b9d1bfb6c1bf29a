"""Engines translate lines from one language into another: pseudo-references and back-translations."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from features.basics.catalogue import Catalogue
from features.basics.progress import Progress, reported, silent
from features.storage.cache import TEXTS, Cache
from features.storage.files import atomic_file, digest, read_lines
from features.text.languages import language_code


class Engine(ABC):
    """A translation engine for one language pair, created from two language codes."""

    @abstractmethod
    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Yields one line per input line, in order."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Identifies program, version and languages."""


ENGINES: Catalogue[Engine] = Catalogue("qe.language.engines", Engine, "translation engine")


def engine(name: str, source_language: str, target_language: str) -> Engine:
    make: Any = ENGINES.get(name)
    return cast(Engine, make(language_code(source_language), language_code(target_language)))


# Column of Segments -> translated side, side whose language is the output's.
DIRECTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "pseudo_reference": ("source", "target"),
    "back_translation": ("target", "source"),
}


def translate_file(source: Path, output: Path, translator: Engine, progress: Progress = silent) -> int:
    total = sum(1 for _ in read_lines(source))
    with atomic_file(output) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        for line in reported(translator.translate(read_lines(source)), progress, "translating", total):
            stream.write(line + "\n")
    return total


def translated(
    texts: Sequence[str], translator: Engine, cache: Path | None, stage: str, progress: Progress
) -> tuple[str, ...]:
    """Translations (n,) of n texts; cached in `cache` by engine and texts."""
    distinct = list(dict.fromkeys(texts))

    def translations() -> Sequence[str]:
        return list(reported(translator.translate(distinct), progress, stage, len(distinct)))

    name = digest(translator.fingerprint, distinct)
    kept = Cache(cache).get("translations", name, TEXTS, translations)
    of = dict(zip(distinct, kept, strict=True))
    return tuple(of[text] for text in texts)
