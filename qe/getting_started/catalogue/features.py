"""Feature families and sets: what they are, their columns and their measured costs."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import features
from features.basics.errors import InputError, did_you_mean
from features.basics.plugins import own_entries
from features.core import feature_set
from features.core.bundle import resource_parameters
from features.core.extractor import Feature
from features.core.feature_set import variants
from features.storage import strict_yaml
from qe.display.numbers import count
from qe.display.table import Column, Table

PUBLISHED = Path(features.__file__).resolve().parent / "costs.yaml"


@dataclass(frozen=True)
class FeatureCosts:
    """Microseconds of processor time per segment by family, and of tokenizing source and target."""

    measured: str
    machine: str
    data: str
    tokenization: float
    families: Mapping[str, float]

    def cost_of(self, families: Sequence[str]) -> float | None:
        return sum(self.families[name] for name in families) if set(families) <= set(self.families) else None

    @classmethod
    def load(cls, path: Path = PUBLISHED) -> "FeatureCosts":
        return cls(**strict_yaml.read_mapping(path, "table of costs"))


@dataclass(frozen=True)
class Family:
    """A feature family: name, documentation with its first sentence, needs and cost.

    resources     parts of a bundle
    columns       of the segments, without source and target
    parameters    those without a default: the features depend on them
    microseconds  per segment; None if it was not measured
    variants      its names with settings that give other columns (`describe` takes them) -> microseconds
    """

    name: str
    summary: str
    documentation: str
    resources: tuple[str, ...]
    columns: tuple[str, ...]
    parameters: tuple[str, ...]
    microseconds: float | None = None
    variants: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Set:
    """A feature set of features/sets: what it is, its source, its families, and `absent` features."""

    name: str
    description: str
    origin: str
    families: tuple[str, ...]
    absent: tuple[str, ...]
    microseconds: float | None = None


def families(costs: FeatureCosts) -> list[Family]:
    """All feature families, by name, with their costs; those of other distributions come last."""
    return [_family(name, costs) for name in (*feature_set.EXTRACTORS.names, *feature_set.EXTRACTORS.foreign)]


def summaries() -> dict[str, str]:
    """Name -> first sentence of all feature families; only extractors of other distributions are imported."""
    extractors = feature_set.EXTRACTORS
    found = {name: _summary(extractors.documentation(name)) for name in extractors.names}
    for name in extractors.foreign:
        try:
            found[name] = _summary(inspect.getdoc(extractors.get(name)) or "")
        except InputError as error:
            found[name] = str(error)
    return found


def sets(costs: FeatureCosts) -> list[Set]:
    return [_set(name, costs) for name in feature_set.set_names()]


def describe(name: str, costs: FeatureCosts | None = None) -> tuple[Family | Set, list[Feature]]:
    """A family and its features, or a set and its features; a name of both is the family."""
    costs = costs or FeatureCosts.load()
    if name.partition(":")[0] in feature_set.EXTRACTORS.names or name in feature_set.EXTRACTORS:
        family = _family(name, costs)
        return family, [] if family.parameters else columns_of([feature_set.from_variant(name)])
    if name in feature_set.set_names():
        return _set(name, costs), columns_of(feature_set.expand([{"set": name}]))
    if name in own_entries(feature_set.EXTRACTORS.group):
        raise feature_set.EXTRACTORS.unknown(name)
    kinds, sets = [*feature_set.EXTRACTORS.names, *feature_set.EXTRACTORS.foreign], feature_set.set_names()
    known = f"families: {', '.join(kinds)}; sets: {', '.join(sets)}{did_you_mean(name, [*kinds, *sets])}"
    raise InputError(f"unknown family or set '{name}'", remedy=known)


def _family(name: str, costs: FeatureCosts) -> Family:
    kind, *given = [name] if name in feature_set.EXTRACTORS else name.split(":")
    family: type[Any] = feature_set.EXTRACTORS.get(kind)
    documentation = inspect.getdoc(family) or ""
    entries = fields(family) if is_dataclass(family) else ()
    resources = resource_parameters(family)
    required = [p for p in entries if p.init and p.default is MISSING and p.default_factory is MISSING]
    needed = tuple(p.name for p in required if p.name not in resources)
    config = {"kind": kind} if needed else feature_set.from_variant(name)
    parts = tuple(dict.fromkeys(feature_set.configured(config).parts()))
    columns = () if needed else feature_set.configured(config).requires()
    others = {} if given else {one: costs.cost_of([one]) for one in variants(kind)[1:]}
    return Family(
        name, _summary(documentation), documentation, parts, columns, needed, costs.cost_of([name]), others
    )


def _summary(documentation: str) -> str:
    return documentation.split("\n\n")[0].replace("\n", " ")


def _set(name: str, costs: FeatureCosts) -> Set:
    content = feature_set.set_content(name)
    kinds = [feature_set.variant(config) for config in feature_set.expand([{"set": name}])]
    families, absent = tuple(dict.fromkeys(kinds)), tuple(content["absent"])
    return Set(name, content["description"], content["origin"], families, absent, costs.cost_of(kinds))


def columns_of(
    configs: Sequence[Mapping[str, Any]], settings: Mapping[str, Any] | None = None
) -> list[Feature]:
    """The columns that the configured extractors keep, in order; `settings` are those of resources."""
    made = [feature_set.configured(config) for config in configs]
    extractors = [each.unmade() for each in made]
    unnamed = [
        i for i, each in enumerate(extractors) if tuple(made[i].parts()) and not getattr(each, "features", ())
    ]
    if not unnamed:
        return feature_set.FeatureSet(tuple(configs), tuple(extractors)).features
    from qe.getting_started.catalogue.feature_tables import demo_world  # all of training comes with it

    # They are named after their resources: small ones will do.
    with demo_world([configs[i] for i in unnamed], settings) as data:
        for i, extractor in zip(unnamed, data.extraction.feature_set.extractors, strict=True):
            extractors[i] = extractor
        return feature_set.FeatureSet(tuple(configs), tuple(extractors)).features


_COST = Column("µs per segment", "microseconds")


def listing(costs: FeatureCosts) -> list[Table]:
    families = [[name, about, _cost(costs.cost_of([name]))] for name, about in summaries().items()]
    named = [[s.name, s.description, s.origin, _cost(s.microseconds)] for s in sets(costs)]
    return [
        Table("", [Column("family"), Column("what it is"), _COST], families),
        Table("", [Column("set"), Column("what it is"), Column("source", drop=1), _COST], named),
    ]


def _cost(microseconds: float | None) -> str:
    return "" if microseconds is None else count(microseconds)


def features_table(features: Sequence[Feature]) -> Table:
    columns = [Column("feature"), Column("definition"), Column("source", drop=2), Column("unit", drop=1)]
    return Table("", columns, [[f.name, f.description, f.origin, f.unit] for f in features])
