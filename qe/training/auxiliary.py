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
from features.core.segments import Segments, Texts
from features.storage.files import digest
from qe.config.experiment import DatasetSection, NegativesSection
from qe.data.dataset import Dataset, LabelScale, Split, concatenate
from qe.data.folds import GROUPED, groups_of
from qe.data.perturbation import names, perturbed
from qe.language.made_columns import remake_columns
from qe.resources.bundle_source import corpus_absent, resources_for, rows_of_own_corpus
from qe.training import reading
from qe.training.extraction import Extraction
from qe.training.plan import Plan
from qe.training.reading import TrainingRows

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

    def rows(self, first: Split, fitting: Split, extraction: Extraction) -> "AddedRows":
        """Perturbed rows of `first`; families that learn are fitted on `fitting`, which has none of them."""
        segments, rows = self.perturbed(first.segments)
        sources = tuple(first.segments.source[row] for row in rows.tolist())
        return AddedRows(self, rows, sources, extraction.scored(fitting, segments))

    def labels(self, rows: NDArray[np.int64], gold: FloatArray) -> FloatArray:
        """(m,) the worst label of the real rows."""
        return np.full(len(rows), gold.min() if self.scale.higher_is_better else gold.max())

    def weights(self, rows: NDArray[np.int64]) -> FloatArray:
        return np.ones(len(rows))

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
class Auxiliary:
    """An auxiliary training dataset: labels `onto` the first one's scale, weights `importance`."""

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
        section = self.section
        settings = (section.weight, section.scaling, section.align, section.joint)
        features = self.extraction.feature_set.fingerprint
        return digest(settings, self.split.fingerprint, self.scale, self.importance.tobytes(), features)

    def rows_without(self, segments: Segments) -> NDArray[np.int64]:
        """The rows whose source is none of those, apart from punctuation and tokenization."""
        return reading.unrepeated(self.split.segments.source, segments.source)

    def scaled(self, rows: NDArray[np.int64], gold: FloatArray) -> Split:
        """Rows with labels on the scale of the first dataset, whose labels in this fold are `gold`."""
        split = self.split.take(rows)
        labels = reading.rescaled(reading.scores_of(split), self.scale, gold, self.onto, self.section.scaling)
        return replace(split, scores=labels)

    def added(self, rows: NDArray[np.int64], table: pd.DataFrame) -> "AddedRows":
        return AddedRows(self, rows, self.split.take(rows).segments.source, table)

    def labels(self, rows: NDArray[np.int64], gold: FloatArray) -> FloatArray:
        """(n,) on the scale of the first dataset, whose labels in this fold are `gold`."""
        return reading.scores_of(self.scaled(rows, gold))

    def weights(self, rows: NDArray[np.int64]) -> FloatArray:
        return self.importance[rows]


