"""Check: looks for one thing that can be wrong with a pair of texts.

Think twice before adding here.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import regex
from rapidfuzz.fuzz import ratio

from features.basics.catalogue import Catalogue
from features.resources.lexicon import Lexicon
from qe.models.model import Model

_PART = "lexicon_source_to_target"
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}\p{N}]*(?:[-'’][\p{L}\p{M}\p{N}]+)*")


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What checks may use: the languages (source, target), and a lexicon, if there is one."""

    languages: tuple[str, str]
    lexicon: Lexicon | None = None

    @classmethod
    def of(cls, model: Model) -> Self:
        """The languages of a model, and its lexicon if it has one."""
        bundle = model.bundle
        part = bundle.part(_PART) if bundle is not None and _PART in bundle.manifest["parts"] else None
        source, target = (tokenizer.language for tokenizer in model.tokenizers)
        return cls((source, target), part if isinstance(part, Lexicon) else None)

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
    """One thing that can be wrong; its fields are its settings, its file's name is its name.

    Attributes
    ----------
    flag : mapping of str to Any or None
        Settings with which `qe score --flags` asks it; None: it is no flag.
    filters : bool
        Whether `qe filter` asks it unless `--without` names it; otherwise `--with` must name it.
    cost : float
        Microseconds per pair, roughly: `qe filter` asks cheap checks first.
    """

    flag: ClassVar[Mapping[str, Any] | None] = None
    filters: ClassVar[bool] = False
    cost: ClassVar[float] = 10.0

    knowledge: Knowledge

    @property
    def lacks(self) -> str:
        """What the check lacks to be made, or an empty string."""
        return ""

    @abstractmethod
    def words(self, pair: Pair) -> tuple[str, ...]:
        """The words concerned, source words first, or one phrase; empty if nothing is wrong."""


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


CHECKS = Catalogue[Check]("qe.scoring.checks", Check, "check")


@dataclass(frozen=True, eq=False)
class Checks:
    """Checks by name, in the order in which they are asked.

    `lacking` says why others cannot be asked.
    """

    checks: Mapping[str, Check]
    lacking: Mapping[str, str]

    @classmethod
    def make(cls, knowledge: Knowledge, settings: Mapping[str, Mapping[str, Any]]) -> Self:
        """Make the checks that `settings` names, with these settings.

        Raises InputError for an unknown name.
        """
        made = {name: CHECKS.get(name)(knowledge, **values) for name, values in settings.items()}
        lacking = {name: check.lacks for name, check in made.items() if check.lacks}
        return cls({name: check for name, check in made.items() if name not in lacking}, lacking)

    def words(self, source: str, target: str) -> dict[str, tuple[str, ...]]:
        """Name -> the words concerned, for each check that finds something wrong."""
        pair = Pair(source, target)
        return {name: words for name, check in self.checks.items() if (words := check.words(pair))}

    def first(self, source: str, target: str) -> tuple[str, str]:
        """(name, words concerned) of the first check that finds something wrong; empty if none does."""
        pair = Pair(source, target)
        for name, check in self.checks.items():
            if words := check.words(pair):
                return name, ", ".join(words)
        return "", ""
