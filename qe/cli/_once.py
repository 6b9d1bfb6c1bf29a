"""Outputs of verbs are not replaced silently, and the same command does not make them again."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any, TextIO, cast
from uuid import uuid4

import typer

from qe.cli._common import tell_made
from qe.cli._inputs import content_of, inputs_of, is_built, texts_of
from qe.cli._options import OUTPUT

# Commands that look after their outputs themselves: jobs that go on, and folders that grow.
_THEMSELVES = {
    "data fetch", "demo", "distill", "encoders fetch", "encoders make", "encoders quantize",
    "reproduce", "resources build", "score", "train",
}  # fmt: skip
# Commands that add to the folder: the parameter that names what they write in it.
_PARTS = {"annotate train": "task"}
# Options that change what is printed, or how fast, and not what is written.
_PRINTED = {"quiet", "as_json", "json", "markdown", "latex", "csv", "track", "overwrite", "cache_dir"}
_OTHERS = "what another command, other inputs or other options made"
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_MOST = 1 << 20  # characters on stdout that are kept


def output_options(command: str, options: Sequence[Any]) -> list[Any]:
    """The options that name files or folders which the command writes.

    Only those that are looked after here.

    command  as it is called, without `qe`
    """
    if command in _THEMSELVES:
        return []
    return [one for one in options if _names_output(one)]


def _names_output(option: Any) -> bool:
    kind = str(option.type_descriptor.annotation)
    return getattr(option, "rich_help_panel", None) == OUTPUT and "Path" in kind


def once(
    command: str, outputs: Sequence[str], given: dict[str, Any], overwrite: bool, run: Callable[[], Any]
) -> Any:
    """Run a command, unless the same one has already made its outputs.

    It then says so, and repeats the words of that command.

    outputs  names of the parameters that say what is written
    given    parameter -> value; its own `overwrite`, if it has one, is set for what the command itself made

    Raises InputError if an output is there that another command made, or that was changed since.
    """
    part = given[_PARTS[command]] if command in _PARTS else ""
    written = [path / part for name in outputs for path in _paths(given[name])]
    if not written:
        return run()
    asked = Asked(command, tuple(written), {k: v for k, v in given.items() if k not in outputs})
    told = asked.earlier(overwrite)
    if told is not None:
        names = ", ".join(map(str, written))
        tell_made(command, names)
        sys.stdout.write(told["printed"])
        raise typer.Exit(int(told["code"]))
    if asked.is_own and "overwrite" in given:
        given["overwrite"] = True
    with _heard() as heard:
        try:
            result = run()
        except typer.Exit as ended:
            asked.remember(heard.getvalue(), ended.exit_code)
            raise
    asked.remember(heard.getvalue(), 0)
    return result


@dataclass(frozen=True)
class Asked:
    """What a command was asked for.

    outputs  files and folders that it writes
    given    parameter -> value, without the outputs
    """

    command: str
    outputs: tuple[Path, ...]
    given: Mapping[str, Any]

    def earlier(self, overwrite: bool) -> Mapping[str, Any] | None:
        """What the same command printed when it made all of the outputs; None if it is to run.

        Raises InputError if an output is there that another command made, or that was changed since.
        """
        from features.basics.errors import InputError
        from features.storage.outputs import check_apart

        try:
            found = [each.earlier(overwrite) for each in self._finished]
        except InputError:
            for path in self.outputs:  # a better reason
                check_apart(path, [given for given in self._inputs if given.is_file() or is_built(given)])
            raise
        known = [one for one in found if one is not None]
        same = len(known) == len(found) and all(one["form"] == self._form for one in known)
        return known[0] if same else None

    @property
    def is_own(self) -> bool:
        """Whether the same command made what lies there, but printed it in another form."""
        return any(each.is_known for each in self._finished)

    def remember(self, printed: str, code: int) -> None:
        """Remembers that the outputs are made, what was printed, and the exit code."""
        if code not in (0, 1) or len(printed) > _MOST or not self._is_known:
            return
        for each in self._finished:
            if each.is_there:
                each.remember({"printed": _COLOURS.sub("", printed), "code": code, "form": self._form})

    @cached_property
    def _finished(self) -> list[Any]:
        from qe.scoring.finished import Finished

        verb = self.command.split()[0]
        return [Finished(path, self._fingerprint, _OTHERS, verb) for path in self.outputs]

    @cached_property
    def _inputs(self) -> list[Path]:
        return list(inputs_of(self.given))

    @property
    def _is_known(self) -> bool:
        piped = any(text == "-" for value in self.given.values() for text in texts_of(value))
        return not piped and all(path.is_file() or path.is_dir() for path in self._inputs)

    @cached_property
    def _fingerprint(self) -> str:
        from features.basics.packages import version
        from features.storage.files import digest

        if not self._is_known:
            return digest("once", uuid4())
        read = [(str(path), content_of(path, self.outputs)) for path in self._inputs]
        kept = {name: value for name, value in self.given.items() if name not in _PRINTED}
        said = json.dumps(kept, sort_keys=True, default=str)
        return digest("once", version(), self.command, said, os.environ.get("QE_PLOTS", ""), *read)

    @property
    def _form(self) -> str:
        said = {name: value for name, value in self.given.items() if name in _PRINTED - {"overwrite"}}
        return json.dumps(said, sort_keys=True, default=str)


def _paths(value: Any) -> list[Path]:
    several = value if isinstance(value, list | tuple) else [value]
    return [path for path in several if isinstance(path, Path)]


class _Tee:
    def __init__(self, stream: TextIO, kept: StringIO) -> None:
        self._stream, self._kept = stream, kept

    def write(self, text: str) -> int:
        if self._kept.tell() <= _MOST:
            self._kept.write(text)
        return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _heard() -> Iterator[StringIO]:
    stream, kept = sys.stdout, StringIO()
    sys.stdout = cast(TextIO, _Tee(stream, kept))
    try:
        yield kept
    finally:
        sys.stdout = stream
