"""Settings of `qe annotate train`, from `key=value`."""

import difflib
from collections.abc import Sequence

from features.basics.errors import InputError
from qe.language.annotator import ANNOTATORS


def parse_settings(task: str, given: Sequence[str]) -> dict[str, int]:
    """
    Raises InputError for settings that the task does not take, and values that are no whole number from 0.

    >>> parse_settings("constituents", ["n_best=20"])
    {'n_best': 20}
    """
    known = list(ANNOTATORS.get(task).defaults)
    result = {}
    for setting in given:
        name, equals, value = setting.partition("=")
        if not equals or name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise InputError(
                f"'{task}' has no setting '{setting}'",
                where="--set",
                remedy=f"known: {', '.join(known)}{hint}",
            )
        if not value.isascii() or not value.isdigit():
            raise InputError(f"{name} must be a whole number from 0, but is {value!r}", where="--set")
        result[name] = int(value)
    return result
