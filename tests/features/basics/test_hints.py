"""Settings against type hints: YAML values by hand, and the defaults of every extractor."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Literal, get_type_hints

import pytest
import yaml

from features.basics.hints import described, fits
from features.core.feature_set import EXTRACTORS


@pytest.mark.parametrize(
    "text, hint, expected",
    [
        ("5", int, True), ("5.0", int, False), ("'5'", int, False), ("true", int, False),
        ("null", int, False),
        ("5", float, True), ("5.5", float, True), ("true", float, False), ("x", float, False),
        ("true", bool, True), ("1", bool, False), ("x", str, True), ("1", str, False), ("no", str, False),
        ("[1, 2]", Sequence[int], True), ("[]", Sequence[int], True), ("[1, x]", Sequence[int], False),
        ("1", Sequence[int], False), ("abc", Sequence[str], False), ("[1, 2]", tuple[int, ...], True),
        ("[x]", list[str], True), ("{a: b}", Mapping[str, str | Path], True),
        ("[a]", Mapping[str, str], False),
        ("{a: [b]}", Mapping[str, str], False), ("auto", Literal["auto"] | Sequence[str], True),
        ("[a]", Literal["auto"] | Sequence[str], True), ("autos", Literal["auto"] | Sequence[str], False),
        ("null", int | None, True), ("x", int | None, False), ("x", Any, True),
    ],
)  # fmt: skip
def test_values_of_yaml(text: str, hint: Any, expected: bool) -> None:
    assert fits(yaml.safe_load(text), hint) is expected


@pytest.mark.parametrize("kind", EXTRACTORS.names)
def test_defaults_are_of_their_own_type(kind: str) -> None:
    """And every parameter has words."""
    extractor: Any = EXTRACTORS.get(kind)
    hints = get_type_hints(extractor)
    for entry in (getattr(extractor, "__dataclass_fields__", None) and fields(extractor)) or ():
        if entry.init and entry.default is not MISSING:
            assert fits(entry.default, hints[entry.name]) and "typing" not in described(hints[entry.name])
