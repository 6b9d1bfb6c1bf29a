"""Reading: datasets, splits, folds, labels and weights of an experiment, and the rows to learn from."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import MOST_SEED
from features.basics.progress import Progress, silent
from features.core.extractor import TableColumns
from features.core.feature_set import families, table_columns
from features.core.segments import Segments, Texts
from features.text.tokenizer import Tokenizer
from qe.config.experiment import DatasetSection, Experiment, WeightsSection
from qe.data.columns import LABEL_COLUMNS, ROW_WEIGHTS
from qe.data.dataset import Dataset, LabelScale, Split, concatenate
from qe.data.folds import Fold, groups_of, make_folds
from qe.data.format import make_format, option_names
from qe.resources.bundle_source import OWN_CORPUS, corpus_absent, rows_of_own_corpus
from qe.training.plan import Plan

SET_ASIDE = "{} training segments were set aside to calibrate prediction intervals, and not learned from"
_NO_LETTER = re.compile(r"[\W_]+")


def read_dataset(
    experiment: Experiment,
    section: DatasetSection | None = None,
    columns: TableColumns | None = None,
) -> Dataset:
    """The experiment's first dataset, or that of a section, tokenized. Raises InputError for its mistakes.

    `columns` are those of the user's table that features read; default: the experiment's.
    """
    section = experiment.dataset if section is None else section
    options, weights = section.options(), experiment.weights
    if (
        isinstance(weights, WeightsSection)
        and weights.column != ROW_WEIGHTS
        and "columns" in option_names(section.format)
    ):
        options["columns"] = {**options.get("columns", {}), ROW_WEIGHTS: weights.column}
    if columns is None:
        columns = table_columns(family.unmade() for family in families(experiment.features))
    if labels := sorted(columns.keys() & {*LABEL_COLUMNS, options.get("columns", {}).get("scores")}):
        raise InputError(
            f"the column '{labels[0]}' is a label, which no feature may read",
            location="features.columns",
            remedy="leave it out",
        )
    return tokenized(make_format(section.format, options).read(section.path, columns), experiment)


def tokenized(dataset: Dataset, experiment: Experiment) -> Dataset:
    section = experiment.text
    changes: dict[str, Any] = {"kind": section.tokenizer, "normalise": section.normalise}
    changes = {key: value for key, value in changes.items() if value is not None}
    if not (changes or section.segmenters):
        return dataset

    def changed(tokenizer: Tokenizer) -> Tokenizer:
        segmenter = section.segmenters.get(tokenizer.language, tokenizer.segmenter)
        return replace(tokenizer, **changes, segmenter=segmenter)

    splits = {}
    for name, split in dataset.splits.items():
        segments = split.segments
        source, target = changed(segments.source_tokenizer), changed(segments.target_tokenizer)
        segments = replace(segments, source_tokenizer=source, target_tokenizer=target)
        splits[name] = replace(split, segments=segments)
    return replace(dataset, splits=splits)


def translated(
    dataset: Dataset, experiment: Experiment, cache: Path | None, progress: Progress = silent
) -> Dataset:
    """The segments with the columns that the experiment's programs make."""
    from qe.language.made_columns import with_made_columns  # compiled code is slow to import

    columns = experiment.made_columns()
    splits = {
        name: replace(split, segments=with_made_columns(split.segments, columns, cache, progress))
        for name, split in dataset.splits.items()
    }
    return replace(dataset, splits=splits)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """All rows with labels, and how they are divided; `corpus` is for resources without parallel text."""

    labelled: Split
    training: Split
    corpus: Segments
    calibration: Split | None = None
    notes: tuple[str, ...] = ()


def rows_of(plan: Plan, dataset: Dataset, calibrating: bool) -> TrainingRows:
    experiment, section = plan.experiment, plan.experiment.intervals
    labelled = training = training_split(dataset, experiment)
    corpus, notes = training.segments, list[str]()
    calibration: Split | None = None
    if plan.parts and corpus_absent(experiment.resources):
        learned, rest = rows_of_own_corpus(len(training))
        training, corpus = training.take(learned), training.segments.take(rest)
        notes.append(OWN_CORPUS.format(len(rest)))
    if calibrating:
        if section.column is not None:
            group_column(training.segments, section.column)
        if section.weighted_to is not None:
            dataset.split(section.weighted_to)
        if section.method == "split" and section.calibration is None:
            rows, held_out = folds_of(training, experiment, max(2, round(1 / section.share)))[0]
            training, calibration = training.take(rows), training.take(held_out)
            notes.append(SET_ASIDE.format(len(calibration)))
        elif section.method == "split" and section.calibration is not None:
            calibration = dataset.split(section.calibration)
            if calibration.scores is None or not np.isfinite(calibration.scores).all():
                problem = f"the split '{section.calibration}' lacks labels"
                raise InputError(problem, location="intervals.calibration")
        # Nested cross-validation begins after the search: here its folds are only checked.
        outer = experiment.split.outer
        for rest, _ in () if outer is None else folds_of(training, experiment, outer):
            folds_of(training.take(rest), experiment, experiment.split.folds)
    return TrainingRows(labelled, training, corpus, calibration, tuple(notes))


