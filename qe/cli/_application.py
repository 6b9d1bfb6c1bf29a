"""A verb's application: Typer's parsing with brief errors and fitting help.

A mistake is one line; help fits the terminal.
"""

import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from features.basics.errors import InputError
from features.basics.numerals import integer, real
from qe.cli._help import help_text
from qe.cli._lists import is_list, repeated
from qe.cli._options import OUTPUT, Replace
from qe.cli._process import use_threads

_NOISE = re.compile("Value error, |, unable to parse string as .*")  # of pydantic, which Typer asks
_HELP = {"help_option_names": ["-h", "--help"]}


_NUMBERS = {int: integer, float: real}
# Commands that check their outputs themselves: jobs that can be resumed, and folders that grow.
_OWN_CHECK = {
    "data fetch", "demo", "distill", "encoders fetch", "encoders make", "encoders quantize", "init",
    "reproduce", "resources build", "score", "train",
}  # fmt: skip
_GROWING = {"annotate train": "task"}  # the parameter that names the folder's part which is written
_NOTHING_COMPUTED = {"cache", "completion", "init", "models", "schema", "ui"}


class Application(typer.Typer):
    """A verb, or several commands of one.

    default  the command that is run if none is named, such as `list` of `qe models`
    """

    def __init__(self, *, default: str = "") -> None:
        group = type("Group", (_Group,), {"default": default})
        super().__init__(
            cls=group, context_settings=_HELP, add_help_option=not default, add_completion=False,
            pretty_exceptions_enable=False, rich_markup_mode=None,
        )  # fmt: skip

    def command(self, name: str | None = None, **settings: Any) -> Any:
        """Registers a command as Typer does."""
        return super().command(name, **{"cls": _Command, "context_settings": _HELP, **settings})


class _Verb:
    def main(self, *settings: Any, **named: Any) -> Any:
        try:
            code = super().main(*settings, **{**named, "standalone_mode": False})  # type: ignore[misc]
        except typer.TyperException as error:
            raise _refused(error, *settings) from None
        sys.exit(code or 0)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_text(ctx))


class _Command(_Verb, TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)
        verb = ctx.command_path.split()[1:2]
        added = [] if {*verb} <= _NOTHING_COMPUTED else [_threads()]
        if self._outputs(ctx) and all(one.name != "overwrite" for one in params):
            added = [_overwrite(), *added]
        return [*params[:-1], *added, params[-1]]

    def _outputs(self, ctx: Any) -> list[Any]:
        return output_options(" ".join(ctx.command_path.split()[1:]), self.params)

    def invoke(self, ctx: Any) -> Any:
        has_overwrite = any(option.name == "overwrite" for option in self.params)
        overwrite = ctx.params.get("overwrite") if has_overwrite else ctx.params.pop("overwrite", False)
        if not overwrite:
            command = " ".join(ctx.command_path.split()[1:])
            part = ctx.params.get(_GROWING.get(command, ""), "")
            names = {option.name for option in self._outputs(ctx)}
            inputs = [
                path for name, value in ctx.params.items() if name not in names for path in _paths(value)
            ]
            for path in (path for name in names for path in _paths(ctx.params[name])):
                _check_absent(path / part, command.split()[0], inputs)
        return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for option in self.params:
            _read_plain_numbers(option)
        lists = [name for option in self.params if is_list(option) for name in option.opts]
        return super().parse_args(ctx, repeated(args, lists))


def output_options(command: str, options: Sequence[Any]) -> list[Any]:
    """The options that name files or folders which must not exist without --overwrite.

    command  as it is called, without `qe`
    """
    if command in _OWN_CHECK:
        return []
    return [
        option
        for option in options
        if getattr(option, "rich_help_panel", None) == OUTPUT
        and "Path" in str(option.type_descriptor.annotation)
    ]


def _paths(value: Any) -> list[Path]:
    return [
        path for path in (value if isinstance(value, list | tuple) else [value]) if isinstance(path, Path)
    ]


def _check_absent(path: Path, verb: str, inputs: Sequence[Path]) -> None:
    from features.storage.outputs import MARK, check_apart, owner_of

    exists = path.resolve().is_file()  # raises for a loop of links
    if path.is_dir() and verb in (owner_of(path), owner_of(path.parent)):
        exists = any(file.name != MARK and file.suffix != ".lock" for file in path.iterdir())
    if exists:
        check_apart(path, [given for given in inputs if given.is_file()])
        raise InputError("exists already", location=path, remedy="choose another path, or add --overwrite")


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
            args = [self.default, *args]
        elif not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return "" if name == self.default else name, command, rest


@cache
def _threads() -> Any:
    help_text = "Threads and processes side by side; default: QE_THREADS, else the cores that it may use."

    def declared(
        threads: Annotated[
            int | None, typer.Option(min=1, metavar="N", help=help_text, callback=use_threads)
        ] = None,
    ) -> None: ...

    option = _option_of(declared, "threads")
    option.expose_value = False
    return option


@cache
def _overwrite() -> Any:
    def declared(overwrite: Replace = False) -> None: ...

    return _option_of(declared, "overwrite")


def _option_of(declared: Any, name: str) -> Any:
    application = typer.Typer(add_completion=False)
    application.command()(declared)
    command: Any = get_command(application)
    return next(each for each in command.params if each.name == name)


def _refused(error: typer.TyperException, given: Sequence[str], name: str) -> InputError:
    told = " ".join(error.format_message().split()).removesuffix(".")
    what = _NOISE.sub("", told[:1].lower() + told[1:])
    seen = _value(given, getattr(getattr(error, "param", None), "opts", ()))
    if seen is not None and f"'{seen}'" not in what:
        what += f", but got '{seen}'"
    context: Any = getattr(error, "ctx", None)
    path = name if context is None else " ".join(context.command_path.split())
    return InputError(what, remedy=f"see `{path} --help`")


def _value(given: Sequence[str], names: Sequence[str]) -> str | None:
    for place in reversed(range(len(given))):
        name, equals, value = given[place].partition("=")
        if name in names:
            return value if equals else "".join(given[place + 1 : place + 2])
    return None
