"""FeatureSet: extractors with their resources -> a DataFrame with named, ordered columns."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from features.core.bundle import Bundle, resource_parameters
from features.core.catalogue import Catalogue
from features.core.errors import InputError
from features.core.extractor import Extractor, Feature, FittedExtractor
from features.core.files import digest
from features.core.resource import Resource
from features.core.segments import Segments

EXTRACTORS: Catalogue[Extractor] = Catalogue("features", Extractor, "extractor")


def parts_needed(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The bundle parts that the configured extractors take, in order, each once."""
    needed: dict[str, None] = {}
    for config in configs:
        for name in resource_parameters(EXTRACTORS.get(config["kind"])):
            needed[str(config.get(name, name))] = None
    return list(needed)


def make_extractor(config: Mapping[str, Any], bundle: Bundle | None) -> Extractor:
    """One extractor from `{kind: NAME, parameter: value, ...}`; resources come from the bundle.

    Raises InputError for an unknown kind or parameter, or where resources are needed and there is no bundle.
    """
    kind = config["kind"]
    extractor = EXTRACTORS.get(kind)
    resources = resource_parameters(extractor)
    known: list[str] = [f.name for f in fields(extractor) if f.init] if is_dataclass(extractor) else []
    arguments: dict[str, Any] = {}
    for key, value in config.items():
        if key != "kind":
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise InputError(
                    f"extractor '{kind}' has no parameter '{key}'", remedy=f"known: {', '.join(known)}{hint}"
                )
            arguments[key] = value
    for name in resources:
        if bundle is None:
            raise InputError(
                f"extractor '{kind}' needs the resource '{name}'",
                remedy="name a corpus or a bundle under `resources`",
            )
        arguments[name] = bundle.part(str(config.get(name, name)))
    try:
        return extractor(**arguments)
    except TypeError as error:
        raise InputError(f"extractor '{kind}': {error}") from None


@dataclass(frozen=True, eq=False)
class FeatureSet:
    """Extractors in order; `configs[i]` made `extractors[i]`.

    Raises InputError where two extractors give the same column.
    """

    configs: tuple[Mapping[str, Any], ...]
    extractors: tuple[Extractor, ...]

    @classmethod
    def make(cls, configs: Sequence[Mapping[str, Any]], bundle: Bundle | None) -> "FeatureSet":
        return cls(tuple(configs), tuple(make_extractor(config, bundle) for config in configs))

    def __post_init__(self) -> None:
        owner: dict[str, str] = {}
        for config, extractor in zip(self.configs, self.extractors, strict=True):
            for name in extractor.names:
                if name in owner:
                    raise InputError(
                        f"the column '{name}' comes from both '{owner[name]}' and '{config['kind']}'"
                    )
                owner[name] = config["kind"]

    @property
    def features(self) -> list[Feature]:
        return [feature for extractor in self.extractors for feature in extractor.features]

    @property
    def names(self) -> list[str]:
        return [feature.name for feature in self.features]

    def families(self) -> dict[str, str]:
        """column -> the kind of extractor it comes from."""
        return {
            name: config["kind"]
            for config, extractor in zip(self.configs, self.extractors, strict=True)
            for name in extractor.names
        }

    @property
    def fitted(self) -> tuple[FittedExtractor, ...]:
        """The extractors that learn from labels."""
        return tuple(e for e in self.extractors if isinstance(e, FittedExtractor))

    def extract(self, segments: Segments, report: Callable[[str], None] | None = None) -> pd.DataFrame:
        """(n_segments, n_features) float64, indexed by segment id; NaN is "undefined here", never infinite.

        Raises InputError where the segments lack a column that an extractor requires.
        """
        blocks = []
        for config, extractor in zip(self.configs, self.extractors, strict=True):
            if report:
                report(config["kind"])
            for column in extractor.requires():
                segments.require(column)
            blocks.append(checked(extractor, segments))
        data = np.hstack(blocks) if blocks else np.empty((len(segments), 0))
        return pd.DataFrame(data, index=pd.Index(segments.id, name="id"), columns=self.names)

    @property
    def fingerprint(self) -> str:
        """Identifies extractors, their parameters and their resources."""
        return digest(
            *(extractor_fingerprint(c, e) for c, e in zip(self.configs, self.extractors, strict=True))
        )


def extractor_fingerprint(config: Mapping[str, Any], extractor: Extractor) -> str:
    """Identifies one extractor: kind, parameters, columns, resources."""
    values: list[Any] = (
        [getattr(extractor, f.name) for f in fields(extractor)] if is_dataclass(extractor) else []
    )
    resources = [value.fingerprint for value in values if isinstance(value, Resource)]
    settings = sorted((k, repr(v)) for k, v in config.items())
    return digest(settings, extractor.names, resources, extractor.content_fingerprint())


def checked(extractor: Extractor, segments: Segments) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What the extractor computes, its contract verified: shape, type, finite or NaN."""
    block = extractor.extract(segments)
    expected = (len(segments), len(extractor.names))
    name = type(extractor).__name__
    if block.shape != expected or block.dtype != np.float64:
        raise TypeError(f"{name} must return float64 {expected}, but returned {block.dtype} {block.shape}")
    if np.isinf(block).any():
        column = extractor.names[int(np.nonzero(np.isinf(block).any(axis=0))[0][0])]
        raise ValueError(
            f"{name}: the feature '{column}' is infinite for some segment; it must be finite or NaN"
        )
    return block
