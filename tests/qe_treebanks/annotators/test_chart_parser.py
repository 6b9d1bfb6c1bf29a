"""The chart parser and its guide against brute force: every derivation and labelling of small grammars."""

import math
from collections import Counter, defaultdict
from functools import cache
from itertools import product

import numpy as np
import pytest

from features.text.tokens import Tokens
from qe_treebanks.annotators._chart_parser import (
    SPREAD,
    ChartParser,
    Guide,
    Level,
    exhaustive,
    grouped,
    possible,
    restricted,
)
from qe_treebanks.annotators._cky import NEVER, inside, outside, span
from qe_treebanks.annotators._grammar import ROOT, Counts, Lexicon, Node, counted, plain_name
from qe_treebanks.annotators._word_models import Training, fit_sequence
from qe_treebanks.hashed_features import linear, template_array, templates, texts_of, word_cells

RANDOM = np.random.default_rng(5)


def random_tree(depth: int) -> Node:
    """Ambiguous on purpose: few labels, few words, chains of single children."""
    if depth == 0 or RANDOM.random() < 0.3:
        return Node(str(RANDOM.choice(["n", "v"])), word=str(RANDOM.choice(["a", "b"])))
    children = tuple(random_tree(depth - 1) for _ in range(RANDOM.choice([1, 2, 2, 3])))
    return Node(str(RANDOM.choice(["X", "Y"])), children)


def treebank(n: int) -> list[Node]:
    return [Node(ROOT, (Node("X", (random_tree(2), random_tree(2))),)) for _ in range(n)]


Derivation = tuple[float, tuple[object, ...]]  # log probability, what it is made of


