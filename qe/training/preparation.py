"""Preparation: from an experiment file to data, folds, resources and feature tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, unknown_name
from features.basics.plugins import load_own
from features.basics.progress import Progress, silent
from features.core.apart import OutOfFold
from features.core.bundle import Bundle
from features.core.feature_set import FeatureSet, check_files, parts_needed
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset, Split
from qe.data.repeated import leaks
from qe.data.splits import Fold
from qe.evaluation.oracles import SplitOracles, split_oracles
from qe.learning.learner import LEARNERS
from qe.resources.cache import resources_for
from qe.resources.own_texts import own_texts
from qe.training.auxiliary import (
    Auxiliary,
    Fitting,
    FoldTables,
    Rows,
    fold_tables,
    tables_of_folds,
    together_with,
    whole_tables,
)
from qe.training.auxiliary_datasets import First, auxiliary
from qe.training.auxiliary_labels import AuxiliaryLabels
from qe.training.clock import Clock
from qe.training.extraction import Extraction
from qe.training.looked_up import looked_up_apart
from qe.training.negatives import Negatives
from qe.training.plan import Plan
from qe.training.reading import all_folds, read_dataset, scores_of, test_split, tokenized, translated
from qe.training.row_weights import weights_of
from qe.training.training_rows import TrainingRows, rows_of

OWN_TEXTS = (
    "resources hold the {texts} of the training segments; each of these was looked up in resources built "
    "without the texts of its part, one of {parts}"
)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What an experiment works on: data, folds, resources, and the way to feature tables.

    training      the rows that are learned from; all have labels
    folds         those of the first repeat, then of the second, ...
    calibration   labelled rows that are not learned from, for split-conformal intervals
    auxiliaries   auxiliary training datasets
    negatives     how training rows are spoilt that the learner sees beside the real ones
    leaks         pairs that are learned from and judged, a sentence each
    """

    experiment: Experiment
    dataset: Dataset
    training: Split
    folds: list[Fold]
    bundle: Bundle | None
    extraction: Extraction
    calibration: Split | None = None
    auxiliaries: tuple[Auxiliary, ...] = ()
    negatives: Negatives | None = None
    leaks: tuple[str, ...] = ()

    @property
    def scores(self) -> FloatArray:
        """(n,) labels of the training rows."""
        return scores_of(self.training)

    def learned(
        self, split: Split, rows: NDArray[np.int64] | None = None
    ) -> tuple[FloatArray, FloatArray | None]:
        """(n,) learned labels and (n,) weights of some rows of a split (None: all rows).

        The weights are None if all rows count the same. Auxiliary labels are mixed in if the
        experiment asks for it.
        """
        rows = np.arange(len(split)) if rows is None else rows
        if self.extraction.labels is not None:
            scores, counts = self.extraction.labels.learned(split.take(rows))
            return scores, None if np.ptp(counts) == 0 else counts
        weights = weights_of(split, self.experiment)
        return scores_of(split)[rows], None if weights is None else weights[rows]

    @cached_property
    def test(self) -> str | None:
        """The split that predictions.tsv is for, if there is one."""
        return test_split(self.dataset, self.experiment)

    @cached_property
    def oracles(self) -> SplitOracles | None:
        """Oracle figures on the training rows, which know the post-edits; None without these."""
        section = self.experiment.evaluation
        return split_oracles(self.training, self.dataset.scale, samples=section.samples, seed=section.seed)

    @property
    def repeats(self) -> list[list[Fold]]:
        """The folds of every repeat: every training row is held out once in each."""
        k = self.experiment.split.folds
        return [self.folds[i : i + k] for i in range(0, len(self.folds), k)]

    @property
    def first_folds(self) -> list[Fold]:
        """The folds of the first repeat."""
        return self.repeats[0]

    def training_table(self) -> pd.DataFrame:
        """(n, k) features of the training rows, fitted families cross-fitted."""
        return self._whole.own

    def learned_rows(self) -> Rows:
        """What the final model learns from: the training rows, then those of other datasets."""
        return together_with(self._whole.added, self._whole.own, *self.learned(self.training))

    @cached_property
    def _whole(self) -> FoldTables:
        return whole_tables(
            self.extraction, self.auxiliaries, self.training, self.first_folds, self.negatives
        )

    @cached_property
    def fitting(self) -> Split:
        """The rows that families which learn from labels are fitted on for the final model."""
        return Fitting.of(self.training, self.auxiliaries, self.training.segments.take([])).split

    def fold(self, train: NDArray[np.int64], held_out: NDArray[np.int64]) -> FoldTables:
        """Features of one fold of the training rows."""
        return fold_tables(self.extraction, self.auxiliaries, self.training, train, held_out, self.negatives)

    def folds_of(self, folds: Sequence[Fold]) -> list[FoldTables]:
        """Features of all these folds of the training rows."""
        return tables_of_folds(self.extraction, self.auxiliaries, self.training, folds, self.negatives)

    @property
    def parts(self) -> dict[str, Any]:
        """The manifest entries of the bundle parts that the experiment uses."""
        if self.bundle is None:
            return {}
        entries: dict[str, Any] = self.bundle.manifest["parts"]
        return {name: entries[name] for name in parts_needed(self.experiment.features)}


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

    calibrating  whether the rows that split-conformal intervals ask for are set aside
    dataset      takes the place of what the experiment's section names
    clock        is told what features took

    Raises InputError for data that cannot be used.
    """
    experiment = plan.experiment
    given = read_dataset(experiment) if dataset is None else tokenized(dataset, experiment)
    plan = _with_annotators(plan, given, cache, progress)
    experiment = plan.experiment
    dataset = translated(given, experiment, cache, progress)
    rows = rows_of(plan, dataset, calibrating)
    made = _features(plan, rows, cache, progress)
    _check_names(experiment, made.feature_set)
    extraction = _extraction(experiment, made, cache, progress, clock or Clock())
    static = partial(extraction.static, rows.training.segments)
    labels = AuxiliaryLabels.of(experiment, dataset, rows.training, static)
    extraction = replace(extraction, labels=labels)
    if experiment.trees:
        _check_parses(experiment, dataset, rows.training, extraction)
    first = First(experiment, dataset, rows.labelled, rows.training, extraction)
    auxiliaries, notes = _auxiliaries(plan, first, cache, progress)
    dataset = replace(dataset, notes=(*plan.left_out, *dataset.notes, *rows.notes, *made.notes, *notes))
    folds = all_folds(rows.training, experiment)
    judged = {
        name: split
        for name, split in dataset.splits.items()
        if name not in experiment.split.train and split.scores is not None
    }
    return Prepared(
        experiment,
        dataset,
        rows.training,
        folds,
        made.bundle,
        extraction,
        rows.calibration,
        auxiliaries,
        _negatives(experiment, dataset),
        leaks(rows.training, judged, folds),
    )


def _with_annotators(plan: Plan, dataset: Dataset, cache: Path, progress: Progress) -> Plan:
    if not plan.experiment.treebanks:
        return plan
    annotators_for = load_own("annotations", "treebanks").annotators_for
    segments = next(iter(dataset.splits.values())).segments
    languages = {
        "source": segments.source_tokenizer.language,
        "target": segments.target_tokenizer.language,
    }

    def aligned() -> Bundle:
        section = plan.experiment.resources
        return cast(Bundle, resources_for(section, segments, ["aligner"], cache, progress))

    names = annotators_for(plan.experiment, languages, cache, progress, aligned)
    return replace(plan, experiment=plan.experiment.with_annotators(names))


@dataclass(frozen=True, eq=False)
class _Features:
    feature_set: FeatureSet
    bundle: Bundle | None
    apart: OutOfFold[FeatureSet] | None = None
    notes: tuple[str, ...] = ()


def _features(plan: Plan, rows: TrainingRows, cache: Path, progress: Progress) -> _Features:
    section, trees = plan.experiment.resources, plan.experiment.trees
    check_files(plan.features)
    if not plan.parts or section is None or not section.texts:
        bundle = resources_for(section, rows.corpus, plan.parts, cache, progress, plan.programs)
        return _Features(FeatureSet.make(plan.features, bundle, trees), bundle)
    training = rows.training
    own = own_texts(section, training.segments, training.labels(), plan.parts, cache, progress)
    feature_set, apart = looked_up_apart(own, plan.features, trees)
    note = OWN_TEXTS.format(texts=" and ".join(section.texts), parts=own.parts.count)
    return _Features(feature_set, own.whole, apart, (note,))


def _extraction(
    experiment: Experiment, made: _Features, cache: Path, progress: Progress, clock: Clock
) -> Extraction:
    section = experiment.split
    return Extraction(
        made.feature_set,
        cache,
        section.by,
        section.block,
        section.seed,
        progress=progress,
        clock=clock,
        apart=made.apart,
    )


def _auxiliaries(
    plan: Plan, first: First, cache: Path, progress: Progress
) -> tuple[tuple[Auxiliary, ...], list[str]]:
    made, notes = [], []
    for number, section in enumerate(first.experiment.others, start=1):
        read = read_dataset(first.experiment, section, f"dataset.{number}")
        dataset = translated(read, first.experiment, cache, progress)
        each, note = auxiliary(number, dataset, plan, first, cache, progress)
        made.append(each)
        notes.append(note)
    return tuple(made), notes


def _check_names(experiment: Experiment, features: FeatureSet) -> None:
    for section in experiment.learner:
        for name in LEARNERS.get(section.kind)().named(section.params):
            if name not in features.names:
                raise InputError(
                    f"the learner '{section.kind}': {unknown_name('feature', name, features.names)}"
                )


def _negatives(experiment: Experiment, dataset: Dataset) -> Negatives | None:
    section = experiment.negatives
    return (
        None
        if section is None
        else Negatives(section, dataset.scale, experiment.seed, experiment.made_columns())
    )


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
