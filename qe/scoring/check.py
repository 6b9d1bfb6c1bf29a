"""Check: looks for one kind of critical error. Think twice before adding here."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import regex
from rapidfuzz.fuzz import ratio

from features.basics.catalogue import Catalogue
from features.resources.lexicon import Lexicon

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}\p{N}]*(?:[-'’][\p{L}\p{M}\p{N}]+)*")


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What checks may use: the languages (source, target), and a lexicon, if there is one."""

    languages: tuple[str, str]
    lexicon: Lexicon | None = None

    def translates(self, source: str, target: str) -> float:
        """t(target | source) of two words; 0 without a lexicon, and for words that it does not know."""
        if self.lexicon is None:
            return 0.0
        given = self.lexicon.source.lookup([source.lower()])
        made = self.lexicon.target.lookup([target.lower()])
        return float(self.lexicon.probability(given, made)[0])


@dataclass(frozen=True, eq=False)
class Pair:
    """A source text and its translation."""

    source: str
    target: str

    @cached_property
    def source_words(self) -> tuple[str, ...]:
        return words_of(self.source)

    @cached_property
    def target_words(self) -> tuple[str, ...]:
        return words_of(self.target)


@dataclass(frozen=True, eq=False)
class Check(ABC):
    """One kind of error; its file's name is the kind's name."""

    knowledge: Knowledge

    @property
    def lacks(self) -> str:
        """What it lacks to be made, or an empty string."""
        return ""

    @abstractmethod
    def words(self, pair: Pair) -> tuple[str, ...]:
        """The words concerned, those of the source first; empty where no error is seen."""


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, in order; hyphens and apostrophes within words belong to them.

    >>> words_of("L'État-major, 3 km: n'y va pas!")
    ("L'État-major", 'km', "n'y", 'va', 'pas')
    """
    return tuple(_WORD.findall(text))


def alike(one: str, other: str, least: float = 70.0) -> bool:
    """Whether two words are spelt alike, case aside, so that one may be a form of the other.

    >>> alike("Europe", "Europa"), alike("London", "Madrid")
    (True, False)
    """
    return ratio(one.lower(), other.lower()) >= least


CHECKS = Catalogue[Check]("qe.scoring.checks", Check, "flag")
