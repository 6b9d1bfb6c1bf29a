"""Parses of English by link grammar (Sleator and Temperley 1991), with the program link-parser."""

import re
import shutil
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from features.basics.errors import InputError
from features.basics.threads import cores
from features.storage.files import digest
from features.text.tokenizer import batches
from qe.language.programs.apertium import call
from qe.language.programs.spelling import Addition

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
