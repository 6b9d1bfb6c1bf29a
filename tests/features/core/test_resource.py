"""Resource: what a kind writes itself, and what it gets: building, saving, loading, a fingerprint."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from features.basics.progress import Progress, silent
from features.core.bundle import resource_parameters
from features.core.resource import Builder, Parts, Resource, declaration
from features.resources.ngrams import NgramCounts
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import Vocabulary
from tests.factories import refuses

CORPUS = ParallelCorpus.from_lines([("the red house", "la casa"), ("a cat", "un gato negro")])


@dataclass(frozen=True, kw_only=True)
class LengthsBuilder(Builder):
    side: Side
    longest: int = 10
    ngrams: NgramCounts
    scratch: Path | None = None

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "Lengths":
        lengths = np.minimum(corpus.side(self.side).lengths, self.longest)
        words = Vocabulary(corpus.side(self.side).types)
        return Lengths(
            lengths, words, ("größer", ""), Inner((2, 3), lengths[:1]),
            settings=self.settings, corpus_fingerprint=corpus.fingerprint,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Inner:
    sizes: tuple[int, ...]
    firsts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lengths(Resource):
    parts: ClassVar[Parts] = {"source_lengths": {"side": "source"}}
    builder = LengthsBuilder

    lengths: NDArray[np.int64]
    words: Vocabulary = field(metadata={"stored": "vocabulary"})
    notes: tuple[str, ...]
    inner: Inner
    share: float = 0.25
    _cache: dict[str, int] = field(default_factory=dict)


@pytest.fixture(scope="module")
def counts() -> NgramCounts:
    return NgramCounts.from_tokens(CORPUS.source, order=1)


def test_settings_are_typed_once_and_recorded(counts: NgramCounts) -> None:
    built = Lengths.build(CORPUS, side="source", longest=2, ngrams=counts, scratch=Path("x"))
    assert built.lengths.tolist() == [2, 2]
    assert built.settings == {"side": "source", "longest": 2, "ngrams": counts.fingerprint}
    more = built.with_settings(read="sum")
    assert more.settings == {**built.settings, "read": "sum"} and more.lengths is built.lengths
    assert len({built.fingerprint, more.fingerprint, counts.fingerprint}) == 3


def test_what_is_saved_is_loaded(tmp_path: Path, counts: NgramCounts) -> None:
    built = Lengths.build(CORPUS, side="target", ngrams=counts)
    built._cache["seen"] = 1
    built.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "meta.json", "lengths.npy", "vocabulary.txt", "notes.txt", "firsts.npy"
    }  # fmt: skip
    assert json.loads((tmp_path / "meta.json").read_text()) == {
        "settings": built.settings,
        "corpus_fingerprint": CORPUS.fingerprint,
        "sizes": [2, 3],
        "share": 0.25,
    }
    loaded = Lengths.load(tmp_path)
    assert loaded.fingerprint == built.fingerprint and loaded._cache == {}
    assert loaded.lengths.tolist() == [2, 3] and loaded.words.words == built.words.words
    assert loaded.notes == ("größer", "") and loaded.share == 0.25
    assert loaded.inner.sizes == (2, 3) and loaded.inner.firsts.tolist() == [2]


def test_the_parameters_of_a_kind_are_the_fields_of_its_builder() -> None:
    def make(corpus: ParallelCorpus, *, ngrams: NgramCounts, aligner: int) -> Lengths:
        raise NotImplementedError

    assert declaration(Lengths.build) is LengthsBuilder and declaration(make) is make
    assert resource_parameters(Lengths.build) == resource_parameters(make) == ("ngrams",)
    refuses("longst", Lengths.build, CORPUS, side="source", longst=2, error=TypeError)


@pytest.mark.parametrize(
    ("pairs", "sample", "rows"), [(5, 10, [0, 1, 2, 3, 4]), (9, 3, [0, 4, 8]), (10, 4, [0, 3, 6, 9])]
)
def test_rows_are_spread_evenly_over_a_corpus(pairs: int, sample: int, rows: list[int]) -> None:
    corpus = ParallelCorpus.from_lines([("a", "b")] * pairs)
    assert corpus.spread(sample).tolist() == rows
