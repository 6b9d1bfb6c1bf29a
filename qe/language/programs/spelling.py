"""Spelling errors, detected by hunspell."""

import re
import shutil
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from features.basics.errors import InputError
from features.storage.files import digest, sha256
from qe.language.programs.apertium import call

Addition = tuple[list[str], dict[int, str]]  # comments; token -> MISC value

_PATHS: Final = re.compile(r"^(/\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Hunspell:
    """Marks misspelt words with `Spell=no` in MISC, and adds the comment `speller`.

    The dictionary is `xx_XX` if installed (English: `en_US`), else the first `xx_...`. A token without
    letters is correct; one with hyphens or apostrophes is correct if all its parts are.
    """

    language: str

    def unknown(self, words: Collection[str]) -> frozenset[str]:
        asked = sorted(word for word in set(words) if any(map(str.isalpha, word)) and _is_plain(word))
        if not asked:
            return frozenset()
        command = ["hunspell", "-L", "-i", "UTF-8", "-d", str(self.dictionary)]
        lines, _ = call(command, "".join(word + "\n" for word in asked))
        return frozenset(asked) & frozenset(lines.split("\n"))

    def additions(self, texts: Sequence[Sequence[str]]) -> Iterator[Addition]:
        unknown = self.unknown({word for text in texts for word in text})
        comment = f"speller = hunspell {self.dictionary.name}"
        for text in texts:
            yield [comment], {i: "Spell=no" for i, word in enumerate(text) if word in unknown}

    @cached_property
    def dictionary(self) -> Path:
        if shutil.which("hunspell") is None:
            raise InputError(
                "the program hunspell is not installed",
                remedy=f"on Debian: apt-get install hunspell hunspell-{_package(self.language)}",
            )
        _, listed = call(["hunspell", "-D"])
        paths = sorted(
            path for line in _PATHS.findall(listed) if _has_language(path := Path(line), self.language)
        )
        if not paths:
            raise InputError(
                f"hunspell has no dictionary of '{self.language}' here",
                remedy=f"on Debian: apt-get install hunspell-{_package(self.language)}",
            )
        usual = {"en": "en_US"}.get(self.language, f"{self.language}_{self.language.upper()}")
        return next((path for path in paths if path.name == usual), paths[0])

    @property
    def fingerprint(self) -> str:
        files = (self.dictionary.with_name(self.dictionary.name + ending) for ending in (".aff", ".dic"))
        return digest("hunspell", 1, *(sha256(file) for file in files))


def _has_language(path: Path, language: str) -> bool:
    return path.name == language or path.name.startswith(f"{language}_")


def _is_plain(word: str) -> bool:
    return not any(unicodedata.category(c)[0] in "CZ" for c in word)


def _package(language: str) -> str:
    return {"en": "en-us", "de": "de-de", "pt": "pt-pt"}.get(language, language)
