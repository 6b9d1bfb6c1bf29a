"""Drafts: what is right of a file, whatever is wrong with it."""

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from qe.config.schema import drafted
from tests.factories import refuses


class Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    path: str
    format: str = Field(min_length=1)


class File(BaseModel):
    """Entries, where one may stand without a list; `low` and `high` are only right together."""

    model_config = ConfigDict(extra="forbid")
    entries: tuple[Entry, ...] = Field(min_length=1)
    low: int = 0
    high: int = 1

    @field_validator("entries", mode="before")
    @classmethod
    def listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    @model_validator(mode="after")
    def ordered(self) -> "File":
        if self.low >= self.high:
            raise ValueError("`low` is not below `high`")
        return self


NEEDED = {"entries": {"path": ".", "format": "table"}}
ONE = {"path": "p", "format": "f"}
NONE = ["path: Field required", "format: Field required"]
ORDER = "the file: Value error, `low` is not below `high`"


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("content", "entries", "mistakes"),
    [
        ({"entries": ONE}, 1, []),
        ({}, 1, ["entries: Field required"]),
        ({"entries": {}}, 1, [f"entries.{each}" for each in NONE]),
        (
            {"entries": {"kind": "x"}},
            1,
            [*[f"entries.{each}" for each in NONE], "unknown key 'entries.kind'; known: path, format"],
        ),
        ({"entries": {"path": "p"}}, 1, ["entries.format: Field required"]),
        ({"entries": [ONE, {"path": "p"}]}, 1, ["entries.1.format: Field required"]),
        ({"entries": [ONE, {**ONE, "x": 1}]}, 2, ["unknown key 'entries.1.x'; known: path, format"]),
        ({"entries": [{}]}, 1, [f"entries.0.{each}" for each in NONE]),
        ({"entries": []}, 1, ["entries: Tuple should have at least 1 item after validation, not 0"]),
        (
            {"entries": [{None: None, "y": 1}, ONE]},
            1,
            [
                *[f"entries.0.{each}" for each in NONE],
                "entries.0: Keys should be strings",
                "unknown key 'entries.0.y'; known: path, format",
            ],
        ),
        ({"entries": ONE, "low": 2}, 1, [ORDER]),
        ({"entries": {}, "low": 2}, 1, [*[f"entries.{each}" for each in NONE], ORDER]),
    ],
)
def test_every_mistake_is_told_once_and_the_rest_is_drafted(
    content: dict[str, Any], entries: int, mistakes: list[str]
) -> None:
    draft, told = drafted(File, content, NEEDED)
    assert len(draft.entries) == entries
    assert [each.partition(", but got")[0] for each in told] == mistakes
    assert NEEDED == {"entries": {"path": ".", "format": "table"}}


@pytest.mark.timeout(20)
def test_what_stands_in_has_to_be_right_itself() -> None:
    refuses("entries", drafted, File, {"entries": 3}, {"entries": {"path": "."}}, error=ValueError)
