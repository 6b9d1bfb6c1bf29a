"""Models of words learn from probabilities as from tags that were drawn very often."""

import numpy as np
import pytest

from features.basics.errors import InputError
from features.text.tokens import Tokens
from features.word_level.keys import Encoding, out_of_fold
from features.word_level.labels import PROBABILITIES, learned_labels, tag_probabilities
from features.word_level.model import Inputs, TokenModel
from features.word_level.trees import fit_trees, load_trees, tree_probability
from features.word_level.two_sides import projected


def tokens(*texts: list[str]) -> Tokens:
    return Tokens.from_lists(list(texts))


def test_probabilities_alternate_gap_and_word() -> None:
    learned = tag_probabilities(["0.5 0.25 0 1 0.75", "0.125"], tokens(["a", "b"], []))
    assert learned.words.tolist() == [0.25, 1.0]
    assert learned.gaps.tolist() == [0.5, 0.0, 0.75, 0.125]


@pytest.mark.parametrize(
    "line", ["0.5 0.5", "0.5 0.5 0.5 0.5", "0.1 1.5 0.1", "0.1 -0.5 0.1", "0 nan 0", "0 a 0"]
)
def test_what_are_no_probabilities_of_these_words_is_refused(line: str) -> None:
    with pytest.raises(InputError) as told:
        tag_probabilities(["0 0 0", line], tokens(["a"], ["b"]))
    assert told.value.location == f"{PROBABILITIES}, segment 2"


def test_probabilities_come_before_tags() -> None:
    labels = {"word_tags": ["OK BAD OK"]}
    assert learned_labels(labels, tokens(["a"])).words.tolist() == [True]
    assert learned_labels({**labels, PROBABILITIES: ["0 0.5 0"]}, tokens(["a"])).words.tolist() == [0.5]


def test_a_token_counts_as_much_as_it_is_bad() -> None:
    """Key 1: .25 + .75 of 2 tokens; key 2: 1 of 1; smoothed by 5 tokens of the overall share, 2 / 3."""
    encoding = Encoding.fit(np.array([1, 1, 2], np.uint64), np.array([0.25, 0.75, 1.0]))
    share = encoding.columns(np.array([1, 2, 9], np.uint64))[:, 0]
    np.testing.assert_allclose(share, [(1 + 10 / 3) / 7, (1 + 10 / 3) / 6, 2 / 3])


def test_certain_probabilities_are_tags() -> None:
    """Of encodings to the last bit; LightGBM's two objectives agree where labels are 0 and 1."""
    rng = np.random.default_rng(0)
    keys = {"word": rng.integers(0, 30, 1600).astype(np.uint64)}
    bad, segment = rng.random(1600) < 0.3, np.arange(1600) // 10
    np.testing.assert_array_equal(
        out_of_fold(keys, bad, segment), out_of_fold(keys, bad.astype(np.float64), segment)
    )
    values = rng.normal(size=(1600, 5)).astype(np.float32)
    by_tags, certain = (
        fit_trees(values, labels, 10, 0, leaves=6) for labels in (bad, bad.astype(np.float64))
    )
    probabilities = [tree_probability(load_trees(text), values) for text in (by_tags, certain)]
    np.testing.assert_allclose(probabilities[0], probabilities[1], atol=1e-6)


def test_groups_come_to_their_mean_probability() -> None:
    """Two kinds of words, each with probabilities around .2 or .8: no draw is wasted, the means are found."""
    rng = np.random.default_rng(2)
    kind = np.arange(4000) % 2
    bad = np.where(kind, 0.8, 0.2) + rng.uniform(-0.1, 0.1, 4000)
    inputs = Inputs(kind[:, None].astype(np.float32), {"word": kind.astype(np.uint64)})
    model = TokenModel.fit(inputs, bad, np.arange(4000) // 20, rounds=150, seed=0, networks=0)
    assert not model.networks
    p = model.probability(inputs)
    for one in (0, 1):
        assert abs(p[kind == one].mean() - bad[kind == one].mean()) < 0.005
        assert np.ptp(p[kind == one]) < 0.01


def test_a_source_word_is_as_bad_as_the_worst_word_it_is_linked_with() -> None:
    links = np.array([0, 0, 2]), np.array([0, 1, 2])
    assert projected(np.array([0.2, 0.7, 0.4]), links, 3).tolist() == [0.7, 0.0, 0.4]
