"""Versions of packages that affect results and feature columns."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from features.basics.plugins import DISTRIBUTION
from features.basics.plugins import versions as installed

# Packages that compute feature columns; another version may give other values.
MAKERS = (
    "jieba", "langcodes", "numba", "onnxruntime", "pythainlp", "rapidfuzz", "regex", "sacremoses",
    "simplemma", "snowballstemmer", "sudachipy", "tokenizers",
)  # fmt: skip
_LEARNING = ("numpy", "scipy", "pandas", "scikit-learn", "lightgbm", "optuna", "mlflow")
_log = logging.getLogger("qe.models")


def versions() -> dict[str, str]:
    return installed(DISTRIBUTION, *_LEARNING, *MAKERS)


def warn_of_versions(about: Mapping[str, Any], path: Path) -> None:
    """Warns (logger `qe.models`) if feature packages differ from those of training."""
    others = differing(about)
    if others:
        told = ", ".join(
            f"{name} {then} (here {now or 'not installed'})" for name, (then, now) in others.items()
        )
        _log.warning("%s: trained with %s: scores may differ; install these, or train again", path, told)


def differing(about: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Package -> versions in training and here, for packages that differ; empty string if absent."""
    recipe = about.get("recipe")  # only in models without labels
    recorded = about.get("versions") or (recipe.get("versions") if isinstance(recipe, Mapping) else None)
    then = recorded if isinstance(recorded, Mapping) else {}
    now = installed(*MAKERS)
    return {
        name: (str(then[name]), now.get(name, ""))
        for name in MAKERS
        if name in then and then[name] != now.get(name)
    }
