"""A labelled table of the user's: columns, label and size."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from features.basics.errors import InputError, unknown_name
from qe.data.classes import Pair, classes_of, unknown_pair
from qe.data.dataset import Dataset, Split
from qe.data.format import make_format
from qe.data.headers import HEADERS, header_of, higher_is_better, is_rate
from qe.data.reading import Column, Reading
from qe.data.table_files import read_table
from qe.data.table_rows import Layout
from qe.scoring.naming import name_pairs

_OPTION = "--columns"


def parse_columns(options: Iterable[str]) -> dict[str, str]:
    """`ROLE=HEADER,...` as ROLE -> HEADER; an empty header leaves the role out.

    >>> parse_columns(["source=en,target=de", "id="])
    {'source': 'en', 'target': 'de', 'id': ''}

    Raises InputError for what is not of that form, and for roles that are unknown or given twice.
    """
    roles = name_pairs(options, _OPTION, "ROLE")
    for role in roles:
        if role not in HEADERS:
            raise unknown_name("role", role, HEADERS, location=_OPTION)
    return roles


def recognised(headers: Sequence[str], assigned: Mapping[str, str], location: object) -> dict[str, str]:
    """Role -> header, of the roles that the table has.

    >>> recognised(["SRC", "mt", "z_mean", "model"], {}, "a.tsv")
    {'source': 'SRC', 'target': 'mt', 'scores': 'z_mean'}

    Raises InputError if source, target or label is not there, if several headers could be the same role, and
    for a given header that the table lacks.
    """
    roles = {role: _header(role, headers, assigned, location) for role in HEADERS}
    chosen = {role: header for role, header in roles.items() if header}
    has = f"the table has {', '.join(headers)}; the first line must be the header"
    for role in ("source", "target"):
        if role not in chosen:
            raise InputError(
                f"no column is known as the {role}",
                location=location,
                remedy=f"name it: {_OPTION} {role}=HEADER; {has}",
            )
    if not {"scores", "post_edit"} & chosen.keys():
        raise InputError(
            "no column is known as the score, and none as the post-edit",
            location=location,
            remedy=f"name it: {_OPTION} scores=HEADER; {has}; without labels: `qe unsupervised`",
        )
    twice = {header for header in chosen.values() if list(chosen.values()).count(header) > 1}
    if twice:
        raise InputError(f"the column '{min(twice)}' has two roles", location=_OPTION)
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

    languages         of source and target, ISO 639
    columns           role -> header, where the headers do not say it (`qe.getting_started.init.table`)
    higher_is_better  the direction of the score, where its header does not say it
    layout            the format of the file
    """

    languages: tuple[str, str]
    columns: Mapping[str, str] = field(default_factory=dict)
    higher_is_better: bool | None = None
    layout: Layout = field(default_factory=Layout)


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table that can be learned from.

    options  the keys of `dataset:` except `format` and `path`
    notes    what was decided for the user, a sentence each
    """

    path: Path
    options: Mapping[str, Any]
    dataset: Dataset
    notes: tuple[str, ...]

    @property
    def split(self) -> Split:
        """The labelled rows."""
        return self.dataset.splits["train"]


def read_labelled(path: Path, wishes: Wishes) -> LabelledTable:
    """The table at `path`.

    Raises InputError for columns in doubt, mistakes that the format finds, fewer than 20 rows, and labels
    that are all the same.
    """
    columns = read_table(Reading(path), path, replace(wishes.layout, languages=wishes.languages))
    roles, notes = recognised(list(columns), wishes.columns, path), list[str]()
    if "id" in roles and "id" not in wishes.columns:
        ids = [text.rstrip() for text in columns[roles["id"]].texts]
        if len({*ids}) < len(ids) or "" in ids:
            notes.append(
                f"the column '{roles['id']}' names no segment: values repeat, or are missing; left out"
            )
            del roles["id"]
    options = _options(roles, wishes, columns)
    if "classes" in options["label"]:
        notes.append(f"the label is of two classes: {' and '.join(options['label']['classes'])}")
    dataset = make_format("table", options).read(path)
    _check(dataset.splits["train"], path)
    return LabelledTable(path, options, dataset, (*notes, *dataset.notes))


def _options(roles: Mapping[str, str], wishes: Wishes, columns: Mapping[str, Column]) -> dict[str, Any]:
    source, target = wishes.languages
    options: dict[str, Any] = {"source_language": source, "target_language": target}
    options |= wishes.layout.settings
    if "scores" in roles:
        header = roles["scores"]
        classes = classes_of(columns[header].texts)
        if classes is not None:
            options["label"] = _of_classes(header, *classes, wishes)
            return {**options, "columns": dict(roles)}
        _check_words(header, columns[header])
        up = higher_is_better(header, wishes.higher_is_better, _DIRECTION)
        low = 0 if is_rate(header) else None
        options["label"] = {"name": header, "low": low, "high": None, "higher_is_better": up}
    else:
        options["label"] = "hter"
    return {**options, "columns": dict(roles)}


def _check_words(header: str, column: Column) -> None:
    pair = unknown_pair(column.texts)
    if pair is not None:
        raise InputError(
            f"the label '{header}' is of two words, {pair[0]!r} and {pair[1]!r}, and neither is known",
            location=column.location(0),
            remedy="write OK for the good one and BAD for the other",
        )


def _of_classes(header: str, classes: Pair, upwards: bool | None, wishes: Wishes) -> dict[str, Any]:
    given = wishes.higher_is_better if upwards is None else upwards
    remedy = f"say --higher-is-better if {classes[1]!r} is good, --lower-is-better if {classes[0]!r} is"
    up = higher_is_better(header, given, remedy)
    return {"name": header, "classes": list(classes), "higher_is_better": up}


def _check(split: Split, path: Path) -> None:
    if len(split) < FEWEST:
        raise InputError(
            f"{len(split)} labelled segments are too few to learn from",
            location=path,
            remedy=f"{FEWEST} are the least; good models begin at some thousands",
        )
    assert split.scores is not None  # the format refuses tables without
    if split.scores.min() == split.scores.max():
        raise InputError(f"all labels are {split.scores[0]:g}: there is nothing to learn", location=path)
