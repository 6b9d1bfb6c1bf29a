"""Preparation: from an experiment's file to data, folds, resources and the way to feature tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.bundle import Bundle
from features.core.feature_set import FeatureSet, parts_needed
from features.core.tree_columns import make_trees
from qe.config.experiment import DatasetSection, Experiment
from qe.config.schema import MOST_SEED
from qe.data.dataset import Dataset, Split, concatenate
from qe.data.format import make_format
from qe.data.splits import Fold, make_folds
from qe.evaluation.oracles import SplitOracles, split_oracles
from qe.language.programs.made_columns import with_made_columns
from qe.learning.learner import LEARNERS
from qe.resources.cache import OWN_CORPUS, corpus_absent, resources_for, rows_of_own_corpus
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
from qe.training.auxiliary_labels import AuxiliaryLabels
from qe.training.calibration import check_calibration, check_groups
from qe.training.clock import Clock
from qe.training.extraction import Extraction
from qe.training.looked_up import looked_up_apart
from qe.training.other_datasets import First, auxiliary, drawn
from qe.training.row_weights import weights_of

OWN_TEXTS = (
    "resources hold the {} of the training segments, each of which was looked up in those without the texts "
    "of its part, one of {}"
)
SET_ASIDE = "{} training segments were set aside to calibrate prediction intervals, and not learned from"


@dataclass(frozen=True, eq=False)
class Prepared:
    """What an experiment works on: data, folds, resources, and the way to feature tables.

    training      the rows that are learned from; all have labels
    folds         of every repeat, one repeat after the other
    calibration   labelled rows that are not learned from, for split-conformal intervals
    auxiliaries   the datasets behind the first, which help to learn
    """

    experiment: Experiment
    dataset: Dataset
    training: Split
    folds: list[Fold]
    bundle: Bundle | None
    extraction: Extraction
    calibration: Split | None = None
    auxiliaries: tuple[Auxiliary, ...] = ()

    @property
    def scores(self) -> FloatArray:
        """(n,) labels of the training rows."""
        return scores_of(self.training)

    def learned(
        self, split: Split, rows: NDArray[np.int64] | None = None
    ) -> tuple[FloatArray, FloatArray | None]:
        """(n,) labels that are learned of some rows of a split (None: of all), and (n,) weights of these
        rows; None if all count the same. Auxiliary labels are mixed in where the experiment asks for it.
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
        """What those would reach on the training rows who know their post-edits; None without post-edits."""
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
        return together_with(self._whole.lessons, self._whole.own, *self.learned(self.training))

    @cached_property
    def _whole(self) -> FoldTables:
        return whole_tables(self.extraction, self.auxiliaries, self.training, self.first_folds)

    @cached_property
    def fitting(self) -> Split:
        """The rows that families which learn from labels are fitted on for the final model."""
        return Fitting.of(self.training, self.auxiliaries, self.training.segments.take([])).split

    def fold(self, train: NDArray[np.int64], held_out: NDArray[np.int64]) -> FoldTables:
        """Features of one fold of the training rows."""
        return fold_tables(self.extraction, self.auxiliaries, self.training, train, held_out)

    def folds_of(self, folds: Sequence[Fold]) -> list[FoldTables]:
        """Features of all these folds of the training rows."""
        return tables_of_folds(self.extraction, self.auxiliaries, self.training, folds)

    @property
    def parts(self) -> dict[str, Any]:
        """The manifest entries of the bundle parts that the experiment uses."""
        if self.bundle is None:
            return {}
        entries: dict[str, Any] = self.bundle.manifest["parts"]
        return {name: entries[name] for name in parts_needed(self.experiment.features)}


