"""Exports of annotation tools: Appraise and Label Studio."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from features.basics.errors import InputError, known_name, unknown_name
from qe.data.columns import Label, label_scale, labelled_rows
from qe.data.dataset import LabelScale, Split
from qe.data.format import FORMATS, Format
from qe.data.headers import header_of, numbers_of, rows_of_pair
from qe.data.reading import Column, Reading, known_keys
from qe.data.score_tables import judgements, standardised

_SCALES = {"z": LabelScale("z", None, None, True), "raw": LabelScale("da", 0.0, 100.0, True)}
_ITEM = ("targetID", "itemID", "sourceText", "targetText")  # keys of an item of a batch
Key = tuple[str, str, str]  # system, document, item


@FORMATS.register("appraise")
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

    @property
    def scale(self) -> LabelScale:
        return _SCALES[self.label]

    def check_options(self) -> None:
        by_line = bool(self.source and self.systems)
        if bool(self.batches) == by_line or (self.batches and (self.source or self.systems)):
            raise InputError(
                "the judged texts must be named once", remedy="give `batches`, or `source` and `systems`"
            )

    def read_split(self, reading: Reading, name: str, file: Path) -> Split:
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
        found = {key: _find(texts, key, f"{file}:{line}") for key, line in lines.items()}
        numbers = ([value for value in given[key] if np.isfinite(value)] for key in found)
        means = [float(np.mean(values)) if values else None for values in numbers]
        columns = {
            "id": ["/".join(filter(None, key)) for key in found],
            "source": [one.source for one in found.values()],
            "target": [one.target for one in found.values()],
            "scores": ["" if mean is None else repr(mean) for mean in means],
        }
        documents = [one.document or document for (_, document, _), one in found.items()]
        if all(documents):
            columns["doc_id"] = documents
        whole = {column: Column(cells, file, [*lines.values()]) for column, cells in columns.items()}
        return self.split(reading, name, labelled_rows(reading, whole, "scores"))

    def _texts(self, reading: Reading, folder: Path) -> "_Texts":
        texts: _Texts = {}
        if self.batches:
            for item in _batch_items(reading, folder / self.batches):
                document, system, number = (str(item.get(key, "")) for key in ("documentID", *_ITEM[:2]))
                text = _JudgedText(document, *(_joined_text(item[key]) for key in _ITEM[2:]))
                known = texts.setdefault(system, {}).setdefault(number, [])
                if text not in known:
                    known.append(text)
            return texts
        source = reading.lines(folder / self.source).texts
        for system, file in self.systems.items():
            pairs = zip(source, reading.lines(folder / file).texts, strict=False)  # one may be longer
            texts[system] = {str(i): [_JudgedText("", *pair)] for i, pair in enumerate(pairs, start=1)}
        return texts


@dataclass(frozen=True)
class _JudgedText:
    document: str
    source: str
    target: str


_Texts = dict[str, dict[str, list[_JudgedText]]]  # system -> item -> its texts, one per document


def _find(texts: _Texts, key: Key, location: str) -> _JudgedText:
    system, document, item = key
    names = [name for name in (system, *system.split("+")) if name in texts]
    if not names:
        raise unknown_name("system", system, texts, location=location)
    found = next((texts[name][item] for name in names if item in texts[name]), [])
    fitting = [one for one in found if document in ("", one.document)] or found
    if len(fitting) != 1:
        what = f"{len(fitting)} texts" if fitting else "no text"
        raise InputError(
            f"{what} of system '{system}', document '{document}', item {item}",
            location=location,
            remedy=f"give the texts that were judged; of this system there are {len(texts[names[0]])}",
        )
    return fitting[0]


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


def _joined_text(value: Any) -> str:
    return "\n".join(map(_joined_text, value)) if isinstance(value, list) else str(value)


_VALUES = ("rating", "number", "choices", "text")  # of a result, by the control that made it
# What JSON-MIN says of an annotation beside the data and the controls.
_KEPT = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
_OURS = ("source", "target", "id", "doc_id", "reference")


@dataclass
class _Task:
    data: Mapping[str, Any]
    place: int
    marks: list[Mapping[str, Any]] = field(default_factory=list)


@FORMATS.register("label_studio")
@dataclass(frozen=True)
class LabelStudio(Format):
    """The JSON that Label Studio exports, whole or JSON-MIN; one file, or one per split.

    The label of a task is the mean over its annotations; of classes what most annotators chose, and of the
    post-edits the last one. Annotations that were cancelled do not count, and tasks without any are left out.

    Parameters
    ----------
    label : Label
        {name, low, high, higher_is_better}, or with `classes: [OK, BAD]`; or `hter`: of the post-edits.
    control : str, default=''
        The name of the control with the label (`<Rating name="quality" .../>`, Number, Choices; with
        `hter` a TextArea); it may be left out where there is one.
    columns : mapping of str to str, default={}
        Our column -> the key of a task's data, for source, target, id, doc_id and reference; source and
        target are found by the usual headers otherwise.
    splits : mapping of str to str, default={}
        Split -> file under `path`; without it, `path` itself is the file.
    tokenizer : {'moses', 'whitespace'}, default='moses'
        `moses`, or `whitespace` for text that is tokenised already.
    """

    label: Label
    source_language: str
    target_language: str
    control: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    splits: Mapping[str, str] = field(default_factory=dict)
    tokenizer: Literal["moses", "whitespace"] = "moses"

    def check_options(self) -> None:
        label_scale(self.label)
        known_keys(self.columns, _OURS, "dataset.columns")

    def read_split(self, reading: Reading, name: str, file: Path) -> Split:
        remedy = "export as JSON or JSON-MIN"
        entries = _objects(reading.json(file), "must be a list of tasks", file, remedy)
        tasks = _tasks(entries, file)
        cells = {key: [_text(task.data.get(key)) for task in tasks.values()] for key in _data_keys(tasks)}
        rows, note = rows_of_pair(cells, (self.source_language, self.target_language), file)
        reading.note(file, len(note), note)
        if rows is not None:
            ids = list(tasks)
            tasks = {ids[row]: tasks[ids[row]] for row in rows}
        edits = self.label == "hter"
        control = self._control(tasks, file)
        places = [task.place for task in tasks.values()]
        label = [_label(task, control, self.scale, edits) for task in tasks.values()]
        columns = {"id": Column(list(tasks), file, places, "task ")}
        for ours, key in self._keys(tasks, file).items():
            texts = [_text(task.data.get(key)) for task in tasks.values()]
            columns[ours] = reading.stripped(Column(texts, file, places, "task "))
        ours = "post_edit" if edits else "scores"
        columns[ours] = Column(label, file, places, "task ")
        return self.split(reading, name, labelled_rows(reading, columns, ours, self.scale.classes))

    def _keys(self, tasks: Mapping[str, _Task], file: Path) -> dict[str, str]:
        keys = _data_keys(tasks)
        named = dict(self.columns)
        for side in ("source", "target"):
            if side not in named:
                taken = set(named.values())
                named[side] = header_of(side, keys, file, assigned=taken, option="columns:")
        for ours, key in named.items():
            if key not in keys:
                raise InputError(
                    f"no key of a task's data is known as the {ours}",
                    location=file,
                    remedy=f"name it under `columns: {{{ours}: ...}}`; the data has {', '.join(keys)}",
                )
        return named

    def _may_be_label(self, value: Any) -> bool:
        classes = label_scale(self.label).classes
        if classes is not None and isinstance(value, str):
            return numbers_of([value], classes) != [value]
        return isinstance(value, str if self.label == "hter" else (int, float, list))

    def _control(self, tasks: Mapping[str, _Task], file: Path) -> str:
        known = list(dict.fromkeys(name for task in tasks.values() for one in task.marks for name in one))
        if self.control:
            return known_name("control", self.control, known, location=file)
        no_control = {*_KEPT, *self._keys(tasks, file).values()}
        marks = (item for task in tasks.values() for one in task.marks for item in one.items())
        labels = (name for name, value in marks if name not in no_control and self._may_be_label(value))
        fitting = list(dict.fromkeys(labels))
        if len(fitting) != 1:
            raise InputError(
                "which control holds the label?" if fitting else "no annotation holds a label",
                location=file,
                remedy=f"set `control` to one of {', '.join(known) or 'those of the project'}",
            )
        return fitting[0]


def _data_keys(tasks: Mapping[str, _Task]) -> list[str]:
    return list(dict.fromkeys(key for task in tasks.values() for key in task.data))


def _objects(content: Any, problem: str, location: object, remedy: str = "") -> list[Mapping[str, Any]]:
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise InputError(problem, location=location, remedy=remedy)
    return content


def _tasks(entries: Sequence[Mapping[str, Any]], path: Path) -> dict[str, _Task]:
    tasks: dict[str, _Task] = {}
    for place, entry in enumerate(entries, start=1):
        location = f"{path}:task {place}"
        data = entry.get("data", entry)
        if not isinstance(data, dict):
            raise InputError("`data` must be an object", location=location)
        task = tasks.setdefault(str(entry.get("id", place)), _Task(data, place))
        if "data" not in entry:
            task.marks.append(entry)
            continue
        given = entry.get("annotations", entry.get("completions", []))
        annotations = _objects(given, "`annotations` must be a list of objects", location)
        task.marks += [_values(one, location) for one in annotations if not one.get("was_cancelled")]
    if not tasks:
        raise InputError("there are no tasks", location=path)
    return tasks


def _values(annotation: Mapping[str, Any], location: str) -> dict[str, Any]:
    results = _objects(annotation.get("result", []), "`result` must be a list of objects", location)
    marks = {}
    for result in results:
        value = result.get("value")
        kind = next((kind for kind in _VALUES if isinstance(value, dict) and kind in value), None)
        if kind is not None and isinstance(value, dict):
            mark = value[kind]
            lines = kind == "text" and isinstance(mark, list)
            marks[str(result.get("from_name"))] = "\n".join(map(str, mark)) if lines else mark
    return marks


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _label(task: _Task, control: str, scale: LabelScale, edits: bool) -> str:
    values = [one[control] for one in task.marks if one.get(control) is not None]
    if not values:
        return ""
    if edits:
        return str(values[-1])
    if scale.classes is not None:
        names = [str(value[0]) if isinstance(value, list) and value else str(value) for value in values]
        votes = numbers_of(names, scale.classes)
        if not set(votes) <= {"0", "1"}:
            return names[0]
        majority = 2 * votes.count("1") - len(votes)
        return "" if not majority else scale.classes[majority > 0]
    numbers = [value for value in values if isinstance(value, int | float)]
    return repr(float(np.mean(numbers))) if len(numbers) == len(values) else str(values[0])
