"""Feature extractors: every public module here is one, and its file name is its name in experiments."""

import importlib
from typing import TYPE_CHECKING, Any

from features.storage.surroundings import keep_out

if TYPE_CHECKING:
    from features.core.extractor import Extractor, Feature, FittedExtractor
    from features.core.feature_set import FeatureSet
    from features.core.segments import Segments

__all__ = ["Extractor", "Feature", "FeatureSet", "FittedExtractor", "Segments"]

keep_out()  # before anything imports Numba

_HOMES = {
    "Extractor": "extractor",
    "Feature": "extractor",
    "FeatureSet": "feature_set",
    "FittedExtractor": "extractor",
    "Segments": "segments",
}


def __getattr__(name: str) -> Any:
    """Imports what is asked for when it is asked for: a verb that needs no features loads none."""
    if name not in _HOMES:
        raise AttributeError(f"module 'features' has no attribute '{name}'")
    return getattr(importlib.import_module(f"features.core.{_HOMES[name]}"), name)
