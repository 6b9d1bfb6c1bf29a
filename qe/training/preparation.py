"""Preparation: data, folds and resources of a plan, and the feature tables of the folds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, unknown_name
from features.basics.plugins import is_foreign, load_own
from features.basics.progress import Progress, silent
from features.core.bundle import Bundle
from features.core.configured import resources_in
from features.core.extractor import FittedExtractor
from features.core.feature_set import FeatureSet, checked, completed, families
from features.core.out_of_fold import OutOfFold, ResourceLookup
from features.core.segments import Segments
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset, Split
from qe.data.folds import Fold, leaks
from qe.evaluation.oracles import SplitOracles, split_oracles
from qe.learning.learner import LEARNERS
from qe.resources.bundle_source import own_texts, resources_for
from qe.training import reading
from qe.training.auxiliary import (
    AddedRows,
    Auxiliary,
    AuxiliaryReader,
    Fitting,
    FoldTables,
    Negatives,
    Rows,
    join_rows,
)
from qe.training.auxiliary_labels import AuxiliaryLabels
from qe.training.extraction import Extraction, Tables
from qe.training.objective import FoldData
from qe.training.plan import Plan
from qe.training.reading import TrainingRows
from qe.training.run_state import Clock

OWN_TEXTS = (
    "resources hold the {texts} of the training segments; each was looked up in resources built "
    "without the texts of its part, one of {parts}"
)
# Settings, next to data, folds, features and space, on which the value of a trial depends.
SETTINGS = ("seed", "weights", "weight_power", "auxiliary_labels", "negatives", "clip")


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data, folds and resources of an experiment, and the way to feature tables."""

    experiment: Experiment
    dataset: Dataset
    training: Split
    repeats: list[list[Fold]]
    bundle: Bundle | None
    parts: Mapping[str, Any]  # of the bundle: name -> entry of the manifest
    extraction: Extraction
    calibration: Split | None = None
    auxiliaries: tuple[Auxiliary, ...] = ()
    negatives: Negatives | None = None
    leaks: tuple[str, ...] = ()

    @property
    def scores(self) -> FloatArray:
        return reading.scores_of(self.training)

    def learned(
        self, split: Split, rows: NDArray[np.int64] | None = None
    ) -> tuple[FloatArray, FloatArray | None]:
        """(n,) labels and (n,) weights (None: all the same) of some rows of a split (None: all)."""
        rows = np.arange(len(split)) if rows is None else rows
        if self.extraction.labels is not None:
            scores, counts = self.extraction.labels.learned(split.take(rows))
            return scores, None if np.ptp(counts) == 0 else counts
        weights = reading.weights_of(split, self.experiment)
        return reading.scores_of(split)[rows], None if weights is None else weights[rows]

    @cached_property
    def test(self) -> str | None:
        return reading.test_split(self.dataset, self.experiment)

    @cached_property
    def oracles(self) -> SplitOracles | None:
        section = self.experiment.evaluation
        return split_oracles(self.training, self.dataset.scale, samples=section.samples, seed=section.seed)

    @property
    def other_splits(self) -> dict[str, Split]:
        learned = self.experiment.split.train
        return {name: split for name, split in self.dataset.splits.items() if name not in learned}

    @property
    def first_folds(self) -> list[Fold]:
        return self.repeats[0]

    def training_table(self) -> pd.DataFrame:
        return self._all_rows.train

    def learned_rows(self) -> Rows:
        """The rows that the final model learns from: training rows, then those of other datasets."""
        return join_rows(self._all_rows.added, self._all_rows.train, *self.learned(self.training))

    @cached_property
    def _all_rows(self) -> FoldTables:
        fitting, n = self.fitting, len(self.training)
        train = self.extraction.training_table(fitting.split, () if fitting.added else self.first_folds)
        added = self._added(fitting, train, self.training, self.training.segments.take([]))
        return FoldTables(train.iloc[:n], train.iloc[:0], added)

    @cached_property
    def fitting(self) -> Fitting:
        """The rows that families which learn from labels are fitted on for the final model."""
        return Fitting.for_fold(self.training, self.auxiliaries, self.training.segments.take([]))

    def fold(
        self, train_rows: NDArray[np.int64], test_rows: NDArray[np.int64], tables: Tables | None = None
    ) -> FoldTables:
        """Features of one fold; families that learn are fitted on its training rows and those added."""
        first, scored = self.training.take(train_rows), self.training.take(test_rows).segments
        fitting = Fitting.for_fold(first, self.auxiliaries, scored)
        if tables is None:
            parts = (self.training.segments, *(each.split.segments for each, _ in fitting.added))
            static = pd.concat([self.extraction.static(part) for part in parts])
            tables = self.extraction.fit_and_score(fitting.split, scored, static)
        train, test = tables
        added = self._added(fitting, train, first, scored)
        return FoldTables(train.iloc[: len(train_rows)], test, added)

    def folds_of(self, folds: Sequence[Fold]) -> list[FoldTables]:
        """`fold` of all folds; they share fitted families unless these are fitted on several datasets."""
        if any(each.section.joint for each in self.auxiliaries):
            return [self.fold(*fold) for fold in folds]
        tables = self.extraction.folds(self.training, folds)
        return [self.fold(*fold, each) for fold, each in zip(folds, tables, strict=True)]

    def _added(
        self, fitting: Fitting, train: pd.DataFrame, first: Split, scored: Segments
    ) -> tuple[AddedRows, ...]:
        added, begin = list[AddedRows](), len(first)
        for each, rows in fitting.added:
            added.append(each.added(rows, train.iloc[begin : begin + len(rows)]))
            begin += len(rows)
        for each in self.auxiliaries:
            rows = each.rows_without(scored)
            if len(rows) and not each.section.joint:
                table = each.extraction.training_table(each.scaled(rows, reading.scores_of(first)))
                added.append(each.added(rows, table))
        if self.negatives is not None:
            added.append(self.negatives.rows(first, fitting.split, self.extraction))
        return tuple(added)

    def fold_data(
        self,
        split: Split,
        train_rows: NDArray[np.int64],
        test_rows: NDArray[np.int64],
        tables: FoldTables,
        columns: NDArray[np.int64] | None = None,
    ) -> FoldData:
        """`columns`: the places of the training rows among all, if `split` is not all of them."""
        test = split.take(test_rows)
        added = [each.excluding(test.segments) for each in tables.added]
        rows = join_rows(added, tables.train, *self.learned(split, train_rows))
        return FoldData(
            rows.table, rows.scores, rows.weights, tables.test, reading.scores_of(test), test_rows,
            train_rows if columns is None else columns, rows.n_added, self.experiment.clip,
        )  # fmt: skip


