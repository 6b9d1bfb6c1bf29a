"""Auxiliary training data, never held out: labelled rows of other datasets, and perturbed translations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress
from features.core.feature_set import FeatureSet
from features.core.segments import Column, Segments
from features.storage.files import digest
from qe.config.experiment import DatasetSection, Experiment, NegativesSection
from qe.data.dataset import Dataset, LabelScale, Split, concatenate
from qe.data.perturbation import names, perturbed
from qe.language.programs.made_columns import remake_columns
from qe.resources.cache import corpus_absent, resources_for, rows_of_own_corpus
from qe.training.extraction import Extraction
from qe.training.plan import Plan
from qe.training.reading import (
    TrainingRows,
    read_dataset,
    rescaled,
    row_counts,
    sampled,
    scores_of,
    translated,
    unrepeated,
    weights_of,
)

NOTE = (
    "{place} ({name}): {n} segments help to learn, each with the weight {weight:g}, labels '{label}'{others};"
    " {left_out} are left out: their sources are among those not learned from{together}"
)
_MAX_STRETCH = 2.0  # of a column that is aligned; at least its inverse


@dataclass(frozen=True, eq=False)
class Negatives:
    """Perturbs the training rows of each fold; the perturbed rows are learned from and never held out."""

    section: NegativesSection
    scale: LabelScale
    seed: int
    made_columns: Mapping[str, str] = field(default_factory=dict)

    def rows(self, first: Split, fitting: Split, extraction: Extraction) -> "NegativeRows":
        """Perturbed rows of `first`; families that learn are fitted on `fitting`, which has none of them."""
        segments, rows = self.perturbed(first.segments)
        sources = tuple(first.segments.source[row] for row in rows.tolist())
        return NegativeRows(sources, rows, extraction.scored(fitting, segments), self.scale)

    def perturbed(self, segments: Segments) -> tuple[Segments, NDArray[np.int64]]:
        """Perturbed rows, about as many of each kind, and the rows that they were made from."""
        kinds, rng = self.section.kinds or names("destroying"), np.random.default_rng(self.seed)
        size = max(1, round(self.section.share * len(segments)))
        counts = np.bincount(np.resize(rng.permutation(len(kinds)), size), minlength=len(kinds))
        drawn = [np.sort(rng.permutation(len(segments))[:count]).tolist() for count in counts.tolist()]
        parts = [perturbed(segments, kind, self.seed, rows) for kind, rows in zip(kinds, drawn, strict=True)]
        renamed = [
            replace(part, id=tuple(f"{kind} {name}" for name in part.id))
            for kind, (part, _) in zip(kinds, parts, strict=True)
        ]
        segments = remake_columns(Segments.concatenate(renamed), self.made_columns)
        return segments, np.concatenate([rows for _, rows in parts])


@dataclass(frozen=True, eq=False)
class NegativeRows:
    """Perturbed rows with their features (m, k) in a fold.

    sources  (m,) sources of the rows that they were made from
    rows     (m,) places of those rows among the training rows of the fold
    """

    sources: tuple[str, ...]
    rows: NDArray[np.int64]
    table: pd.DataFrame
    scale: LabelScale

    def excluding(self, segments: Segments) -> "NegativeRows":
        """Only those that were made from rows with other sources."""
        kept = unrepeated(self.sources, segments.source)
        sources = tuple(self.sources[row] for row in kept.tolist())
        return NegativeRows(sources, self.rows[kept], self.table.iloc[kept], self.scale)

    def labels(self, gold: FloatArray) -> FloatArray:
        """(m,) the worst label of the real rows."""
        return np.full(len(self.rows), gold.min() if self.scale.higher_is_better else gold.max())

    @property
    def weights(self) -> FloatArray:
        """(m,) 1: they count as real rows."""
        return np.ones(len(self.rows))

    def features(self, primary: pd.DataFrame) -> pd.DataFrame:
        """(m, k)"""
        return self.table


@dataclass(frozen=True, eq=False)
class Auxiliary:
    """An auxiliary training dataset: its rows, and the way to their features.

    split       ids differ from those of all other datasets
    scale       of its labels
    onto        the scale of the first dataset's labels
    importance  (n,) weights of its rows; a row of the first dataset has 1
    provenance  file -> SHA-256 of the content
    files       where they are
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
        """Fingerprint of the auxiliary data."""
        section = self.section
        settings = (section.weight, section.scaling, section.align, section.joint)
        features = self.extraction.feature_set.fingerprint
        return digest(settings, self.split.fingerprint, self.scale, self.importance.tobytes(), features)

    def rows_without(self, segments: Segments) -> NDArray[np.int64]:
        """The rows whose source is none of those, apart from punctuation and tokenization."""
        return unrepeated(self.split.segments.source, segments.source)

    def scaled(self, rows: NDArray[np.int64], gold: FloatArray) -> Split:
        """Rows with labels on the scale of the first dataset, whose labels in this fold are `gold`."""
        split = self.split.take(rows)
        labels = rescaled(scores_of(split), self.scale, gold, self.onto, self.section.scaling)
        return replace(split, scores=labels)


