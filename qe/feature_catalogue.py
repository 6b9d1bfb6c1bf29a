"""The feature catalogue as people see it, and feature tables of whole datasets."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from features.core.bundle import Bundle, resource_parameters
from features.core.errors import InputError
from features.core.extractor import Extractor, Feature
from features.core.feature_set import EXTRACTORS
from features.core.files import atomic_file
from features.core.progress import Progress
from qe.experiment import Experiment
from qe.extraction import Compute
from qe.feature_costs import Costs, demo_world
from qe.training import prepare

Engine = Callable[[Bundle | None], Compute]


@dataclass(frozen=True)
class Family:
    """A feature family: its name, first sentence, whole documentation, what it needs, and what it costs.

    `microseconds` per segment; None where it was not measured.
    """

    name: str
    summary: str
    documentation: str
    resources: tuple[str, ...]
    columns: tuple[str, ...]
    microseconds: float | None = None


def families(costs: Costs) -> list[Family]:
    """All feature families, by name, with their costs."""
    found = [_family(name, EXTRACTORS.get(name)) for name in EXTRACTORS.names]
    return [replace(family, microseconds=costs.families.get(family.name)) for family in found]


def describe(name: str) -> tuple[Family, list[Feature]]:
    """A family and its features with default parameters.

    Raises InputError for an unknown name, or a family whose features depend on parameters it has no default
    for.
    """
    kind = EXTRACTORS.get(name)
    return _family(name, kind), _features(name, kind)


def _features(name: str, kind: type[Extractor]) -> list[Feature]:
    bare = _bare(name, kind)
    try:
        return list(bare.features)
    except AttributeError:  # named after what its resources hold: small ones will do
        with demo_world([name]) as data:
            return list(data.extraction.feature_set.features)


def _family(name: str, kind: type[Extractor]) -> Family:
    documentation = inspect.getdoc(kind) or ""
    summary = documentation.split("\n\n")[0].replace("\n", " ")
    return Family(name, summary, documentation, resource_parameters(kind), _columns(name, kind))


def _columns(name: str, kind: type[Extractor]) -> tuple[str, ...]:
    try:
        needed: tuple[str, ...] = _bare(name, kind).requires()
        return needed
    except InputError:
        return ()


def _bare(name: str, kind: type[Extractor]) -> Any:
    """The extractor without its resources: enough to name its features."""
    extractor = object.__new__(kind)
    resources = resource_parameters(kind)
    for entry in _parameters(kind):
        if entry.name in resources:
            continue
        if entry.default is not MISSING:
            object.__setattr__(extractor, entry.name, entry.default)
        elif entry.default_factory is not MISSING:
            object.__setattr__(extractor, entry.name, entry.default_factory())
        elif entry.init:
            raise InputError(f"the features of '{name}' depend on its parameter '{entry.name}'")
    return extractor


def _parameters(kind: type[Any]) -> tuple[Field[Any], ...]:
    return fields(kind) if is_dataclass(kind) else ()


def extract(
    experiment: Experiment, output: Path, cache: Path, progress: Progress, engine: Engine | None = None
) -> pd.DataFrame:
    """Writes the feature table of every split as Parquet: split, id, gold label, one column per feature.

    `engine` makes, from the resources, what runs the extractors that learn nothing elsewhere.
    """
    data = prepare(experiment, cache, progress)
    dataset, training, extraction = data.dataset, data.training, data.extraction
    if engine is not None:
        extraction = replace(extraction, compute=engine(data.bundle))
    tables = [_labelled("train", extraction.training_table(training), training.scores)]
    for name, split in dataset.splits.items():
        if name not in experiment.split.train:
            features = extraction.fit_and_score(training, split.segments)[1]
            tables.append(_labelled(name, features, split.scores))
    table = pd.concat(tables, ignore_index=True)
    with atomic_file(output) as temporary:
        table.to_parquet(temporary, index=False)
    return table


def _labelled(split: str, features: pd.DataFrame, scores: Any) -> pd.DataFrame:
    gold = np.full(len(features), np.nan) if scores is None else scores
    left = pd.DataFrame({"split": split, "id": features.index, "gold": gold})
    return pd.concat([left, features.reset_index(drop=True)], axis=1)