def prepare(
    plan: Plan,
    cache: Path,
    progress: Progress = silent,
    *,
    calibrating: bool = False,
    dataset: Dataset | None = None,
    clock: Clock | None = None,
) -> Prepared:
    """Reads the data, makes the folds, and loads or builds the resources.

    With `calibrating`, the rows that split-conformal intervals need are set aside.
    """
    dataset = (
        reading.read_dataset(plan.experiment, columns=plan.table_columns)
        if dataset is None
        else reading.tokenized(dataset, plan.experiment)
    )
    if plan.experiment.annotations or plan.experiment.translations:
        plan = _with_annotators(plan, dataset, cache, progress)
        dataset = reading.translated(dataset, plan.experiment, cache, progress)
    experiment, section = plan.experiment, plan.experiment.split
    rows = reading.rows_of(plan, dataset, calibrating)
    features = completed(plan.families, rows.training.segments)
    if features != plan.features:
        experiment = experiment.model_copy(update={"features": tuple(features)})
        plan = replace(plan, experiment=experiment, families=families(features))
    feature_set, bundle, part_features = build(plan, rows, cache, progress)
    _check_foreign(feature_set, rows.training.segments)
    extraction = Extraction(
        feature_set, cache, section.fold_by, section.block, section.seed, progress=progress,
        clock=clock or Clock(), part_features=part_features,
    )  # fmt: skip
    if experiment.auxiliary_labels:
        static = partial(extraction.static, rows.training.segments)
        labels = AuxiliaryLabels.for_training(experiment, dataset, rows.training, static)
        extraction = replace(extraction, labels=labels)
    if experiment.trees:
        _check_parses(experiment, dataset, rows.training, extraction)
    auxiliaries, notes = AuxiliaryReader(plan, dataset, rows, extraction, cache, progress).read()
    if part_features is not None and experiment.resources is not None:
        texts, parts = " and ".join(experiment.resources.texts), part_features.parts.count
        notes.insert(0, OWN_TEXTS.format(texts=texts, parts=parts))
    dataset = replace(dataset, notes=(*plan.omitted, *dataset.notes, *rows.notes, *notes))
    negatives = None
    if experiment.negatives is not None:
        columns = experiment.made_columns()
        negatives = Negatives(experiment.negatives, dataset.scale, experiment.seed, columns)
    repeats = [reading.folds_of(rows.training, experiment, section.folds, n) for n in range(section.repeats)]
    entries = {} if bundle is None else {name: bundle.manifest["parts"][name] for name in plan.parts}
    prepared = Prepared(
        experiment, dataset, rows.training, repeats, bundle, entries, extraction, rows.calibration,
        auxiliaries, negatives,
    )  # fmt: skip
    labelled = {name: split for name, split in prepared.other_splits.items() if split.scores is not None}
    return replace(prepared, leaks=leaks(rows.training, labelled, list(chain(*repeats))))


