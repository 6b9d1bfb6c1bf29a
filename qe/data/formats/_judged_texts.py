"""The annotated texts of Appraise: by item of its batches, or by line of files."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from features.basics.errors import InputError, unknown_name
from qe.data.reading import Column, Reading

_ITEM = ("itemID", "targetID", "sourceText", "targetText")  # keys of an item of a batch


@dataclass(frozen=True)
class JudgedText:
    """A source and its translation; `document` is empty if nothing names it."""

    document: str
    source: str
    target: str


class JudgedTexts(Protocol):
    """The files that the texts come from."""

    def find(self, system: str, document: str, item: str, location: str) -> JudgedText:
        """The text of an item of a system, or of several that share it (`A+B`).

        Raises InputError with `location` if there is none, or several.
        """
        ...


@dataclass(frozen=True)
class OfBatches:
    """Texts of the JSON of batches: (system, item) -> the texts, each of its document."""

    path: Path
    items: Mapping[tuple[str, str], list[JudgedText]]

    @classmethod
    def read(cls, reading: Reading, path: Path) -> "OfBatches":
        """Raises InputError for what is no list of batches."""
        items: dict[tuple[str, str], list[JudgedText]] = {}
        for item in _items(reading, path):
            text = JudgedText(
                str(item.get("documentID", "")), _text(item["sourceText"]), _text(item["targetText"])
            )
            known = items.setdefault((str(item["targetID"]), str(item["itemID"])), [])
            if text not in known:
                known.append(text)
        return cls(path, items)

    def find(self, system: str, document: str, item: str, location: str) -> JudgedText:
        names = [system, *system.split("+")]
        found = next((self.items[name, item] for name in names if (name, item) in self.items), [])
        fitting = [one for one in found if document in ("", one.document)] or found
        if len(fitting) != 1:
            what = f"{len(fitting)} texts" if fitting else "no text"
            raise InputError(
                f"{what} of system '{system}', document '{document}', item {item} in {self.path}",
                location=location,
                remedy="give the batches that these judgements are of",
            )
        return fitting[0]


@dataclass(frozen=True)
class OfLines:
    """Texts of files: item 1 is the first line."""

    source: Column
    systems: Mapping[str, Column]

    def find(self, system: str, document: str, item: str, location: str) -> JudgedText:
        name = next((one for one in (system, *system.split("+")) if one in self.systems), None)
        if name is None:
            raise unknown_name("system", system, list(self.systems), location=location)
        target = self.systems[name].texts
        place = int(item) - 1 if item.isascii() and item.isdigit() else -1
        if not 0 <= place < min(len(target), len(self.source)):
            lines = f"{len(self.source)} sources and {len(target)} translations of '{name}'"
            raise InputError(f"no line for item '{item}': there are {lines}", location=location)
        return JudgedText(document, self.source.texts[place], target[place])


def _items(reading: Reading, path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        batches = json.loads(reading.text(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not JSON ({error})", location=path) from None
    for number, batch in enumerate(batches if isinstance(batches, list) else [batches], start=1):
        location = f"{path}:batch {number}"
        items = batch.get("items") if isinstance(batch, dict) else None
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise InputError("no batch of Appraise: it has no list `items`", location=location)
        for item in items:
            missing = [key for key in _ITEM if key not in item]
            if missing:
                raise InputError(f"an item without `{missing[0]}`", location=location)
            yield item


def _text(value: Any) -> str:
    return "\n".join(map(_text, value)) if isinstance(value, list) else str(value)