@dataclass(frozen=True, eq=False)
class AuxiliaryRows:
    """`rows` of an auxiliary dataset, with their features (n, k) in a fold."""

    auxiliary: Auxiliary
    rows: NDArray[np.int64]
    table: pd.DataFrame

    def excluding(self, segments: Segments) -> "AuxiliaryRows":
        """Only the rows with other sources."""
        kept = np.isin(self.rows, self.auxiliary.rows_without(segments))
        return self if kept.all() else AuxiliaryRows(self.auxiliary, self.rows[kept], self.table[kept])

    def labels(self, gold: FloatArray) -> FloatArray:
        """(n,) on the scale of the first dataset, whose labels in this fold are `gold`."""
        return scores_of(self.auxiliary.scaled(self.rows, gold))

    @property
    def weights(self) -> FloatArray:
        """(n,)"""
        return self.auxiliary.importance[self.rows]

    def features(self, primary: pd.DataFrame) -> pd.DataFrame:
        """(n, k); with `align`, on the mean and the deviation of the first dataset's rows `primary`."""
        return aligned(self.table, primary) if self.auxiliary.section.align else self.table


AddedRows = AuxiliaryRows | NegativeRows


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to learn from: features, labels and weights.

    The last `n_added` rows are auxiliary data or perturbed translations.
    """

    table: pd.DataFrame
    scores: FloatArray
    weights: FloatArray | None
    n_added: int


def join_rows(
    added: Sequence[AddedRows], primary: pd.DataFrame, scores: FloatArray, weights: FloatArray | None
) -> Rows:
    """Rows of the first dataset and the added ones; no weights if all count the same."""
    if not added:
        return Rows(primary, scores, weights, 0)
    tables = [primary, *(each.features(primary) for each in added)]
    labels = [scores, *(each.labels(scores) for each in added)]
    first = np.ones(len(scores)) if weights is None else weights
    counts = np.concatenate([first, *(each.weights for each in added)])
    n_added = sum(len(each.rows) for each in added)
    return Rows(pd.concat(tables), np.concatenate(labels), None if (counts == 1).all() else counts, n_added)


def aligned(table: pd.DataFrame, primary: pd.DataFrame) -> pd.DataFrame:
    """Columns moved and stretched to the mean and deviation that they have in `primary`, NaN aside.

    They are stretched by 1/2 to 2: a column that hardly varies in a few rows of `primary` would otherwise
    dominate what was learned of its wide range elsewhere, and rows outside the narrow one get any score.
    A constant column is moved only; one that is undefined throughout, in either table, stays.
    """
    deviation = table.std(ddof=0).replace(0.0, np.nan)
    factor = (primary.std(ddof=0) / deviation).fillna(1.0).clip(1 / _MAX_STRETCH, _MAX_STRETCH)
    moved = (table - table.mean()) * factor + primary.mean()
    untouched = table.columns[table.isna().all() | primary.isna().all()]
    moved[untouched] = table[untouched]
    return moved


@dataclass(frozen=True, eq=False)
class FoldTables:
    """Feature tables of one fold: training rows, held-out rows and added rows."""

    train: pd.DataFrame
    test: pd.DataFrame
    added: tuple[AddedRows, ...] = ()

    def inner(self, train_rows: NDArray[np.int64], test_rows: NDArray[np.int64]) -> "FoldTables":
        """A fold inside the training rows, with their features."""
        return FoldTables(self.train.iloc[train_rows], self.train.iloc[test_rows], self.added)


@dataclass(frozen=True, eq=False)
class Fitting:
    """The rows that fit families which learn from labels: the first dataset's, then `added`."""

    split: Split
    added: Sequence[tuple[Auxiliary, NDArray[np.int64]]]

    @classmethod
    def for_fold(cls, first: Split, auxiliaries: Sequence[Auxiliary], scored: Segments) -> "Fitting":
        """The rows of all datasets that are fitted jointly, without repeats of the `scored` segments."""
        added = [(each, each.rows_without(scored)) for each in auxiliaries if each.section.joint]
        added = [(each, rows) for each, rows in added if len(rows)]
        gold = scores_of(first)
        return cls(concatenate([first, *(each.scaled(rows, gold) for each, rows in added)]), added)

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
    train_rows: NDArray[np.int64],
    test_rows: NDArray[np.int64],
    negatives: Negatives | None = None,
) -> FoldTables:
    """Feature tables of one fold.

    Families that learn from labels are fitted on its training rows and the rows added to them.
    """
    first, scored = split.take(train_rows), split.take(test_rows).segments
    fitting = Fitting.for_fold(first, auxiliaries, scored)
    parts = (split.segments, *(each.split.segments for each, _ in fitting.added))
    static = pd.concat([extraction.static(part) for part in parts])
    train, test = extraction.fit_and_score(fitting.split, scored, static)
    added = [*fitting.rows_in(train, len(train_rows)), *_separate_rows(auxiliaries, first, scored)]
    negative = _negative_rows(negatives, first, fitting.split, extraction)
    return FoldTables(train.iloc[: len(train_rows)], test, (*added, *negative))


