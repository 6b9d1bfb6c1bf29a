"""Model: pipeline, features with resources, label scale; saved without pickle."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.plugins import check_versions, versions_of
from features.core.bundle import Bundle
from features.core.extractor import Extractor, FittedExtractor
from features.core.feature_set import EXTRACTORS, FeatureSet, parts_needed
from features.core.segments import Segments
from features.core.tree_columns import numbers, tree_names, without_trees
from features.storage.damage import damage_reported
from features.storage.files import atomic_directory
from features.text.tokenizer import Tokenizer
from qe.data.dataset import LabelScale
from qe.display.summary import Printable, table_by
from qe.display.table import Table
from qe.language.made_columns import (
    check_made_columns,
    keep_annotators,
    kept_annotators,
    with_made_columns,
)
from qe.models import description
from qe.models.artifact import REMEDY
from qe.models.description import FORMAT, Description, warn_of_versions
from qe.models.guard.guard import Guard, GuardResult
from qe.models.pipeline import Candidate
from qe.models.pipeline_file import load_pipeline, save_pipeline

_PIPELINE, _RESOURCES, _FITTED = "pipeline.skops", "resources", "fitted"
_ORDINARY = "look at the values; if they are ordinary, the model is damaged: train it again"
_LARGEST = float(np.finfo(np.float32).max)  # maximum value in forests and boosted trees
# Rows are predicted in blocks of this size, the last one padded: matrix products round differently for
# other shapes (and memory layouts), and a row's score must not depend on other rows.
_BLOCK = 128


class Companion(Protocol):
    def save(self, folder: Path) -> None:
        """Writes the files, without pickle, to an existing folder."""


@dataclass(frozen=True, eq=False)
class Model(Printable):
    """Scores raw source and target.

    `about` holds the recipe (JSON values): seeds, versions, fingerprints.

    Attributes
    ----------
    made_columns : mapping of str to str
        Column -> program, for second translations and annotations that the model computes if the input
        lacks them.
    limits : pair of float and float or None
        Minimum and maximum score: the label's declared limits, or those of the training labels; None: no
        limit.
    guard : Guard or None
        Gives corrupted translations the worst score; None: scores are the pipeline's.
    training_columns : tuple of str
        Columns of the training data: scoring needs those of them that an extractor reads, though it could
        do without.
    identity : str or None
        SHA-256 of model.json of a loaded model.
    """

    name: str
    candidate: Candidate
    pipeline: Pipeline
    feature_set: FeatureSet
    scale: LabelScale
    tokenizers: tuple[Tokenizer, Tokenizer]
    bundle: Bundle | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    made_columns: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[float, float] | None = None
    guard: Guard | None = None
    training_columns: tuple[str, ...] = ()
    identity: str | None = None

    def columns(self) -> tuple[str, ...]:
        """Input columns required for scoring."""
        required = (c for c in self.feature_set.requires() if c not in self.made_columns)
        may_lack = {name for name, each in self.feature_set.table_columns.items() if each.optional}
        there = {*self.training_columns}.difference(may_lack)
        optional = (c for c in self.feature_set.optional() if c in there)
        return tuple(dict.fromkeys(("source", "target", *required, *optional)))

    def segments(self, columns: Mapping[str, Sequence[str]]) -> Segments:
        """Input columns as segments, tokenized like training data; raises InputError for missing columns."""
        for name in self.columns():
            if name not in columns:
                raise InputError(
                    f"the model '{self.name}' needs the column '{name}'",
                    remedy=f"the input has {', '.join(columns) or 'none'}",
                )
        names = (*Segments.column_names(), *self.feature_set.table_columns)
        known = {name: columns[name] for name in names if name in columns}
        segments = Segments.from_columns(known, *self.tokenizers)
        missing = {column: engine for column, engine in self.made_columns.items() if column not in columns}
        return with_made_columns(segments, missing) if missing else segments

    def features(self, segments: Segments) -> pd.DataFrame:
        """Feature table (n, k), the input of the pipeline."""
        return self.feature_set.extract(segments)

    def predict(self, segments: Segments) -> FloatArray:
        """Scores (n,) on the label scale."""
        if not len(segments):
            return np.empty(0)
        return self.judge(segments, self.features(segments))[0]

    def judge(self, segments: Segments, features: pd.DataFrame) -> tuple[FloatArray, GuardResult | None]:
        """Scores (n,) of segments with their feature table, and the guard's result."""
        scores = self.predict_features(features)
        if self.guard is None:
            return scores, None
        seen = self.guard.see(segments)
        lowered = self.guard.lowered(scores, seen.decided)
        return lowered if self.limits is None else np.clip(lowered, *self.limits), seen

    def predict_features(self, features: pd.DataFrame) -> FloatArray:
        """Scores (n,) for a feature table, before the guard.

        A row's score is bit-identical in every table. Raises InputError if the columns are not the model's.
        """
        names = self.feature_set.columns
        if list(features.columns) != names:
            missing, extra = set(names) - set(features.columns), set(features.columns) - set(names)
            raise InputError(
                f"the features are not those of the model '{self.name}'",
                remedy=f"missing: {sorted(missing) or 'none'}; unknown: {sorted(extra) or 'none'}",
            )
        scores = self.scale.clip(_in_blocks(self.pipeline, features))
        return scores if self.limits is None else np.clip(scores, *self.limits)

    def save(self, path: Path, companions: Sequence[Companion] = ()) -> None:
        """Writes the folder `path` atomically: model.json, pipeline.skops, resources/, fitted/, ..."""
        with atomic_directory(path) as temporary:
            save_pipeline(self.pipeline, temporary / _PIPELINE)
            parts = parts_needed(self.feature_set.configs)
            if parts and self.bundle is not None:
                self.bundle.export(parts, temporary / _RESOURCES)
            for i, extractor in enumerate(self.feature_set.extractors):
                if isinstance(extractor, FittedExtractor):
                    directory = temporary / _FITTED / str(i)
                    directory.mkdir(parents=True)
                    extractor.save(directory)
            for companion in (*companions, *([] if self.guard is None else [self.guard])):
                companion.save(temporary)
            content = {
                "format": FORMAT,
                "name": self.name,
                "candidate": self.candidate.settings(),
                "features": [dict(config) for config in self.feature_set.configs],
                "feature_names": self.feature_set.names,
                "trees": [tree.config for tree in self.feature_set.trees],
                "feature_fingerprint": self.feature_set.fingerprint,
                "columns": list(self.columns()),
                "scale": asdict(self.scale),
                "limits": self.limits,
                "tokenizers": [tokenizer.settings() for tokenizer in self.tokenizers],
                "made_columns": keep_annotators(self.made_columns, temporary),
                "about": dict(self.about),
            }
            if installed := versions_of(description.kinds_of(self.candidate, self.feature_set.configs)):
                content["plugins"] = installed
            description.write(temporary, content)

    @classmethod
    def load(cls, path: Path, identity: str | None = None) -> Self:
        """Loads a saved model, with the `identity` if given, without training data, network or pickle.

        Raises InputError if `path` is not a model or has another identity, was written by a newer version, is
        damaged, or contains resources or columns other than those of training.
        """
        with description.one_model(path, identity) as identity:
            described = description.read(path)
            limits = described.limits
            if limits is not None and not limits[0] <= limits[1]:
                raise InputError(
                    f"its limits of scores must be two rising numbers, not {[*limits]}", location=path
                )
            kinds = description.kinds_of(described.candidate, described.features)
            check_versions(described.plugins, kinds, path)
            source, target = described.tokenizers
            with damage_reported(description.NAME, path / description.NAME, REMEDY):
                made_columns = kept_annotators(described.made_columns, path)
                check_made_columns(made_columns, (source.language, target.language))
            warn_of_versions(described.about, path)
            bundle, inside = None, f"{_RESOURCES}/"
            if (path / _RESOURCES).is_dir():
                recorded = described.files.items()
                files = {n.removeprefix(inside): value for n, value in recorded if n.startswith(inside)}
                bundle = Bundle(path / _RESOURCES, files)
            feature_set = _feature_set(described, bundle, path)
            trees = [tree.name for tree in feature_set.trees]
            return cls(
                described.name,
                described.candidate,
                load_pipeline(path / _PIPELINE, described.candidate, len(feature_set.names), trees),
                feature_set,
                described.scale,
                (source, target),
                bundle,
                described.about,
                made_columns,
                limits,
                Guard.find(path),
                tuple(described.columns),
                identity,
            )

    def described(self, **entries: Any) -> "Model":
        """A copy of the model with additional entries in `about`."""
        return replace(self, about={**self.about, **entries})

    def summary(self) -> Table:
        """Table of training data, learner and measured quality."""
        return table_by("qe.models.card.model_table", self)


