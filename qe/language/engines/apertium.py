"""The rule-based engine Apertium."""

import shutil
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from features.basics.errors import InputError
from features.basics.threads import cores
from features.storage.files import digest
from features.text.tokenizer import batches, normalise
from qe.language.apertium import MODES, apertium_code, call, paragraphs, pipeline
from qe.language.engine import Engine

CHUNK = 2500  # lines per process: starting the ten programs of a pipeline takes as long as about 150 lines

# Special characters of Apertium's stream format, which its programs do not always escape. `~` is safe.
_STREAM_SIGNS = "^$/<>{}[]\\@|*"
_CLEAN: Final = {ord(sign): " " for sign in _STREAM_SIGNS}


@dataclass(frozen=True)
class Apertium(Engine):
    """The Apertium program (Forcada et al. 2011), as Debian packages it.

    Lines are normalised (`features.text.tokenizer.normalise`) and stripped of whitespace at the ends and
    special characters of Apertium's stream format. Unknown words stay unchanged, without a mark. Each line is
    a separate paragraph, and is tagged alone if the tagger meets new ambiguities in it, so that its
    translation does not depend on the batch. Raises InputError if it is not installed, or fails.
    """

    source_language: str
    target_language: str
    program: str = "apertium"
    workers: int = 0  # parallel processes; 0: one per core
    folder: Path = MODES

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Translates chunks in parallel, a few ahead of the consumer; keeps the order of lines."""
        workers = self.workers or cores()
        ahead: deque[Future[list[str]]] = deque()
        mode = self.mode  # raises InputError early
        with pipeline(self._path, self.folder, mode) as stages, ThreadPoolExecutor(workers) as pool:
            run = self._run_mode if stages is None else stages.run
            try:
                for chunk in batches(lines, CHUNK):
                    ahead.append(pool.submit(self._chunk, run, [clean(line) for line in chunk]))
                    if len(ahead) > 2 * workers:
                        yield from ahead.popleft().result()
                while ahead:
                    yield from ahead.popleft().result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _chunk(self, run: Callable[[Sequence[str]], str], lines: Sequence[str]) -> list[str]:
        filled = [line for line in lines if line]
        translations = iter(self._filled(run, filled))
        return [next(translations) if line else "" for line in lines]

    def _filled(self, run: Callable[[Sequence[str]], str], lines: list[str]) -> list[str]:
        if not lines:
            return []
        translations = split_paragraphs(run(lines), len(lines))
        if translations is not None:
            return translations
        if len(lines) == 1:
            problem = f"{self.program} -u {self.mode} did not give one line for {lines[0]!r}"
            raise InputError(problem, remedy="leave this line out, or make it plain text")
        middle = len(lines) // 2
        return self._filled(run, lines[:middle]) + self._filled(run, lines[middle:])

    def _run_mode(self, lines: Sequence[str]) -> str:
        return self._run(["-u", self.mode], paragraphs(lines))

    def _run(self, arguments: Sequence[str], text: str = "") -> str:
        return call([self._path, *arguments], text)[0]

    @cached_property
    def _path(self) -> str:
        program = shutil.which(self.program)
        if program is None:
            problem = f"the program {self.program} is not installed"
            raise InputError(problem, remedy="on Debian: apt-get install apertium apertium-eng-spa")
        return program

    @cached_property
    def mode(self) -> str:
        installed = self._run(["-l"]).split()
        pair = (self.source_language, self.target_language)
        long = "-".join(apertium_code(code) for code in pair)
        for name in (long, "-".join(pair)):
            if name in installed:
                return name
        package = "-".join(sorted(long.split("-")))
        raise InputError(
            f"Apertium has no language pair {long} here; installed: {', '.join(installed) or 'none'}",
            remedy=f"on Debian: apt-get install apertium-{package}, if there is such a package",
        )

    @property
    def fingerprint(self) -> str:
        return digest("apertium", 2, self._run(["-V"]), self.mode)


def clean(line: str) -> str:
    """Plain text for Apertium: quotes and dashes normalised, special and control characters removed.

    >>> clean(" a*b “c” \\x00[1/2] ")
    'a b "c" 1 2'
    """
    text = normalise(line).translate(_CLEAN)
    return " ".join("".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf", "Cs")).split())


def split_paragraphs(text: str, n: int) -> list[str] | None:
    """The n one-line paragraphs of `text`, or None if it has another form."""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    filled, gaps = lines[::2], lines[1::2]
    return filled if len(filled) == n and all(filled) and not any(gaps) else None
