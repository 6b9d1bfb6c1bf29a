"""Commands as Typer reads them: options are a function's parameters, their help is in its docstring.

A parameter without a default is required. One whose type is a dataclass is a group of options, one per field,
that verbs can share. After the text of the docstring come sections of options, each with its
names, its metavar and, after two blanks or on the next line, its help:

    title:
      -o, --output FILE  What is written there.
      experiment  An argument has the name of its parameter.

Options of several verbs are described in CommonOptions.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from features.basics.errors import InputError, keep_known_options
from qe.cli._process import use_plots, use_threads
from qe.cli.shared.options import CommonOptions

OUTPUT = "output"  # the section of options that name what is written
# Options whose parameters have clearer names.
_RENAMED = {
    "set": "overrides", "effort": "scores", "each": "sweep", "only": "selection", "with": "added_checks",
    "without": "excluded_checks",
}  # fmt: skip
# Commands that check their outputs themselves: jobs that can be resumed, and folders that grow.
OWN_CHECK = {
    "data fetch", "demo", "distill", "encoders fetch", "encoders make", "encoders quantize", "init",
    "reproduce", "resources build", "score", "train",
}  # fmt: skip
_GROWING = {"annotate train": "task"}  # the parameter that names the part of the folder which is written
_INSIDE = {"report"}  # commands whose output may lie in the folder that they read
# Commands that draw, by which --plots is taken.
DRAWING = {
    "ablate", "compare", "correlate", "demo", "effort", "evaluate words", "power", "rank", "robustness",
    "train", "triage",
}  # fmt: skip
NOTHING_COMPUTED = {"cache", "completion", "init", "models", "schema", "ui"}


@dataclass(frozen=True)
class Entry:
    """The help of an option: its section, its names (none for an argument), metavar and text."""

    title: str
    names: tuple[str, ...]
    metavar: str | None
    text: str

    @property
    def parameter(self) -> str:
        name = next(name for name in self.names if name.startswith("--")).split("/")[0]
        key = name.removeprefix("--").replace("-", "_")
        return _RENAMED.get(key, key)


def described_options(documentation: str) -> tuple[str, dict[str, Entry]]:
    r"""The text of a docstring without its sections of options, and those by the names of parameters.

    >>> text, entries = described_options("Text.\n\ninput:\n  -i, --input FILE  A table.\n  data DATA  Rows.")
    >>> text, entries["input"].names, entries["data"].metavar
    ('Text.', ('-i', '--input'), 'DATA')
    """
    paragraphs, entries = [], dict[str, Entry]()
    for paragraph in inspect.cleandoc(documentation).split("\n\n"):
        title, _, listed = paragraph.partition(":\n")
        if paragraph.startswith(" ") or not re.match(r"  \S", listed):
            paragraphs.append(paragraph)
            continue
        for entry in re.split(r"\n  (?=\S)", listed.rstrip()):
            declaration, text = re.split(r" {2,}|\n +", entry.strip(), maxsplit=1)
            words = declaration.split(" ")
            count = sum(word.startswith("-") for word in words)
            names, metavar = tuple(word.rstrip(",") for word in words[:count]), " ".join(words[count:])
            made = Entry(title, names, metavar or None, " ".join(text.split()))
            if names:
                entries[made.parameter] = made
            else:
                name, _, metavar = metavar.partition(" ")
                entries[name] = Entry(title, (), metavar or None, made.text)
    return "\n\n".join(paragraphs), entries


@cache
def _shared() -> dict[str, Entry]:
    return described_options(CommonOptions.__doc__ or "")[1]


def typed_command(function: Callable[..., Any], verb: str, name: str) -> Callable[..., None]:
    """The function as a command for Typer, with --threads, --plots and --overwrite where they apply."""
    path = verb if name == verb else f"{verb} {name}"
    text, entries = described_options(function.__doc__ or "")
    given = inspect.signature(function, eval_str=True).parameters.values()
    groups: dict[str, Any] = {one.name: one.annotation for one in given if is_dataclass(one.annotation)}
    for kind in groups.values():
        for above in reversed(kind.__mro__[:-1]):
            entries = described_options(above.__doc__ or "")[1] | entries
    parameters = [_typed(one, _shared() | entries) for one in _flat(given)]
    outputs = [] if path in OWN_CHECK else [one.name for one in parameters if _names_output(one)]
    checks = bool(outputs) and all(one.name != "overwrite" for one in parameters)
    if checks:
        parameters.append(_typed(_option("overwrite", bool, False), _shared()))
    if threads := verb not in NOTHING_COMPUTED and parameters:
        number = Annotated[int | None, typer.Option(min=1)]
        parameters.append(_typed(_option("threads", number, None), _shared()))
    if draws := path in DRAWING:
        parameters.append(_typed(_option("plots", list[str] | None, None), _shared()))

    known_options = {option.strip("-") for one in parameters for option in _option_names(one)}
    reads_model = any(one.name == "model" for one in parameters)
    input_names = [one.name for one in parameters if _names_input(one)]
    kinds = {one.name: _metavar(one) for one in parameters if one.name in outputs}

    def command(**values: Any) -> None:
        inputs = [one for key in input_names for one in _paths(values[key])]
        check_existence(inputs if reads_model else ())
        if threads:
            use_threads(values.pop("threads"))
        if draws:
            use_plots(values.pop("plots"))
        overwrite = values.pop("overwrite") if checks else values.get("overwrite")
        part = values.get(_GROWING.get(path, ""), "")
        for key in outputs:
            for one in _paths(values[key]):
                if not overwrite:
                    _check_absent(one / part, verb, inputs)
                if path not in _INSIDE:
                    _check_apart(one, inputs, kinds[key])
        for key, kind in groups.items():
            values[key] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        try:
            function(**values)
        except InputError as error:
            keep_known_options(error, known_options)
            raise

    command.__doc__, command.__name__ = text, function.__name__
    setattr(command, "__signature__", inspect.Signature(parameters))  # noqa: B010
    return command


def _option(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _flat(parameters: Any) -> Iterator[Parameter]:
    for one in parameters:
        if not is_dataclass(one.annotation):
            yield one.replace(kind=Parameter.KEYWORD_ONLY)
            continue
        kind: Any = one.annotation
        hints = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            default = Parameter.empty if field.default is MISSING else field.default
            yield _option(field.name, hints[field.name], default)


def _typed(parameter: Parameter, entries: dict[str, Entry]) -> Parameter:
    entry = entries.get(parameter.name) or entries.get(parameter.name.rstrip("_"))
    if entry is None:  # typer.Context
        return parameter
    kind, info = parameter.annotation, typer.Option() if entry.names else typer.Argument()
    if hasattr(kind, "__metadata__"):
        kind, info = get_args(kind)[0], copy(kind.__metadata__[0])
    if info.help:
        return parameter
    info.help, info.metavar, info.rich_help_panel = entry.text, entry.metavar or info.metavar, entry.title
    info.param_decls = entry.names
    return parameter.replace(annotation=Annotated[kind, info])


def _option_names(parameter: Parameter) -> list[str]:
    infos = get_args(parameter.annotation)[1:]
    return [option for info in infos for name in info.param_decls or () for option in name.split("/")]


def _panel_of_path(parameter: Parameter) -> str:
    kind, *more = get_args(parameter.annotation) or (parameter.annotation,)
    titles = [getattr(info, "rich_help_panel", "") for info in more]
    return next(filter(None, titles), "") if "Path" in str(kind) else ""


def _names_output(parameter: Parameter) -> bool:
    return _panel_of_path(parameter) == OUTPUT


def _names_input(parameter: Parameter) -> bool:
    made = ("cache_dir", "data_root", "model")  # made if it is absent, or told by what reads it
    return _panel_of_path(parameter) not in ("", OUTPUT) and parameter.name not in made


def _metavar(parameter: Parameter) -> str:
    infos = get_args(parameter.annotation)[1:]
    return next((str(info.metavar) for info in infos if getattr(info, "metavar", None)), "")


def _check_apart(output: Path, inputs: Sequence[Path], kind: str) -> None:
    from features.storage.outputs import check_no_overlap, check_output

    if kind in ("FILE", "DIR"):
        (check_output if kind == "FILE" else check_no_overlap)(output, inputs)


def check_existence(paths: Iterable[Path]) -> None:
    """Raises InputError for a path that does not exist, with the nearest name; `-` and patterns are fine."""
    from features.basics.errors import did_you_mean

    for path in paths:
        if not path.exists() and not re.search(r"[*?\[]", path.name) and str(path) != "-":
            names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
            remedy = f"check the path{did_you_mean(path.name, names)}"
            raise InputError("no such file", location=path, remedy=remedy)


def _paths(value: Any) -> list[Path]:
    return [
        path for path in (value if isinstance(value, list | tuple) else [value]) if isinstance(path, Path)
    ]


def _check_absent(path: Path, verb: str, inputs: Sequence[Path]) -> None:
    from features.storage.outputs import MARK, check_no_overlap, owner_of

    exists = path.resolve().is_file()  # raises for a loop of links
    if path.is_dir() and verb in (owner_of(path), owner_of(path.parent)):
        exists = any(file.name != MARK and file.suffix != ".lock" for file in path.iterdir())
    if exists:
        check_no_overlap(path, [given for given in inputs if given.is_file()])
        raise InputError("exists already", location=path, remedy="choose another path, or add --overwrite")
