"""Experiments that extend others are what they were: a change of the file below them is told here.

`resolved.txt` has a checksum of every such experiment, with all its keys that differ from defaults. The first
ones are of the files before they became short.
"""

import hashlib
import json
from pathlib import Path

from qe.config.experiment import load
from tests.conftest import ROOT

FOLDER = ROOT / "experiments"
RESOLVED = Path(__file__).with_name("resolved.txt")


def checksum(path: Path) -> str:
    loaded = load(path, data_root=Path("/data"))
    settings = loaded.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def test_they_resolve_to_the_same_experiments() -> None:
    extending = [path for path in sorted(FOLDER.rglob("*.yaml")) if "\nextends: " in path.read_text("utf-8")]
    lines = [f"{checksum(path)} {path.relative_to(FOLDER).as_posix()}\n" for path in extending]
    changed = (
        "experiments that extend others have changed; if that is meant, write the new lines into the file"
    )
    assert "".join(lines) == RESOLVED.read_text("utf-8"), changed
