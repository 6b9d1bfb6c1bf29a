"""A verb of one or several commands."""

import difflib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from features.basics.errors import unknown_name
from qe.cli._help import group_help, help_text
from qe.cli.shared.commands import HELP, Command


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

    def commands(self, verb: str) -> dict[str, Command]:
        """Name -> command; the default one has the verb's path."""
        return {
            name: Command(function, verb, verb if name == self.default else name)
            for name, function in self.functions.items()
        }

    def run(self, verb: str, purpose: str, arguments: Sequence[str]) -> int:
        """Run the command that the first word names; the exit code."""
        first, wants_help = arguments[0] if arguments else "", {*HELP} & {*arguments}
        name = first if first in self.functions else self.default
        if len(self.functions) == 1:
            (name,) = self.functions
        if name:
            near = difflib.get_close_matches(first, self.functions, n=1, cutoff=0.8)
            if name != first and near and len(self.functions) > 1:
                raise unknown_name("command", first, self.functions)
            if wants_help:
                print(help_text(self.commands(verb), name, self.default), end="")
                return 0
            command = Command(self.functions[name], verb, verb if name == self.default else name)
            return command.run(arguments[1:] if first == name and len(self.functions) > 1 else arguments)
        if first and not wants_help:
            raise unknown_name("command", first, self.functions)
        print(
            group_help(self.commands(verb), verb, purpose),
            end="",
            file=sys.stdout if wants_help else sys.stderr,
        )
        return 0 if wants_help else 2