def training_split(dataset: Dataset, experiment: Experiment) -> Split:
    """The rows that are learned from, at most `dataset.rows`. Raises InputError for undefined labels."""
    split = concatenate([dataset.split(name) for name in experiment.split.train])
    if split.scores is None:
        raise InputError(
            f"the splits {', '.join(experiment.split.train)} have no labels to learn from",
            remedy="`qe unsupervised` makes a model of translations without labels",
        )
    if not np.isfinite(split.scores).all():
        row = int(np.flatnonzero(~np.isfinite(split.scores))[0])
        raise InputError(f"segment '{split.segments.id[row]}' has no label")
    return sampled(split, experiment.dataset.rows, experiment.split.seed)


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


def folds_of(
    split: Split, experiment: Experiment, folds: int, repeat: int = 0, *, stratified: bool = True
) -> list[Fold]:
    """Folds of the rows by the experiment's `split` section; each repeat has another seed.

    `stratified`: labels of two classes have their shares in every fold.
    """
    section, scores = experiment.split, split.scores
    two_classes = stratified and scores is not None and set(np.unique(scores)) == {0.0, 1.0}
    return make_folds(
        len(split),
        folds,
        seed=(section.seed + repeat) % (MOST_SEED + 1),
        scheme=section.fold_by,
        block=section.block,
        documents=groups_of(split.segments, section.fold_by),
        classes=scores if two_classes else None,
    )


def scores_of(split: Split) -> FloatArray:
    if split.scores is None:
        raise InputError("these segments have no labels")
    return split.scores


def sampled(split: Split, rows: int | None, seed: int) -> Split:
    """`rows` of the rows, drawn at random, in their order; all of them if there are not more."""
    if rows is None or rows >= len(split):
        return split
    return split.take(np.sort(np.random.default_rng(seed).permutation(len(split))[:rows]))


def group_column(segments: Segments, name: str) -> Texts:
    columns = dict(segments.columns())
    if name not in columns:
        others = [column for column in columns if column not in ("source", "target", "id")]
        raise InputError(
            f"the segments have no column '{name}'",
            location="intervals.column",
            remedy=f"they have {', '.join(others) or 'none that groups them'}",
        )
    return columns[name]


def weights_of(split: Split, experiment: Experiment) -> FloatArray | None:
    """(n,) row weights: numbers of annotators or a column, to `weight_power`; None if all count the same."""
    if experiment.weights == "none":
        return None
    counts = row_counts(split, experiment)
    if counts is None:
        column = None if isinstance(experiment.weights, str) else experiment.weights.column
        problem = f"the training rows have no column '{column}'"
        if column is None:
            problem = "the dataset lacks the number of annotators of each row"
        raise InputError(problem, location="weights")
    if not counts.any():
        raise InputError(f"all {len(counts)} rows weigh 0", location="weights")
    powers = counts**experiment.weight_power
    weights: FloatArray = powers / powers.mean()
    return weights


def row_counts(split: Split, experiment: Experiment) -> FloatArray | None:
    return split.annotators if experiment.weights == "annotators" else split.row_weights


def rescaled(
    labels: FloatArray, scale: LabelScale, gold: FloatArray, onto: LabelScale, method: str
) -> FloatArray:
    """(n,) labels on another scale, within its ends, reversed if its direction differs.

    method  `standard`: mean and deviation become those of `gold`, labels of that scale; `ranks`: each becomes
            the quantile of `gold` at its rank among the labels; `none`: nothing changes

    >>> hter, da = LabelScale("hter", 0, 1, False), LabelScale("da", None, None, True)
    >>> labels, gold = np.array([0.0, 0.2, 0.4]), np.array([-10.0, 0.0, 10.0])
    >>> rescaled(labels, hter, gold, da, "standard").round(9).tolist()
    [10.0, 0.0, -10.0]
    """
    sign = scale.sign * onto.sign
    if method == "none":
        if (scale.name, sign) != (onto.name, 1):
            raise InputError(
                f"labels '{scale.name}' cannot be used as '{onto.name}' without scaling",
                remedy="set `scaling: standard` or `scaling: ranks`",
            )
        return onto.clip(labels)
    if method == "ranks":
        shares = (rankdata(sign * labels) - 0.5) / len(labels)
        return onto.clip(np.quantile(gold, shares, method="hazen"))
    deviation = labels.std()
    standard = (labels - labels.mean()) / (deviation if deviation > 0 else 1.0)
    return onto.clip(gold.mean() + sign * gold.std() * standard)


def unrepeated(texts: Sequence[str], sources: Iterable[str]) -> NDArray[np.int64]:
    """The places of texts that are none of `sources`, compared by letters and digits."""
    known = {letters(text) for text in sources}
    return np.array([i for i, text in enumerate(texts) if letters(text) not in known], np.int64)


def letters(text: str) -> str:
    """Letters and digits in lower case, which tokenization keeps; the text itself if there are none."""
    return _NO_LETTER.sub("", html.unescape(text)).casefold() or text.strip()