def prepare(
    experiment: Experiment,
    cache: Path,
    progress: Progress = silent,
    *,
    calibrating: bool = False,
    dataset: Dataset | None = None,
    clock: Clock | None = None,
) -> Prepared:
    """Reads the data, makes the folds, and loads or builds the resources.

    `dataset` takes the place of what the experiment's section names; `clock` is told what features took.

    `calibrating` sets aside the rows that split-conformal intervals ask for.
    Raises InputError for anything that cannot be used.
    """
    check_trees(experiment)
    if calibrating:
        check_groups(experiment)
    read = read_dataset(experiment) if dataset is None else tokenized(dataset, experiment)
    dataset = translated(read, experiment, cache, progress)
    labelled = training = training_split(dataset, experiment)
    corpus = training.segments  # what own resources would be built from
    needed = parts_needed(experiment.features)
    if needed and corpus_absent(experiment.resources):
        learned, given = rows_of_own_corpus(len(training))
        training, corpus = training.take(learned), training.segments.take(given)
        dataset = replace(dataset, notes=(*dataset.notes, OWN_CORPUS.format(len(given))))
    calibration = None
    if calibrating:
        check_calibration(dataset, training, experiment)
    if calibrating and experiment.intervals.method == "split":
        training, calibration = set_aside(dataset, training, experiment)
        if experiment.intervals.calibration is None:
            dataset = replace(dataset, notes=(*dataset.notes, SET_ASIDE.format(len(calibration))))
    folds = [
        fold
        for repeat in range(experiment.split.repeats)
        for fold in folds_of(training, experiment, experiment.split.folds, repeat)
    ]
    programs = {str(side): by for side, by in experiment.annotations.items() if side != "pseudo_reference"}
    section = experiment.split
    if needed and experiment.resources is not None and experiment.resources.texts:
        own = own_texts(experiment.resources, training.segments, training.labels(), needed, cache, progress)
        bundle: Bundle | None = own.whole
        note = OWN_TEXTS.format(" and ".join(experiment.resources.texts), own.parts.count)
        dataset = replace(dataset, notes=(*dataset.notes, note))
        feature_set, apart = looked_up_apart(own, experiment.features, experiment.trees)
    else:
        bundle = resources_for(experiment.resources, corpus, needed, cache, progress, programs)
        feature_set, apart = FeatureSet.make(experiment.features, bundle, experiment.trees), None
    extraction = Extraction(
        feature_set,
        cache,
        section.by,
        section.block,
        section.seed,
        progress=progress,
        clock=clock or Clock(),
        apart=apart,
    )
    labels = AuxiliaryLabels.of(experiment, dataset, training, partial(extraction.static, training.segments))
    extraction = replace(extraction, labels=labels)
    if experiment.trees:  # read before anything is computed: a wrong parse is found now
        for name, split in dataset.splits.items():
            if name not in experiment.split.train:
                extraction.trees(split.segments)
        _check_parsed(extraction, training)
    first = First(experiment, dataset, labelled, training, extraction)
    auxiliaries, notes = _auxiliaries(first, cache, progress)
    dataset = replace(dataset, notes=(*dataset.notes, *notes))
    return Prepared(experiment, dataset, training, folds, bundle, extraction, calibration, auxiliaries)


def _auxiliaries(first: First, cache: Path, progress: Progress) -> tuple[tuple[Auxiliary, ...], list[str]]:
    """The datasets behind the first, and what is to be said of each."""
    made, notes = [], []
    for number, section in enumerate(first.experiment.others, start=1):
        read = read_dataset(first.experiment, section, f"dataset.{number}.path")
        dataset = translated(read, first.experiment, cache, progress)
        each, note = auxiliary(number, dataset, first, cache, progress)
        made.append(each)
        notes.append(note)
    return tuple(made), notes


def set_aside(dataset: Dataset, training: Split, experiment: Experiment) -> tuple[Split, Split]:
    """The rows to learn from, and those that calibrate the intervals: another split's, or some of them.

    Raises InputError if the split named is learned from, or has no labels.
    """
    section = experiment.intervals
    if section.calibration is None:
        rows, held_out = folds_of(training, experiment, max(2, round(1 / section.share)))[0]
        return training.take(rows), training.take(held_out)
    split = dataset.split(section.calibration)
    if section.calibration in experiment.split.train:
        raise InputError(
            f"the split '{section.calibration}' is learned from, and so cannot calibrate",
            where="intervals.calibration",
        )
    if split.scores is None or not np.isfinite(split.scores).all():
        raise InputError(f"the split '{section.calibration}' lacks labels", where="intervals.calibration")
    return training, split


def check_trees(experiment: Experiment) -> None:
    """Raises InputError if there are trees, and a learner or selector that cannot work with them."""
    if not make_trees(experiment.trees):
        return
    for section in experiment.learner:
        if not LEARNERS.get(section.kind).takes_trees:
            raise InputError(
                f"'{section.kind}' takes no trees",
                where="learner",
                remedy="svr_tree_kernels does, for example",
            )
    for section in experiment.selection:
        if section.kind != "none":
            raise InputError(
                f"'{section.kind}' cannot select beside trees", where="selection", remedy="set `kind: none`"
            )


