"""Makes a Split from columns of text: known columns, label scales, ids, judges, labelled rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ConfigDict

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.extractor import TableColumns
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer
from qe.config.schema import Section, validated
from qe.data.frames import cells_of
from qe.data.headers import HEADERS, check_classes, header_of, no_column, numbers_of, says_languages
from qe.data.reading import (
    Column,
    Reading,
    columns_of_pair,
    equal_lengths,
    number_problem,
    with_points,
)
from qe.data.split import LabelScale, Split
from qe.data.table_rows import TEXTS

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10  # lines of rows that are left out


def labelled_rows(
    reading: Reading, columns: Mapping[str, Column], label: str, classes: Sequence[str] | None = None
) -> Mapping[str, Column]:
    """The columns without rows that lack the label; unchanged if half the rows or more lack it."""
    labels = columns.get(label)
    if labels is None:
        return columns
    if label == "post_edit":
        lacks = [not text.strip() for text in labels.texts]
    elif classes is not None:
        lacks = [text not in ("0", "1") for text in numbers_of(labels.texts, classes)]
    else:
        texts = with_points(labels.texts, labels.decimal)
        lacks = [number_problem(text, None, None) is not None for text in texts]
    lacking = np.flatnonzero(lacks).tolist()
    if not lacking or 2 * len(lacking) >= len(labels):
        return columns
    lines = ", ".join(f"{labels.unit}{labels.lines[row]}" for row in lacking[:_SHOWN])
    more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
    reading.note(labels.path, len(lacking), f"{{n}} rows without a label are left out (lines {lines}{more})")
    kept = [row for row, lacks_label in enumerate(lacks) if not lacks_label]
    return {name: column.take(kept) for name, column in columns.items()}


HTER = LabelScale("hter", 0.0, None, higher_is_better=False)
SIDE_TEXT = ("post_edit", "reference", "word_tags", "source_tags")
ROW_WEIGHTS = "row_weights"
NUMBERS = ("scores", "judges", "weights", "annotators", "direct_assessment", ROW_WEIGHTS)
LABEL_COLUMNS = (*NUMBERS, *SIDE_TEXT)
# Columns of one number a segment, beside the label: what messages call it, and its low end.
_SINGLE: Mapping[str, tuple[str, float | None]] = {
    "annotators": ("number of annotators", 0),
    "direct_assessment": ("direct assessment", None),
    ROW_WEIGHTS: ("weight of the row", 0),
}
COLUMNS = (*Segments.column_names(), *LABEL_COLUMNS)

Label = Mapping[str, Any] | str


class _Label(Section):
    model_config = ConfigDict(strict=True)

    name: str
    low: float | None = None
    high: float | None = None
    higher_is_better: bool
    classes: Sequence[Any] | None = None


def label_scale(label: Label) -> LabelScale:
    """The label scale of `label:`: `hter` (from post-edits) or {name, low, high, higher_is_better}."""
    if isinstance(label, str):
        if label != "hter":
            raise InputError(
                f"unknown label '{label}'",
                location="dataset.label",
                remedy="use hter (computed from the post-edits) or {name, low, high, higher_is_better}",
            )
        return HTER
    settings = validated(_Label, label, Path("dataset.label"))
    low, high, classes = settings.low, settings.high, settings.classes
    if classes is not None:
        check_classes(classes, "dataset.label.classes")
        if low not in (None, 0) or high not in (None, 1):
            problem = "`low` and `high` must be 0 and 1, as the label has classes"
            raise InputError(problem, location="dataset.label")
        low, high = 0.0, 1.0
    elif low is not None and high is not None and low >= high:
        raise InputError(f"`low < high` must hold, but got ({low=:g}, {high=:g})", location="dataset.label")
    return LabelScale(settings.name, low, high, settings.higher_is_better, classes)


def make_split(
    reading: Reading,
    name: str,
    columns: Mapping[str, Column],
    scale: LabelScale,
    tokenizers: tuple[Tokenizer, Tokenizer],
) -> Split:
    """Makes a split from its columns; on the scale HTER, missing scores are those of the post-edits."""
    for required in ("source", "target"):
        if required not in columns:
            raise InputError(
                f"split '{name}' has no {required}",
                location=reading.root,
                remedy=f"columns: {', '.join(columns)}",
            )
    equal_lengths(columns)
    _refuse_unread(reading, columns)
    numbers = {key for key, column in reading.table_columns.items() if column.number}
    columns = {
        key: reading.numbers_as_text(column, key) if key in numbers else column
        for key, column in columns.items()
    }
    texts = {key: tuple(column.texts) for key, column in columns.items() if key not in LABEL_COLUMNS}
    texts["id"] = _ids(reading, name, len(columns["source"]), columns.get("id"))
    segments = Segments.from_columns(texts, *tokenizers)
    scores = reading.labels(columns["scores"], scale) if "scores" in columns else None
    if scores is None and scale is HTER and "post_edit" in columns:
        scores = _hter(reading, segments, columns["post_edit"])
    ends = (None, None) if scale is HTER else (scale.low, scale.high)  # judges have no edit rates
    further: dict[str, Any] = {key: tuple(columns[key].texts) for key in SIDE_TEXT if key in columns}
    for key, (noun, low) in _SINGLE.items():
        if key in columns:
            further[key] = reading.numbers(columns[key], noun, low, None)
    split = Split(
        segments,
        scores=scores,
        judges=reading.matrix(columns["judges"], "judge", *ends) if "judges" in columns else None,
        weights=reading.matrix(columns["weights"], "weight", 0, None) if "weights" in columns else None,
        **further,
    )
    if split.judges is not None and split.weights is not None and split.judges.shape != split.weights.shape:
        raise InputError(
            f"{split.judges.shape[1]} judges, but {split.weights.shape[1]} weights",
            location=columns["weights"].path,
        )
    return split


def frame_label(label: str, tables: "Mapping[str, pd.DataFrame]") -> str:
    """The header of the labels: as given, or a usual one. Raises InputError if no table has it."""
    headers = [list(map(str, table.columns)) for table in tables.values()]
    if any(label in names for names in headers):
        return label
    found = header_of("scores", headers[0], "the labels", option="label")
    if not found:
        columns = dict.fromkeys(name for names in headers for name in names)
        raise InputError(f"no table has the label '{label}'", remedy=f"they have {', '.join(columns)}")
    return found


def frame_texts(
    table: "pd.DataFrame", headers: Mapping[str, str], table_columns: TableColumns | None = None
) -> dict[str, list[str]]:
    """Columns of a table in memory as texts, by name; `headers` has the header of each name."""
    cells = cells_of(table, "the table")
    columns = {
        name: Column.of_values(cells[header], Path("the table"), "row ") for name, header in headers.items()
    }
    _refuse_unread(Reading(Path(), table_columns=table_columns or {}), columns)
    return {name: column.texts for name, column in columns.items()}


def frame_columns(
    reading: Reading, table: "pd.DataFrame", split: str, label: str, languages: tuple[str, str]
) -> dict[str, Column]:
    """The columns of a split in memory as text, by role; rows of other language pairs are left out."""
    place = Path(f"the table of '{split}'")
    cells = cells_of(table, place)
    headers = list(cells)
    roles = {
        role: header_of(role, headers, place)
        for role in HEADERS
        if role not in ("id", "scores") and role not in headers
    }
    for name in (*Segments.column_names(), *SIDE_TEXT, ROW_WEIGHTS, *reading.table_columns):
        roles |= {name: name} if name in headers else {}
    roles["scores"] = label if label in headers else ""
    for side in ("source", "target"):
        if not roles[side]:
            raise no_column(side, headers, place)
    wanted = {*roles.values(), *filter(says_languages, headers)}
    unread = [header for header in headers if header not in wanted]
    reading.note(place, len(unread), f"columns that are not read: {', '.join(unread)}")
    columns = {
        header: Column.of_values(values, place, "row ")
        for header, values in cells.items()
        if header in wanted
    }
    columns = columns_of_pair(reading, columns, languages, place)
    return {role: columns[header] for role, header in roles.items() if header}


def _refuse_unread(reading: Reading, columns: Mapping[str, Column]) -> None:
    for name, column in columns.items():
        if name not in NUMBERS and name not in reading.table_columns:
            for row in sorted(column.absent):
                reading.defect(f"the {name} is missing (null)", location=column.location(row))
        if name in TEXTS:
            for row in sorted(column.structured):
                reading.defect(f"the {name} is not text", location=column.location(row))


def _hter(reading: Reading, segments: Segments, post_edit: Column) -> FloatArray:
    from qe.data.labels import hter

    scores = hter(segments.target_tokens, segments.target_tokenizer.tokens(post_edit.texts))
    for row in np.flatnonzero(np.isnan(scores)):
        reading.defect("the post-edit is empty, so HTER is undefined", location=post_edit.location(int(row)))
    return scores


def _ids(reading: Reading, split: str, n: int, id_column: Column | None) -> tuple[str, ...]:
    numbered = tuple(f"{split}-{i}" for i in range(1, n + 1))
    if id_column is None:
        return numbered
    first: dict[str, int] = {}
    for row, identifier in enumerate(id_column.texts):
        if not identifier:
            reading.defect("the segment id is missing", location=id_column.location(row))
        elif identifier in first:
            reading.defect(
                f"the segment id '{identifier}' was used before, at {id_column.location(first[identifier])}",
                location=id_column.location(row),
                remedy="ids must be unique within a split",
            )
        else:
            first[identifier] = row
    return tuple(id_column.texts) if len(first) == len(id_column) else numbered


def check_tags(reading: Reading, columns: Mapping[str, Column]) -> None:
    """Reports each row with a wrong number of tags: n for n tokens of the source, 2 n + 1 of the target."""
    for name, side, gaps in (("word_tags", "target", True), ("source_tags", "source", False)):
        if name not in columns or len(columns[name]) != len(columns[side]):
            continue  # `make_split` reports different lengths
        for row, (tags, text) in enumerate(zip(columns[name].texts, columns[side].texts, strict=True)):
            n, found = len(text.split()), len(tags.split())
            expected = 2 * n + 1 if gaps else n
            if found != expected:
                reading.defect(
                    f"expected {expected} tags for {n} tokens, found {found}",
                    location=columns[name].location(row),
                )
