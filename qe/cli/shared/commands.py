"""Verbs as commands: options are a function's parameters, their help is in its docstring.

A parameter without a default is required. One whose type is a dataclass is a group of options, one per field,
that verbs can share. After the text of the docstring come sections of options, each with its
names, its metavar and, after two blanks or on the next line, its help:

    title:
      -o, --output FILE  What is written there.
      experiment  An argument has the name of its parameter.

Options of several verbs are described in CommonOptions. A function that returns a Result has --json; one that
takes `progress` has --quiet. Errors have one line, help fits the terminal.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from features.basics.errors import NO_MODEL, InputError, did_you_mean, keep_known_options
from features.basics.numerals import integer, real
from qe.cli._process import set_environment
from qe.cli.shared.options import CommonOptions
from qe.cli.shared.printing import Result, chosen_form, emit
from qe.statistics.settings import CorrectionSettings

OUTPUT = "output"  # the section of options that name what is written
# Options whose parameters have clearer names.
_RENAMED = {
    "set": "overrides", "effort": "scores", "each": "sweep", "only": "selection", "with": "added_checks",
    "without": "excluded_checks",
}  # fmt: skip
# Commands that check their outputs themselves: jobs that can be resumed, and folders that grow.
OWN_CHECK = {
    "data fetch", "demo", "distill", "encoders fetch", "encoders make", "encoders quantize", "init",
    "report", "reproduce", "resources build", "score", "train",
}  # fmt: skip
_OWN_LOCK = {*OWN_CHECK, "annotate train", "unsupervised"}
_GROWING = {"annotate train": "task"}  # the parameter that names the part of the folder which is written
_MADE = ("cache_dir", "data_root", "model")  # made if it is absent, or told by what reads it
_NAMED = re.compile(r"(=|\])(RUN|FILE|\.\.\.)|\[=FILE")  # metavars of named files
# Commands that draw, by which --plots is taken.
DRAWING = {
    "ablate", "compare", "correlate", "demo", "effort", "evaluate words", "power", "rank", "robustness",
    "train", "triage",
}  # fmt: skip
NOTHING_COMPUTED = {"cache", "completion", "init", "models", "schema", "ui"}
_OLD_NAMES = {  # kept for one minor version
    "--by": "--unit", "--held-out": "--test-sentences", "--known": "--reuse-scores",
}  # fmt: skip
_NUMBERS = {int: (integer, "a whole number"), float: (real, "a number")}
HELP = ("-h", "--help")


@dataclass(frozen=True)
class Option:
    """An option of a command, or an argument, which has no names."""

    title: str
    names: tuple[str, ...]
    opposites: tuple[str, ...]  # that set a flag to false
    metavar: str
    text: str
    parameter: str
    kind: Any = str
    default: Any = None
    required: bool = False
    is_list: bool = False
    size: int | str | None = None  # how many values follow, as argparse counts
    bounds: tuple[float | None, float | None] = (None, None)

    def typed(self, parameter: str, hint: Any, default: Any) -> "Option":
        bounds = self.bounds
        if hasattr(hint, "__metadata__"):
            bounds = hint.__metadata__[0].ge, hint.__metadata__[0].le
            hint = get_args(hint)[0]
        if NoneType in get_args(hint):
            hint = get_args(hint)[0]
        if get_origin(hint) is Literal:
            hint = str
        required, is_list = default in (inspect.Parameter.empty, MISSING), get_origin(hint) is list
        size: int | str | None = None if self.names or required else "?"
        if is_list and (self.metavar.endswith("...") or not self.names):
            size = "+" if self.names or required else "*"
        elif get_origin(hint) is tuple:
            size = len(get_args(hint))
        return replace(
            self, parameter=parameter, kind=get_args(hint)[0] if get_args(hint) else hint, is_list=is_list,
            size=size, default=None if required else default, required=required, bounds=bounds,
        )  # fmt: skip

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        common: dict[str, Any] = {"default": self.default}
        if self.kind is bool:
            common |= {"dest": self.parameter, "action": "store_const"}
            parser.add_argument(*self.names, const=True, **common)
            if self.opposites:
                parser.add_argument(*self.opposites, const=False, **common)
            return
        common |= {"nargs": self.size, "type": self.read}
        if not self.names:
            parser.add_argument(self.parameter, **common)
            return
        action = "store" if not self.is_list else "extend" if self.size else "append"
        parser.add_argument(*self.names, dest=self.parameter, action=action, required=self.required, **common)

    def read(self, text: str) -> Any:
        """The value that a word gives; raises ArgumentTypeError for what is no number within the bounds."""
        if self.kind not in _NUMBERS:
            return self.kind(text)
        read, noun = _NUMBERS[self.kind]
        low, high = self.bounds
        try:
            value = read(text)
        except ValueError:
            value = None
        if value is None or not (low is None or value >= low) or not (high is None or value <= high):
            noun += "" if low is None else f" from {low}"
            noun += "" if high is None else f" up to {high}" if low is None else f" to {high}"
            raise argparse.ArgumentTypeError(f"must be {noun}, but got {text}")
        return value


def described_options(documentation: str) -> tuple[str, dict[str, Option]]:
    r"""The text of a docstring without its sections of options, and those by the names of parameters.

    >>> text, entries = described_options("Text.\n\ninput:\n  -i, --input FILE  A table.\n  data DATA  Rows.")
    >>> text, entries["input"].names, entries["data"].metavar
    ('Text.', ('-i', '--input'), 'DATA')
    """
    paragraphs, entries = [], dict[str, Option]()
    for paragraph in inspect.cleandoc(documentation).split("\n\n"):
        title, _, listed = paragraph.partition(":\n")
        if paragraph.startswith(" ") or not re.match(r"  \S", listed):
            paragraphs.append(paragraph)
            continue
        for entry in re.split(r"\n  (?=\S)", listed.rstrip()):
            declaration, text = re.split(r" {2,}|\n +", entry.strip(), maxsplit=1)
            words = declaration.split(" ")
            pairs = [word.rstrip(",").split("/") for word in words if word.startswith("-")]
            names, opposites = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs if pair[1:])
            key = max(names, key=len).lstrip("-").replace("-", "_") if names else words.pop(0)
            key, metavar = _RENAMED.get(key, key) if names else key, " ".join(words[len(names) :])
            entries[key] = Option(title, names, opposites, metavar, " ".join(text.split()), key)
    return "\n\n".join(paragraphs), entries


@cache
def _shared() -> dict[str, Option]:
    kinds = (CommonOptions, CorrectionSettings)
    return {name: one for kind in kinds for name, one in described_options(kind.__doc__ or "")[1].items()}


def _undescribed(name: str, default: Any) -> Option:
    is_argument = default in (inspect.Parameter.empty, MISSING)
    names = () if is_argument else (f"--{name.strip('_').replace('_', '-')}",)
    metavar = "" if isinstance(default, bool) else name.strip("_").upper()
    return Option("arguments" if is_argument else "options", names, (), metavar, "", name)


class Command:
    """A function as a command, with --threads, --plots, --overwrite, --json and --quiet where they apply."""

    def __init__(self, function: Callable[..., Any], verb: str, name: str) -> None:
        self.function, self.verb = function, verb
        self.path = verb if name == verb else f"{verb} {name}"
        self.text, entries = described_options(function.__doc__ or "")
        signature = inspect.signature(function, eval_str=True)
        self.parameters = signature.parameters
        self.groups: dict[str, Any] = {}
        typed: dict[str, tuple[Any, Any]] = {}
        kind: Any
        for one in self.parameters.values():
            if is_dataclass(one.annotation):
                kind = self.groups[one.name] = one.annotation
                for above in kind.__mro__[:-1]:
                    entries = described_options(above.__doc__ or "")[1] | entries
                hints = get_type_hints(kind, include_extras=True)
                typed |= {each.name: (hints[each.name], each.default) for each in fields(kind)}
            elif one.name != "progress":
                typed[one.name] = one.annotation, one.default
        entries = _shared() | entries
        described = {
            name: entries.get(name) or entries.get(name.rstrip("_")) or _undescribed(name, default)
            for name, (_, default) in typed.items()
        }
        self.options = [described[name].typed(name, *typed[name]) for name in typed]
        outputs = [one for one in self.options if one.kind is Path and one.title == OUTPUT]
        self.outputs = [] if self.path in OWN_CHECK else outputs
        also = {
            "json": signature.return_annotation is Result,
            "quiet": "progress" in self.parameters,
            "overwrite": bool(self.outputs),
        }
        for name in (name for name, applies in also.items() if applies and name not in typed):
            self.options.append(entries[name].typed(name, bool, False))
        if verb not in NOTHING_COMPUTED and self.options:
            self.options.append(replace(entries["threads"].typed("threads", int, None), bounds=(1, None)))
        if self.path in DRAWING:
            self.options.append(entries["plots"].typed("plots", list[str], None))

    def parse(self, arguments: Sequence[str]) -> dict[str, Any]:
        """The values of all parameters; raises InputError for words that are none of them."""
        names = [name for option in self.options for name in (*option.names, *option.opposites)]
        words = []
        for argument in arguments:
            name, equals, value = argument.partition("=")
            new = _OLD_NAMES.get(name)
            if new in names:
                print(f"qe {self.path}: {name} is now {new}; the old name will be removed", file=sys.stderr)
            words.append(f"{new}{equals}{value}" if new in names else argument)
        for word in words:
            name = word.partition("=")[0]
            if name not in names and re.match("--.", name):
                remedy = f"{did_you_mean(name, names)[2:]}; see `qe {self.path} --help`".removeprefix("; ")
                raise InputError(f"no such option: {name}", remedy=remedy)
        parser = _Parser(f"qe {self.path}", usage="", add_help=False, allow_abbrev=False)
        for option in self.options:
            option.add_to(parser)
        return vars(parser.parse_intermixed_args(words))

    def run(self, arguments: Sequence[str]) -> int:
        """Parse, check paths, call the function, print its result; the exit code."""
        values = self.parse(arguments)
        form = chosen_form(values)
        set_environment(values.get("threads"), values.get("plots"))
        output, given = values.get("output"), dict(values)
        for name, kind in self.groups.items():
            given[name] = kind(**{one.name: values[one.name] for one in fields(kind)})
        with ExitStack() as stack:
            self._check_paths(values, stack)
            if "progress" in self.parameters:
                from qe.cli.shared.progress import progress_bar

                given["progress"] = stack.enter_context(progress_bar(values["quiet"] or form == "json"))
            try:
                result = self.function(**{name: given[name] for name in self.parameters})
            except InputError as error:
                options = {name.lstrip("-") for one in self.options for name in one.names + one.opposites}
                keep_known_options(error, options)
                raise
            if isinstance(result, Result) and result.write is not None and output is not None:
                result.write(output)
        return emit(result, self.verb, values) if isinstance(result, Result) else 0

    def _check_paths(self, values: dict[str, Any], stack: ExitStack) -> None:
        from features.storage.outputs import check_no_overlap, check_output, locked_folder

        paths = [one for one in self.options if one.kind is Path and one.title != OUTPUT]
        inputs = [
            path for one in paths if one.parameter not in _MADE for path in _paths(values[one.parameter])
        ]
        if "model" in values:
            check_existence(inputs)
        others = []
        for key in (one.parameter for one in self.options if _NAMED.search(one.metavar)):
            for text in values[key] or ():  # such as NAME=FILE,FILE; a Path is counted already
                _, equals, files = str(text).partition("=")
                is_named = equals and not Path(text).exists()
                others += [Path(file) for file in (files if is_named else str(text)).split(",")]
        part = values.get(_GROWING.get(self.path, ""), "")
        for option in self.outputs:
            for one in _paths(values[option.parameter]):
                if not values["overwrite"]:
                    check_absent(one / part, self.verb, inputs)
                check = check_no_overlap if option.metavar == "DIR" else check_output
                check(one, [*inputs, *others])
                if option.metavar == "DIR" and self.path not in _OWN_LOCK:
                    stack.enter_context(locked_folder(one, self.verb))
                others.append(one)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        remedy = f"see `{self.prog} --help`"
        if message.startswith("the following arguments are required") and "--model" in message:
            remedy = f"{NO_MODEL}; {remedy}"
        message = message.removeprefix("argument ").replace(": must be ", " must be ", 1)
        raise InputError(message, remedy=remedy)


def check_existence(paths: Iterable[Path]) -> None:
    """Raises InputError for a path that does not exist, with the nearest name; `-` and patterns are fine."""
    for path in paths:
        if not path.exists() and not re.search(r"[*?\[]", path.name) and str(path) != "-":
            names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
            remedy = f"check the path{did_you_mean(path.name, names)}"
            raise InputError("no such file", location=path, remedy=remedy)


def _paths(value: Any) -> list[Path]:
    return [
        path for path in (value if isinstance(value, list | tuple) else [value]) if isinstance(path, Path)
    ]


def check_absent(path: Path, verb: str, inputs: Sequence[Path]) -> None:
    """Raises InputError for an output that exists: a file, or a folder with an earlier output of the verb."""
    from features.storage.outputs import MARK, check_no_overlap, owner_of

    exists = path.resolve().is_file()  # raises for a loop of links
    if path.is_dir() and verb in (owner_of(path), owner_of(path.parent)):
        exists = any(file.name != MARK and file.suffix != ".lock" for file in path.iterdir())
    if exists:
        check_no_overlap(path, [given for given in inputs if given.is_file()])
        raise InputError("exists already", location=path, remedy="choose another path, or add --overwrite")
