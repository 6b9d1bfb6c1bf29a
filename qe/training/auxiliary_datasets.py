"""Auxiliary training datasets: read already, made ready to help to learn."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress
from features.core.feature_set import FeatureSet
from features.core.segments import Column, Segments
from qe.config.experiment import DatasetSection, Experiment
from qe.data.dataset import Dataset, Split, concatenate
from qe.resources.cache import corpus_absent, resources_for, rows_of_own_corpus
from qe.training.auxiliary import Auxiliary
from qe.training.extraction import Extraction
from qe.training.plan import Plan
from qe.training.reading import drawn
from qe.training.repeated_sources import unrepeated
from qe.training.rescaling import rescaled
from qe.training.row_weights import known, weights_of

NOTE = (
    "{place} ({name}): {n} segments help to learn, each with the weight {weight:g}, labels '{label}'{others};"
    " {left_out} are left out: their sources are among those not learned from{together}"
)


@dataclass(frozen=True, eq=False)
class First:
    """The first dataset of an experiment: what the others must fit, and must not repeat.

    training  those of the `labelled` rows that are learned from
    """

    experiment: Experiment
    dataset: Dataset
    labelled: Split
    training: Split
    extraction: Extraction

    @property
    def not_learned_from(self) -> Iterator[str]:
        """Sources of the other splits, and of labelled rows that are set aside."""
        for name, split in self.dataset.splits.items():
            if name not in self.experiment.split.train:
                yield from split.segments.source
        learned, rows = set(self.training.segments.id), self.labelled.segments
        yield from (text for i, text in zip(rows.id, rows.source, strict=True) if i not in learned)


def auxiliary(
    number: int, dataset: Dataset, plan: Plan, first: First, cache: Path, progress: Progress
) -> tuple[Auxiliary, str]:
    """The dataset `number` of the experiment, and a note about it.

    Raises InputError, with its place, where it has no labels, or not what the features need.
    """
    section, place = first.experiment.datasets[number], f"dataset.{number}"
    try:
        split, left_out = _rows(section, dataset, first)
        if section.together:
            _check_together(split.segments, first.training.segments)
        split, extraction = _extraction(section, split, plan, first, cache, progress)
        _check_columns(split, extraction.feature_set)
        split = _named(split, place, first.experiment.split.by == "document")
        assert split.scores is not None and first.training.scores is not None
        rescaled(split.scores, dataset.scale, first.training.scores, first.dataset.scale, section.scaling)
    except InputError as error:
        raise InputError(f"{place} ({dataset.name}): {error}") from None
    note = NOTE.format(
        place=place,
        name=dataset.name,
        n=len(split),
        weight=section.weight,
        label=dataset.scale.name,
        others="" if section.scaling == "none" else f" rescaled ({section.scaling})",
        left_out=left_out,
        together=", or are in the first dataset" if section.together else "",
    )
    importance = section.weight * _weights(split, first.experiment)
    made = Auxiliary(
        place, section, split, dataset.scale, first.dataset.scale, importance, extraction,
        dataset.name, dataset.provenance, dataset.files(section.path),
    )  # fmt: skip
    return made, note


def _rows(section: DatasetSection, dataset: Dataset, first: First) -> tuple[Split, int]:
    split = concatenate([dataset.split(name) for name in section.train])
    if split.scores is None or not np.isfinite(split.scores).all():
        raise InputError(f"segments of {', '.join(section.train)} have no labels to learn from")
    forbidden = [*first.not_learned_from, *(first.training.segments.source if section.together else ())]
    kept = unrepeated(split.segments.source, forbidden)
    if not len(kept):
        raise InputError(
            "all sources are among those that are not learned from"
            + (", or in the first dataset" if section.together else ""),
            remedy="leave `together` out" if section.together else "leave the dataset out",
        )
    left_out = len(split) - len(kept)
    return drawn(split.take(kept), section.rows, first.experiment.split.seed), left_out


def _check_together(segments: Segments, training: Segments) -> None:
    own = segments.source_tokenizer, segments.target_tokenizer
    wanted = training.source_tokenizer, training.target_tokenizer
    if own != wanted:
        raise InputError(
            f"`together` needs the languages and tokenizers of the first dataset, {_names(training)}, but "
            f"these are {_names(segments)}",
            remedy="leave `together` out, or set the same `text.tokenizer`",
        )


def _names(segments: Segments) -> str:
    sides = segments.source_tokenizer, segments.target_tokenizer
    return " and ".join(f"{side.language} ({side.kind})" for side in sides)


def _extraction(
    section: DatasetSection, split: Split, plan: Plan, first: First, cache: Path, progress: Progress
) -> tuple[Split, Extraction]:
    own, needed = first.extraction, plan.parts
    if own.labels is not None:  # of the first dataset's segments
        own = replace(own, labels=None)
    by = own.by if own.by != "document" or split.segments.doc_id is not None else "random"
    if section.resources is None:
        if needed and _languages(split) != _languages(first.training):
            raise InputError(
                f"the features need resources of {'-'.join(_languages(split))}",
                remedy="name them in `resources` of this dataset",
            )
        return split, own if section.together else replace(own, by=by)
    corpus = split.segments
    if needed and corpus_absent(section.resources):
        learned, given = rows_of_own_corpus(len(split))
        split, corpus = split.take(learned), corpus.take(given)
    bundle = resources_for(section.resources, corpus, needed, cache, progress, plan.programs)
    return split, replace(own, feature_set=FeatureSet.make(plan.features, bundle), by=by, apart=None)


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


def _named(split: Split, place: str, documents: bool) -> Split:
    segments = split.segments
    ids: Column = tuple(f"{place}:{name}" for name in segments.id)
    doc_id = segments.doc_id
    if documents:
        doc_id = ids if doc_id is None else tuple(f"{place}:{name}" for name in doc_id)
    return replace(split, segments=replace(segments, id=ids, doc_id=doc_id))


def _weights(split: Split, experiment: Experiment) -> FloatArray:
    weights = weights_of(split, experiment) if known(split, experiment) else None
    return np.ones(len(split)) if weights is None else weights
