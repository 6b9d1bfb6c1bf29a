"""Mistakes in a settings file: each named once, by its key."""

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from qe.config.schema import mistakes_of


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


ONE = {"path": "p", "format": "f"}
NONE = ["path: Field required", "format: Field required"]


@pytest.mark.parametrize(
    ("content", "mistakes"),
    [
        ({}, ["entries: Field required"]),
        ({"entries": {}}, [f"entries.{each}" for each in NONE]),
        (
            {"entries": {"kind": "x"}},
            [*[f"entries.{each}" for each in NONE], "unknown key 'entries.kind'; known: path, format"],
        ),
        ({"entries": {"path": "p"}}, ["entries.format: Field required"]),
        ({"entries": [ONE, {"path": "p"}]}, ["entries.1.format: Field required"]),
        ({"entries": [ONE, {**ONE, "x": 1}]}, ["unknown key 'entries.1.x'; known: path, format"]),
        ({"entries": [{}]}, [f"entries.0.{each}" for each in NONE]),
        ({"entries": []}, ["entries: Tuple should have at least 1 item after validation, not 0"]),
        (
            {"entries": [{None: None, "y": 1}, ONE]},
            [
                *[f"entries.0.{each}" for each in NONE],
                "entries.0.None: Keys should be strings",
                "unknown key 'entries.0.y'; known: path, format",
            ],
        ),
        ({"entries": ONE, "low": 2}, ["the file: Value error, `low` is not below `high`"]),
    ],
)
def test_every_mistake_is_told_once(content: dict[str, Any], mistakes: list[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        File.model_validate(content)
    told = mistakes_of(caught.value, File, content)
    assert [each.partition(", but got")[0] for each in told] == mistakes
