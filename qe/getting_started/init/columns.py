"""Columns of a table that may be features: those that correlate with the label, and those that repeat it."""

from collections.abc import Iterator, Sequence

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.numerals import is_finite, real
from features.core.segments import Segments
from qe.data.headers import HIGHER, LOWER, key_of

MIN_CORRELATION = 0.1
LABEL_CORRELATION = 0.98  # above it, a column is the label in other words
_LABELS = (*HIGHER, *LOWER, "score", "label", "mean", "zmean")


def column_notes(segments: Segments, labels: FloatArray) -> Iterator[str]:
    """Notes on the numeric columns of `further`: offered as features, or warned of."""
    found: dict[str, float] = {}
    for name, texts in segments.further.items():
        numbers = _numbers(texts)
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


def _numbers(texts: Sequence[str]) -> FloatArray:
    """Numbers of a column, NaN for empty cells; all NaN if another text is no number."""
    cells = [text.strip() for text in texts]
    if not all(is_finite(cell) for cell in cells if cell):
        return np.full(len(cells), np.nan)
    return np.array([real(cell) if cell else np.nan for cell in cells])
