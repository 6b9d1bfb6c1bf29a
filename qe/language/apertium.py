"""Runs Apertium's programs so that texts do not affect each other."""

import os
import re
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from features.basics.errors import InputError

MODES = Path("/usr/share/apertium")
PATIENCE = 600.0  # timeout of a call, in seconds

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
_END = "[][\n\n]"  # end of a paragraph between stages
_LOOKUP: Final = re.compile(r"lt-proc +(-b|\$1) +'[^']+'")  # dictionary lookup of translations or forms
_UNIT: Final = re.compile(r"(\\.|\^[^\\$]*(?:\\.[^\\$]*)*\$)", re.DOTALL)  # or an escaped character
_MOST: Final = 200_000  # maximum cached units per dictionary, about 40 MB

Command = tuple[str, ...]


def apertium_code(language: str) -> str:
    """Apertium's name of a language: `eng` for `en`."""
    return _ISO_639_3.get(language, language)


def call(command: Sequence[str], text: str = "") -> tuple[str, str]:
    """Output and messages of a program for `text`; raises InputError if it fails, or after ten minutes."""
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
    """Runs a program over texts so that no text affects another: (indices of the texts, output) of every run.

    With `-d`, Apertium's tagger reports ambiguities absent from its training, after which its tagging
    changes. Texts with such words are run alone, all others together. `run` returns output and messages.
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
    """A mode of Apertium, split at its tagger and at the dictionaries after it, as modes in `folder`."""

    program: str
    folder: str
    tagger: str
    later_stages: tuple[str | Command, ...]  # names of modes, and dictionaries for distinct units

    def run(self, lines: Sequence[str]) -> str:
        """Output for lines that are one paragraph each; empty if the mode mixes them up."""
        text, _ = call(["apertium-destxt"], paragraphs(lines))
        analysed = self._stage("before", text).split(_END)
        if len(analysed) != len(lines) + 1:
            return ""
        tagged: dict[int, str] = {}
        command = ["apertium-tagger", "-g", "-d", self.tagger]
        pieces_of_lines = [f"{piece}{_END}" for piece in analysed[:-1]]
        for rows, output in unseen(pieces_of_lines, lambda texts: call(command, "".join(texts))):
            pieces = output.split(_END)
            if len(pieces) != len(rows) + 1:
                return ""
            tagged |= zip(rows, pieces, strict=False)
        text = "".join(f"{tagged[i]}{_END}" for i in range(len(lines)))
        for stage in self.later_stages:
            text = self._stage(stage, text) if isinstance(stage, str) else look_up(stage, text)
        return call(["apertium-retxt"], text)[0]

    def _stage(self, name: str, text: str) -> str:
        return call([self.program, "-f", "none", "-d", self.folder, "-u", name], text)[0]


_units: defaultdict[Command, dict[str, str]] = defaultdict(dict)


def look_up(command: Command, text: str) -> str:
    """The output of `lt-proc` for a text, with each unit (`^...$`) looked up once, independent of others."""
    if len(_units[command]) > _MOST:
        _units[command] = {}
    known = _units[command]  # entries are only added, because other threads read it
    parts = _UNIT.split(text)  # every second part is a unit
    new = [unit for unit in dict.fromkeys(parts[1::2]) if unit not in known and unit[0] == "^"]
    if new:
        answers = call(command, "\n".join(new))[0].split("\n")
        if len(answers) != len(new):
            return call(command, text)[0]
        known.update(zip(new, answers, strict=True))
    parts[1::2] = [known.get(unit, unit) for unit in parts[1::2]]
    return "".join(parts)


def _stages(text: str) -> Iterator[str | Command]:
    end = 0
    for found in _LOOKUP.finditer(text):
        if between := text[end : found.start()].strip("| \n"):
            yield between
        yield tuple(shlex.split(found[0].replace("$1", "-n")))
        end = found.end()
    if rest := text[end:].strip("| \n"):
        yield rest


@contextmanager
def pipeline(program: str, folder: Path, mode: str) -> Iterator[Pipeline | None]:
    """The parsed mode; None if `folder` has no such file, or the mode no such tagger."""
    file = folder / "modes" / f"{mode}.mode"
    stages = _STAGES.fullmatch(file.read_text("utf-8").strip() if file.is_file() else "")
    if stages is None:
        yield None
        return
    with TemporaryDirectory(prefix="qe-apertium-") as changed:
        modes = Path(changed) / "modes"
        modes.mkdir()
        after: list[str | Command] = []
        for stage in _stages(stages["after"]):
            name = f"after{len(after)}"
            after.append(stage if isinstance(stage, tuple) else name)
            if isinstance(stage, str):
                (modes / f"{name}.mode").write_text(stage, "utf-8", newline="")
        (modes / "before.mode").write_text(stages["before"], "utf-8", newline="")
        yield Pipeline(program, changed, stages["tagger"], tuple(after))


def paragraphs(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n\n" for line in lines)
