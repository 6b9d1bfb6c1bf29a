"""Verbs as Typer parses them: options are a function's parameters, their help is in its docstring.

A parameter without a default is required. One whose type is a dataclass is a group of options, one per field,
that verbs can share. After the text of the docstring come sections of options, each with its
names, its metavar and, after two blanks or on the next line, its help:

    title:
      -o, --output FILE  What is written there.
      experiment  An argument has the name of its parameter.

Options of several verbs are described in CommonOptions. Errors have one line, help fits the terminal.
"""

import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from features.basics.errors import NO_MODEL, InputError, did_you_mean, keep_known_options, unknown_name
from features.basics.numerals import integer, real
from qe.cli._help import help_text
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
_MADE = ("cache_dir", "data_root", "model")  # made if it is absent, or told by what reads it
_NAMED = re.compile(r"(=|\])(RUN|FILE|\.\.\.)|\[=FILE")  # metavars of named files
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
    outputs = [] if path in OWN_CHECK else [one.name for one in parameters if _is_output(one)]
    checks = bool(outputs) and all(one.name != "overwrite" for one in parameters)
    if checks:
        parameters.append(_typed(_option("overwrite", bool, False), _shared()))
    if threads := verb not in NOTHING_COMPUTED and parameters:
        number = Annotated[int | None, typer.Option(min=1)]
        parameters.append(_typed(_option("threads", number, None), _shared()))
    if draws := path in DRAWING:
        parameters.append(_typed(_option("plots", list[str] | None, None), _shared()))

    infos = {one.name: get_args(one.annotation)[1] for one in parameters if get_args(one.annotation)}
    known_options = {
        option.strip("-")
        for info in infos.values()
        for names in getattr(info, "param_decls", None) or ()
        for option in names.split("/")
    }
    reads_model = "model" in infos
    panels = {
        one.name: getattr(infos.get(one.name), "rich_help_panel", None) or ""
        for one in parameters
        if "Path" in str(one.annotation)
    }
    read = [name for name, panel in panels.items() if panel not in ("", OUTPUT) and name not in _MADE]
    named = [name for name, info in infos.items() if _NAMED.search(str(getattr(info, "metavar", "")))]

    def command(**values: Any) -> None:
        inputs = [one for key in read for one in _paths(values[key])]
        check_existence(inputs if reads_model else ())
        others = [one for key in named for text in values.get(key) or () for one in _named_paths(text)]
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
                if path not in _INSIDE and infos[key].metavar in ("FILE", "DIR"):
                    from features.storage.outputs import check_no_overlap, check_output

                    check = check_output if infos[key].metavar == "FILE" else check_no_overlap
                    check(one, [*inputs, *others])
                others.append(one)
        for key, kind in groups.items():
            values[key] = kind(**{one.name: values.pop(one.name) for one in fields(kind)})
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
        for option in fields(kind):
            default = Parameter.empty if option.default is MISSING else option.default
            yield _option(option.name, hints[option.name], default)


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


def _is_output(parameter: Parameter) -> bool:
    kind, *infos = get_args(parameter.annotation) or (None,)
    return "Path" in str(kind) and any(info.rich_help_panel == OUTPUT for info in infos)


def check_existence(paths: Iterable[Path]) -> None:
    """Raises InputError for a path that does not exist, with the nearest name; `-` and patterns are fine."""

    for path in paths:
        if not path.exists() and not re.search(r"[*?\[]", path.name) and str(path) != "-":
            names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
            remedy = f"check the path{did_you_mean(path.name, names)}"
            raise InputError("no such file", location=path, remedy=remedy)


def _named_paths(text: Any) -> list[Path]:
    """The files of an option such as `NAME=FILE,FILE`; a Path is counted already."""
    _, equals, files = str(text).partition("=")
    return [Path(file) for file in (files if equals and not Path(text).exists() else str(text)).split(",")]


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


_SHORT = re.compile("-[A-Za-z]")  # -o, but no negative number


def is_list(option: Any) -> bool:
    return option.param_type_name == "option" and (option.metavar or "").endswith("...")


def repeated(arguments: Iterable[str], options: Collection[str]) -> list[str]:
    """Writes the option before every value of a list; any other option ends it.

    >>> repeated(["--metrics", "bleu", "ter", "--seed", "1"], ["--metrics"])
    ['--metrics', 'bleu', '--metrics', 'ter', '--seed', '1']
    """
    written: list[str] = []
    current, values = "", 0
    for argument in arguments:
        if argument.startswith("--") or _SHORT.fullmatch(argument):
            current, values = (argument, 0) if argument in options else ("", 0)
        elif current and not argument.startswith("-"):
            written += [current] if values else []
            values += 1
        written.append(argument)
    return written


_NOISE = re.compile("Value error, |, unable to parse string as .*")  # of pydantic, which Typer asks
_HELP = {"help_option_names": ["-h", "--help"]}


