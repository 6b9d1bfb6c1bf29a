"""Trees against counts and drawings from outside; labels in place of words."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.syntax.phrase_units import NONE, labelled, moved
from features.syntax.trees import Trees
from features.text.links import Links
from features.text.tokens import Tokens
from tests.factories import Find

MARY = "(S (NP (N Mary)) (VP (V brought) (NP (D a) (N cat))))"


def conllu(*words: tuple[str, str, int, str]) -> str:
    """A block of (form, tag, head, relation); the tag is both universal and the language's own."""
    return "\n".join(
        f"{i}\t{form}\t_\t{tag}\t{tag}\t_\t{head}\t{relation}\t_\t_"
        for i, (form, tag, head, relation) in enumerate(words, start=1)
    )


def read(text: str, plain: bool = False) -> str:
    return Trees.from_brackets([text], plain=plain).brackets(0)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (MARY, MARY),
        (f"( {MARY} )", MARY),
        (f"(\n  {MARY}\n)\n", MARY),
        ("(ROOT (S (N x)))", "(ROOT (S (N x)))"),
        ("(A)", "A"),
        ("(A b c)", "(A b c)"),
        ("((A b) (C d))", "( (A b) (C d))"),
        ("(A b) (C d)", "( (A b) (C d))"),
        ("", ""),
        ("  ", ""),
        ("(())", ""),
        ("()", ""),
    ],
)
def test_brackets(text: str, tree: str) -> None:
    assert read(text) == tree


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("(S (NP-SBJ-1 (NNP Ed)) (VP (VBD slept)))", "(S (NP (NNP Ed)) (VP (VBD slept)))"),
        ("(S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB go))))", "(S (VP (TO to) (VP (VB go))))"),
        ("(NP (NP (-NONE- *)) (SBAR (-NONE- 0)))", ""),
        (
            "(X (-LRB- -LRB-) (NP=2 (NN a-b=c)) (-RRB- -RRB-))",
            "(X (-LRB- -LRB-) (NP (NN a-b=c)) (-RRB- -RRB-))",
        ),
        ("((S (-NONE- *)) (A b))", "(A b)"),
        ("", ""),
    ],
)
def test_plain(text: str, plain: str) -> None:
    assert read(text, plain=True) == plain


def test_figure_1_of_uu() -> None:
    """`Nicole 's dad`: parts of speech hold relations and words, relations hold dependants."""
    block = conllu(("Nicole", "NNP", 3, "NMOD"), ("'s", "POS", 1, "SUFFIX"), ("dad", "NN", 0, "ROOT"))
    tree = "(NN (ROOT (NNP (NMOD (POS SUFFIX 's)) Nicole)) dad)"
    assert Trees.from_dependencies([block]).brackets(0) == tree


def test_dependants_on_both_sides_stay_in_order() -> None:
    block = conllu(("a", "D", 2, "det"), ("b", "N", 3, "subj"), ("c", "V", 0, "root"), ("d", "N", 3, "obj"))
    tree = "(V (root (N (subj (D det a)) b) (N obj d)) c)"
    assert Trees.from_dependencies([block]).brackets(0) == tree


def test_ranges_and_empty_nodes_are_skipped() -> None:
    rows = conllu(("de", "P", 3, "case"), ("el", "D", 3, "det"), ("sol", "N", 0, "root")).split("\n")
    rows.insert(0, "1-2\tdel" + "\t_" * 8)
    rows.insert(3, "2.1\tempty" + "\t_" * 8)
    tree = Trees.from_dependencies(["# text = del sol\n" + "\n".join(rows)]).brackets(0)
    assert tree == "(N (root (P case de) (D det el)) sol)"


def test_the_languages_own_tags() -> None:
    block = conllu(("a", "X", 0, "root")).replace("X\tX", "NOUN\tNN")
    assert Trees.from_dependencies([block], tag="xpos").brackets(0) == "(NN root a)"
    assert Trees.from_dependencies([block]).brackets(0) == "(NOUN root a)"
    without = block.replace("NN\t", "_\t")
    assert Trees.from_dependencies([without], tag="xpos").brackets(0) == "(_ root a)"


def test_deep_trees_need_no_stack() -> None:
    chain = conllu(*((f"w{i}", "X", i, "dep") for i in range(3000)))
    trees = Trees.from_dependencies([chain])
    assert trees.sizes[0] == 9000 and trees.brackets(0).count("(") == 3000 + 2999
    deep = "(A " * 5000 + "b" + ")" * 5000
    assert Trees.from_brackets([deep]).sizes[0] == 5001 == Trees.from_brackets([deep], plain=True).sizes[0]


def batch() -> Trees:
    return Trees.from_brackets([MARY, "", "(A b)", "(B (N Mary))", "(A b)"])


