"""Apertium's programs: how they are run, and how no text sees another one."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from features.basics.errors import InputError

MODES = Path("/usr/share/apertium")
PATIENCE = 600.0  # seconds for a call, after which the program counts as hung

# Apertium names languages by ISO 639-3; older packages by ISO 639-1.
_ISO_639_3: Final[Mapping[str, str]] = {
    "af": "afr", "an": "arg", "be": "bel", "bg": "bul", "br": "bre", "ca": "cat", "cs": "ces", "cy": "cym",
    "da": "dan", "de": "deu", "en": "eng", "eo": "epo", "es": "spa", "eu": "eus", "fr": "fra", "gl": "glg",
    "hi": "hin", "id": "ind", "is": "isl", "it": "ita", "kk": "kaz", "mk": "mkd", "ms": "msa", "mt": "mlt",
    "nb": "nob", "nl": "nld", "nn": "nno", "oc": "oci", "pl": "pol", "pt": "por", "ro": "ron", "ru": "rus",
    "sh": "hbs", "sl": "slv", "sv": "swe", "tr": "tur", "tt": "tat", "uk": "ukr", "ur": "urd",
}  # fmt: skip

_SURPRISE: Final = re.compile(r"ambiguity class was found.*?^Word '(.*?)'\.$", re.DOTALL | re.MULTILINE)
_STAGES: Final = re.compile(
    r"(?P<before>.+?)\| *apertium-tagger -g \$2 '(?P<tagger>[^']+)' *\|(?P<after>.+)", re.DOTALL
)
_END = "[][\n\n]"  # of a paragraph, between the stages


def apertium_code(language: str) -> str:
    """Apertium's name of a language: `eng` for `en`."""
    return _ISO_639_3.get(language, language)


def call(command: Sequence[str], text: str = "") -> tuple[str, str]:
    """What the program writes given `text` to read, and its messages.

    Raises InputError if it fails, or says nothing for ten minutes.
    """
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=PATIENCE, check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise InputError(f"{name} gave no answer in {PATIENCE:g} s") from None
    messages = done.stderr.decode("utf-8", "replace")
    if done.returncode:
        raise InputError(f"{' '.join([name, *command[1:]])} failed: {messages.strip()[-500:]}")
    return done.stdout.decode("utf-8", "replace"), messages


def unseen(
    texts: Sequence[str], run: Callable[[Sequence[str]], tuple[str, str]]
) -> list[tuple[list[int], str]]:
    """Runs of a program over texts in which none has an influence on another.

    Apertium's tagger says with `-d` which ambiguities it was not trained on; from there on it tags otherwise.
    Texts with such words are run alone, all others together.

    run      texts -> what the program writes, its messages
    Returns  (which texts, what the program wrote for them) of every run.
    """
    rest, alone, output = list(range(len(texts))), list[int](), ""
    while rest:
        output, messages = run([texts[i] for i in rest])
        words = sorted(set(_SURPRISE.findall(messages)))
        if not words or len(rest) == 1:
            break
        any_of_them = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, words))})(?!\w)")
        surprising = {i for i in rest if any_of_them.search(texts[i])} or set(rest)
        alone += sorted(surprising)
        rest = [i for i in rest if i not in surprising]
    runs = [([i], run([texts[i]])[0]) for i in alone]
    return [*runs, (rest, output)] if rest else runs


@dataclass(frozen=True)
class Pipeline:
    """A mode of Apertium, split at its tagger.

    The parts before and after are modes in `folder`.
    """

    program: str
    folder: str
    tagger: str

    def run(self, lines: Sequence[str]) -> str:
        """What the mode makes of lines that are a paragraph each; empty if it mixes them up.

        All stages see all lines, but the tagger only those that have no influence on each other.
        """
        text, _ = call(["apertium-destxt"], paragraphs(lines))
        analysed = self._stage("before", text).split(_END)
        if len(analysed) != len(lines) + 1:
            return ""
        tagged: dict[int, str] = {}
        for rows, output in unseen([f"{piece}{_END}" for piece in analysed[:-1]], self._tag):
            pieces = output.split(_END)
            if len(pieces) != len(rows) + 1:
                return ""
            tagged |= zip(rows, pieces, strict=False)
        text = "".join(f"{tagged[i]}{_END}" for i in range(len(lines)))
        return call(["apertium-retxt"], self._stage("after", text))[0]

    def _tag(self, texts: Sequence[str]) -> tuple[str, str]:
        return call(["apertium-tagger", "-g", "-d", self.tagger], "".join(texts))

    def _stage(self, name: str, text: str) -> str:
        return call([self.program, "-f", "none", "-d", self.folder, "-u", name], text)[0]


@contextmanager
def pipeline(program: str, folder: Path, mode: str) -> Iterator[Pipeline | None]:
    """The mode taken apart; None if there is no such file in `folder`, or no such tagger in it."""
    file = folder / "modes" / f"{mode}.mode"
    stages = _STAGES.fullmatch(file.read_text("utf-8").strip() if file.is_file() else "")
    if stages is None:
        yield None
        return
    with TemporaryDirectory(prefix="qe-apertium-") as changed:
        (Path(changed) / "modes").mkdir()
        for name in ("before", "after"):
            (Path(changed) / "modes" / f"{name}.mode").write_text(stages[name], "utf-8", newline="")
        yield Pipeline(program, changed, stages["tagger"])


def paragraphs(lines: Sequence[str]) -> str:
    """The lines, each a paragraph of its own."""
    return "".join(f"{line}\n\n" for line in lines)
