"""Optional columns of segments for word quality, and those that a model has read."""

import json
from collections.abc import Set
from pathlib import Path
from typing import Final

from features.storage.damage import Damaged

OPTIONAL: Final = ("annotation_source", "annotation_target", "back_translation", "pseudo_reference")
DECODER: Final = ("subwords", "token_log_probabilities")  # what the system said of its own words
_FILE: Final = "used.json"


def save_used(used: Set[str], path: Path) -> None:
    (path / _FILE).write_text(json.dumps(sorted(used)), "utf-8")


def load_used(path: Path) -> frozenset[str]:
    used = json.loads((path / _FILE).read_text("utf-8"))
    if not isinstance(used, list) or any(name not in OPTIONAL for name in used):
        raise Damaged(f"{_FILE} names columns that are not read; known: {', '.join(OPTIONAL)}")
    return frozenset(used)
