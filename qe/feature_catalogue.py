"""The feature catalogue as people see it, and feature tables of whole datasets."""

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from features.core.bundle import Bundle, resource_parameters
from features.core.errors import InputError
from features.core.extractor import Extractor, Feature
from features.core.feature_set import EXTRACTORS, FeatureSet, expand, set_content, set_names
from features.core.files import atomic_file, check_writable
from features.core.progress import Progress
from qe.experiment import Experiment
from qe.extraction import Compute
from qe.feature_costs import Costs, demo_world
from qe.training import prepare

Engine = Callable[[Bundle | None], Compute]


@dataclass(frozen=True)
class Family:
    """A feature family: its name, first sentence, whole documentation, what it needs, and what it costs.

    resources     parts of a bundle
    columns       of the segments, beside source and target
    parameters    those without a default: the features depend on them
    microseconds  per segment; None where it was not measured
    """

    name: str
    summary: str
    documentation: str
    resources: tuple[str, ...]
    columns: tuple[str, ...]
    parameters: tuple[str, ...]
    microseconds: float | None = None


@dataclass(frozen=True)
class Set:
    """A feature set of features/sets: what it is, who describes it, which families it takes columns of.

    absent        what of the description is not there
    microseconds  per segment; None where a family was not measured
    """

    name: str
    description: str
    origin: str
    families: tuple[str, ...]
    absent: tuple[str, ...]
    microseconds: float | None = None


def families(costs: Costs) -> list[Family]:
    """All feature families, by name, with their costs."""
    return [_family(name, costs) for name in EXTRACTORS.names]


def sets(costs: Costs) -> list[Set]:
    """All feature sets, by name, with their costs."""
    return [_set(name, costs) for name in set_names()]


def describe(name: str, costs: Costs | None = None) -> tuple[Family | Set, list[Feature]]:
    """A family and its features with default parameters, or a set and its features.

    What has the name of both is the family. A family whose features depend on parameters without a default
    has none here.

    Raises InputError for an unknown name, with the nearest.
    """
    costs = costs or Costs.load()
    if name in EXTRACTORS.names:
        family = _family(name, costs)
        return family, [] if family.parameters else _features([{"kind": name}])
    if name in set_names():
        return _set(name, costs), _features(expand([{"set": name}]))
    near = difflib.get_close_matches(name, [*EXTRACTORS.names, *set_names()], n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise InputError(
        f"unknown family or set '{name}'",
        remedy=f"families: {', '.join(EXTRACTORS.names)}; sets: {', '.join(set_names())}{hint}",
    )


def _family(name: str, costs: Costs) -> Family:
    kind = EXTRACTORS.get(name)
    documentation = inspect.getdoc(kind) or ""
    summary = documentation.split("\n\n")[0].replace("\n", " ")
    resources = resource_parameters(kind)
    needed = tuple(p.name for p in _parameters(kind) if p.name not in resources and _must_be_given(p))
    columns = () if needed else _bare({"kind": name}).requires()
    return Family(name, summary, documentation, resources, columns, needed, costs.of([name]))


def _set(name: str, costs: Costs) -> Set:
    content = set_content(name)
    kinds = [config["kind"] for config in expand([{"set": name}])]
    return Set(
        name,
        content["description"],
        content["origin"],
        tuple(dict.fromkeys(kinds)),
        tuple(content["absent"]),
        costs.of(kinds),
    )


def _features(configs: Sequence[Mapping[str, Any]]) -> list[Feature]:
    """The columns that the configured extractors keep, in order."""
    extractors = [_bare(config) for config in configs]
    unnamed = [i for i, extractor in enumerate(extractors) if not _names_itself(extractor)]
    if not unnamed:
        return FeatureSet(tuple(configs), tuple(extractors)).features
    with demo_world([configs[i] for i in unnamed]) as data:  # named after their resources: small ones will do
        for i, extractor in zip(unnamed, data.extraction.feature_set.extractors, strict=True):
            extractors[i] = extractor
        return FeatureSet(tuple(configs), tuple(extractors)).features


def _names_itself(extractor: Extractor) -> bool:
    """Whether an extractor can name its features without its resources."""
    try:
        return bool(extractor.features)
    except AttributeError:
        return False


def _bare(config: Mapping[str, Any]) -> Extractor:
    """The extractor without its resources: enough to name its features."""
    kind = EXTRACTORS.get(config["kind"])
    extractor = object.__new__(kind)
    resources = resource_parameters(kind)
    for entry in _parameters(kind):
        if entry.name in resources:
            continue
        if entry.name in config:
            object.__setattr__(extractor, entry.name, config[entry.name])
        elif entry.default is not MISSING:
            object.__setattr__(extractor, entry.name, entry.default)
        elif entry.default_factory is not MISSING:
            object.__setattr__(extractor, entry.name, entry.default_factory())
    return extractor


def _must_be_given(entry: Field[Any]) -> bool:
    return entry.init and entry.default is MISSING and entry.default_factory is MISSING


def _parameters(kind: type[Any]) -> tuple[Field[Any], ...]:
    return fields(kind) if is_dataclass(kind) else ()


def extract(
    experiment: Experiment, output: Path, cache: Path, progress: Progress, engine: Engine | None = None
) -> pd.DataFrame:
    """Writes the feature table of every split as Parquet: split, id, gold label, one column per feature.

    `engine` makes, from the resources, what runs the extractors that learn nothing elsewhere.

    Raises InputError, before any work, where the name of `output` does not end in `.parquet`.
    """
    if output.suffix != ".parquet":
        raise InputError(
            "feature tables are Parquet, but this is the name of something else",
            where=output,
            remedy="let it end in .parquet",
        )
    check_writable(output)
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
