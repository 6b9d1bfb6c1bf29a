"""The feature catalogue as people see it, and feature tables of whole datasets."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any

from features.basics.errors import InputError, did_you_mean
from features.core.bundle import resource_parameters
from features.core.extractor import Extractor, Feature
from features.core.feature_set import EXTRACTORS, FeatureSet, expand, set_content, set_names
from qe.getting_started.catalogue.costs import FeatureCosts


@dataclass(frozen=True)
class Family:
    """A feature family: its name, first sentence, whole documentation, what it needs, and what it costs.

    resources     parts of a bundle
    columns       of the segments, beside source and target
    parameters    those without a default: the features depend on them
    microseconds  per segment; None if it was not measured
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
    microseconds  per segment; None if a family was not measured
    """

    name: str
    description: str
    origin: str
    families: tuple[str, ...]
    absent: tuple[str, ...]
    microseconds: float | None = None


def families(costs: FeatureCosts) -> list[Family]:
    """All feature families, by name, with their costs."""
    return [_family(name, costs) for name in EXTRACTORS.names]


def summaries() -> dict[str, str]:
    """Name -> first sentence of all feature families; no extractor is imported."""
    return {name: _summary(EXTRACTORS.documentation(name)) for name in EXTRACTORS.names}


def sets(costs: FeatureCosts) -> list[Set]:
    """All feature sets, by name, with their costs."""
    return [_set(name, costs) for name in set_names()]


def describe(name: str, costs: FeatureCosts | None = None) -> tuple[Family | Set, list[Feature]]:
    """A family and its features with default parameters, or a set and its features.

    What has the name of both is the family. A family whose features depend on parameters without a default
    has none here.

    Raises InputError for an unknown name, with the nearest.
    """
    costs = costs or FeatureCosts.load()
    if name in EXTRACTORS.names:
        family = _family(name, costs)
        return family, [] if family.parameters else columns_of([{"kind": name}])
    if name in set_names():
        return _set(name, costs), columns_of(expand([{"set": name}]))
    hint = did_you_mean(name, [*EXTRACTORS.names, *set_names()])
    raise InputError(
        f"unknown family or set '{name}'",
        remedy=f"families: {', '.join(EXTRACTORS.names)}; sets: {', '.join(set_names())}{hint}",
    )


def _family(name: str, costs: FeatureCosts) -> Family:
    kind = EXTRACTORS.get(name)
    documentation = inspect.getdoc(kind) or ""
    summary = _summary(documentation)
    resources = resource_parameters(kind)
    needed = tuple(p.name for p in _parameters(kind) if p.name not in resources and _must_be_given(p))
    columns = () if needed else _bare({"kind": name}).requires()
    return Family(name, summary, documentation, resources, columns, needed, costs.of([name]))


def _summary(documentation: str) -> str:
    return documentation.split("\n\n")[0].replace("\n", " ")


def _set(name: str, costs: FeatureCosts) -> Set:
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


def columns_of(configs: Sequence[Mapping[str, Any]]) -> list[Feature]:
    """The columns that the configured extractors keep, in order."""
    extractors = [_bare(config) for config in configs]
    unnamed = [i for i, extractor in enumerate(extractors) if not _names_itself(extractor)]
    if not unnamed:
        return FeatureSet(tuple(configs), tuple(extractors)).features
    from qe.getting_started.catalogue.measurement import demo_world  # all of training comes with it

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
            vars(extractor)[entry.name] = config[entry.name]
        elif entry.default_factory is not MISSING:
            vars(extractor)[entry.name] = entry.default_factory()
        # a default is an attribute of the class
    return extractor


def _must_be_given(entry: Field[Any]) -> bool:
    return entry.init and entry.default is MISSING and entry.default_factory is MISSING


def _parameters(kind: type[Any]) -> tuple[Field[Any], ...]:
    return fields(kind) if is_dataclass(kind) else ()
