"""Strategies as written on the command line."""

from dataclasses import dataclass
from typing import Literal

import pytest

from features.basics.assignments import configured
from features.basics.catalogue import Catalogue
from tests.factories import refuses


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


@pytest.mark.parametrize(
    "text, message",
    [
        ("part:sise=4", "part 'part': unknown option 'sise'; known: size, share, loud, kind; did you mean"),
        ("part:size", "part 'part': expected option=value, but got 'size'"),
        ("part:size=x", "option 'size' of part 'part': expected a whole number, but got 'x'"),
        ("part:share=x", "expected a number or null, but got 'x'"),
        ("part:loud=perhaps", "expected true or false, but got 'perhaps'"),
        ("part:kind=c", "unknown value 'c'; known: a, b"),
    ],
)
def test_what_does_not_fit_is_told(text: str, message: str) -> None:
    refuses(message, configured, PARTS, text)