def feature_tables(prepared: Prepared) -> list[FoldData]:
    """The features of all folds of every repeat; those of training rows never saw the held-out rows."""
    return [
        prepared.fold_data(prepared.training, *fold, tables)
        for repeat in prepared.repeats
        for fold, tables in zip(repeat, prepared.folds_of(repeat), strict=True)
    ]


def _with_annotators(plan: Plan, dataset: Dataset, cache: Path, progress: Progress) -> Plan:
    if not plan.experiment.treebanks:
        return plan
    annotators_for = load_own("annotations", "treebanks").annotators_for
    segments = next(iter(dataset.splits.values())).segments
    languages = {"source": segments.source_tokenizer.language, "target": segments.target_tokenizer.language}

    def aligned() -> Bundle:
        section = plan.experiment.resources
        return cast(Bundle, resources_for(section, segments, ["aligner"], cache, progress))

    names = annotators_for(plan.experiment, languages, cache, progress, aligned)
    return replace(plan, experiment=plan.experiment.with_annotators(names))


def build(
    plan: Plan, rows: TrainingRows, cache: Path, progress: Progress
) -> tuple[FeatureSet, Bundle | None, OutOfFold[FeatureSet] | None]:
    """The extractors, their resources, and the extractors with resources without the texts of each part."""
    section, trees = plan.experiment.resources, plan.experiment.trees
    for family in (each for outer in plan.families for each in (outer, *outer.within())):
        if plan.parts and not any(family.parts()):
            family.make(None).content_fingerprint()  # missing files are told before resources are built
    bundle: Bundle | None
    part_features: OutOfFold[FeatureSet] | None = None
    if not plan.parts or section is None or not section.texts:
        bundle = resources_for(section, rows.corpus, plan.parts, cache, progress, plan.experiment.annotators)
        feature_set = FeatureSet.of_families(plan.families, bundle, trees)
    else:
        training = rows.training
        texts = own_texts(section, training.segments, training.labels(), plan.parts, cache, progress)
        bundle, feature_set = texts.complete, FeatureSet.of_families(plan.families, texts.complete, trees)
        others = [FeatureSet.of_families(plan.families, without) for without in texts.held_out_bundles]
        extractors = list(feature_set.extractors)
        for i, (config, extractor) in enumerate(zip(plan.features, feature_set.extractors, strict=True)):
            if not (isinstance(extractor, FittedExtractor) and resources_in(extractor)):
                continue
            if not isinstance(extractor, ResourceLookup):
                raise InputError(
                    f"'{config['kind']}' learns from labels, and cannot look rows up in resources without "
                    "their own texts",
                    location="resources.texts",
                    remedy="leave out the family, or `texts`",
                )
            variants: list[Any] = [other.extractors[i] for other in others]
            extractors[i] = extractor.with_out_of_fold(OutOfFold(texts.parts, variants))
        feature_set = replace(feature_set, extractors=tuple(extractors))
        part_features = OutOfFold(texts.parts, others)
    names = feature_set.names
    for learner in plan.experiment.learner:
        for name in LEARNERS.get(learner.kind)().feature_names(learner.params):
            if name not in names:
                raise InputError(f"the learner '{learner.kind}': {unknown_name('feature', name, names)}")
    return feature_set, bundle, part_features


def _check_foreign(feature_set: FeatureSet, segments: Segments) -> None:
    """Runs extractors of other distributions on no row and on one: a mistake shows before the search."""
    for config, extractor in zip(feature_set.configs, feature_set.extractors, strict=True):
        if not is_foreign(config["kind"]) or isinstance(extractor, FittedExtractor):
            continue
        for batch, rows in (("an empty batch", []), ("one row", [0])):
            try:
                checked(extractor, segments.take(rows))
            except Exception as error:  # code of others may raise anything
                raise InputError(
                    f"the extractor '{config['kind']}' fails on {batch}: {type(error).__name__}: {error}",
                    remedy="its `extract` must give float64 (n_segments, n_features), also for n = 0",
                ) from error


def _check_parses(experiment: Experiment, dataset: Dataset, training: Split, extraction: Extraction) -> None:
    for name, split in dataset.splits.items():
        if name not in experiment.split.train:
            extraction.trees(split.segments)
    table = extraction.trees(training.segments)
    for tree in extraction.feature_set.trees:
        if not any(value.batch.sizes[value.row] for value in table[tree.name]):
            raise InputError(
                f"no training segment has a {tree.description}",
                location="trees",
                remedy=f"annotate by a parser that gives it, or give it in the column '{tree.requires()}'",
            )
