"""Extras: what a request may ask for beside the score."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from pydantic import Field

from features.basics.errors import InputError, quoted
from qe.config.schema import Section, validated
from qe.production.server.answers import Refused


class Extras(Section):
    """`params` of a JSON body, or parameters of the address."""

    interval: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Answer with low and high, which hold this share of true labels.",
    )
    explain: int = Field(
        default=0,
        ge=0,
        le=100,
        description="Answer with `because`: so many causes that moved the score most.",
    )
    triage: bool = Field(
        default=False,
        description="Answer with `action`: publish, post-edit or retranslate (`qe serve --triage`).",
    )


_NOUNS = {"interval": "a number", "explain": "a whole number", "triage": "true or false"}
# The forms of values: as text in the address, and the types of plain values in JSON.
_TEXTS = {
    "interval": re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf)", re.ASCII),
    "explain": re.compile(r"[-+]?\d+", re.ASCII),
    "triage": re.compile("true|false|1|0"),
}
_TYPES = {"interval": (int, float, type(None)), "explain": (int,), "triage": (bool,)}


def _check_form(name: str, value: Any) -> None:
    if name not in _NOUNS:
        return
    fits = _TEXTS[name].fullmatch(value) if isinstance(value, str) else type(value) in _TYPES[name]
    if not fits:
        raise Refused(400, f"'{name}' must be {_NOUNS[name]}, but is {quoted(str(value))}")


def requested_extras(query: bytes, params: Mapping[str, Any], defaults: Extras) -> Extras:
    """What the address and the body ask for, and else the defaults.

    Raises Refused: 400 for values of another form, 422 for names that are unknown or given twice, and for
    values out of range.
    """
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=20)
    except (ValueError, UnicodeDecodeError):
        raise Refused(422, "the parameters of the address cannot be read") from None
    for name, value in [*pairs, *params.items()]:
        _check_form(name, value)
    names = [name for name, _ in pairs] + list(params)
    if len(set(names)) < len(names):
        raise Refused(422, "a parameter is given twice")
    try:
        return validated(Extras, {**defaults.model_dump(), **dict(pairs), **params}, Path("params"))
    except InputError as error:
        raise Refused(422, str(error)) from None
