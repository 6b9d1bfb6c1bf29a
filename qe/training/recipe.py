"""Recipe of a model: seed, versions, fingerprints of data, features and resources."""

import platform
from collections.abc import Mapping
from typing import Any

from features.core.feature_set import FeatureSet
from qe.models.versions import versions
from qe.tracking.checkout import working_directory_commit


def recipe(seed: int, dataset: str, feature_set: FeatureSet, parts: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe as JSON values.

    `dataset` is a fingerprint; `parts` has the manifest entries of the resources in use.
    """
    return {
        "seed": seed,
        "versions": versions(),
        "python": platform.python_version(),
        "working_directory_commit": working_directory_commit(),
        "dataset": dataset,
        "features": feature_set.fingerprint,
        "resources": {name: entry["fingerprint"] for name, entry in parts.items()},
    }
