"""Feature extractors: every public module here is one, and its file name is its name in experiments."""

from features.core.extractor import Extractor, Feature, FittedExtractor
from features.core.feature_set import FeatureSet
from features.core.segments import Segments

__all__ = ["Extractor", "Feature", "FeatureSet", "FittedExtractor", "Segments"]
