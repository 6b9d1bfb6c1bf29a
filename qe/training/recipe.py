"""What a model was made with: seed, versions, and fingerprints of data, features and resources."""

import platform
from collections.abc import Mapping
from typing import Any

from features.core.feature_set import FeatureSet
from qe.models.model import versions
from qe.tracking.checkout import working_directory_commit


def recipe(seed: int, dataset: str, feature_set: FeatureSet, parts: Mapping[str, Any]) -> dict[str, Any]:
    """JSON values; `dataset` is a fingerprint, `parts` are the manifest's entries of those that were used."""
    return {
        "seed": seed,
        "versions": versions(),
        "python": platform.python_version(),
        "working_directory_commit": working_directory_commit(),
        "dataset": dataset,
        "features": feature_set.fingerprint,
        "resources": {name: entry["fingerprint"] for name, entry in parts.items()},
    }


def recipe_tags(made: Mapping[str, Any], name: str, feature_set: FeatureSet) -> dict[str, str]:
    """A recipe as MLflow shows it; `name` is the dataset's."""
    return {
        "working_directory_commit": made["working_directory_commit"],
        "dataset": name,
        "dataset_fingerprint": made["dataset"],
        "features_fingerprint": made["features"],
        "n_features": str(len(feature_set.names)),
        **{f"resource.{part}": fingerprint for part, fingerprint in made["resources"].items()},
        **{f"version.{library}": version for library, version in made["versions"].items()},
    }
