"""Auxiliary data: labelled rows of other datasets, learned from and never held out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.segments import Segments
from features.storage.files import digest
from qe.config.experiment import DatasetSection
from qe.data.dataset import LabelScale, Split, concatenate
from qe.training.extraction import Extraction
from qe.training.negatives import NegativeRows, Negatives
from qe.training.repeated_sources import unrepeated
from qe.training.rescaling import rescaled

_MOST = 2.0  # that a column is stretched, or shrunk


@dataclass(frozen=True, eq=False)
class Auxiliary:
    """An auxiliary training dataset: its rows, and the way to their features.

    split       ids differ from those of all other datasets
    scale       of its labels
    onto        the scale of the first dataset's labels
    importance  (n,) weights of its rows beside a row of the first dataset
    name        the dataset's
    provenance  file -> SHA-256 of what was read
    files       where these lie
    """

    place: str
    section: DatasetSection
    split: Split
    scale: LabelScale
    onto: LabelScale
    importance: FloatArray
    extraction: Extraction
    name: str
    provenance: Mapping[str, str]
    files: Sequence[Path]

    @property
    def fingerprint(self) -> str:
        """Identifies what it teaches."""
        section = self.section
        how = (section.weight, section.scaling, section.align, section.together)
        extraction = self.extraction.feature_set.fingerprint
        return digest(how, self.split.fingerprint, self.scale, self.importance.tobytes(), extraction)

    def free_of(self, held_out: Segments) -> NDArray[np.int64]:
        """The rows whose source is none of those, punctuation and tokenization aside."""
        return unrepeated(self.split.segments.source, held_out.source)

    def scaled(self, rows: NDArray[np.int64], gold: FloatArray) -> Split:
        """Rows with labels on the scale of the first dataset, whose labels in this fold are `gold`."""
        split = self.split.take(rows)
        assert split.scores is not None  # preparation has checked
        labels = rescaled(split.scores, self.scale, gold, self.onto, self.section.scaling)
        return replace(split, scores=labels)


@dataclass(frozen=True, eq=False)
class AuxiliaryRows:
    """`rows` of an auxiliary dataset, with the features (n, k) that they have in a fold."""

    auxiliary: Auxiliary
    rows: NDArray[np.int64]
    table: pd.DataFrame

    def without(self, held_out: Segments) -> "AuxiliaryRows":
        """Only the rows whose source is none of those."""
        kept = np.isin(self.rows, self.auxiliary.free_of(held_out))
        return self if kept.all() else AuxiliaryRows(self.auxiliary, self.rows[kept], self.table[kept])

    def labels(self, gold: FloatArray) -> FloatArray:
        """(n,) on the scale of the first dataset, whose labels in this fold are `gold`."""
        scores = self.auxiliary.scaled(self.rows, gold).scores
        assert scores is not None
        return scores

    @property
    def weights(self) -> FloatArray:
        """(n,)"""
        return self.auxiliary.importance[self.rows]

    def features(self, own: pd.DataFrame) -> pd.DataFrame:
        """The (n, k) features of the added rows.

        With `align`, they get the mean and the deviation of the first dataset's rows `own`.
        """
        return aligned(self.table, own) if self.auxiliary.section.align else self.table


AddedRows = AuxiliaryRows | NegativeRows


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to learn from: features, labels and weights.

    The last `others` rows are auxiliary data or spoilt translations.
    """

    table: pd.DataFrame
    scores: FloatArray
    weights: FloatArray | None
    others: int


def together_with(
    added: Sequence[AddedRows], own: pd.DataFrame, scores: FloatArray, weights: FloatArray | None
) -> Rows:
    """Rows of the first dataset and the added ones; no weights if all count the same."""
    if not added:
        return Rows(own, scores, weights, 0)
    tables = [own, *(each.features(own) for each in added)]
    labels = [scores, *(each.labels(scores) for each in added)]
    first = np.ones(len(scores)) if weights is None else weights
    counts = np.concatenate([first, *(each.weights for each in added)])
    others = sum(len(each.rows) for each in added)
    return Rows(pd.concat(tables), np.concatenate(labels), None if (counts == 1).all() else counts, others)


