"""The help of a command: two columns, options in panels, and examples that can be pasted."""

import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

_WIDEST = 100  # columns: longer lines are hard to read
_NAMES = 26  # columns of names of options; a longer one has a line to itself
_LAST = "output"
_PACKAGE = re.compile(r"\{((?:qe\w*|features)\.[\w.]+)\}")
_TYPES = {int: "N", float: "X", str: "TEXT", Path: "PATH"}


def help_text(context: Any) -> str:
    width = line_width()
    panels = panels_of(context)
    if commands := _commands(context):
        panels["commands"] = commands
    usage = textwrap.wrap(" ".join(["usage:", *usage_words(context)]), width, subsequent_indent="       ")
    lines = [*usage, "", *described(context.command.help or "", width)]
    return "\n".join([*lines, *listed(panels, width)]) + "\n"


def line_width() -> int:
    return max(40, min(shutil.get_terminal_size().columns, _WIDEST))


def listed(panels: Mapping[str, Sequence[tuple[str, str]]], width: int) -> list[str]:
    names = [len(name) for rows in panels.values() for name, _ in rows]
    column = min(max(names, default=0), _NAMES)
    lines = []
    for title, rows in panels.items():
        lines += ["", f"{title}:", *(line for name, text in rows for line in _row(name, text, column, width))]
    return lines


def described(text: str, width: int) -> list[str]:
    r"""Wrap the paragraphs of a docstring; commands, which are indented in it, as a shell reads them.

    >>> print(*described("What it does.\n\nExample:\n\n    qe x --one a\n    --two b", 20), sep="\n")
    What it does.
    <BLANKLINE>
    Example:
      qe x --one a \
          --two b
    """
    lines: list[str] = []
    for paragraph in text.strip("\n").split("\n\n"):
        words = " ".join(paragraph.split())
        if paragraph.startswith("    "):
            lines += pasted(words, width)
        else:
            lines += [*([""] if lines else []), *textwrap.wrap(words, width, break_on_hyphens=False)]
    return lines


def pasted(command: str, width: int) -> list[str]:
    """A command, cut before its options, or else between its words, where it is too long."""
    whole = re.sub(r"(?<= )(--?[a-z][a-z-]*) (?!-)", "\\1\xa0", command)  # no break between name and value
    lines = textwrap.wrap(
        whole, width - 2, initial_indent="  ", subsequent_indent="      ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    shown = [line.replace("\xa0", " ") for line in lines]
    return [f"{line} \\" for line in shown[:-1]] + shown[-1:]


def usage_words(context: Any) -> list[str]:
    command = context.command
    arguments = [
        _value(parameter) if parameter.required or parameter.metavar else f"[{_value(parameter)}]"
        for parameter in command.get_params(context)
        if parameter.param_type_name == "argument"
    ]
    below = ["COMMAND"] if hasattr(command, "commands") else []
    return [*context.command_path.split(), "[OPTIONS]", *arguments, *below]


def _commands(context: Any) -> list[tuple[str, str]]:
    group = context.command if context.parent is None else context.parent.command
    if group is not context.command and group.default != context.command.name:
        return []
    others = [one for name, one in getattr(group, "commands", {}).items() if name != group.default]
    return [(one.name, " ".join((one.help or "").partition("\n\n")[0].split())) for one in others]


def panels_of(context: Any) -> dict[str, list[tuple[str, str]]]:
    """Title -> names and help of its options, in the order of their first options; output is the last."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in context.command.get_params(context):
        argument = parameter.param_type_name == "argument"
        title = parameter.rich_help_panel or ("arguments" if argument else "options")
        if parameter.name == "help" and _LAST in panels:
            title = _LAST
        panels.setdefault(title, []).append((_names(parameter), _described(parameter)))
    return {title: panels[title] for title in sorted(panels, key=_LAST.__eq__)}


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return _value(parameter)
    names = ", ".join(sorted(parameter.opts, key=len)) + "".join(
        f"/{name}" for name in parameter.secondary_opts
    )
    return f"{names} {_value(parameter)}".rstrip()


def _value(parameter: Any) -> str:
    if getattr(parameter, "is_flag", False):
        return ""
    if parameter.metavar:
        return str(parameter.metavar)
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper() + ("..." if parameter.nargs == -1 else "")
    descriptor = parameter.type_descriptor
    inner = get_args(descriptor.annotation) or (descriptor.annotation,)
    return " ".join(_TYPES[one] for one in inner)


def _described(parameter: Any) -> str:
    text, default = filled(parameter.help or ""), parameter.default
    if parameter.required and parameter.param_type_name == "option":
        return f"{text} (required)"
    if "default" in text or default is None or default is False:
        return text
    return f"{text} (default: {parameter.opts[0] if default is True else default})"


def filled(text: str) -> str:
    """A help with the names of the files of a package where it has `{package}`."""
    return _PACKAGE.sub(lambda match: ", ".join(_files(match[1])), text)


def names_in(text: str) -> list[str]:
    return [name for package in _PACKAGE.findall(text) for name in _files(package)]


def _files(package: str) -> tuple[str, ...]:
    from features.basics.catalogue import Catalogue

    return Catalogue(package, object, "").names


def _row(name: str, text: str, column: int, width: int) -> Iterator[str]:
    indent = " " * (column + 4)
    lines = textwrap.wrap(text, width - len(indent), break_on_hyphens=False)
    beside = lines.pop(0) if lines and len(name) <= column else ""
    yield f"  {name:<{column}}  {beside}".rstrip()
    yield from (indent + line for line in lines)
