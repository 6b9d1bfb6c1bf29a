"""A verb's application: Typer's parsing with errors of one line and help that fits the terminal."""

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from features.basics.errors import NO_MODEL, InputError, unknown_name
from features.basics.numerals import integer, real
from qe.cli._commands import typed_command
from qe.cli._help import help_text

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


class Application(typer.Typer):
    """A verb, or several commands of one; `default` is run if none is named, as `list` of `qe models`."""

    def __init__(self, *, default: str = "") -> None:
        group = type("Group", (_Group,), {"default": default})
        super().__init__(
            cls=group, context_settings=_HELP, add_help_option=not default, add_completion=False,
            pretty_exceptions_enable=False, rich_markup_mode=None,
        )  # fmt: skip

    def command(self, name: str | None = None, **settings: Any) -> Any:
        register = super().command

        def registered(function: Any) -> Any:
            own = name or function.__name__.replace("_", "-")
            typed = typed_command(function, function.__module__.rpartition(".")[2], own)
            register(own, **{"cls": _Command, "context_settings": _HELP, **settings})(typed)
            return function

        return registered


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
