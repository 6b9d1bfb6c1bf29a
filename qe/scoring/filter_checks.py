"""The checks that a filter asks, with their settings, cheap ones first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from features.basics.assignments import assignments
from features.basics.errors import InputError, unknown_name
from qe.scoring.check import CHECKS, Checks, Knowledge


def filter_checks(
    knowledge: Knowledge,
    *,
    also: Collection[str] = (),
    without: Collection[str] = (),
    settings: Mapping[str, str] | None = None,
) -> Checks:
    """The usual checks of a filter and `also` others, but not `without`.

    `settings` are CHECK.key -> number.

    Raises InputError for names that no check has, and for values that are no numbers.
    """
    usual = {name for name in CHECKS.names if CHECKS.get(name).filters}
    for option, names in (("--with", also), ("--without", without)):
        for name in names:
            if name not in CHECKS.names:
                raise unknown_name("check", name, CHECKS.names, location=option)
    chosen = sorted((usual | {*also}) - {*without}, key=lambda name: (CHECKS.get(name).cost, name))
    given = {name: _given(name, settings or {}) for name in chosen}
    _check_used(settings or {}, given)
    return Checks.make(knowledge, given)


def _given(name: str, settings: Mapping[str, str]) -> dict[str, Any]:
    types = {field.name: field.type for field in fields(CHECKS.get(name)) if field.name != "knowledge"}
    values = {}
    for key, text in settings.items():
        check, _, own = key.partition(".")
        if check == name:
            if own not in types:
                raise unknown_name(f"setting of {name}", own, types, location="--set")
            values[own] = _number(key, text, int if types[own] is int else float)
    return values


def _number(key: str, text: str, kind: type[int] | type[float]) -> float:
    try:
        value = kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise InputError(f"{key} is {what}, but got '{text}'", location="--set") from None
    if not 0 <= value < float("inf"):
        raise InputError(f"{key} is a number from 0, but got {text}", location="--set")
    return value


def _check_used(settings: Mapping[str, str], chosen: Mapping[str, Any]) -> None:
    for key in settings:
        if key.partition(".")[0] not in chosen:
            raise unknown_name("check", key.partition(".")[0], tuple(chosen), location="--set")


def parse_settings(given: Sequence[str]) -> dict[str, str]:
    """`CHECK.key=value` as CHECK.key -> value.

    >>> parse_settings(["length.most=100"])
    {'length.most': '100'}

    Raises InputError for what is not of that form.
    """
    pairs = assignments(given, "CHECK.key=value", "--set")
    for key, value in pairs.items():
        if "." not in key:
            raise InputError(f"expected CHECK.key=value, but got '{key}={value}'", location="--set")
    return pairs
