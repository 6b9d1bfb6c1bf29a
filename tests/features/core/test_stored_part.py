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
from features.storage.compact import coded, decoded, length, unpacked
from features.storage.damage import Damaged
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from features.word_level.columns import columns_in
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


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (counts, {"order": "2"}, "its setting `order` must be a whole number from 1, but got '2'"),
        (counts, {"order": 0}, "`order` must be a whole number from 1, but got 0"),
        (counts, {"case": "UPPER"}, "`case` must be 'lower' or 'true', but got 'UPPER'"),
        (counts, {"side": None}, "`side` must be 'source' or 'target', but got None"),
        (documents, {"segments": 1e300}, "`segments` must be a whole number"),
        (documents, {"segments": 10**18}, "`segments` must be a whole number from 0 to 2147483647"),
        (documents, {"mean_length": []}, "`mean_length` must be a number from 0"),
        (model, {"minimum": {}}, "`minimum` must be a whole number from 1"),
    ],
)
def test_settings_that_the_builder_does_not_take(
    make: Callable[[], Resource], settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    refuses(message, stored, make(), tmp_path / "part", settings, error=Damaged)


def wrong_counts() -> Resource:
    part = counts()
    return replace(part, occurrences=np.full(length(part.occurrences), -1, np.int32))


def wrong_probabilities() -> Resource:
    part = model()
    return replace(part, log10=coded(np.full(length(part.log10), -1e6, np.float32)))


def wrong_backoff() -> Resource:
    part = model()
    return replace(part, backoff=coded(np.full(length(part.backoff), 1e38, np.float32)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (wrong_counts, "`occurrences` must be in 0 .. 2147483647, but has -1"),
        (wrong_probabilities, "`log10` must hold numbers from -100 to 1"),
        (wrong_backoff, "`backoff` must hold numbers from -30 to 30"),
        (lambda: replace(morphemes(), counts=np.array([1, 0])), "`counts` must be in 1 .. "),
        (lambda: replace(morphemes(), words=-5), "`words` must be a whole number from 0, but is -5"),
    ],
)
def test_values_that_are_damage(make: Callable[[], Resource], message: str, tmp_path: Path) -> None:
    refuses(message, stored, make(), tmp_path / "part", {}, error=Damaged)


def test_a_model_of_words_with_a_column_that_there_is_not() -> None:
    refuses("is damaged: there is no column 'speed'", columns_in, ("lm", "place"), ("place", "speed"))


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