def test_take_and_concatenate() -> None:
    trees = batch()
    taken = trees.take([3, 0, 0, 1])
    assert [taken.brackets(i) for i in range(4)] == ["(B (N Mary))", MARY, MARY, ""]
    assert "b" not in taken.types
    both = Trees.concatenate([taken, Trees.from_brackets(["(cat Mary)"]), trees.take([])])
    assert [both.brackets(i) for i in range(5)] == ["(B (N Mary))", MARY, MARY, "", "(cat Mary)"]
    assert len(set(both.types)) == len(both.types)
    assert len(Trees.concatenate([])) == 0


def test_keys_are_of_the_tree_alone() -> None:
    trees = batch()
    keys = trees.keys
    assert keys[2] == keys[4] and len(set(keys.tolist())) == 4
    assert Trees.from_brackets(["(A (x (y z)))", "(A b)"]).keys[1] == keys[2]
    one, other = Trees.from_brackets(["(A (B c d))", "(A (B c) d)"]).keys
    assert one != other


def test_penn_treebank(shared_data: Find) -> None:
    """As many words as the file has pairs of tag and word, traces aside; no label with a function."""
    with gzip.open(shared_data("treebanks/en_ptb-sample-train.mrg.gz"), "rt") as stream:
        texts = re.split(r"\n(?=\()", stream.read().strip())
    trees = Trees.from_brackets(texts, plain=True)
    pairs = re.findall(r"\(([^\s()]+) ([^\s()]+)\)", "\n".join(texts))
    words = [word for tag, word in pairs if tag != "-NONE-"]
    assert (trees.arities == 0).sum() == len(words) > 80_000
    assert sorted(trees.types[k] for k in trees.labels[trees.arities == 0]) == sorted(words)
    inner = {trees.types[k] for k in trees.labels[trees.arities > 0]}
    assert {"NP", "VP", "S", "-LRB-"} <= inner and not any(re.fullmatch("[A-Z]+[-=].*", x) for x in inner)


def test_universal_dependencies(shared_data: Find) -> None:
    """Three nodes a word; the relations are those of column 8."""
    with gzip.open(shared_data("treebanks/es_gsd-dev.conllu.gz"), "rt") as stream:
        blocks = stream.read().strip().split("\n\n")
    words = [row for row in (line.split("\t") for b in blocks for line in b.split("\n")) if row[0].isdigit()]
    trees = Trees.from_dependencies(blocks)
    assert len(trees) == 1400 and trees.sizes.sum() == 3 * len(words)
    labels = [trees.types[k] for k in trees.labels]
    assert labels.count("nsubj") == sum(row[7] == "nsubj" for row in words)


def test_several_roots_and_sentences() -> None:
    two_roots = conllu(("a", "X", 0, "root"), ("b", "Y", 0, "root"))
    two_sentences = conllu(("a", "X", 0, "root")) + "\n\n" + conllu(("b", "Y", 0, "root"))
    trees = Trees.from_dependencies([two_roots, two_sentences, ""])
    assert [trees.brackets(i) for i in range(3)] == ["( (X root a) (Y root b))"] * 2 + [""]


NAMES = ("<a>", "<b>")


def test_links_go_where_their_words_went() -> None:
    """`Ana Gil` and `Ana María Gil` are one token each: four links between them are one."""
    source = Tokens.from_lists([["x"], ["Ana", "Gil", "saw", "Oslo"]])
    target = Tokens.from_lists([["y"], ["Ana", "María", "Gil", "vio", "a", "Oslo"]])
    links = Links.from_pharaoh(["0-0", "0-0 0-1 1-1 1-2 2-3 3-4 3-5"])
    left = labelled(source, np.array([NONE, 0, 0, NONE, 1]), NAMES)
    right = labelled(target, np.array([NONE, 0, 0, 0, NONE, NONE, 1]), NAMES)
    assert left.tokens.words(1) == ["<a>", "saw", "<b>"]
    assert right.tokens.words(1) == ["<a>", "vio", "a", "<b>"]
    assert list(moved(links, left, right, (source, target)).pharaoh()) == ["0-0", "0-0 1-1 2-2 2-3"]


@given(st.lists(st.lists(st.integers(NONE, 1), max_size=6), min_size=1, max_size=4))
def test_runs_are_one_token_in_every_text(labels: list[list[int]]) -> None:
    texts = [[f"w{i}" for i in range(len(row))] for row in labels]
    flat = np.array([label for row in labels for label in row], np.int64)
    made = labelled(Tokens.from_lists(texts), flat, NAMES)
    start = 0
    for i, row in enumerate(labels):
        words: list[str] = []
        places: list[int] = []
        for k, label in enumerate(row):
            if label == NONE or k == 0 or row[k - 1] != label:
                words.append(f"w{k}" if label == NONE else NAMES[label])
            places.append(len(words) - 1)
        assert made.tokens.words(i) == words
        assert made.places[start : start + len(row)].tolist() == places
        start += len(row)


def test_a_word_that_looks_like_a_label_is_no_second_type() -> None:
    made = labelled(Tokens.from_lists([["<a>", "x"]]), np.array([NONE, 0]), NAMES)
    assert made.tokens.words(0) == ["<a>", "<a>"] and len(set(made.tokens.types)) == len(made.tokens.types)
