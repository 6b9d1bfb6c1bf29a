"""Rules: those that were chosen, with their settings, asked in order."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from features.basics.errors import InputError, unknown_name
from qe.scoring.rule import RULES, Rule

ORDER = ("length", "ratio", "copy", "numbers", "language")  # cheap ones first


@dataclass(frozen=True)
class Rules:
    """rules: by name, in the order in which they are asked; lacking: rule -> why it cannot be asked."""

    rules: Mapping[str, Rule]
    lacking: Mapping[str, str]

    @classmethod
    def make(
        cls,
        languages: tuple[str, str],
        without: Collection[str] = (),
        settings: Mapping[str, str] | None = None,
    ) -> Self:
        """All rules but those `without`; `settings` are RULE.key -> number.

        Raises InputError for names that no rule has, and for values that are no numbers.
        """
        known = sorted(RULES.names, key=lambda name: (name not in ORDER, ORDER.index(name)))
        for name in without:
            if name not in known:
                raise unknown_name("rule", name, known, where="--without")
        chosen = {name: _given(name, settings or {}) for name in known if name not in without}
        _check_used(settings or {}, chosen)
        made = {name: RULES.get(name)(languages, **values) for name, values in chosen.items()}
        lacking = {name: rule.lacks for name, rule in made.items() if rule.lacks}
        return cls({name: rule for name, rule in made.items() if name not in lacking}, lacking)

    def refused(self, source: str, target: str) -> tuple[str, str]:
        """(rule, reason) of the first rule that refuses the pair; empty if none does."""
        for name, rule in self.rules.items():
            if reason := rule.reason(source, target):
                return name, reason
        return "", ""


def _given(name: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """The settings of one rule."""
    types = {field.name: field.type for field in fields(RULES.get(name)) if field.name != "languages"}
    values = {}
    for key, text in settings.items():
        rule, _, own = key.partition(".")
        if rule == name:
            if own not in types:
                raise unknown_name(f"setting of {name}", own, types, where="--set")
            values[own] = _number(key, text, int if types[own] is int else float)
    return values


def _number(key: str, text: str, kind: type[int] | type[float]) -> float:
    try:
        value = kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise InputError(f"{key} is {what}, but got '{text}'", where="--set") from None
    if not 0 <= value < float("inf"):
        raise InputError(f"{key} is a number from 0, but got {text}", where="--set")
    return value


def _check_used(settings: Mapping[str, str], chosen: Mapping[str, Any]) -> None:
    for key in settings:
        if key.partition(".")[0] not in chosen:
            raise unknown_name("rule", key.partition(".")[0], tuple(chosen), where="--set")


def parse_settings(given: Sequence[str]) -> dict[str, str]:
    """`RULE.key=value` as RULE.key -> value.

    >>> parse_settings(["length.most=100"])
    {'length.most': '100'}

    Raises InputError for what is not of that form.
    """
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or "." not in key:
            raise InputError(f"expected RULE.key=value, but got '{text}'", where="--set")
        pairs[key] = value
    return pairs
