"""The help of a command: two columns, options in panels, and examples that can be pasted."""

import re
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qe.cli.shared.commands import Command, Option

_WIDEST = 100  # columns: longer lines are hard to read
_NAMES = 26  # columns of names of options; a longer one has a line to itself
_LAST = "output"
_HELP = "Show this message and exit."
_PACKAGE = re.compile(r"\{((?:qe\w*|features)\.[\w.]+)\}")
_TYPES = {int: "N", float: "X", str: "TEXT", Path: "PATH"}


def help_text(commands: "Mapping[str, Command]", name: str, default: str) -> str:
    """The help of a command; that of the default one lists the others."""
    others = {other: one for other, one in commands.items() if other != name == default}
    usage = usage_words(commands[name], bool(others))
    return _page(commands[name].text, usage, {**panels_of(commands[name]), **_purposes(others)})


def group_help(commands: "Mapping[str, Command]", verb: str, purpose: str) -> str:
    """The help of a verb without a default command."""
    panels = {"options": [("-h, --help", _HELP)], **_purposes(commands)}
    return _page(f"{purpose[:1].upper()}{purpose[1:]}.", ["qe", verb, "[OPTIONS]", "COMMAND"], panels)


def _page(text: str, usage: Sequence[str], panels: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    width = line_width()
    lines = textwrap.wrap(" ".join(["usage:", *usage]), width, subsequent_indent="       ")
    return "\n".join([*lines, "", *described(text, width), *listed(panels, width)]) + "\n"


def _purposes(commands: "Mapping[str, Command]") -> dict[str, list[tuple[str, str]]]:
    rows = [(name, " ".join(one.text.partition("\n\n")[0].split())) for name, one in commands.items()]
    return {"commands": rows} if rows else {}


def line_width() -> int:
    return max(40, min(shutil.get_terminal_size().columns, _WIDEST))


def listed(panels: Mapping[str, Sequence[tuple[str, str]]], width: int) -> list[str]:
    names = [len(name) for rows in panels.values() for name, _ in rows]
    column = min(max(names, default=0), _NAMES)
    indent = " " * (column + 4)
    lines = []
    for title, rows in panels.items():
        lines += ["", f"{title}:"]
        for name, text in rows:
            wrapped = textwrap.wrap(text, width - len(indent), break_on_hyphens=False)
            beside = wrapped.pop(0) if wrapped and len(name) <= column else ""
            lines += [f"  {name:<{column}}  {beside}".rstrip(), *(indent + line for line in wrapped)]
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
        if not paragraph.startswith("    "):
            lines += [*([""] if lines else []), *textwrap.wrap(words, width, break_on_hyphens=False)]
            continue
        whole = re.sub(r"(?<= )(--?[a-z][a-z-]*) (?!-)", "\\1\xa0", words)  # no break between name and value
        wrapped = textwrap.wrap(
            whole, width - 2, initial_indent="  ", subsequent_indent="      ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        shown = [line.replace("\xa0", " ") for line in wrapped]
        lines += [*(f"{line} \\" for line in shown[:-1]), *shown[-1:]]
    return lines


def usage_words(command: "Command", has_commands: bool = False) -> list[str]:
    arguments = [one for one in command.options if not one.names]
    shown = [_value(one) if one.required or one.metavar else f"[{_value(one)}]" for one in arguments]
    return ["qe", *command.path.split(), "[OPTIONS]", *shown, *["COMMAND"] * has_commands]


def panels_of(command: "Command") -> dict[str, list[tuple[str, str]]]:
    """Title -> names and help of its options, in the order of their first options; output is the last."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for option in command.options:
        names = ", ".join(sorted(option.names, key=len)) + "".join(f"/{name}" for name in option.opposites)
        row = f"{names} {_value(option)}".strip(), _described(option)
        panels.setdefault(option.title, []).append(row)
    panels.setdefault(_LAST if _LAST in panels else "options", []).append(("-h, --help", _HELP))
    return {title: panels[title] for title in sorted(panels, key=_LAST.__eq__)}


def _value(option: "Option") -> str:
    if option.kind is bool or option.metavar:
        return option.metavar
    if not option.names:
        return option.parameter.upper() + "..." * option.is_list
    return " ".join([_TYPES[option.kind]] * (option.size if isinstance(option.size, int) else 1))


def _described(option: "Option") -> str:
    text = filled(option.text)
    if option.required and option.names:
        return f"{text} (required)"
    if "default" in text or option.default in (None, False):
        return text
    return f"{text} (default: {option.names[0] if option.default is True else option.default})"


def filled(text: str) -> str:
    """A help with the names of the files of a package where it has `{package}`."""
    return _PACKAGE.sub(lambda match: ", ".join(_files(match[1])), text)


def names_in(text: str) -> list[str]:
    return [name for package in _PACKAGE.findall(text) for name in _files(package)]


def _files(package: str) -> tuple[str, ...]:
    from features.basics.catalogue import Catalogue

    return Catalogue(package, object, "").names
