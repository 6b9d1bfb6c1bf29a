"""Engine: translates lines from one language into another."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, cast

from features.basics.catalogue import Catalogue
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


ENGINES: Catalogue[Engine] = Catalogue("qe.language.programs.engines", Engine, "translation engine")


def engine(name: str, source_language: str, target_language: str) -> Engine:
    make: Any = ENGINES.get(name)
    return cast(Engine, make(language_code(source_language), language_code(target_language)))