def split_steps(pipeline: Pipeline) -> tuple[list[Any], Pipeline]:
    first = sum(name in ("impute", "scale") for name, _ in pipeline.steps)
    return [step for _, step in pipeline.steps[:first]], Pipeline(pipeline.steps[first:])


@contextmanager
def _finite_numbers() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        if "infinity" not in str(error):
            raise
        raise InputError("the model computes infinite numbers from the features", remedy=_ORDINARY) from error


def _feature_set(described: Description, bundle: Bundle | None, path: Path) -> FeatureSet:
    with damage_reported(description.NAME, path / description.NAME, REMEDY):
        elsewhere = [c["kind"] for c in described.features if EXTRACTORS.get(c["kind"]).reads_files]
        if elsewhere:
            raise InputError(
                f"its features '{elsewhere[0]}' come from files, which have none for new text",
                location=path,
                remedy="train a model whose features are computed from text",
            )
        fresh = FeatureSet.make(described.features, bundle, described.trees)
    restored: list[Extractor] = []
    for i, extractor in enumerate(fresh.extractors):
        if isinstance(extractor, FittedExtractor):
            folder = path / _FITTED / str(i)
            with damage_reported(f"what '{fresh.configs[i]['kind']}' has learned", folder, REMEDY):
                restored.append(extractor.restore(folder))
        else:
            restored.append(extractor)
    feature_set = replace(fresh, extractors=tuple(restored))
    if feature_set.names != described.feature_names:
        changed = sorted(set(feature_set.names) ^ set(described.feature_names))
        raise InputError(
            f"was trained with other feature columns than this version computes: {', '.join(changed[:8])}",
            location=path,
            remedy="train the model again",
        )
    if feature_set.fingerprint != described.feature_fingerprint:
        raise InputError(
            "its resources or extractor settings are not those it was trained with",
            location=path,
            remedy="restore the resources/ folder of the model, or train it again",
        )
    return feature_set


def _in_blocks(pipeline: Pipeline, features: pd.DataFrame) -> FloatArray:
    n = len(features)
    if not n:
        return np.empty(0)
    by_column, rest = split_steps(pipeline)
    with _finite_numbers():
        for step in by_column:
            features = step.transform(features)
    values, inputs = numbers(features), without_trees(features).columns
    trees = {name: features[name].to_numpy() for name in tree_names(features)}
    if (columns := np.abs(values).max(axis=0, initial=0.0) > _LARGEST).any():
        raise InputError(
            f"the feature '{inputs[int(np.flatnonzero(columns)[0])]}' is beyond what the model can take",
            remedy=_ORDINARY,
        )
    rows, blocks = np.minimum(np.arange(-(-n // _BLOCK) * _BLOCK), n - 1), []
    with _finite_numbers():
        for block in rows.reshape(-1, _BLOCK):
            table = pd.DataFrame(np.ascontiguousarray(values[block]), columns=inputs)
            if trees:
                table = table.assign(**{name: column[block] for name, column in trees.items()})
            blocks.append(rest.predict(table))
    return np.asarray(np.concatenate(blocks)[:n], np.float64)
