"""Features that look every training row up in resources without its own texts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from features.basics.errors import InputError
from features.core.apart import OutOfFold, ResourceLookup
from features.core.configured import resources_in
from features.core.extractor import Extractor, FittedExtractor
from features.core.feature_set import FeatureSet
from qe.resources.own_texts import OwnTexts

Configs = Sequence[Mapping[str, Any]]


def looked_up_apart(
    own: OwnTexts, features: Configs, trees: Configs
) -> tuple[FeatureSet, OutOfFold[FeatureSet]]:
    """The features with the resources of all texts, and with those built without a fold.

    Training rows are looked up in resources that were built without their own fold.

    Raises InputError for a family that learns, but cannot look rows up apart.
    """
    whole = FeatureSet.make(features, own.whole, trees)
    others = [FeatureSet.make(features, bundle) for bundle in own.without]
    extractors = tuple(
        _apart(own, str(config["kind"]), extractor, [other.extractors[i] for other in others])
        for i, (config, extractor) in enumerate(zip(whole.configs, whole.extractors, strict=True))
    )
    return replace(whole, extractors=extractors), OutOfFold(own.parts, others)


def _apart(own: OwnTexts, kind: str, extractor: Extractor, others: Sequence[Any]) -> Extractor:
    if not (isinstance(extractor, FittedExtractor) and resources_in(extractor)):
        return extractor
    if not isinstance(extractor, ResourceLookup):
        raise InputError(
            f"'{kind}' learns from labels, and cannot look rows up in resources without their own texts",
            location="resources.texts",
            remedy="leave out the family, or `texts`",
        )
    if getattr(extractor, "predict", False):
        raise InputError(
            f"`predict` of '{kind}' aligns words by resources that hold their own texts",
            location="resources.texts",
            remedy="leave out `predict`; `knowledge: [predictor]` has a predictor among the resources",
        )
    return extractor.with_out_of_fold(OutOfFold(own.parts, others))
