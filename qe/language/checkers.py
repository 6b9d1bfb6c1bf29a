"""Programs that check texts: hunspell finds misspelt words, link-parser parses English."""

import re
import shutil
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from features.basics.errors import InputError
from features.basics.threads import cores
from features.storage.files import digest, sha256
from features.text.tokenizer import batches
from qe.language.apertium import call

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
        asked = sorted(
            word
            for word in set(words)
            if any(map(str.isalpha, word)) and not any(unicodedata.category(c)[0] in "CZ" for c in word)
        )
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
            remedy = f"on Debian: apt-get install hunspell hunspell-{_package(self.language)}"
            raise InputError("the program hunspell is not installed", remedy=remedy)
        _, listed = call(["hunspell", "-D"])
        found = map(Path, _PATHS.findall(listed))
        paths = sorted(path for path in found if path.name.partition("_")[0] == self.language)
        if not paths:
            problem = f"hunspell has no dictionary of '{self.language}' here"
            raise InputError(problem, remedy=f"on Debian: apt-get install hunspell-{_package(self.language)}")
        usual = {"en": "en_US"}.get(self.language, f"{self.language}_{self.language.upper()}")
        return next((path for path in paths if path.name == usual), paths[0])

    @property
    def fingerprint(self) -> str:
        files = (self.dictionary.with_name(self.dictionary.name + ending) for ending in (".aff", ".dic"))
        return digest("hunspell", 1, *(sha256(file) for file in files))


def _package(language: str) -> str:
    return {"en": "en-us", "de": "de-de", "pt": "pt-pt"}.get(language, language)


CHUNK: Final = 50  # texts per process
SECONDS: Final = 5  # timeout of a parse, in seconds
LIMIT: Final = 100  # maximum number of ranked linkages

_FOUND: Final = re.compile(r"^Found (\d+) linkages? ", re.MULTILINE)
_COST: Final = re.compile(r"cost vector = \(UNUSED= *(\d+) DIS= *([\d.]+) LEN= *(\d+)\)")
_VERSION: Final = re.compile(r"Version: (\S+)")


@dataclass(frozen=True)
class LinkGrammar:
    """Adds comments on the best linkage of link grammar.

    `link_grammar_linkages` is the number of linkages, `link_grammar_unused` the number of unlinked words (0:
    grammatical), `link_grammar_cost` the cost of the disjuncts, `link_grammar_length` the sum of link
    lengths. Texts on which the program gives up get no comments.
    """

    language: str

    def additions(self, texts: Sequence[Sequence[str]]) -> Iterator[Addition]:
        self._check()
        with ThreadPoolExecutor(cores()) as pool:
            for comments in pool.map(_of_texts, batches(texts, CHUNK)):
                yield from ((of_text, {}) for of_text in comments)

    def _check(self) -> None:
        if self.language != "en":
            raise InputError(f"link grammar parses English (en), not '{self.language}'")
        if shutil.which("link-parser") is None:
            raise InputError(
                "the program link-parser is not installed", remedy="on Debian: apt-get install link-grammar"
            )

    @property
    def fingerprint(self) -> str:
        self._check()
        said = "".join(call(["link-parser", "--version"]))
        version = _VERSION.search(said)
        return digest("link-grammar", 1, version.group(1) if version else said, SECONDS, LIMIT)


def _of_texts(texts: Sequence[Sequence[str]]) -> list[list[str]]:
    command = [
        "link-parser", "en", "-graphics=0", "-verbosity=1", "-panic=0", "-spell=0", f"-timeout={SECONDS}",
        f"-limit={LIMIT}",
    ]  # fmt: skip
    end = f"limit set to {LIMIT}\n"
    shown = [_line_of(text) for text in texts]
    asked = "".join(f"{text}\n!limit={LIMIT}\n" for text in shown)
    answers = call(command, asked)[0].split(end)
    answers = answers[len(answers) - len(texts) - 1 : -1]  # skips output about options
    return [_comments(answer) if text else [] for answer, text in zip(answers, shown, strict=True)]


def _comments(answer: str) -> list[str]:
    counts, cost = _FOUND.findall(answer), _COST.search(answer)
    if not counts or cost is None:
        return []
    values = {
        "linkages": counts[-1], "unused": cost.group(1), "cost": cost.group(2), "length": cost.group(3)
    }  # fmt: skip
    return [f"link_grammar_{name} = {value}" for name, value in values.items()]


def _line_of(text: Sequence[str]) -> str:
    """The text as one line that the program does not read as a command, without leading `!` and `#`."""
    line = " ".join("".join("_" if unicodedata.category(c)[0] in "CZ" else c for c in word) for word in text)
    return line.lstrip("!# ")
