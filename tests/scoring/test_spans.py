"""Spans: by hand, and what holds for all tags."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe.scoring.word_level import bad_spans, described


def test_neighbours_are_one_span_and_lone_gaps_are_spans_without_words() -> None:
    tags = np.array([0, 1, 1, 0, 0], bool), np.array([0, 0, 0, 1, 0, 1], bool)
    bad = np.array([0.1, 0.8, 0.5, 0.2, 0.1]), np.array([0.01, 0.02, 0.1, 0.6, 0.03, 0.4])
    spans = described(["a", "b", "c", "d", "e"], bad, tags, insertions=1.5)
    assert [(one["start"], one["end"], one["text"]) for one in spans] == [(1, 3, "b c"), (5, 5, "")]
    assert [one["mass"] for one in spans] == pytest.approx([1.3 + 0.72, 0.4])
    assert [one["edits"] for one in spans] == pytest.approx([1.3 + 1.5 * 0.72, 0.6])
    assert json.dumps(spans)


def test_nothing_bad_and_nothing_there() -> None:
    assert bad_spans(np.zeros(3, bool), np.zeros(4, bool)) == []
    assert bad_spans(np.zeros(0, bool), np.ones(1, bool)) == [(0, 0)]


@pytest.mark.slow
@given(st.lists(st.booleans(), max_size=12), st.data())
def test_every_bad_place_is_in_one_span(words: list[bool], data: st.DataObject) -> None:
    gaps = data.draw(st.lists(st.booleans(), min_size=len(words) + 1, max_size=len(words) + 1))
    spans = bad_spans(np.array(words, bool), np.array(gaps, bool))
    of_words = [place for start, end in spans for place in range(start, end)]
    of_gaps = [place for start, end in spans for place in range(start, end + 1)]
    assert of_words == [place for place, bad in enumerate(words) if bad]
    assert len(of_gaps) == len(set(of_gaps)) and {k for k, bad in enumerate(gaps) if bad} <= set(of_gaps)