def _check_parsed(extraction: Extraction, training: Split) -> None:
    """Raises InputError if no training segment has a tree of some kind that was asked for."""
    table = extraction.trees(training.segments)
    for tree in extraction.feature_set.trees:
        if not any(value.batch.sizes[value.row] for value in table[tree.name]):
            raise InputError(
                f"no training segment has a {tree.description}",
                where="trees",
                remedy=f"annotate by a parser that gives it, or give it in the column '{tree.requires()}'",
            )


def read_dataset(
    experiment: Experiment, section: DatasetSection | None = None, place: str = "dataset.path"
) -> Dataset:
    """The experiment's (first) dataset, or that of a section, tokenized as its `text` section says.

    Raises InputError for unknown keys of the format and for whatever the format finds wrong.
    """
    section = experiment.dataset if section is None else section
    if not section.path.exists():
        raise InputError("no such dataset", where=section.path, remedy=f"check `{place}`, or --data-root")
    return tokenized(make_format(section.format, section.options()).read(section.path), experiment)


def tokenized(dataset: Dataset, experiment: Experiment) -> Dataset:
    """The dataset, tokenized as the experiment's `text` section says."""
    changes = {"kind": experiment.text.tokenizer, "normalise": experiment.text.normalise}
    changes = {key: value for key, value in changes.items() if value is not None}
    if not changes:
        return dataset
    splits = {name: _retokenized(split, changes) for name, split in dataset.splits.items()}
    return replace(dataset, splits=splits)


def translated(
    dataset: Dataset, experiment: Experiment, cache: Path | None, progress: Progress = silent
) -> Dataset:
    """The dataset with the second translations and annotations that the experiment asks for."""
    columns = experiment.made_columns()
    if not columns:
        return dataset
    splits = {
        name: replace(split, segments=with_made_columns(split.segments, columns, cache, progress))
        for name, split in dataset.splits.items()
    }
    return replace(dataset, splits=splits)


def _retokenized(split: Split, changes: dict[str, Any]) -> Split:
    segments = split.segments
    return replace(
        split,
        segments=replace(
            segments,
            source_tokenizer=replace(segments.source_tokenizer, **changes),
            target_tokenizer=replace(segments.target_tokenizer, **changes),
        ),
    )


def training_split(dataset: Dataset, experiment: Experiment) -> Split:
    """The rows that are learned from: all of the splits, or so many as `dataset.rows` says.

    Raises InputError if they have no labels, or labels are undefined.
    """
    split = concatenate([dataset.split(name) for name in experiment.split.train])
    if split.scores is None:
        raise InputError(
            f"the splits {', '.join(experiment.split.train)} have no labels to learn from",
            remedy="`qe unsupervised` makes a model of translations without labels",
        )
    if not np.isfinite(split.scores).all():
        row = int(np.flatnonzero(~np.isfinite(split.scores))[0])
        raise InputError(f"segment '{split.segments.id[row]}' has no label")
    return drawn(split, experiment.dataset.rows, experiment.split.seed)


def test_split(dataset: Dataset, experiment: Experiment) -> str | None:
    """The split that predictions.tsv is for: the one named, else `test...`, else `dev...`, else none."""
    if experiment.split.test is not None:
        dataset.split(experiment.split.test)
        return experiment.split.test
    others = [name for name in dataset.splits if name not in experiment.split.train]
    for prefix in ("test", "dev"):
        for name in others:
            if name.startswith(prefix):
                return name
    return None


def folds_of(split: Split, experiment: Experiment, folds: int, repeat: int = 0) -> list[Fold]:
    """Folds of the rows as the experiment's `split` section says; every repeat has a seed of its own."""
    section = experiment.split
    return make_folds(
        len(split),
        folds,
        seed=(section.seed + repeat) % (MOST_SEED + 1),
        by=section.by,
        block=section.block,
        documents=split.segments.doc_id,
    )


def scores_of(split: Split) -> FloatArray:
    """(n,) labels. Raises InputError for a split without labels."""
    if split.scores is None:
        raise InputError("these segments have no labels")
    return split.scores
