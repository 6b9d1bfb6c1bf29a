"""FeatureSet: extractors with their resources -> a DataFrame with named, ordered columns."""

import difflib
import fnmatch
import importlib.util
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from glob import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, quoted, unknown_name
from features.basics.plugins import SEPARATOR, is_foreign, is_importable, own_entries
from features.basics.short_repr import short_repr
from features.core.bundle import Bundle
from features.core.columns import leaving_out
from features.core.configured import Configured, resources_in, type_errors
from features.core.extractor import (
    VARYING,
    Extractor,
    Feature,
    FittedExtractor,
    TableColumn,
    TableColumns,
    phrase,
)
from features.core.segments import Segments
from features.core.tree_columns import TreeColumn, make_trees, tree_table
from features.storage.files import digest
from features.storage.strict_yaml import read_mapping

if TYPE_CHECKING:
    import pandas as pd

EXTRACTORS: Catalogue[Extractor] = Catalogue("features", Extractor, "extractor", plugins=True)


def configured(config: Mapping[str, Any]) -> Configured:
    """The class of extractors for `{kind: NAME, parameter: value, ...}`; raises InputError if unknown."""
    kind, what = EXTRACTORS.get(config["kind"]), f"extractor '{config['kind']}'"
    settings: dict[str, Any] = {}
    for key, value in config.items():
        if key in kind.renamed:
            warnings.warn(f"{what}: `{key}` is `{kind.renamed[key]}` now", FutureWarning, stacklevel=2)
        if key not in ("kind", "only"):
            settings[kind.renamed.get(key, key)] = value
    return Configured(kind.for_settings(settings), settings, what, config)


def families(configs: Sequence[Mapping[str, Any]]) -> list[Configured]:
    """Classes and settings of the configured extractors, sets expanded. Raises InputError for mistakes."""
    found = [configured(config) for config in expand(configs)]
    for error in chain.from_iterable(family.errors() for family in found):
        raise error
    return found


def variant(config: Mapping[str, Any]) -> str:
    """A family's name, with the settings that give it other columns of other resources.

    >>> variant({"kind": "surface"}), variant({"kind": "word_quality", "knowledge": ["decoder"], "seed": 1})
    ('surface', 'word_quality:knowledge=decoder')
    """
    chosen = [f"{key}={_as_text(config[key])}" for key in VARYING if config.get(key)]
    return ":".join([config["kind"], *chosen])


def from_variant(name: str) -> dict[str, Any]:
    """The config of a family from its `variant`; raises InputError for unknown families and settings."""
    kind, *given = [name] if name in EXTRACTORS else name.split(":")
    settings = dict[str, Any](part.partition("=")[::2] for part in given)
    lists = Configured(EXTRACTORS.get(kind), settings, "").lists
    config = {key: value.split("+") if key in lists else value for key, value in settings.items()}
    (family,) = families([{"kind": kind, **config}])
    return {"kind": kind, **family.settings}


def variants(kind: str) -> list[str]:
    """A family's name, and its names with the settings that it is listed with."""
    return [kind, *(variant({"kind": kind, **settings}) for settings in EXTRACTORS.get(kind).variants)]


def _as_text(value: Any) -> str:
    entries = value if isinstance(value, list | tuple) else [value]
    return "+".join(str(entry.get("kind") if isinstance(entry, Mapping) else entry) for entry in entries)


