"""Buckets of segments: by length, rare words, predicted quality, document or any column."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.storage.files import read_lines
from qe.data.score_files import read_predictions
from qe.statistics.buckets import BANDS, Buckets, bands, by_name

DOCUMENT, LENGTH, QUALITY, RARE = "document", "length", "quality", "rare"
_ONCE = 1  # a word is rare if it occurs at most so often


def word_counts(lines: Iterable[str]) -> FloatArray:
    return np.array([len(line.split()) for line in lines], np.float64)


def rare_shares(lines: Sequence[str], corpus: Iterable[str] | None = None) -> FloatArray:
    """(n,) share of words in percent that occur at most once in the corpus, or else in the lines."""
    words = [line.lower().split() for line in lines]
    known = words if corpus is None else (line.lower().split() for line in corpus)
    counts = Counter(word for line in known for word in line)
    return np.array(
        [100 * sum(counts[w] <= _ONCE for w in line) / len(line) if line else 0.0 for line in words]
    )


def by_length(lines: Sequence[str], side: str, count: int = BANDS) -> Buckets:
    """Bands of length in words; `what` names the text."""
    return bands(LENGTH, f"words of the {side}", word_counts(lines), count)


def by_rare_words(lines: Sequence[str], side: str, corpus: Path | None = None, count: int = BANDS) -> Buckets:
    """Bands of the share of rare words."""
    location = "the test set" if corpus is None else corpus.name
    about = f"% of words of the {side} that {location} has at most once"
    shares = rare_shares(lines, None if corpus is None else read_lines(corpus))
    return bands(RARE, about, shares, count)


def by_quality(columns: Sequence[FloatArray], side: str, count: int = BANDS) -> Buckets:
    """Bands of predicted quality: the mean of columns (n,), standardised if there are several."""
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"predicted qualities of {' and '.join(str(len(c)) for c in columns)} segments")
    scaled = columns
    if len(columns) > 1:
        scaled = [(column - column.mean()) / (float(column.std()) or 1.0) for column in columns]
    about = side if len(columns) == 1 else f"{side}: mean of {len(columns)}, standardised"
    return bands(QUALITY, about, np.mean(scaled, axis=0), count)


def read_quality(paths: Sequence[Path], count: int = BANDS) -> Buckets:
    names = ", ".join(path.name for path in paths)
    return by_quality(
        [read_predictions(path).scores for path in paths], f"predicted quality ({names})", count
    )


def read_column(name: str, path: Path, count: int = BANDS) -> Buckets:
    """Buckets from a file of one value per line: bands of numbers, but a `document` is always a name."""
    values = [line.strip() for line in read_lines(path)]
    try:
        numbers = None if name == DOCUMENT else np.array(list(map(float, values)), np.float64)
    except ValueError:
        numbers = None
    return by_name(name, path.name, values) if numbers is None else bands(name, path.name, numbers, count)