def aligned(table: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Columns moved and stretched to the mean and deviation that they have in `own`, NaN aside.

    They are stretched by 1/2 to 2: a column that hardly varies in a few rows of `own` would else take over
    what was learned of its wide range elsewhere, and a row outside the narrow one would get any score.
    A column that does not vary is moved alone; one that is undefined throughout, in either table, stays.
    """
    deviation = table.std(ddof=0).replace(0.0, np.nan)
    factor = (own.std(ddof=0) / deviation).fillna(1.0).clip(1 / _MOST, _MOST)
    moved = (table - table.mean()) * factor + own.mean()
    untouched = table.columns[table.isna().all() | own.isna().all()]
    moved[untouched] = table[untouched]
    return moved


@dataclass(frozen=True, eq=False)
class FoldTables:
    """Feature tables of one fold: training rows, held-out rows and added rows."""

    own: pd.DataFrame
    other: pd.DataFrame
    added: tuple[AddedRows, ...] = ()

    def inner(self, train: NDArray[np.int64], held_out: NDArray[np.int64]) -> "FoldTables":
        """A fold inside the training rows, with their features."""
        return FoldTables(self.own.iloc[train], self.own.iloc[held_out], self.added)


@dataclass(frozen=True, eq=False)
class Fitting:
    """The rows that fit families which learn from labels: the first dataset's, then `added`."""

    split: Split
    added: Sequence[tuple[Auxiliary, NDArray[np.int64]]]

    @classmethod
    def of(cls, first: Split, auxiliaries: Sequence[Auxiliary], held_out: Segments) -> "Fitting":
        """The rows of all datasets that are learned from together, without repeats of `held_out`."""
        assert first.scores is not None
        added = [(each, each.free_of(held_out)) for each in auxiliaries if each.section.together]
        added = [(each, rows) for each, rows in added if len(rows)]
        return cls(concatenate([first, *(each.scaled(rows, first.scores) for each, rows in added)]), added)

    def rows_in(self, table: pd.DataFrame, first: int) -> list[AuxiliaryRows]:
        """The added rows with their part of a table; `first` rows of the first dataset come before."""
        added = []
        for auxiliary, rows in self.added:
            added.append(AuxiliaryRows(auxiliary, rows, table.iloc[first : first + len(rows)]))
            first += len(rows)
        return added


def fold_tables(
    extraction: Extraction,
    auxiliaries: Sequence[Auxiliary],
    split: Split,
    train: NDArray[np.int64],
    held_out: NDArray[np.int64],
    negatives: Negatives | None = None,
) -> FoldTables:
    """Feature tables of one fold.

    Families that learn from labels are fitted on its training rows and the rows added to them.
    """
    first, scoring = split.take(train), split.take(held_out).segments
    fitting = Fitting.of(first, auxiliaries, scoring)
    static = pd.concat(
        [extraction.static(part) for part in (split.segments, *(a.split.segments for a, _ in fitting.added))]
    )
    own, other = extraction.fit_and_score(fitting.split, scoring, static)
    added = [*fitting.rows_in(own, len(train)), *_apart(auxiliaries, first, scoring)]
    spoilt = _spoilt(negatives, first, fitting.split, extraction)
    return FoldTables(own.iloc[: len(train)], other, (*added, *spoilt))


def tables_of_folds(
    extraction: Extraction,
    auxiliaries: Sequence[Auxiliary],
    split: Split,
    folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    negatives: Negatives | None = None,
) -> list[FoldTables]:
    """`fold_tables` of all folds.

    The folds share fitted families unless a family is fitted on several datasets together.
    """
    if any(each.section.together for each in auxiliaries):
        return [fold_tables(extraction, auxiliaries, split, *fold, negatives) for fold in folds]
    made = []
    for own, (train, held_out) in zip(extraction.folds(split, folds), folds, strict=True):
        first = split.take(train)
        added = _apart(auxiliaries, first, split.take(held_out).segments)
        made.append(FoldTables(*own, (*added, *_spoilt(negatives, first, first, extraction))))
    return made


def whole_tables(
    extraction: Extraction,
    auxiliaries: Sequence[Auxiliary],
    split: Split,
    folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    negatives: Negatives | None = None,
) -> FoldTables:
    """All rows are learned from; the table of held-out rows has none."""
    nothing = split.segments.take([])
    fitting = Fitting.of(split, auxiliaries, nothing)
    own = extraction.training_table(fitting.split, () if fitting.added else folds)
    added = [*fitting.rows_in(own, len(split)), *_apart(auxiliaries, split, nothing)]
    spoilt = _spoilt(negatives, split, fitting.split, extraction)
    return FoldTables(own.iloc[: len(split)], own.iloc[:0], (*added, *spoilt))


def _spoilt(
    negatives: Negatives | None, first: Split, fitting: Split, extraction: Extraction
) -> list[NegativeRows]:
    return [] if negatives is None else [negatives.of(first, fitting, extraction)]


def _apart(auxiliaries: Sequence[Auxiliary], first: Split, held_out: Segments) -> list[AuxiliaryRows]:
    assert first.scores is not None
    added = []
    for each in auxiliaries:
        rows = each.free_of(held_out)
        if len(rows) and not each.section.together:
            table = each.extraction.training_table(each.scaled(rows, first.scores))
            added.append(AuxiliaryRows(each, rows, table))
    return added
