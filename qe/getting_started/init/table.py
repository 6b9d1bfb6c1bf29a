"""A labelled table of the user's: columns, label and size, and columns that may be features."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, combined_error, unknown_name
from features.basics.numerals import is_finite, real
from features.core.extractor import TableColumn
from features.core.segments import Segments
from features.text.languages import language_code
from qe.data.columns import COLUMNS
from qe.data.dataset import Dataset, Split
from qe.data.delimited import Layout
from qe.data.format import make_format
from qe.data.headers import (
    HEADERS,
    HIGHER,
    LOWER,
    classes_of,
    header_of,
    higher_is_better,
    is_rate,
    key_of,
    unknown_pair,
)
from qe.data.reading import Column, Reading, read_table
from qe.data.translation_files.segments import translation_kind
from qe.scoring.row_formats import name_pairs

MIN_CORRELATION = 0.1
LABEL_CORRELATION = 0.98  # above it, a column is the label in other words
_LABELS = (*HIGHER, *LOWER, "score", "label", "mean", "zmean")


def column_notes(segments: Segments, labels: FloatArray) -> Iterator[str]:
    """Notes on the numeric columns of `further`: offered as features, or warned of."""
    found: dict[str, float] = {}
    for name, texts in segments.further.items():
        cells = [text.strip() for text in texts]
        if not all(is_finite(cell) for cell in cells if cell):
            continue
        numbers = np.array([real(cell) if cell else np.nan for cell in cells])
        there = np.isfinite(numbers) & np.isfinite(labels)
        if there.sum() < 3 or np.ptp(numbers[there]) == 0:
            continue
        found[name] = float(np.corrcoef(numbers[there], labels[there])[0, 1])
        if abs(found[name]) > LABEL_CORRELATION or key_of(name) in _LABELS:
            yield (
                f"the column '{name}' is the label in other words (Pearson {found.pop(name):.2f}), or one of "
                "its kind: no new translation has it, so make it no feature"
            )
    useful = [name for name, value in found.items() if abs(value) >= MIN_CORRELATION]
    if useful:
        shown = ", ".join(f"{name} {found[name]:.2f}" for name in useful)
        yield (
            f"columns that correlate with the label (Pearson): {shown}; if new translations have them, add "
            f"{{kind: columns, names: [{', '.join(useful)}]}} to the features"
        )


_OPTION = "--columns"


def parse_columns(options: Iterable[str]) -> dict[str, str]:
    """`ROLE=HEADER,...` as ROLE -> HEADER; an empty header leaves the role out."""
    roles = name_pairs(options, _OPTION, "ROLE")
    for role in roles:
        if role not in HEADERS:
            raise unknown_name("role", role, HEADERS, location=_OPTION)
    return roles


class _Mistakes(list[InputError]):
    """What is missing or in doubt: `with mistakes:` keeps an InputError of its block."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, InputError):
            return False
        self.append(error)
        return True

    def raise_all(self, location: object) -> None:
        if len(self) == 1:
            raise self[0]
        if self:
            told = []
            for error in self:
                place = None if error.location == location else error.location
                told.append(str(InputError(error.problem, location=place, remedy=error.remedy)))
            raise combined_error(told, location)


def _roles(
    headers: Sequence[str], assigned: Mapping[str, str], location: object, mistakes: _Mistakes
) -> dict[str, str]:
    """Role -> header, of the roles that the table has.

    Mistakes: source, target or label is not there, several headers could be the same role, a given header is
    not one of the table's.
    """
    chosen, doubtful = dict[str, str](), set[str]()
    for role in HEADERS:
        doubtful.add(role)
        with mistakes:
            chosen |= {role: header} if (header := _header(role, headers, assigned, location)) else {}
            doubtful.remove(role)
    absent = {role: f"the {role}" for role in ("source", "target") if role not in {*chosen, *doubtful}}
    if not {"scores", "post_edit"} & {*chosen, *doubtful}:
        absent["scores"] = "the score, and none as the post-edit"
    if absent:
        unused = [header for header in headers if header not in chosen.values()]
        examples = []
        for role in absent:  # a header that was probably meant as one in use, such as `sorce`
            near = [name for name in unused if difflib.get_close_matches(key_of(name), HEADERS[role], n=1)]
            examples.append(f"{role}={near[0] if near else 'HEADER'}")
        named = ",".join(examples)
        without = "; without labels: `qe unsupervised`" if "scores" in absent else ""
        has = f"the table has {', '.join(headers)}; the first line must be the header{without}"
        problem = f"no column is known as {', none as '.join(absent.values())}"
        mistakes.append(InputError(problem, location=location, remedy=f"name it: {_OPTION} {named}; {has}"))
    for header in sorted({header for header in chosen.values() if list(chosen.values()).count(header) > 1}):
        mistakes.append(InputError(f"the column '{header}' has two roles", location=_OPTION))
    return chosen