_OLD_NAMES = {  # kept for one minor version
    "--by": "--unit", "--held-out": "--test-sentences", "--known": "--reuse-scores",
}  # fmt: skip
_NUMBERS = {int: integer, float: real}


@dataclass
class Application:
    """A verb with several commands; `default` is run if none is named, as `list` of `qe models`."""

    default: str = ""
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def command(self, name: str = "") -> Any:
        """A decorator: the function is the command with that name, or with the function's name."""

        def registered(function: Callable[..., Any]) -> Callable[..., Any]:
            self.functions[name or function.__name__.replace("_", "-")] = function
            return function

        return registered

    def parser(self, verb: str, purpose: str) -> Any:
        """Click's group of the commands, or the only command."""
        typed = typer.Typer(
            cls=type("Group", (_Group,), {"default": self.default}), context_settings=_HELP,
            add_completion=False, add_help_option=not self.default, pretty_exceptions_enable=False,
            rich_markup_mode=None,
        )  # fmt: skip
        if len(self.functions) > 1:
            typed.callback(help=f"{purpose[:1].upper()}{purpose[1:]}.")(lambda: None)
        for name, function in self.functions.items():
            typed.command(name, cls=_Command, context_settings=_HELP)(typed_command(function, verb, name))
        return get_command(typed)


class _Verb:
    def main(self, *arguments: Any, **options: Any) -> Any:
        try:
            code = super().main(*arguments, **{**options, "standalone_mode": False})  # type: ignore[misc]
        except typer.TyperException as error:
            raise _refused(error, *arguments) from None
        sys.exit(code or 0)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_text(ctx))


class _Command(_Verb, TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for option in self.params:
            _read_plain_numbers(option)
        names = {name for option in self.params for name in option.opts}
        args = [_current_name(argument, names, ctx.command_path) for argument in args]
        lists = [name for option in self.params if is_list(option) for name in option.opts]
        return super().parse_args(ctx, repeated(args, lists))


def _current_name(argument: str, names: Collection[str], command: str) -> str:
    name, equals, value = argument.partition("=")
    new = _OLD_NAMES.get(name)
    if new is None or new not in names:
        return argument
    print(f"{command}: {name} is now {new}; the old name will be removed", file=sys.stderr)
    return f"{new}{equals}{value}"


def _read_plain_numbers(option: Any) -> None:
    kind = option.type_descriptor.annotation
    read = _NUMBERS.get(get_args(kind)[0] if get_args(kind) else kind)
    if read is None or hasattr(option.process_value, "plain"):
        return
    process = option.process_value

    def plain(ctx: Any, value: Any) -> Any:
        for text in value if isinstance(value, list | tuple) else [value]:
            if isinstance(text, str):
                try:
                    read(text)
                except ValueError as error:
                    raise typer.BadParameter(str(error), ctx=ctx, param=option) from None
        return process(ctx, value)

    plain.plain = True  # type: ignore[attr-defined]
    option.process_value = plain


class _Group(_Verb, TyperGroup):
    default = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if self.default and (not args or args[0] not in self.commands):
            import difflib  # which takes a millisecond

            if args and difflib.get_close_matches(args[0], self.commands, n=1, cutoff=0.8):
                raise unknown_name("command", args[0], self.commands)
            args = [self.default, *args]
        elif not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return "" if name == self.default else name, command, rest


def _refused(error: typer.TyperException, arguments: Sequence[str], name: str) -> InputError:
    message = " ".join(error.format_message().split()).removesuffix(".")
    problem = _NOISE.sub("", message[:1].lower() + message[1:])
    parameter = getattr(error, "param", None)
    value = _value(arguments, getattr(parameter, "opts", ()))
    if value is not None and f"'{value}'" not in problem:
        problem += f", but got '{value}'"
    if near := getattr(error, "possibilities", None):
        problem = f"{problem.partition(' (')[0]}; did you mean '{near[0]}'?"
    context: Any = getattr(error, "ctx", None)
    if problem.startswith("missing "):
        absent = [one for one in context.command.params if _is_missing(one, arguments)]
        others = [f"'{max(one.opts, key=len)}'" for one in absent if one is not parameter]
        problem += f", and {', '.join(others)}" if others else ""
        problem += f"; {NO_MODEL}" if any(one.name == "model" for one in absent) else ""
    path = name if context is None else " ".join(context.command_path.split())
    return InputError(problem, remedy=f"see `{path} --help`")


def _is_missing(option: Any, arguments: Sequence[str]) -> bool:
    is_option = option.param_type_name == "option" and option.required
    return is_option and not any(word.partition("=")[0] in option.opts for word in arguments)


def _value(arguments: Sequence[str], names: Sequence[str]) -> str | None:
    for place in reversed(range(len(arguments))):
        name, equals, value = arguments[place].partition("=")
        if name in names:
            return value if equals else "".join(arguments[place + 1 : place + 2])
    return None