@dataclass(frozen=True, eq=False)
class AddedRows:
    """Rows of an auxiliary dataset, or perturbed ones, with their features (m, k) in a fold.

    rows  (m,) places in the auxiliary dataset, or of the rows that were perturbed; `sources`: theirs
    """

    origin: Auxiliary | Negatives
    rows: NDArray[np.int64]
    sources: Sequence[str]
    table: pd.DataFrame

    def excluding(self, segments: Segments) -> "AddedRows":
        kept = reading.unrepeated(self.sources, segments.source)
        sources = tuple(self.sources[row] for row in kept.tolist())
        return AddedRows(self.origin, self.rows[kept], sources, self.table.iloc[kept])


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to learn from; the last `n_added` are auxiliary data or perturbed translations."""

    table: pd.DataFrame
    scores: FloatArray
    weights: FloatArray | None
    n_added: int


def join_rows(
    added: Sequence[AddedRows], primary: pd.DataFrame, scores: FloatArray, weights: FloatArray | None
) -> Rows:
    if not added:
        return Rows(primary, scores, weights, 0)
    tables = [primary]
    for each in added:
        is_aligned = isinstance(each.origin, Auxiliary) and each.origin.section.align
        tables.append(aligned(each.table, primary) if is_aligned else each.table)
    labels = [scores, *(each.origin.labels(each.rows, scores) for each in added)]
    first = np.ones(len(scores)) if weights is None else weights
    counts = np.concatenate([first, *(each.origin.weights(each.rows) for each in added)])
    n_added = sum(len(each.rows) for each in added)
    return Rows(pd.concat(tables), np.concatenate(labels), None if (counts == 1).all() else counts, n_added)


def aligned(table: pd.DataFrame, primary: pd.DataFrame) -> pd.DataFrame:
    """Columns moved and stretched (by 1/2 to 2) to the mean and deviation that they have in `primary`."""
    deviation = table.std(ddof=0).replace(0.0, np.nan)
    factor = (primary.std(ddof=0) / deviation).fillna(1.0).clip(1 / _MAX_STRETCH, _MAX_STRETCH)
    moved = (table - table.mean()) * factor + primary.mean()
    untouched = table.columns[table.isna().all() | primary.isna().all()]
    moved[untouched] = table[untouched]
    return moved


@dataclass(frozen=True, eq=False)
class FoldTables:
    train: pd.DataFrame
    test: pd.DataFrame
    added: tuple[AddedRows, ...] = ()

    def inner(self, train_rows: NDArray[np.int64], test_rows: NDArray[np.int64]) -> "FoldTables":
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
        gold = reading.scores_of(first)
        return cls(concatenate([first, *(each.scaled(rows, gold) for each, rows in added)]), added)


@dataclass(frozen=True, eq=False)
class AuxiliaryReader:
    plan: Plan
    dataset: Dataset
    rows: TrainingRows
    extraction: Extraction
    cache: Path
    progress: Progress

    def read(self) -> tuple[tuple[Auxiliary, ...], list[str]]:
        """The auxiliary datasets, and a note about each. InputError if one lacks labels or columns."""
        result, notes = [], []
        for number, section in enumerate(self.plan.experiment.auxiliary_datasets, start=1):
            place, experiment = f"dataset.{number}", self.plan.experiment
            dataset = reading.read_dataset(experiment, section, self.plan.table_columns)
            if experiment.annotations or experiment.translations:
                dataset = reading.translated(dataset, experiment, self.cache, self.progress)
            try:
                auxiliary, note = self._auxiliary(place, section, dataset)
            except InputError as error:
                raise InputError(f"{place} ({dataset.name}): {error}") from None
            result.append(auxiliary)
            notes.append(note)
        return tuple(result), notes

    def _auxiliary(self, place: str, section: DatasetSection, auxiliary: Dataset) -> tuple[Auxiliary, str]:
        experiment, training = self.plan.experiment, self.rows.training
        split, left_out = self._rows_to_learn(section, auxiliary)
        if section.joint:
            _check_tokenizers(split.segments, training.segments)
        split, extraction = self._extraction(section, split)
        _check_columns(split, extraction.feature_set)
        split = _renamed(split, place, experiment.split.fold_by == "document")
        reading.rescaled(
            reading.scores_of(split),
            auxiliary.scale,
            reading.scores_of(training),
            self.dataset.scale,
            section.scaling,
        )
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
        weights = (
            None if reading.row_counts(split, experiment) is None else reading.weights_of(split, experiment)
        )
        importance = section.weight * (np.ones(len(split)) if weights is None else weights)
        result = Auxiliary(
            section, split, auxiliary.scale, self.dataset.scale, importance, extraction,
            auxiliary.name, auxiliary.provenance, auxiliary.files(section.path),
        )  # fmt: skip
        return result, note

    def _rows_to_learn(self, section: DatasetSection, auxiliary: Dataset) -> tuple[Split, int]:
        training, experiment = self.rows.training, self.plan.experiment
        split = concatenate([auxiliary.split(name) for name in section.train])
        if split.scores is None or not np.isfinite(split.scores).all():
            raise InputError(f"segments of {', '.join(section.train)} have no labels to learn from")
        # Sources of the first dataset's other splits, and of its labelled rows that are set aside.
        learned, labelled = set(training.segments.id), self.rows.labelled.segments
        others = (s for name, s in self.dataset.splits.items() if name not in experiment.split.train)
        forbidden = [text for other in others for text in other.segments.source]
        forbidden += [s for name, s in zip(labelled.id, labelled.source, strict=True) if name not in learned]
        forbidden += training.segments.source if section.joint else ()
        kept = reading.unrepeated(split.segments.source, forbidden)
        if not len(kept):
            raise InputError(
                "all sources are among those that are not learned from"
                + (", or in the first dataset" if section.joint else ""),
                remedy="leave `together` out" if section.joint else "leave the dataset out",
            )
        return reading.sampled(split.take(kept), section.rows, experiment.split.seed), len(split) - len(kept)

    def _extraction(self, section: DatasetSection, split: Split) -> tuple[Split, Extraction]:
        plan, primary = self.plan, replace(self.extraction, labels=None)  # of the first dataset's segments
        grouped = groups_of(split.segments, primary.fold_by) is not None
        by = primary.fold_by if grouped or primary.fold_by not in GROUPED else "random"
        if section.resources is None:
            if plan.parts and _languages(split) != _languages(self.rows.training):
                raise InputError(
                    f"the features need resources of {'-'.join(_languages(split))}",
                    remedy="name them in `resources` of this dataset",
                )
            return split, primary if section.joint else replace(primary, fold_by=by)
        corpus = split.segments
        if plan.parts and corpus_absent(section.resources):
            learned, rest = rows_of_own_corpus(len(split))
            split, corpus = split.take(learned), corpus.take(rest)
        annotators = plan.experiment.annotators
        bundle = resources_for(section.resources, corpus, plan.parts, self.cache, self.progress, annotators)
        feature_set = FeatureSet.of_families(plan.families, bundle)
        return split, replace(primary, feature_set=feature_set, fold_by=by, part_features=None)


def _check_tokenizers(segments: Segments, training: Segments) -> None:
    sides = [(each.source_tokenizer, each.target_tokenizer) for each in (segments, training)]
    if sides[0] != sides[1]:
        first, second = (" and ".join(f"{t.language} ({t.kind})" for t in pair) for pair in sides)
        raise InputError(
            f"`together` needs the languages and tokenizers of the first dataset, {second}, but "
            f"these are {first}",
            remedy="leave `together` out, or set the same `text.tokenizer`",
        )


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
    ids: Texts = tuple(f"{place}:{name}" for name in segments.id)
    doc_id = segments.doc_id
    if documents:
        doc_id = ids if doc_id is None else tuple(f"{place}:{name}" for name in doc_id)
    return replace(split, segments=replace(segments, id=ids, doc_id=doc_id))
