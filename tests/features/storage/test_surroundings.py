"""Compiled code of an earlier version: whose index names a module that is no more."""

import pickle
from pathlib import Path

import numba
import pytest

from features.storage.surroundings import keep_out

MOVED = {"a module": b"cqe.moved_since\nKind\n.", "a class": b"cfeatures.storage.files\nMovedSince\n."}


@pytest.mark.parametrize("stale", MOVED.values(), ids=MOVED)
def test_code_compiled_for_what_has_moved_is_compiled_again(stale: bytes, tmp_path: Path) -> None:
    keep_out()
    from numba.core.caching import IndexDataCacheFile

    index = tmp_path / "function.nbi"
    index.write_bytes(pickle.dumps(numba.__version__) + stale)
    cache = IndexDataCacheFile(str(tmp_path), "function", (0, 0))
    assert cache.load("signature") is None
    cache.save("signature", "code")
    assert cache.load("signature") == "code"
