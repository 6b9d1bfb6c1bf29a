"""What is near the best labelling, against every labelling; and what a guide leaves the chart parser."""

from itertools import product

import numpy as np
import pytest

from features.text.tokens import Tokens
from qe_treebanks.annotators._chart_parser import ChartParser, Guide
from qe_treebanks.annotators._grammar import ROOT, Node, counted
from qe_treebanks.annotators._word_models import SequenceModel, Training, fit_sequence
from qe_treebanks.hashed_features import linear, template_array, templates, texts_of, word_cells


def noun_phrase(noun: str) -> Node:
    return Node("NP", (Node("DT", word="the"), Node("NN", word=noun)))


def sentence(subject: str, verb: str, place: str) -> Node:
    """`the cat sleeps in the house`: the phrase behind the verb ends with the sentence."""
    location = Node("PP", (Node("IN", word="in"), noun_phrase(place)))
    return Node(ROOT, (Node("S", (noun_phrase(subject), Node("VP", (Node("VB", word=verb), location)))),))


TREES = [
    sentence(*words) for words in product(["cat", "dog", "bird"], ["sleeps", "sings"], ["house", "tree"])
]


@pytest.mark.slow
@pytest.mark.parametrize("margin", [0.5, 3.0, 20.0])
def test_near_labels_are_those_of_all_labellings(margin: float) -> None:
    words = [["a", "b", "a", "c"], ["c"], [], ["b", "b", "a", "c", "a"]]
    tokens = Tokens.from_lists(words)
    gold = np.array([0, 1, 2, 0, 1, 1, 2, 0, 1, 0], np.int32)
    training = Training(epochs=3, bits=10)
    model = fit_sequence(tokens, gold, ("x", "y", "z"), templates("form+0|form-1"), training)
    near = model.near(tokens, margin)
    moves, row = model.transitions, 0
    for text in words:
        one = Tokens.from_lists([text])
        scores = own_scores(model, one) if text else np.zeros((0, 3))
        totals = {}
        for labels in product(range(3), repeat=len(text)):
            steps = zip((3, *labels), labels, strict=False)
            moved = sum(float(moves[before, label]) for before, label in steps)
            totals[labels] = moved + sum(float(scores[i, label]) for i, label in enumerate(labels))
        best = max(totals.values())
        for i, label in product(range(len(text)), range(3)):
            short = best - max(total for labels, total in totals.items() if labels[i] == label)
            assert near[row + i, label] == (short <= margin) or short == pytest.approx(margin, abs=1e-3)
        row += len(text)
    assert near.any(axis=1).all()


def own_scores(model: SequenceModel, text: Tokens) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """(n, 3) of every word and label, without the labels around: the weights of its features' cells."""
    parameters = linear(template_array(model.templates), model.weights, len(model.labels))
    cells = word_cells(texts_of(text), 0, len(text.ids), parameters)
    return np.array(
        [[sum(model.weights[cell + label] for cell in row) for label in range(3)] for row in cells]
    )


def test_a_guide_keeps_the_tree_of_its_treebank_and_little_else() -> None:
    guide = Guide.learned(TREES)
    texts = [tree.words() for tree in TREES]
    for limits in guide.limits(Tokens.from_lists(texts)):
        kinds = [{guide.kinds[k] for k in np.flatnonzero(of_word)} for of_word in limits.kinds]
        for of_word, tag in zip(kinds, ["/DT", "/NN", "/VB", "/IN", "/DT", "/NN"], strict=True):
            assert tag in of_word
        assert limits.ends[[1, 5]].all() and limits.ends.sum() < 6


def test_trees_are_found_within_limits_and_without_if_there_is_none() -> None:
    counts = counted([(tree, 1) for tree in TREES], 2, 1)
    guided, alone = ChartParser(counts, Guide.learned(TREES)), ChartParser(counts)
    texts = [tree.words() for tree in TREES]
    for tree, parse in zip(TREES, guided.parse_all(Tokens.from_lists(texts)), strict=True):
        assert str(parse.trees[0]) == str(tree)
        assert parse == alone.parse(tree.words())
    limits = next(guided.guide.limits(Tokens.from_lists(texts[:1])))  # type: ignore[union-attr]
    nothing = limits._replace(ends=np.arange(6) == 5)  # no phrase can end before the verb
    assert guided._pruned(texts[0], 1, nothing) is None
    assert guided.parse(texts[0], 1, nothing) == alone.parse(texts[0])
