"""Settings of `qe annotate train`, from `key=value`."""

from collections.abc import Sequence

from features.basics.assignments import assigned
from features.basics.errors import InputError, unknown_name
from qe_treebanks.annotator import ANNOTATORS


def parse_settings(task: str, arguments: Sequence[str]) -> dict[str, int]:
    """Settings of a task from `NAME=NUMBER`. Raises InputError for settings that the task does not take, and
    values that are no whole number from 0.

    >>> parse_settings("constituents", ["n_best=20"])
    {'n_best': 20}
    """
    known = list(ANNOTATORS.get(task).defaults)
    result = {}
    for setting in arguments:
        name, value = assigned(setting, "key=value", "--set")
        if name not in known:
            raise unknown_name(f"setting of '{task}'", name, known, location="--set")
        if not value.isascii() or not value.isdigit():
            raise InputError(f"{name} must be a whole number from 0, but is {value!r}", location="--set")
        result[name] = int(value)
    return result
