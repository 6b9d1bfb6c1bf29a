"""Reading: the datasets of an experiment, and their splits and folds."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.text.tokenizer import Tokenizer
from qe.config.experiment import DatasetSection, Experiment, WeightsSection
from qe.config.schema import MOST_SEED
from qe.data.columns import ROW_WEIGHTS
from qe.data.dataset import Dataset, Split, concatenate
from qe.data.format import make_format, option_names
from qe.data.splits import Fold, make_folds


def check_path(section: DatasetSection, place: str) -> None:
    """Raises InputError if there is nothing at the path of a dataset."""
    if not section.path.exists():
        raise InputError(
            f"no such dataset: {section.path}", location=f"{place}.path", remedy="check it, or --data-root"
        )


def read_dataset(
    experiment: Experiment, section: DatasetSection | None = None, place: str = "dataset"
) -> Dataset:
    """Reads the experiment's first dataset, or that of a section, tokenized as `text` says.

    Raises InputError for unknown keys of the format and for whatever the format finds wrong.
    """
    section = experiment.dataset if section is None else section
    check_path(section, place)
    options = with_weights(section.format, section.options(), experiment.weights)
    return tokenized(make_format(section.format, options).read(section.path), experiment)


def with_weights(name: str, options: dict[str, Any], weights: str | WeightsSection) -> dict[str, Any]:
    """Keys of a format, with the column that weighs rows among its `columns`, if it takes some."""
    if isinstance(weights, str) or weights.column == ROW_WEIGHTS or "columns" not in option_names(name):
        return options
    return {**options, "columns": {**options.get("columns", {}), ROW_WEIGHTS: weights.column}}


def tokenized(dataset: Dataset, experiment: Experiment) -> Dataset:
    """The dataset, tokenized as the experiment's `text` section says."""
    changes = {"kind": experiment.text.tokenizer, "normalise": experiment.text.normalise}
    changes = {key: value for key, value in changes.items() if value is not None}
    segmenters = experiment.text.segmenters
    if not (changes or segmenters):
        return dataset
    splits = {name: _retokenized(split, changes, segmenters) for name, split in dataset.splits.items()}
    return replace(dataset, splits=splits)


def translated(
    dataset: Dataset, experiment: Experiment, cache: Path | None, progress: Progress = silent
) -> Dataset:
    """The dataset with the second translations and annotations that the experiment asks for."""
    columns = experiment.made_columns()
    if not columns:
        return dataset
    from qe.language.programs.made_columns import with_made_columns  # compiled code: paid by those who ask

    splits = {
        name: replace(split, segments=with_made_columns(split.segments, columns, cache, progress))
        for name, split in dataset.splits.items()
    }
    return replace(dataset, splits=splits)


def _retokenized(split: Split, changes: dict[str, Any], segmenters: Mapping[str, str]) -> Split:
    def changed(tokenizer: Tokenizer) -> Tokenizer:
        segmenter = segmenters.get(tokenizer.language, tokenizer.segmenter)
        return replace(tokenizer, **changes, segmenter=segmenter)

    segments = split.segments
    source, target = changed(segments.source_tokenizer), changed(segments.target_tokenizer)
    return replace(split, segments=replace(segments, source_tokenizer=source, target_tokenizer=target))


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
    """The split that predictions.tsv is for.

    It is the split named, else `test...`, else `dev...`, else none.
    """
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
    """Folds of the rows by the experiment's `split` section; each repeat has its own seed."""
    section = experiment.split
    return make_folds(
        len(split),
        folds,
        seed=(section.seed + repeat) % (MOST_SEED + 1),
        by=section.by,
        block=section.block,
        documents=split.segments.doc_id,
        classes=_two_classes(split),
    )


def _two_classes(split: Split) -> FloatArray | None:
    scores = split.scores
    return scores if scores is not None and set(np.unique(scores)) == {0.0, 1.0} else None


def all_folds(split: Split, experiment: Experiment) -> list[Fold]:
    """The folds of every repeat, one repeat after the other."""
    section = experiment.split
    return [
        fold
        for repeat in range(section.repeats)
        for fold in folds_of(split, experiment, section.folds, repeat)
    ]


def scores_of(split: Split) -> FloatArray:
    """(n,) labels. Raises InputError for a split without labels."""
    if split.scores is None:
        raise InputError("these segments have no labels")
    return split.scores


def drawn(split: Split, rows: int | None, seed: int) -> Split:
    """`rows` of the rows, drawn at random, in their order; all, where there are no more."""
    if rows is None or rows >= len(split):
        return split
    return split.take(np.sort(np.random.default_rng(seed).permutation(len(split))[:rows]))
