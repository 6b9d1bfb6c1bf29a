"""Settings and strategies as written on the command line and in YAML, against their type hints."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_type_hints

import pytest
import yaml

from features.basics.assignments import (
    assigned,
    assignments,
    configured,
    named_file,
    numbers,
    once,
)
from features.basics.catalogue import Catalogue
from features.basics.hints import described, fits
from features.core.feature_set import EXTRACTORS


@dataclass(frozen=True)
class Part:
    """What the catalogue of this test holds."""

    size: int = 3
    share: float | None = None
    loud: bool = False
    kind: Literal["a", "b"] = "a"


class One(Catalogue[Part]):
    def get(self, name: str) -> type[Part]:
        return Part


PARTS = One("features", Part, "part")


def test_options_have_the_types_of_their_hints() -> None:
    assert configured(PARTS, "part") == Part()
    made = configured(PARTS, "part:size=4,share=0.5,loud=true,kind=b")
    assert made == Part(4, 0.5, True, "b")


def test_defaults_hold_where_the_text_leaves_them_open() -> None:
    assert configured(PARTS, "part:size=4", {"size": 9, "loud": True, "unknown": 1}) == Part(4, loud=True)


def test_values_may_hold_an_equals_sign_and_be_empty_where_that_is_said() -> None:
    assert assigned("a=b=c", "NAME=VALUE", "--x") == ("a", "b=c")
    assert assignments(["id=", "source=en"], "NAME=HEADER", "--x", empty=True) == {"id": "", "source": "en"}


def test_names_are_given_once() -> None:
    assert once([("a", 1), ("b", 2)], "--x") == {"a": 1, "b": 2}


def test_the_name_of_a_number_may_hold_an_equals_sign() -> None:
    assert numbers(["chrf:word_order=2=0.5"], "METRIC=MARGIN", "--margin") == {"chrf:word_order=2": 0.5}


def test_a_path_that_is_there_may_hold_an_equals_sign(tmp_path: Path) -> None:
    odd = tmp_path / "a=b.txt"
    assert named_file(str(odd)) == (f"{tmp_path}/a", Path("b.txt"))
    odd.write_text("")
    assert named_file(str(odd)) == ("", odd)
    assert named_file(f"x={odd}") == ("x", odd)


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
