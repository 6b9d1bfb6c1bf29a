"""Shares of ambiguous and unknown words, against counts by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import ParallelCorpus, Segments
from features.basics.array_types import FloatArray
from features.core.bundle import build
from features.core.feature_set import make_extractor, parts_needed
from features.text.annotation import block_of
from qe.resources.annotations import Annotations, from_column
from tests.factories import EN_ES

# `b` is twice p and once q in the source; `x` has one tag; in the target every word has one.
SOURCE = [["a/p", "b/p"], ["b/q", "x/r"], ["b/p"]]
TARGET = [["A/P"], ["B/P"], ["B/P"]]
TEXTS = Segments.from_columns({"source": ["b x", "a z z z", ""], "target": ["A B", "Q", "A"]}, *EN_ES)


def annotated(side: list[list[str]]) -> tuple[str, ...]:
    split = [[tuple(word.split("/")) for word in words] for words in side]
    return tuple(block_of([(form, "_", "_", tag) for form, tag in words]) for words in split)


def text(words: list[str]) -> str:
    return " ".join(word.split("/")[0] for word in words)


def shares(folder: Path, settings: dict[str, Any]) -> FloatArray:
    annotations = Annotations.alike(
        {"source": from_column(annotated(SOURCE)), "target": from_column(annotated(TARGET))}
    )

    def read() -> ParallelCorpus:
        return ParallelCorpus.from_lines(zip(map(text, SOURCE), map(text, TARGET), strict=True), *EN_ES)

    config = {"kind": "tag_ambiguity"}
    bundle = build(
        read,
        folder,
        parts_needed([config]),
        builders=annotations.builders(),
        wanted=annotations.wanted,
        settings={"source_tag_dictionary": settings},
    )
    return make_extractor(config, bundle).extract(TEXTS)


def test_counts_by_hand(tmp_path: Path) -> None:
    nan = np.nan
    expected = [[0.5, 0, 0, 0], [0, 0.75, 0, 1], [nan, nan, 0, 0]]
    np.testing.assert_array_equal(shares(tmp_path / "b", {}), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("least", "ambiguous"), [(1 / 3, 0.5), (0.34, 0.0), (0.9, 0.0)])
def test_rare_tags_are_the_taggers_mistakes(tmp_path: Path, least: float, ambiguous: float) -> None:
    """`b` is q in one of three places; a word whose tags are all rare is known nevertheless."""
    values = shares(tmp_path / "b", {"least_share": least})
    assert values[0, 0] == ambiguous
    assert values[0, 1] == 0
