"""Synonyms of English words, from the files of WordNet (Debian's package `wordnet-base`)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Self

from features.basics.errors import InputError
from features.storage.files import digest, read_lines, sha256

FOLDER: Final = Path("/usr/share/wordnet")
_FILES: Final = ("noun", "verb", "adj", "adv")
# What endings become in base forms (morphy, part of WordNet): (ending, instead).
_ENDINGS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
             ("men", "man"), ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"),
             ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip

Senses = frozenset[str]


@dataclass(frozen=True, eq=False)
class WordNet:
    """WordNet's synonym sets by word, and irregular forms (Fellbaum 1998; files as in wndb(5))."""

    sets: Mapping[str, Mapping[str, Sequence[str]]]
    irregular: Mapping[str, Mapping[str, Sequence[str]]]
    fingerprint: str

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Self:
        files = [folder / name for pos in _FILES for name in (f"index.{pos}", f"{pos}.exc")]
        for file in files:
            if not file.is_file():
                raise InputError(
                    "no such file", location=file, remedy="on Debian: apt-get install wordnet-base"
                )
        return cls(
            {pos: dict(_sets(read_lines(folder / f"index.{pos}"), pos)) for pos in _FILES},
            {pos: dict(_forms(read_lines(folder / f"{pos}.exc"))) for pos in _FILES},
            digest(*map(sha256, files)),
        )

    def senses(self, word: str) -> Senses:
        return frozenset(
            sense
            for pos in _FILES
            for form in self._forms(word.lower(), pos)
            for sense in self.sets[pos].get(form, ())
        )

    def _forms(self, word: str, pos: str) -> Iterator[str]:
        yield word
        yield from self.irregular[pos].get(word, ())
        for ending, instead in _ENDINGS[pos]:
            if word.endswith(ending) and len(word) > len(ending):
                yield word.removesuffix(ending) + instead


@cache
def english() -> WordNet:
    """The WordNet that is installed, read once; raises InputError without one."""
    return WordNet.read()


def senses_of(words: Iterable[str], language: str) -> list[Senses]:
    """The sets of synonyms of each word; raises InputError for a language other than English."""
    if language.lower().replace("_", "-").partition("-")[0] != "en":
        raise InputError(
            f"synonyms are those of WordNet, which is English, but the language is '{language}'",
            remedy="leave out `synonyms`",
        )
    return [english().senses(word) for word in words]


def _sets(lines: Iterable[str], pos: str) -> Iterator[tuple[str, list[str]]]:
    for line in lines:
        if line and not line.startswith(" "):  # the licence
            word, _, sets, pointers, *rest = line.split()
            yield word, [f"{pos}{offset}" for offset in rest[int(pointers) + 2 :][: int(sets)]]


def _forms(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for line in lines:
        word, *bases = line.split() or [""]
        if word:
            yield word, bases