def tables_of_folds(
    extraction: Extraction,
    auxiliaries: Sequence[Auxiliary],
    split: Split,
    folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    negatives: Negatives | None = None,
) -> list[FoldTables]:
    """`fold_tables` of all folds; they share fitted families unless these are fitted on several datasets."""
    if any(each.section.joint for each in auxiliaries):
        return [fold_tables(extraction, auxiliaries, split, *fold, negatives) for fold in folds]
    result = []
    for tables, (train_rows, test_rows) in zip(extraction.folds(split, folds), folds, strict=True):
        first = split.take(train_rows)
        added = _separate_rows(auxiliaries, first, split.take(test_rows).segments)
        result.append(FoldTables(*tables, (*added, *_negative_rows(negatives, first, first, extraction))))
    return result


def whole_tables(
    extraction: Extraction,
    auxiliaries: Sequence[Auxiliary],
    split: Split,
    folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    negatives: Negatives | None = None,
) -> FoldTables:
    """All rows are learned from; the table of held-out rows is empty."""
    nothing = split.segments.take([])
    fitting = Fitting.for_fold(split, auxiliaries, nothing)
    train = extraction.training_table(fitting.split, () if fitting.added else folds)
    added = [*fitting.rows_in(train, len(split)), *_separate_rows(auxiliaries, split, nothing)]
    negative = _negative_rows(negatives, split, fitting.split, extraction)
    return FoldTables(train.iloc[: len(split)], train.iloc[:0], (*added, *negative))


def _negative_rows(
    negatives: Negatives | None, first: Split, fitting: Split, extraction: Extraction
) -> list[NegativeRows]:
    return [] if negatives is None else [negatives.rows(first, fitting, extraction)]


def _separate_rows(auxiliaries: Sequence[Auxiliary], first: Split, scored: Segments) -> list[AuxiliaryRows]:
    added = []
    for each in auxiliaries:
        rows = each.rows_without(scored)
        if len(rows) and not each.section.joint:
            table = each.extraction.training_table(each.scaled(rows, scores_of(first)))
            added.append(AuxiliaryRows(each, rows, table))
    return added


def auxiliary_datasets(
    plan: Plan, dataset: Dataset, rows: TrainingRows, extraction: Extraction, cache: Path, progress: Progress
) -> tuple[tuple[Auxiliary, ...], list[str]]:
    """The auxiliary datasets of an experiment, and a note about each.

    Raises InputError, with its place, if one has no labels, or lacks what the features need.
    """
    result, notes = [], []
    for number, section in enumerate(plan.experiment.auxiliary_datasets, start=1):
        place = f"dataset.{number}"
        read = read_dataset(plan.experiment, section, place)
        auxiliary = translated(read, plan.experiment, cache, progress)
        try:
            each, note = _auxiliary(
                place, section, auxiliary, plan, dataset, rows, extraction, cache, progress
            )
        except InputError as error:
            raise InputError(f"{place} ({auxiliary.name}): {error}") from None
        result.append(each)
        notes.append(note)
    return tuple(result), notes


