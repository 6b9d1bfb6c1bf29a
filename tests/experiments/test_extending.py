"""Experiments that extend others are what they were: a change of the file below them is told here.

`resolved.txt` has a checksum of every such experiment, with all its keys that differ from defaults. The first
ones are of the files before they became short.
"""

import hashlib
import json
from pathlib import Path

import pytest

from qe.config.experiment import load
from tests.conftest import ROOT

FOLDER = ROOT / "experiments"
RESOLVED = Path(__file__).with_name("resolved.txt")


def checksum(path: Path) -> str:
    loaded = load(path, data_root=Path("/data"))
    settings = loaded.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def lines() -> str:
    extending = [path for path in sorted(FOLDER.rglob("*.yaml")) if "\nextends: " in path.read_text("utf-8")]
    return "".join(f"{checksum(path)} {path.relative_to(FOLDER).as_posix()}\n" for path in extending)


@pytest.mark.slow
def test_they_resolve_to_the_same_experiments() -> None:
    meant = "if that is meant: python -m tests.experiments.test_extending"
    assert lines() == RESOLVED.read_text("utf-8"), f"experiments that extend others have changed; {meant}"


if __name__ == "__main__":
    RESOLVED.write_text(lines(), "utf-8")
