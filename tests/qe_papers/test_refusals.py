"""What extractors, learners and choosers of papers refuse, by the place that the message names."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import Tokenizer
from features.resources.morphemes import frequent_words
from features.syntax.trees import Trees
from features.text.tokens import Tokens
from qe.learning.learner import LEARNERS
from qe.learning.parameters import strategy_mistakes
from qe_papers import Translations
from qe_papers.extractors.corpus_matches import EditDistance
from qe_papers.extractors.entities import Entities
from qe_papers.extractors.grammar_checks import GrammarChecks
from qe_papers.extractors.link_grammar import LinkGrammar
from qe_papers.extractors.similarity import Similarity, WordMoves
from qe_papers.extractors.word_classes import Deictics, Misspellings
from qe_papers.learned.development_set import DevelopmentSet
from qe_papers.learners.ensembles import RandomFeatureSets
from qe_papers.learners.svr import SvrChosenBySupport
from qe_papers.learners.svr_tree_kernels import PartialTreeKernel, SubsetTreeKernel, TreeKernelSvr
from tests.factories import EN_ES, corpus, ran, refuses, segments
from tests.features.parsed import translations
from tests.qe_papers.extractors import test_corpus_matches as matches
from tests.qe_papers.extractors import test_similarity as similarity
from tests.qe_papers.extractors.test_link_grammar import comments, linked
from tests.qe_papers.extractors.test_trees import SIDE, TARGET_OF_DEPENDENCY_TREES, TREE, commented
from tests.qe_papers.extractors.test_word_classes import SPELLER, checked
from tests.qe_papers.learners.test_ensembles import RIDGE, random_feature_sets_data
from tests.qe_papers.learners.test_tree_kernels import CAT, table


def large_tree() -> Any:
    """A full binary tree of depth 10 has more than 10^180 subset trees."""
    tree = "a"
    for _ in range(10):
        tree = f"(X {tree} {tree})"
    return SubsetTreeKernel(1.0).gram(Trees.from_brackets([CAT, tree]))


def kernel_of_trees(learned: list[str], predicted: list[str]) -> Any:
    """A learner of these columns that predicts from those."""
    X, y = table()
    return TreeKernelSvr().fit(X[learned], y).predict(X[predicted])


def development_set(first: int, last: int) -> Any:
    """A development set of these lines of a corpus of 30."""
    pairs = [(f"a {i}", f"b {i}") for i in range(30)]
    return DevelopmentSet.build(corpus(pairs, EN_ES), first_line=first, last_line=last)


UNLINKED = linked(("a b", comments(2, 1, 0, 3)), ("", ()), ("c d", ()))
IMPOSSIBLE = {
    "linkages = 0, unused = 0, cost = 1, length = 2": comments(0, 0, 1, 2),
    "unused = -1": comments(3, -1, 1, 2),
    "length = -2": comments(3, 0, 1, -2),
    "cost = nan": comments(3, 0, "x", 2),
    "linkages = inf": comments("inf", 0, 1, 2),
    "cost = nan, length = nan": comments(3, 0, 1, 2)[:2],
}
UNTAGGED = segments("a", "b", EN_ES, annotation_target="1\tb" + "\t_" * 8)
GERMAN = replace(translations("y/X"), target_tokenizer=Tokenizer("de"))
COLUMNS = ["a", "b", "constituents_source", "dependencies_target"]
NO_PATTERNS = ("", "10", "01", "1a1", "0")
NO_NUMBERS = commented(TREE, "tree_log_probabilities = -1 x")
EVERY = partial(EditDistance, *matches.indices([("sea view", "x"), ("team seat", "x")]), characters="all")
LOG = partial(Similarity, matches.DOCUMENTS, matches.DOCUMENTS, matching_orders=(4,), weightings=("log",))
# What is refused, the function and its arguments.
CASES: list[tuple[Any, ...]] = [
    ("the baseline has 17", RandomFeatureSets(RIDGE, baseline=17).fit, *random_feature_sets_data(0.0)),
    ("a tree of 2047 nodes", large_tree),
    *(("more than 0", SubsetTreeKernel, decay) for decay in (0.0, -1.0, float("nan"))),
    *(("more than 0", PartialTreeKernel, 0.4, decay) for decay in (0.0, -1.0, float("nan"))),
    ("constituents_source, dependencies_target are needed", kernel_of_trees, COLUMNS, COLUMNS[:2]),
    ("trees of none .* constituents_source", kernel_of_trees, COLUMNS[:2], COLUMNS),
    ("needs 3 rows", SvrChosenBySupport().fit, np.zeros((2, 1)), np.array([1.0, 2.0])),
    ("no entity tag", Entities(sides="target").extract, UNTAGGED),
    ("no entity tag", Misspellings().extract, checked([("enla", "Spell=no")], SPELLER)),
    (r"no speller.*`\+hunspell`", Misspellings().extract, checked([("enla", "NER=O")])),
    ("in a circle", TARGET_OF_DEPENDENCY_TREES.extract, translations("a/X/_/2/dep b/X/_/1/dep")),
    ("'a' has no head", TARGET_OF_DEPENDENCY_TREES.extract, translations("a/X")),
    ("annotation_source, segment 1: the parse has no probabilities", SIDE.extract, commented(TREE)),
    ("annotation_source, segment 1: the parse has no probabilities", SIDE.extract, NO_NUMBERS),
    ("annotation_source, segment 1: no constituents", SIDE.extract, commented()),
    ("deictic words .*'de'; known: en, es", Deictics().extract, GERMAN),
    ("rules of grammar .*'de'; known: en, es", GrammarChecks().extract, GERMAN),
    ("base forms .*'ko'", WordMoves().extract, similarity.compared([("a", "b")], "ko")),
    ("no token .* letter", frequent_words, Tokens.from_lists([["7", "."]]), 2),
    ("order 5 were not counted", partial(similarity.extractor, okapi_orders=(5,))),
    ("weightings.0.*'log'", LOG),
    ("characters 'all'; known: of_nearest_words", EVERY),
    *((f"'{one}' is no pattern", partial(matches.extractor, patterns=[one])) for one in NO_PATTERNS),
    (r"segment 3: .*`\+link-grammar`.*`timed_out: true`", LinkGrammar().extract, UNLINKED),
    *(
        (f"segment 1: .*{shown}", LinkGrammar(timed_out=late).extract, linked(("a b", wrong)))
        for shown, wrong in IMPOSSIBLE.items()
        for late in (False, True)
    ),
    ("at least two systems", Translations, ("s",), {"a": ("x",)}, ("1",)),
    ("1 source segments, but 2 of b", Translations, ("s",), {"a": ("x",), "b": ("x", "y")}, ("1",)),
    ("a line of the report", Translations, ("s",), {"a": ("x",), "oracle": ("y",)}, ("1",)),
    ("`first_line` 5 and `last_line` 4", development_set, 5, 4),
    ("`first_line` 0 and `last_line` 4", development_set, 0, 4),
    ("has 0 and 30", development_set, 9000, 9999),
    ("and 0 others", development_set, 1, 9999),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_what_is_refused(case: tuple[Any, ...]) -> None:
    refuses(*case)


PARAMS: list[tuple[str, dict[str, Any]]] = [
    ("low <= high", {"C": [4.0, 1.0]}),
    ("low <= high", {"gamma": [0.1]}),
    ("greater than 0", {"epsilon": [0.0, 0.5]}),
    ("not empty", {"steps": []}),
    ("mae", {"metric": "mea"}),
]


@pytest.mark.parametrize(("place", "params"), PARAMS)
def test_params_that_are_refused(place: str, params: dict[str, Any]) -> None:
    ((_, told),) = strategy_mistakes(LEARNERS, "svr_by_support", params, None, "learner", "params")
    assert place in told


ONE = "select --source s.txt --system a=a.txt "
TWO = ONE + "--system b=b.txt "
LEARN = TWO + "--references a.txt "
COMMANDS = {
    ONE + "--system b": "--system: .*'b'",
    TWO: "--references and --features are needed",
    LEARN + "--features bad.yaml": "`features` must be a list",
    LEARN + "--features baseline17": "needs the resource",
    LEARN + "--features surface --method rank": "'ranking'",
    LEARN + "--features surface --new-system a=b": "go with --new-source",
    TWO + "--model .": "give --output",
    LEARN + "--model .": "chooses without --references",
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_what_commands_refuse(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "sab":
        Path(f"{name}.txt").write_text(f"{name}\n" * 4, "utf-8")
    Path("bad.yaml").write_text("features: 3\n", "utf-8")
    told = ran(*command.split(), code=2).err
    assert re.search(COMMANDS[command], told), told
