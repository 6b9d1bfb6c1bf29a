"""Exports of Appraise (CSV): direct assessments, with files of the annotated texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from features.basics.errors import InputError, unknown_name
from qe.data.appraise import judgements, standardised
from qe.data.columns import labelled_rows, make_split
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.format import Format
from qe.data.reading import Column, Reading

_SCALES = {"z": LabelScale("z", None, None, True), "raw": LabelScale("da", 0.0, 100.0, True)}
_ITEM = ("itemID", "targetID", "sourceText", "targetText")  # keys of an item of a batch
Key = tuple[str, str, str]  # system, document, item


@dataclass(frozen=True)
class Appraise(Format):
    """A CSV that Appraise exports (ExportSystemScoresToCSV) with the texts that were judged.

    The label of a translation is the mean over its judgements. Left out are judgements of whole documents, of
    tutorials and of documents that fill up a batch, and those that control the annotators (types CHK, REF and
    BAD). The latest of an annotator's answers to the same item counts. Paths start at the folder of the CSV.

    Parameters
    ----------
    label : {'z', 'raw'}, default='z'
        z: scores standardised by the mean and deviation of their annotator; or raw: 0 to 100.
    batches : str, default=''
        The JSON of the campaign's batches: texts of items by system, document and item.
    source : str, default=''
        Without batches: the sources, one a line; item 1 is the first line.
    systems : mapping of str to str, default={}
        Without batches: system -> its translations, one a line.
    pair : str or None, default=None
        Of languages as the CSV has it (eng-deu), where there are several.
    splits : mapping of str to str, default={}
        Split -> CSV under `path`; without it, `path` itself is the file.
    tokenizer : {'moses', 'whitespace'}, default='moses'
        `moses`, or `whitespace` for text that is tokenised already.
    """

    source_language: str
    target_language: str
    label: Literal["z", "raw"] = "z"
    batches: str = ""
    source: str = ""
    systems: Mapping[str, str] = field(default_factory=dict)
    pair: str | None = None
    splits: Mapping[str, str] = field(default_factory=dict)
    tokenizer: Literal["moses", "whitespace"] = "moses"

    def _check_texts(self) -> None:
        by_line = bool(self.source and self.systems)
        if bool(self.batches) == by_line or (self.batches and (self.source or self.systems)):
            raise InputError(
                "the judged texts must be named once", remedy="give `batches`, or `source` and `systems`"
            )

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        self._check_texts()
        splits = reading.splits(self.split_files(path), partial(self._split, reading))
        return self.dataset(reading, path, splits, _SCALES[self.label])

    def _split(self, reading: Reading, name: str, file: Path) -> Split:
        reading.content(file)  # what is read has its checksum
        rows, note = judgements(file, self.pair)
        reading.note(file, len(note), note)
        values = standardised(rows) if self.label == "z" else [row.score for row in rows]
        given: dict[Key, list[float]] = {}
        lines: dict[Key, int] = {}
        for row, value in zip(rows, values, strict=True):
            key = (row.system, row.document, row.item)
            given.setdefault(key, []).append(value)
            lines.setdefault(key, row.line)
        texts = self._texts(reading, file.parent)
        found = {key: texts.find(*key, f"{file}:{line}") for key, line in lines.items()}
        columns = {
            "id": ["/".join(filter(None, key)) for key in found],
            "source": [one.source for one in found.values()],
            "target": [one.target for one in found.values()],
            "scores": [_mean(given[key]) for key in found],
        }
        if all(one.document for one in found.values()):
            columns["doc_id"] = [one.document for one in found.values()]
        whole = {column: Column(cells, file, [*lines.values()]) for column, cells in columns.items()}
        rows_kept = labelled_rows(reading, whole, "scores")
        return make_split(reading, name, rows_kept, _SCALES[self.label], self.tokenizers)

    def _texts(self, reading: Reading, folder: Path) -> "_Batches | _Lines":
        if self.batches:
            return _Batches.read(reading, folder / self.batches)
        systems = {name: reading.lines(folder / file) for name, file in self.systems.items()}
        return _Lines(reading.lines(folder / self.source), systems)


def _mean(values: Sequence[float]) -> str:
    numbers = [value for value in values if np.isfinite(value)]
    return repr(float(np.mean(numbers))) if numbers else ""


@dataclass(frozen=True)
class _JudgedText:
    document: str
    source: str
    target: str


@dataclass(frozen=True)
class _Batches:
    """Texts of the JSON of batches, each with its document, by (system, item)."""

    path: Path
    items: Mapping[tuple[str, str], list[_JudgedText]]

    @classmethod
    def read(cls, reading: Reading, path: Path) -> "_Batches":
        items: dict[tuple[str, str], list[_JudgedText]] = {}
        for item in _batch_items(reading, path):
            text = _JudgedText(
                str(item.get("documentID", "")), _text(item["sourceText"]), _text(item["targetText"])
            )
            known = items.setdefault((str(item["targetID"]), str(item["itemID"])), [])
            if text not in known:
                known.append(text)
        return cls(path, items)

    def find(self, system: str, document: str, item: str, location: str) -> _JudgedText:
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
class _Lines:
    """Texts of files: item 1 is the first line."""

    source: Column
    systems: Mapping[str, Column]

    def find(self, system: str, document: str, item: str, location: str) -> _JudgedText:
        name = next((one for one in (system, *system.split("+")) if one in self.systems), None)
        if name is None:
            raise unknown_name("system", system, list(self.systems), location=location)
        target = self.systems[name].texts
        place = int(item) - 1 if item.isascii() and item.isdigit() else -1
        if not 0 <= place < min(len(target), len(self.source)):
            lines = f"{len(self.source)} sources and {len(target)} translations of '{name}'"
            raise InputError(f"no line for item '{item}': there are {lines}", location=location)
        return _JudgedText(document, self.source.texts[place], target[place])


def _batch_items(reading: Reading, path: Path) -> Iterator[Mapping[str, Any]]:
    batches = reading.json(path)
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