def _auxiliary(
    place: str, section: DatasetSection, auxiliary: Dataset, plan: Plan, dataset: Dataset, rows: TrainingRows,
    extraction: Extraction, cache: Path, progress: Progress,
) -> tuple[Auxiliary, str]:  # fmt: skip
    experiment, training = plan.experiment, rows.training
    split, left_out = _rows_to_learn(section, auxiliary, experiment, dataset, rows)
    if section.joint:
        _check_tokenizers(split.segments, training.segments)
    split, extraction = _extraction(section, split, plan, training, extraction, cache, progress)
    _check_columns(split, extraction.feature_set)
    split = _renamed(split, place, experiment.split.fold_by == "document")
    rescaled(scores_of(split), auxiliary.scale, scores_of(training), dataset.scale, section.scaling)
    note = NOTE.format(
        place=place,
        name=auxiliary.name,
        n=len(split),
        weight=section.weight,
        label=auxiliary.scale.name,
        others="" if section.scaling == "none" else f" rescaled ({section.scaling})",
        left_out=left_out,
        together=", or are in the first dataset" if section.joint else "",
    )
    weights = None if row_counts(split, experiment) is None else weights_of(split, experiment)
    importance = section.weight * (np.ones(len(split)) if weights is None else weights)
    result = Auxiliary(
        place, section, split, auxiliary.scale, dataset.scale, importance, extraction,
        auxiliary.name, auxiliary.provenance, auxiliary.files(section.path),
    )  # fmt: skip
    return result, note


def _rows_to_learn(
    section: DatasetSection, auxiliary: Dataset, experiment: Experiment, dataset: Dataset, rows: TrainingRows
) -> tuple[Split, int]:
    split = concatenate([auxiliary.split(name) for name in section.train])
    if split.scores is None or not np.isfinite(split.scores).all():
        raise InputError(f"segments of {', '.join(section.train)} have no labels to learn from")
    # Sources of the first dataset's other splits, and of its labelled rows that are set aside.
    learned, labelled = set(rows.training.segments.id), rows.labelled.segments
    others = (s for name, s in dataset.splits.items() if name not in experiment.split.train)
    forbidden = [text for other in others for text in other.segments.source]
    forbidden += [s for name, s in zip(labelled.id, labelled.source, strict=True) if name not in learned]
    forbidden += rows.training.segments.source if section.joint else ()
    kept = unrepeated(split.segments.source, forbidden)
    if not len(kept):
        raise InputError(
            "all sources are among those that are not learned from"
            + (", or in the first dataset" if section.joint else ""),
            remedy="leave `together` out" if section.joint else "leave the dataset out",
        )
    left_out = len(split) - len(kept)
    return sampled(split.take(kept), section.rows, experiment.split.seed), left_out


def _check_tokenizers(segments: Segments, training: Segments) -> None:
    sides = [(each.source_tokenizer, each.target_tokenizer) for each in (segments, training)]
    if sides[0] != sides[1]:
        first, second = (" and ".join(f"{t.language} ({t.kind})" for t in pair) for pair in sides)
        raise InputError(
            f"`together` needs the languages and tokenizers of the first dataset, {second}, but "
            f"these are {first}",
            remedy="leave `together` out, or set the same `text.tokenizer`",
        )


def _extraction(
    section: DatasetSection, split: Split, plan: Plan, training: Split, primary: Extraction, cache: Path,
    progress: Progress,
) -> tuple[Split, Extraction]:  # fmt: skip
    if primary.labels is not None:  # of the first dataset's segments
        primary = replace(primary, labels=None)
    by = primary.fold_by if primary.fold_by != "document" or split.segments.doc_id is not None else "random"
    if section.resources is None:
        if plan.parts and _languages(split) != _languages(training):
            raise InputError(
                f"the features need resources of {'-'.join(_languages(split))}",
                remedy="name them in `resources` of this dataset",
            )
        return split, primary if section.joint else replace(primary, fold_by=by)
    corpus = split.segments
    if plan.parts and corpus_absent(section.resources):
        learned, rest = rows_of_own_corpus(len(split))
        split, corpus = split.take(learned), corpus.take(rest)
    bundle = resources_for(section.resources, corpus, plan.parts, cache, progress, plan.programs)
    feature_set = FeatureSet.make(plan.features, bundle)
    return split, replace(primary, feature_set=feature_set, fold_by=by, part_features=None)


def _languages(split: Split) -> tuple[str, str]:
    return split.segments.source_tokenizer.language, split.segments.target_tokenizer.language


def _check_columns(split: Split, feature_set: FeatureSet) -> None:
    for column in feature_set.requires():
        split.segments.require(column)
    labels = split.labels()
    for name in (name for extractor in feature_set.fitted for name in extractor.labels_used()):
        if name not in labels:
            raise InputError(
                f"a family of features learns from '{name}', which it lacks",
                remedy=f"it has {', '.join(labels)}; leave out the family, or the dataset",
            )


def _renamed(split: Split, place: str, documents: bool) -> Split:
    segments = split.segments
    ids: Column = tuple(f"{place}:{name}" for name in segments.id)
    doc_id = segments.doc_id
    if documents:
        doc_id = ids if doc_id is None else tuple(f"{place}:{name}" for name in doc_id)
    return replace(split, segments=replace(segments, id=ids, doc_id=doc_id))
