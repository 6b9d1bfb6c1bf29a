"""What tests share: the way to the data beside the checkout."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = Path(os.environ.get("QE_SHARED_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """The path of a file or folder of the shared test data; skips, naming it, where it is absent."""

    def find(relative: str) -> Path:
        path = SHARED_DATA / relative
        if not path.exists():
            pytest.skip(f"test data {path} is absent (set QE_SHARED_DATA to the folder that holds it)")
        return path

    return find