def _header(role: str, headers: Sequence[str], assigned: Mapping[str, str], location: object) -> str:
    if role in assigned:
        if assigned[role] and assigned[role] not in headers:
            raise unknown_name("column", assigned[role], headers, location=location)
        return assigned[role]
    return header_of(role, headers, location, assigned=assigned.values(), option=_OPTION)


_DIRECTION = "say --higher-is-better (as direct assessments) or --lower-is-better (as error rates)"
FEWEST = 20  # rows: folds of four


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the user states about a table.

    languages         of source and target (BCP 47); a table cannot be learned from without them
    columns           role -> header, where the headers do not show it
    higher_is_better  the direction of the score, where its header does not show it
    """

    languages: tuple[str | None, str | None]
    columns: Mapping[str, str] = field(default_factory=dict)
    higher_is_better: bool | None = None
    layout: Layout = field(default_factory=Layout)


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table that can be learned from: keys of `dataset:`, and notes on what was decided."""

    path: Path
    options: Mapping[str, Any]
    dataset: Dataset
    notes: tuple[str, ...]

    @property
    def split(self) -> Split:
        return self.dataset.splits["train"]


def read_labelled(path: Path, wishes: Wishes) -> LabelledTable:
    """The table at `path`; raises InputError for all that is missing, in doubt or wrong, together."""
    mistakes, options = _Mistakes(), dict[str, Any]()
    languages: tuple[str, str] | None = None
    source, target = wishes.languages
    with mistakes:
        if source is None or target is None:
            remedy = "give --source-language and --target-language, such as en, en-US, zh-Hant (BCP 47)"
            raise InputError("the languages of the data are not known", remedy=remedy)
        language_code(source), language_code(target)
        languages = source, target
    if languages is None and translation_kind(path) in ("xliff", "tmx"):
        raise mistakes[0]
    columns = read_table(Reading(path), path, replace(wishes.layout, languages=languages))
    roles, notes = _roles(list(columns), wishes.columns, path, mistakes), list[str]()
    if "id" in roles and "id" not in wishes.columns:
        ids = [text.rstrip() for text in columns[roles["id"]].texts]
        if len({*ids}) < len(ids) or "" in ids:
            notes.append(
                f"the column '{roles['id']}' names no segment: values repeat, or are missing; left out"
            )
            del roles["id"]
    with mistakes:
        header = roles.get("scores")
        label = "hter" if header is None else _label(header, columns[header], wishes)
        options = {
            "source_language": source, "target_language": target, **wishes.layout.settings,
            "label": label, "columns": dict(roles),
        }  # fmt: skip
    mistakes.raise_all(path)
    if "classes" in options["label"]:
        notes.append(f"the label is of two classes: {' and '.join(options['label']['classes'])}")
    free = [name for name in columns if name not in {*roles.values(), *COLUMNS}]
    dataset = make_format("table", options).read(path, {name: TableColumn(name, False) for name in free})
    split = dataset.splits["train"]
    if len(split) < FEWEST:
        problem = f"{len(split)} labelled segments are too few to learn from"
        remedy = f"{FEWEST} are the least; good models begin at some thousands"
        raise InputError(problem, location=path, remedy=remedy)
    assert split.scores is not None  # the format refuses tables without
    if split.scores.min() == split.scores.max():
        raise InputError(f"all labels are {split.scores[0]:g}: there is nothing to learn", location=path)
    notes += column_notes(split.segments, split.scores)
    split = replace(split, segments=replace(split.segments, further={}))
    return LabelledTable(path, options, replace(dataset, splits={"train": split}), (*notes, *dataset.notes))


def _label(header: str, column: Column, wishes: Wishes) -> dict[str, Any]:
    if (found := classes_of(column.texts)) is not None:
        classes, upwards = found
        given = wishes.higher_is_better if upwards is None else upwards
        remedy = f"say --higher-is-better if {classes[1]!r} is good, --lower-is-better if {classes[0]!r} is"
        up = higher_is_better(header, given, remedy)
        return {"name": header, "classes": list(classes), "higher_is_better": up}
    pair = unknown_pair(column.texts)
    if pair is not None:
        problem = f"the label '{header}' is of two words, {pair[0]!r} and {pair[1]!r}, and neither is known"
        remedy = "write OK for the good one and BAD for the other"
        raise InputError(problem, location=column.location(0), remedy=remedy)
    up = higher_is_better(header, wishes.higher_is_better, _DIRECTION)
    return {"name": header, "low": 0 if is_rate(header) else None, "high": None, "higher_is_better": up}