class BruteForce:
    """Every derivation of a text, by the counts of rules; those of its parts are listed once."""

    def __init__(self, counts: Counts, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.tops = Counter(counts.roots)
        self.rules: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
        self.chains: dict[str, list[tuple[tuple[str, ...], str, float]]] = defaultdict(list)
        for (a, b, c), n in counts.binary.items():
            self.tops[b] += n
            self.tops[c] += n
            self.rules[a].append((b, c, n))
        for (a, path, b), n in counts.chains.items():
            self.chains[a].append((path, b, n))

    @cache  # noqa: B019 (it lives as long as its test)
    def derivations(self, symbol: str, words: tuple[str, ...]) -> list[Derivation]:
        """Every way in which `symbol`, as a child or root, makes the words."""
        chains, times = self.chains[symbol], self.tops[symbol]
        staying = times - sum(n for _, _, n in chains)
        return [
            (math.log(n / times) + score, (symbol, path, bottom, inner))
            for path, bottom, n in [((), symbol, staying), *chains]
            if n > 0
            for score, inner in self.expansions(bottom, words)
        ]

    @cache  # noqa: B019
    def expansions(self, symbol: str, words: tuple[str, ...]) -> list[Derivation]:
        if len(words) == 1:
            return [(score, words) for name, score in self.lexicon.tags(words[0]) if name == symbol]
        rules = self.rules[symbol]
        total = sum(n for _, _, n in rules)
        return [
            (math.log(n / total) + one + two, (first, second))
            for (left, right, n), middle in product(rules, range(1, len(words)))
            for one, first in self.derivations(left, words[:middle])
            for two, second in self.derivations(right, words[middle:])
        ]


@pytest.mark.slow
@pytest.mark.parametrize(("vertical", "horizontal"), [(1, 0), (1, 1), (2, 1), (2, 2)])
def test_best_trees_are_those_of_brute_force(vertical: int, horizontal: int) -> None:
    counts = counted([(tree, 1) for tree in treebank(12)], vertical, horizontal)
    level = Level.build(counts)
    root = level.grammar.symbols[level.grammar.root]
    brute_force = BruteForce(counts, level.lexicon)
    compared = 0
    for words in product("ab", repeat=4):
        every = sorted((score for score, _ in brute_force.derivations(root, words)), reverse=True)
        outcome = exhaustive(level, list(words), n_best=30)
        if not every:
            assert outcome is None
            continue
        near = [score for score in every if score >= every[0] - SPREAD][:30]
        assert outcome is not None
        np.testing.assert_allclose(outcome[1], near, rtol=1e-4)
        assert len({str(tree) for tree in outcome[0]}) == len(outcome[0])
        assert all(tree.words() == list(words) for tree in outcome[0])
        (best,), (score,) = exhaustive(level, list(words)) or ((), ())
        assert score == pytest.approx(every[0], rel=1e-4)
        tied = len(near) > 1 and near[1] == pytest.approx(near[0], abs=1e-4)
        assert tied or str(best) == str(outcome[0][0])
        compared += 1
    assert compared > 4


@pytest.mark.slow
def test_pruning_finds_the_best_tree_of_a_treebank_like_text() -> None:
    trees = treebank(60)
    parser = ChartParser(counted([(tree, 1) for tree in trees], 2, 1))
    alike = []
    for tree in trees[:30]:
        reached, whole = parser.parse(tree.words()), exhaustive(parser.fine, tree.words())
        assert whole is not None and reached.grammar == "fine"
        alike.append(reached.log_probabilities[0] == pytest.approx(whole[1][0], abs=1e-3))
    assert np.mean(alike) >= 0.9


def test_texts_without_a_tree_say_so() -> None:
    tree = Node(ROOT, (Node("S", (Node("A", word="a"), Node("B", word="b"))),))
    parser = ChartParser(counted([(tree, 1)]))
    assert parser.parse([]).grammar == parser.parse(["a"] * 251).grammar == "none"
    assert parser.parse(["a", "b", "a"]).trees == ()
    plain = counted([(tree, 1)]).renamed(plain_name)
    assert set(plain.binary) == {("S", "/A", "/B")}


def test_frequent_words_have_relative_frequencies() -> None:
    """Closed form: P(word | tag) is uses of both by uses of the tag where nothing is rare."""
    lexicon = Lexicon({("/N", "a"): 30, ("/V", "a"): 10, ("/N", "b"): 70, ("/V", "c"): 40})
    assert {s: math.exp(p) for s, p in lexicon.tags("a")} == pytest.approx({"/N": 0.3, "/V": 0.2})
    assert {s for s, _ in lexicon.tags("zzz")} == {"/N", "/V"}


NOTHING_PRUNED = np.zeros((0, 0), np.bool_)


@pytest.mark.slow
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize(("beam", "threshold"), [(np.inf, 3.0), (np.inf, 50.0), (3.0, 4.0)])
def test_symbols_by_columns_are_those_of_all_pairs(beam: float, threshold: float, limited: bool) -> None:
    """The inside and outside passes of the fine grammar, which brute force checks above, at the same beam."""
    level = Level.build(counted([(tree, 1) for tree in treebank(20)], 1, 1))
    grammar, kinds = level.grammar, np.zeros(len(level.grammar.symbols), np.int32)
    texts = [list(RANDOM.choice(["a", "b"], n)) for n in (1, 2, 3, 8, 9, 11)]
    with_tree = 0
    for words in texts:
        given, n = level.emissions(words), len(words)
        ends = np.arange(n) % 3 != 1 if limited else np.ones(n, np.bool_)
        ends[-1] = True
        groups = grouped(grammar.rules)
        flags = possible(given, grammar.rules, groups, grammar.root, beam, threshold, ends)
        allowed = np.array([[i + 1 == j or ends[j - 1]] for j in range(1, n + 1) for i in range(j)])
        chart = inside(given, grammar.rules, allowed, kinds, beam)
        best, bounds = chart.top[chart.bounds[span(0, n), 2], grammar.root], chart.bounds
        if best == NEVER:
            assert flags.shape == (0, 0)
            continue
        out, _ = outside(n, grammar.root, chart, grammar.rules, best - threshold)
        there = bounds[:, 2] >= 0
        np.testing.assert_array_equal(flags[there], out[bounds[there, 2]] > NEVER)
        assert not flags[~there].any()
        with_tree += 1
    assert with_tree > 2


def test_a_restricted_grammar_loses_no_tree() -> None:
    """Inside scores of the whole grammar and of what is left of it for the words."""
    # A label and tags that frequent words never have.
    unseen = Node(ROOT, (Node("Z", tuple(Node("q", word=f"{k}") for k in range(3))),))
    level = Level.build(counted([(tree, 1) for tree in [*treebank(20), unseen]], 2, 1))
    rules, root = level.grammar.rules, level.grammar.root
    kinds = np.zeros(len(level.grammar.symbols), np.int32)
    for words in (["a", "b", "a", "a"], ["b", "b", "a"], ["a", "b", "b", "a", "b"]):
        given = level.emissions(words)
        part = restricted(rules, root, given.tags, kinds, NOTHING_PRUNED)
        assert len(part.symbols) < len(kinds)
        whole = inside(given, rules, NOTHING_PRUNED, kinds, np.inf).top
        numbered = given._replace(tags=part.numbers[given.tags])
        less = inside(numbered, part.rules, NOTHING_PRUNED, kinds[part.symbols], np.inf).top
        np.testing.assert_array_equal(less, whole[:, part.symbols])
        others = np.setdiff1d(np.arange(len(kinds)), part.symbols)
        assert (whole[:, others] == NEVER).all()


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
    parameters = linear(template_array(model.templates), model.weights, len(model.labels))
    for text in words:
        cells = word_cells(texts_of(Tokens.from_lists([text])), 0, len(text), parameters) if text else []
        # The weights of each word's feature cells by label, without the labels around.
        scores = [[sum(model.weights[cell + k] for cell in of_word) for k in range(3)] for of_word in cells]
        totals = {}
        for labels in product(range(3), repeat=len(text)):
            steps = zip((3, *labels), labels, strict=False)
            moved = sum(float(moves[before, label]) for before, label in steps)
            totals[labels] = moved + sum(float(scores[i][label]) for i, label in enumerate(labels))
        best = max(totals.values())
        for i, label in product(range(len(text)), range(3)):
            short = best - max(total for labels, total in totals.items() if labels[i] == label)
            assert near[row + i, label] == (short <= margin) or short == pytest.approx(margin, abs=1e-3)
        row += len(text)
    assert near.any(axis=1).all()


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
