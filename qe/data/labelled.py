"""Leaves out rows without a label if most rows have one, with a note."""

from collections.abc import Mapping, Sequence

from qe.data.classes import numbers_of
from qe.data.reading import Column, Reading, number_problem, with_points

_SHOWN = 10  # lines of rows that are left out


def labelled_rows(
    reading: Reading, columns: Mapping[str, Column], label: str, classes: Sequence[str] | None = None
) -> Mapping[str, Column]:
    """The columns without unlabelled rows; unchanged if half the rows or more lack a label.

    label    the column of the label; a table without it stays as it is
    classes  names of its classes, if it has some
    """
    lacking = _lacking(label, columns[label], classes) if label in columns else []
    if not lacking or 2 * len(lacking) >= len(columns[label]):
        return columns
    labels = columns[label]
    lines = ", ".join(f"{labels.unit}{labels.lines[row]}" for row in lacking[:_SHOWN])
    more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
    reading.note(labels.path, len(lacking), f"{{n}} rows without a label are left out (lines {lines}{more})")
    kept = sorted({*range(len(labels))} - {*lacking})
    return {name: column.take(kept) for name, column in columns.items()}


def _lacking(name: str, column: Column, classes: Sequence[str] | None) -> list[int]:
    if name == "post_edit":
        return [row for row, text in enumerate(column.texts) if not text.strip()]
    if classes is not None:
        numbers = numbers_of(column.texts, classes)
        return [row for row, text in enumerate(numbers) if text not in ("0", "1")]
    texts = with_points(column.texts, column.decimal)
    return [row for row, text in enumerate(texts) if number_problem(text, None, None) is not None]
