"""Token tables: described in pieces by all cores, they are as if described at once."""

import numpy as np
import pytest

from features import Bundle, Segments
from features.word_level import tokens as module
from features.word_level.keys import triple_keys
from features.word_level.tokens import TokenTable, describe
from tests.features.word_level.test_training_text import ROWS, segments, word_quality
from tests.features.word_level.test_training_text import bundle as bundle

pytestmark = pytest.mark.slow


def described(bundle: Bundle, batch: Segments) -> TokenTable:
    return describe(batch, word_quality(bundle), frozenset())


def test_pieces_make_the_same_table(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*ROWS, ("the cat", "", ""), *ROWS[::-1], ("", "gato", "gato")]
    whole = described(bundle, segments(rows))
    monkeypatch.setattr(module, "_LEAST", 3)
    pieces = described(bundle, segments(rows))
    assert pieces.word_names == whole.word_names and pieces.gap_names == whole.gap_names
    for name in ("words", "gaps", "word_rows", "gap_rows", "offsets"):
        np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name), err_msg=name)
    for one, other in ((pieces.word_keys, whole.word_keys), (pieces.gap_keys, whole.gap_keys)):
        assert one.keys() == other.keys()
        for name, keys in one.items():
            np.testing.assert_array_equal(keys, other[name], err_msg=name)


def test_triples_tell_apart_what_pairs_do_not(bundle: Bundle) -> None:
    """`casa` between `la` and `roja`, and `la` and `blanca`; equal texts have equal keys."""
    texts = ["la casa roja", "la casa blanca", "la casa roja"]
    table = described(bundle, segments([("the red house", text, "") for text in texts]))
    keys = triple_keys(table.word_keys, table.offsets)
    middle = np.array([1, 4, 7])
    assert len(set(table.word_keys["bigram"][middle].tolist())) == 1
    assert keys["around"][middle[0]] == keys["around"][middle[2]] != keys["around"][middle[1]]
    assert keys["two_after"][[0, 3]].tolist() != keys["two_after"][[0, 6]].tolist()
    assert keys["two_after"][0] == keys["two_after"][6] != keys["two_after"][3]
