"""Parts that an earlier version stored in plain arrays are read as they were."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import Bundle, Resource
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts
from features.storage.checksums import sealed
from features.storage.compact import decoded, unpacked
from features.text.tokens import Tokens

SOURCE = Tokens.from_lists([["a", "house"], ["the", "red", "house"], ["the", "house"] * 300])
TARGET = Tokens.from_lists([["una", "casa"], ["la", "casa", "roja"], ["la", "casa"] * 300])
NEW = Tokens.from_lists([["the", "red", "house"], ["a", "blue", "house"], []])


def as_before(part: Resource) -> Resource:
    """The part in the arrays of version 1."""
    if isinstance(part, LanguageModel):
        log10, backoff = decoded(part.log10), decoded(part.backoff)
        return replace(part, trie=part.trie.plain(), log10=log10, backoff=backoff)
    if isinstance(part, NgramCounts):
        return replace(part, trie=part.trie.plain(), occurrences=unpacked(part.occurrences))
    assert isinstance(part, Lexicon)
    return replace(part, columns=unpacked(part.columns), values=decoded(part.values))


def said(part: Any) -> Any:
    if isinstance(part, LanguageModel):
        return part.score(NEW).log10
    if isinstance(part, NgramCounts):
        return np.concatenate([part.counts(NEW, order)[0] for order in (1, 2, 3)])
    return part.score(NEW, TARGET).probability


@pytest.mark.parametrize(
    "build",
    [
        lambda: LanguageModel.from_tokens(SOURCE, order=3),
        lambda: NgramCounts.from_tokens(SOURCE, order=3),
        lambda: Lexicon.from_tokens(SOURCE, TARGET),
    ],
)
def test_bundles_of_version_1(build: Callable[[], Resource], tmp_path: Path) -> None:
    part = build()
    kind = type(part).__module__.rpartition(".")[2]
    (tmp_path / "part").mkdir()
    as_before(part).save(tmp_path / "part")
    stored = {np.load(file).dtype for file in (tmp_path / "part").glob("*.npy")}
    assert stored <= {np.dtype(kind) for kind in (np.int32, np.int64, np.float32)}
    entry = {"kind": kind, "version": 1}
    manifest = {"provenance": {}, "parts": {"part": entry}, "source_tokenizer": {}, "target_tokenizer": {}}
    (tmp_path / "manifest.json").write_text(json.dumps(sealed(manifest)), "utf-8")
    read = Bundle(tmp_path, verified={}).part("part")
    np.testing.assert_array_equal(said(read), said(part))
    assert read.fingerprint != part.fingerprint  # that of version 1, which a model saved then names
    assert read.with_settings(more=1).fingerprint != part.with_settings(more=1).fingerprint
