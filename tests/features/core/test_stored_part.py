"""Parts as they lie in files: older forms are read, damage is refused, whatever the checksums say."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import Bundle, Resource
from features.core.bundle import load_part, part_files
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.morphemes import Morphemes
from features.resources.ngrams import NgramCounts
from features.storage.checksums import sealed
from features.storage.compact import decoded, unpacked
from features.storage.damage import Damaged
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from qe_papers.resources.ngram_documents import NgramDocuments
from tests.factories import refuses

TEXTS = Tokens.from_lists([["a", "house"], ["the", "red", "house"]])


def counts() -> NgramCounts:
    return NgramCounts.from_tokens(TEXTS, order=2).with_settings(side="source")


def documents() -> NgramDocuments:
    return NgramDocuments.from_tokens(TEXTS, order=2)


def model() -> LanguageModel:
    return LanguageModel.from_tokens(TEXTS, order=2)


def morphemes() -> Morphemes:
    return Morphemes(("a", "b"), np.array([2, 1]), 2, settings={}, corpus_fingerprint="")


def stored(part: Resource, path: Path, settings: dict[str, Any]) -> Resource:
    """The part, with other settings in its file, loaded."""
    path.mkdir()
    part.save(path)
    meta = json.loads((path / "meta.json").read_text("utf-8"))
    meta["settings"] |= settings
    (path / "meta.json").write_text(json.dumps(meta), "utf-8")
    return load_part(path, type(part), part_files(path))


@pytest.mark.parametrize("make", [counts, documents, model, morphemes])
def test_whole_parts_load(make: Callable[[], Resource], tmp_path: Path) -> None:
    part = make()
    assert stored(part, tmp_path / "part", {}).fingerprint == part.fingerprint


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


@pytest.mark.parametrize("settings", [1.5, None, [["order", 2]], "order"])
def test_settings_are_a_mapping(tmp_path: Path, settings: object) -> None:
    counts = NgramCounts.from_tokens(Tokenizer("en").tokens(["a house", "the house"]), order=2)
    counts.save(tmp_path)
    assert NgramCounts.load(tmp_path).settings == counts.settings
    meta = json.loads((tmp_path / "meta.json").read_text("utf-8"))
    (tmp_path / "meta.json").write_text(json.dumps({**meta, "settings": settings}), "utf-8")
    refuses(r"`settings` in meta\.json must be a mapping", NgramCounts.load, tmp_path, error=Damaged)
