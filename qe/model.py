"""Model: pipeline, feature set with its resources, label scale; fit, predict, save, load without pickle."""

import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
import skops.io
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from features.core.bundle import Bundle
from features.core.errors import InputError
from features.core.extractor import FittedExtractor
from features.core.feature_set import FeatureSet, parts_needed
from features.core.files import atomic_directory
from features.core.segments import Segments
from features.core.tokenizer import Tokenizer
from qe.dataset import LabelScale
from qe.learners._base import LEARNERS
from qe.made_columns import with_made_columns
from qe.pipeline import Candidate

FloatArray = NDArray[np.float64]
FORMAT = 2
_OWN_MODULES = ("qe.learners.", "qe.selection.")
_HARMLESS = frozenset({"numpy.dtype"})
# Rows are predicted this many at a time, the last block filled up: matrix products round differently for
# other shapes (and memory layouts), and a row's score shall not depend on the rows beside it.
_BLOCK = 128


class Companion(Protocol):
    """What lies in a model's folder beside the model: intervals, a profile of the training data, ..."""

    def save(self, folder: Path) -> None:
        """Writes its files, without pickle, into an existing folder."""


@dataclass(frozen=True, eq=False)
class Model:
    """Scores raw source and target; `about` holds the recipe (JSON values): seeds, versions, fingerprints.

    `made_columns` (column -> program) are second translations and annotations that the model makes itself
    where the input does not bring them.
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

    def columns(self) -> tuple[str, ...]:
        """The input columns that scoring needs."""
        required = (c for extractor in self.feature_set.extractors for c in extractor.requires())
        return tuple(
            dict.fromkeys(("source", "target", *(c for c in required if c not in self.made_columns)))
        )

    def segments(self, columns: Mapping[str, Sequence[str]]) -> Segments:
        """Input columns as segments, tokenized as the training data were.

        Raises InputError, by name, for a column that the model needs and the input lacks.
        """
        for name in self.columns():
            if name not in columns:
                raise InputError(
                    f"the model '{self.name}' needs the column '{name}'",
                    remedy=f"the input has {', '.join(columns) or 'none'}",
                )
        known = {name: columns[name] for name in Segments.column_names() if name in columns}
        segments = Segments.from_columns(known, *self.tokenizers)
        missing = {column: engine for column, engine in self.made_columns.items() if column not in columns}
        return with_made_columns(segments, missing) if missing else segments

    def features(self, segments: Segments) -> pd.DataFrame:
        """(n, k) the feature table that the pipeline takes."""
        return self.feature_set.extract(segments)

    def predict(self, segments: Segments) -> FloatArray:
        """(n,) scores on the label scale."""
        if not len(segments):
            return np.empty(0)
        return self.predict_features(self.features(segments))

    def predict_features(self, features: pd.DataFrame) -> FloatArray:
        """(n,) scores for a feature table; a row's score is the same, to the last bit, in every table.

        Raises InputError, by name, where its columns are not the model's.
        """
        names = self.feature_set.names
        if list(features.columns) != names:
            missing, extra = set(names) - set(features.columns), set(features.columns) - set(names)
            raise InputError(
                f"the features are not those of the model '{self.name}'",
                remedy=f"missing: {sorted(missing) or 'none'}; unknown: {sorted(extra) or 'none'}",
            )
        return self.scale.clip(_in_blocks(self.pipeline, features))

    def save(self, path: Path, companions: Sequence[Companion] = ()) -> None:
        """Writes the folder `path`, atomically: model.json, pipeline.skops, resources/, fitted/, ..."""
        with atomic_directory(path) as temporary:
            skops.io.dump(self.pipeline, temporary / "pipeline.skops")
            (temporary / "model.json").write_text(json.dumps(self._description(), indent=1) + "\n", "utf-8")
            parts = parts_needed(self.feature_set.configs)
            if parts and self.bundle is not None:
                self.bundle.export(parts, temporary / "resources")
            for i, extractor in enumerate(self.feature_set.extractors):
                if isinstance(extractor, FittedExtractor):
                    directory = temporary / "fitted" / str(i)
                    directory.mkdir(parents=True)
                    extractor.save(directory)
            for companion in companions:
                companion.save(temporary)

    def _description(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "name": self.name,
            "candidate": self.candidate.settings(),
            "features": [dict(config) for config in self.feature_set.configs],
            "feature_names": self.feature_set.names,
            "feature_fingerprint": self.feature_set.fingerprint,
            "columns": list(self.columns()),
            "scale": asdict(self.scale),
            "tokenizers": [tokenizer.settings() for tokenizer in self.tokenizers],
            "made_columns": dict(self.made_columns),
            "about": dict(self.about),
        }

    @classmethod
    def load(cls, path: Path) -> Self:
        """What `save` wrote; needs neither the training data nor the network, and loads no pickle.

        Raises InputError where `path` is no model, was written by a newer version, or holds resources or
        columns other than those it was trained with.
        """
        try:
            content: dict[str, Any] = json.loads((path / "model.json").read_text("utf-8"))
        except FileNotFoundError:
            raise InputError("is not a model directory (no model.json)", where=path) from None
        if content["format"] != FORMAT:
            raise InputError(
                f"has model format {content['format']}, this version reads {FORMAT}",
                where=path,
                remedy=f"use qe {content['about'].get('versions', {}).get('qe', 'as it was trained with')}",
            )
        candidate = Candidate(**content["candidate"])
        bundle = Bundle(path / "resources") if (path / "resources").is_dir() else None
        source, target = (Tokenizer(**settings) for settings in content["tokenizers"])
        return cls(
            content["name"],
            candidate,
            _load_pipeline(path / "pipeline.skops", candidate),
            _feature_set(content, bundle, path),
            LabelScale(**content["scale"]),
            (source, target),
            bundle,
            content["about"],
            content["made_columns"],
        )

    def described(self, **more: Any) -> "Model":
        """The same model with more said in `about`."""
        return replace(self, about={**self.about, **more})


def split_steps(pipeline: Pipeline) -> tuple[list[Any], Pipeline]:
    """The fitted steps that treat every column by itself (imputing, scaling), and the rest as a pipeline."""
    first = sum(name in ("impute", "scale") for name, _ in pipeline.steps)
    return [step for _, step in pipeline.steps[:first]], Pipeline(pipeline.steps[first:])


def _in_blocks(pipeline: Pipeline, features: pd.DataFrame) -> FloatArray:
    """(n,) predictions of blocks of equal size, the last one filled up with its last row."""
    n = len(features)
    if not n:
        return np.empty(0)
    by_column, rest = split_steps(pipeline)
    for step in by_column:
        features = step.transform(features)
    values = features.to_numpy()
    rows = np.minimum(np.arange(-(-n // _BLOCK) * _BLOCK), n - 1)
    blocks = [
        rest.predict(pd.DataFrame(np.ascontiguousarray(values[block]), columns=features.columns))
        for block in rows.reshape(-1, _BLOCK)
    ]
    return np.asarray(np.concatenate(blocks)[:n], np.float64)


def _feature_set(content: Mapping[str, Any], bundle: Bundle | None, path: Path) -> FeatureSet:
    """The feature set of a saved model, its fitted extractors restored, checked against what is recorded."""
    fresh = FeatureSet.make(content["features"], bundle)
    restored = tuple(
        extractor.restore(path / "fitted" / str(i)) if isinstance(extractor, FittedExtractor) else extractor
        for i, extractor in enumerate(fresh.extractors)
    )
    feature_set = FeatureSet(fresh.configs, restored)
    if feature_set.names != content["feature_names"]:
        changed = sorted(set(feature_set.names) ^ set(content["feature_names"]))
        raise InputError(
            f"was trained with other feature columns than this version computes: {', '.join(changed[:8])}",
            where=path,
            remedy="train the model again",
        )
    if feature_set.fingerprint != content["feature_fingerprint"]:
        raise InputError(
            "its resources or extractor settings are not those it was trained with",
            where=path,
            remedy="restore the resources/ folder of the model, or train it again",
        )
    return feature_set


def _load_pipeline(path: Path, candidate: Candidate) -> Pipeline:
    """The fitted pipeline; only scikit-learn's, the learner's declared and this project's own types load."""
    if not path.is_file():
        raise InputError(f"the model's file {path.name} is gone", where=path.parent, remedy="train it again")
    declared = set(LEARNERS.get(candidate.learner).trusted_types)
    untrusted = skops.io.get_untrusted_types(file=path)
    trusted = [t for t in untrusted if t in declared | _HARMLESS or t.startswith(_OWN_MODULES)]
    refused = sorted(set(untrusted) - set(trusted))
    if refused:
        raise InputError(
            f"refers to types that are not trusted: {', '.join(refused)}",
            where=path,
            remedy="load only models that this project wrote",
        )
    pipeline: Pipeline = skops.io.load(path, trusted=trusted)
    return pipeline


def versions() -> dict[str, str]:
    """The versions that a figure depends on."""
    packages = ("qe", "numpy", "scipy", "pandas", "scikit-learn", "lightgbm", "optuna", "mlflow")
    return {package: importlib.metadata.version(package) for package in packages}