def parts_needed(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The bundle parts that the configured extractors take, in order, once; raises as `families` does."""
    return list(dict.fromkeys(part for family in families(configs) for part in family.parts()))


def table_columns(extractors: Iterable[Extractor]) -> TableColumns:
    """The columns of the user's table that extractors, made or not, read by name."""
    found: dict[str, TableColumn] = {}
    for new in chain.from_iterable(extractor.table_columns() for extractor in extractors):
        old = found.get(new.name, new)
        found[new.name] = TableColumn(new.name, old.number or new.number, old.optional and new.optional)
    return found


def completed(families: Sequence[Configured], segments: Segments) -> list[dict[str, Any]]:
    """The configs with settings that the training segments decide, such as values of categories."""
    return [{**each.config, **each.kind.completed(each.config, segments)} for each in families]


def make_extractor(config: Mapping[str, Any], bundle: Bundle | None) -> Extractor:
    """One extractor from `{kind: NAME, ...}`; raises InputError for bad settings or missing resources."""
    (family,) = families([config])
    made: Extractor = family.make(bundle)
    return made


@short_repr
@dataclass(frozen=True, eq=False)
class FeatureSet:
    """Extractors in order: `configs[i]` made `extractors[i]`.

    Columns of extractors of other distributions begin with their family (`acme-qe.NAME.COLUMN`), so that they
    are never ours. Columns of `trees` follow the features. A config's `only` keeps the columns of that
    extractor that match one of its patterns (`*` and `?` as in file names), in the extractor's order. Raises
    InputError if two extractors give the same column, or a pattern matches none.
    """

    configs: tuple[Mapping[str, Any], ...]
    extractors: tuple[Extractor, ...]
    trees: tuple[TreeColumn, ...] = ()

    @classmethod
    def make(
        cls,
        configs: Sequence[Mapping[str, Any]],
        bundle: Bundle | None,
        trees: Sequence[Mapping[str, Any]] = (),
    ) -> "FeatureSet":
        return cls.of_families(families(configs), bundle, trees)

    @classmethod
    def of_families(
        cls, families: Sequence[Configured], bundle: Bundle | None, trees: Sequence[Mapping[str, Any]] = ()
    ) -> "FeatureSet":
        """The same from checked settings."""
        extractors = tuple(family.make(bundle) for family in families)
        return cls(tuple(family.config for family in families), extractors, make_trees(trees))

    def __post_init__(self) -> None:
        owner: dict[str, str] = {}
        for i, config in enumerate(self.configs):
            for feature in self._column_features[i].values():
                if feature.name in owner:
                    raise InputError(
                        f"the column '{feature.name}' comes from both '{owner[feature.name]}' "
                        f"and '{config['kind']}'"
                    )
                owner[feature.name] = config["kind"]
        for tree in self.trees:
            if tree.name in owner:
                raise InputError(f"the trees '{tree.name}' have the name of a column of '{owner[tree.name]}'")

    @cached_property
    def _column_features(self) -> list[dict[int, Feature]]:
        """Place of each kept column of each extractor -> its feature."""
        kept = []
        for config, extractor in zip(self.configs, self.extractors, strict=True):
            kind, features, patterns = config["kind"], extractor.features, config.get("only")
            if is_foreign(kind):
                family = kind.replace(SEPARATOR, ".")
                features = [replace(feature, name=f"{family}.{feature.name}") for feature in features]
            chosen = dict(enumerate(features))
            if patterns is not None:
                names = [feature.name for feature in features]
                for pattern in patterns:
                    if not fnmatch.filter(names, pattern):
                        near = difflib.get_close_matches(pattern, names, n=3)
                        remedy = f"near: {', '.join(near)}" if near else f"see qe features describe {kind}"
                        problem = f"'{kind}' has no column '{pattern}'"
                        raise InputError(problem, location="only", remedy=remedy)
                matched = {name for pattern in patterns for name in fnmatch.filter(names, pattern)}
                chosen = {i: feature for i, feature in chosen.items() if feature.name in matched}
            kept.append(chosen)
        return kept

    def kept_features(self, i: int) -> list[Feature]:
        return list(self._column_features[i].values())

    def keep(self, i: int, block: FloatArray) -> FloatArray:
        return block[:, list(self._column_features[i])]

    @property
    def features(self) -> list[Feature]:
        return [feature for kept in self._column_features for feature in kept.values()]

    @property
    def names(self) -> list[str]:
        return [feature.name for kept in self._column_features for feature in kept.values()]

    @property
    def columns(self) -> list[str]:
        return [*self.names, *(tree.name for tree in self.trees)]

    def keeping(self, names: Collection[str], complete: Collection[int] = ()) -> "FeatureSet":
        """The same without other columns, and extractors without columns, except those at `complete`."""
        own = [
            [f.name for f in self.kept_features(i) if f.name in names] for i in range(len(self.extractors))
        ]
        stay = [i for i, columns in enumerate(own) if columns or i in complete]
        configs = tuple(
            self.configs[i]
            if len(own[i]) == len(self.kept_features(i))
            else {**self.configs[i], "only": [escape(name) for name in own[i]]}
            for i in stay
        )
        return replace(self, configs=configs, extractors=tuple(self.extractors[i] for i in stay))

    def requires(self) -> tuple[str, ...]:
        needed = [column for extractor in self.extractors for column in extractor.requires()]
        return tuple(dict.fromkeys([*needed, *(tree.requires() for tree in self.trees)]))

    def optional(self) -> tuple[str, ...]:
        """Columns that extractors read where there are any."""
        return tuple(dict.fromkeys(column for each in self.extractors for column in each.optional_columns()))

    @cached_property
    def table_columns(self) -> TableColumns:
        """The columns of the user's table that extractors read by name."""
        return table_columns(self.extractors)

    def checksums(self) -> list[dict[str, Any]]:
        read = ((c["kind"], dict(e.checksums())) for c, e in zip(self.configs, self.extractors, strict=True))
        return [{"kind": kind, "files": files} for kind, files in read if files]

    def families(self) -> dict[str, str]:
        return {
            feature.name: variant(config)
            for i, config in enumerate(self.configs)
            for feature in self.kept_features(i)
        }

    def plain(self) -> list[str]:
        said = [
            phrase(feature, extractor.plain)
            for i, extractor in enumerate(self.extractors)
            for feature in self.kept_features(i)
        ]
        return [*said, *(tree.plain for tree in self.trees)]

    @property
    def fitted(self) -> tuple[FittedExtractor, ...]:
        return tuple(e for e in self.extractors if isinstance(e, FittedExtractor))

    def extract(self, segments: Segments, report: Callable[[str], None] | None = None) -> "pd.DataFrame":
        """Features (n_segments, n_features) float64 by segment id, then trees; NaN means undefined.

        Raises InputError if the segments lack a column that an extractor requires.
        """
        import pandas as pd  # listing features needs none

        blocks = []
        for i, (config, extractor) in enumerate(zip(self.configs, self.extractors, strict=True)):
            if not self._column_features[i]:
                continue
            if report:
                report(config["kind"])
            for column in extractor.requires():
                segments.require(column)
            names = enumerate(extractor.feature_names)
            with leaving_out({name for k, name in names if k not in self._column_features[i]}):
                blocks.append(self.keep(i, checked(extractor, segments)))
        data = np.hstack(blocks) if blocks else np.empty((len(segments), 0))
        table = pd.DataFrame(data, index=pd.Index(segments.id, name="id"), columns=self.names)
        return table.join(tree_table(self.trees, segments)) if self.trees else table

    @property
    def fingerprint(self) -> str:
        parts = (extractor_fingerprint(c, e) for c, e in zip(self.configs, self.extractors, strict=True))
        return digest(*parts, self.names, *(tree.config for tree in self.trees))


def set_names() -> list[str]:
    """The feature sets in features/sets, and those of plugins."""
    return sorted(_set_files())


@cache
def _set_files() -> Mapping[str, Path]:
    files: dict[str, Path] = {}
    for package in ("features.sets", *(entry.module for entry in own_entries("feature_sets").values())):
        spec = importlib.util.find_spec(package) if is_importable(package.partition(".")[0]) else None
        for folder in (spec.submodule_search_locations if spec else None) or ():
            files |= {path.stem: path for path in sorted(Path(folder).glob("*.yaml"))}
    return files


def set_content(name: str) -> dict[str, Any]:
    """`description`, `origin`, `absent`, `features` of a feature set; raises InputError if it is unknown."""
    if name not in set_names():
        raise unknown_name("feature set", name, set_names())
    return read_mapping(_set_files()[name], "feature set")


def expand(configs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Configs with every `{set: NAME}` replaced by the extractors of features/sets/NAME.yaml.

    `{set: NAME, without: [KIND, ...]}` leaves out extractors of the set. Raises InputError for an unknown
    set, other keys next to one, kinds that it does not have, or a `kind` that is no name.
    """
    expanded: list[dict[str, Any]] = []
    for config in configs:
        if "set" not in config:
            if not isinstance(config["kind"], str):
                raise InputError(
                    f"'kind' must be text, but got {quoted(config['kind'])}", location="features"
                )
            expanded.append(dict(config))
            continue
        if others := config.keys() - {"set", "without"}:
            raise InputError(
                f"a set takes no other keys but `without`, but got {', '.join(sorted(map(str, others)))}",
                location="features",
                remedy="name the extractors of the set one by one to change them",
            )
        name = config["set"]
        excluded = config.get("without", [])
        entries = [{"kind": e} if isinstance(e, str) else e for e in set_content(name)["features"]]
        for error in type_errors(excluded, list[str], "without", f"set '{name}'"):
            raise error
        kinds = [entry["kind"] for entry in entries]
        for kind in excluded:
            if kind not in kinds:
                raise unknown_name("extractor to leave out", kind, kinds, f"set '{name}'")
        members = [entry for entry in entries if entry["kind"] not in excluded]
        expanded += members
    return expanded


def extractor_fingerprint(config: Mapping[str, Any], extractor: Extractor) -> str:
    resources = [resource.fingerprint for resource in resources_in(extractor)]
    settings = sorted((k, repr(v)) for k, v in config.items() if k != "only")
    return digest(settings, extractor.feature_names, resources, extractor.content_fingerprint())


def checked(extractor: Extractor, segments: Segments) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The extractor's features, verified: shape, type, finite or NaN."""
    return verified(extractor, extractor.extract(segments), len(segments))


def verified(extractor: Extractor, block: FloatArray, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The columns of n segments from an extractor, verified as by `checked`."""
    expected = (n, len(extractor.feature_names))
    name = type(extractor).__name__
    if block.shape != expected or block.dtype != np.float64:
        raise TypeError(f"{name} must return float64 {expected}, but returned {block.dtype} {block.shape}")
    if np.isinf(block).any():
        column = extractor.feature_names[int(np.nonzero(np.isinf(block).any(axis=0))[0][0])]
        raise ValueError(
            f"{name}: the feature '{column}' is infinite for some segment; it must be finite or NaN"
        )
    return block
