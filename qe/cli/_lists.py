"""Options that take several values: `--metrics bleu ter`."""

import re
from collections.abc import Collection, Iterable
from typing import Any

_SHORT = re.compile("-[A-Za-z]")  # -o, but no negative number


def is_list(option: Any) -> bool:
    """Whether an option takes several values, by its metavar: `METRIC...`."""
    return option.param_type_name == "option" and (option.metavar or "").endswith("...")


def repeated(arguments: Iterable[str], options: Collection[str]) -> list[str]:
    """Writes the option before every value of a list; any other option ends it.

    >>> repeated(["--metrics", "bleu", "ter", "--seed", "1"], ["--metrics"])
    ['--metrics', 'bleu', '--metrics', 'ter', '--seed', '1']
    >>> repeated(["--metrics", "bleu", "ter", "-o", "out"], ["--metrics"])
    ['--metrics', 'bleu', '--metrics', 'ter', '-o', 'out']
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
