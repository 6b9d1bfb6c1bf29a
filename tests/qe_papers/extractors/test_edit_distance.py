"""Distances to the nearest corpus segment, normalised by the text (UEdin 3.6)."""

import numpy as np

from features import ParallelCorpus, Segments
from qe_papers.extractors.corpus_matches import EditDistance
from qe_papers.resources.corpus_index import CorpusIndex
from tests.factories import PLAIN, refuses


def test_by_hand() -> None:
    pairs = [("the red house", "la casa roja"), ("a long walk by the sea", "un largo paseo por el mar")]
    corpus = ParallelCorpus.from_lines(pairs, PLAIN, PLAIN)
    extractor = EditDistance(
        CorpusIndex.build(corpus, side="source"), CorpusIndex.build(corpus, side="target")
    )
    segments = Segments(("The red mouse", ""), ("la casa", "La casa roja"), PLAIN, PLAIN)
    np.testing.assert_allclose(
        extractor.extract(segments), [[1 / 3, 1 / 13, 1 / 2, 5 / 7], [np.nan, np.nan, 0, 0]]
    )
    assert extractor.names[0] == "edit_distance_source_words" and len(extractor.names) == 4


def test_least_characters_by_hand() -> None:
    """`tea sea` shares a word with the first segment, and most letters with the second."""
    pairs = [("sea view", "x"), ("team seat", "x")]
    corpus = ParallelCorpus.from_lines(pairs, PLAIN, PLAIN)
    indices = CorpusIndex.build(corpus, side="source"), CorpusIndex.build(corpus, side="target")
    segments = Segments(("tea sea",), ("x",), PLAIN, PLAIN)
    near, least = EditDistance(*indices), EditDistance(*indices, characters="nearest")
    np.testing.assert_allclose(near.extract(segments)[0, :2], [2 / 2, 4 / 7])
    np.testing.assert_allclose(least.extract(segments)[0, :2], [2 / 2, 2 / 7])
    assert "nearest by words" in near.features[1].description
    assert "least character" in least.features[1].description
    refuses("unknown `characters` 'all'", EditDistance, *indices, characters="all")
