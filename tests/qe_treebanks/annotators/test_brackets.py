"""Bracketed treebanks of both kinds, and EVALB's rules on cases worked by hand."""

from pathlib import Path

import pytest

from qe_treebanks.annotators._grammar import Node, category, read_trees, scores
from tests.factories import refuses

PENN = """
( (S
    (NP-SBJ-1 (NNP Mr.) (NNP Vinken) )
    (VP (VBZ is)
      (NP-PRD (-NONE- *T*-1)
        (-LRB- -LRB-) (NN chairman) (-RRB- -RRB-)))
    (. .) ))
"""
CESS = """(
  (S
    (sn.e-SUJ *0*)
    (grup.verb (vmis3s0 anunció anunciar))
    (sn-CD (grup.nom.ms (np00000 Nueva_York Nueva_York) (Fpa -Fpa- -Fpa-) (np00000 NY NY))))
  (Fp . .))
"""


def test_traces_functions_ellipses_and_escapes_are_undone(tmp_path: Path) -> None:
    (tmp_path / "penn").write_text(PENN)
    (tmp_path / "cess").write_text(CESS)
    (penn,), notes = read_trees(tmp_path / "penn")
    predicate = "(NP (-LRB- -LRB-) (NN chairman) (-RRB- -RRB-))"
    assert str(penn) == f"(ROOT (S (NP (NNP Mr.) (NNP Vinken)) (VP (VBZ is) {predicate}) (. .)))"
    assert penn.words() == ["Mr.", "Vinken", "is", "(", "chairman", ")", "."] and not notes
    (cess,), _ = read_trees(tmp_path / "cess")
    assert [child.label for child in cess.children] == ["S", "Fp"]
    assert cess.words() == ["anunció", "Nueva_York", "(", "NY", "."]


def test_a_few_damaged_trees_are_skipped_and_named(tmp_path: Path) -> None:
    good = "(S (N a) (V b))\n"
    path = tmp_path / "trees"
    path.write_text(good * 150 + "(S (N a) (V b)))\n" + good)
    trees, notes = read_trees(path)
    assert len(trees) == 151 and notes == [f"{path}:151: brackets do not match"]
    path.write_text(good * 3 + "(S (N a) (V b)))\n")
    refuses("trees:4: '\\)' stands outside of brackets", read_trees, path)
    path.write_text("(S (N a) b)\n")
    refuses("trees:1: a bracket holds 'S b' and 1 brackets", read_trees, path)
    path.write_text("no tree\n")
    refuses("holds no tree", read_trees, path)


def tree(text: str, tmp_path: Path) -> Node:
    (tmp_path / "one").write_text(text)
    return read_trees(tmp_path / "one")[0][0]


def test_evalb_by_hand(tmp_path: Path) -> None:
    """Five brackets each, four alike: the verb phrase ends early. Tags, root, full stop do not count."""
    gold = tree("(S (NP-SBJ (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (NN mats)))) (. .))", tmp_path)
    guess = tree(
        "(TOP (S (NP (DT the) (JJ cat)) (VP (VBD sat)) (PP (IN on) (NP (NN mats))) (. .)))", tmp_path
    )
    figures = scores([(gold, guess)])
    assert [figures[k] for k in ("precision", "recall", "f1")] == pytest.approx([0.8] * 3)
    assert figures["tags"] == 5 / 6 and figures["exact"] == 0
    assert scores([(gold, gold), (gold, None)])["recall"] == 0.5
    assert scores([(gold, gold), (gold, None)])["without_parse"] == 1


def test_evalb_removes_punctuation_of_the_gold_tree_from_both(tmp_path: Path) -> None:
    """The commas attached elsewhere cost nothing; brackets around punctuation vanish; PRT is ADVP."""
    gold = tree("(S (NP (NN a) (, ,)) (PRT (RP up)) (VP (VB b)))", tmp_path)
    guess = tree("(S (NP (NN a)) (X (, ,)) (ADVP (RP up)) (VP (VB b)))", tmp_path)
    assert scores([(gold, guess)])["f1"] == 1
    spanish = tree("(S (sn (ncms a) (Fc ,)) (v b))", tmp_path)
    other = tree("(S (sn (ncms a)) (Fc ,) (v b))", tmp_path)
    assert scores([(spanish, other)])["f1"] == 1


def test_a_repeated_bracket_counts_as_often_as_gold_has_it(tmp_path: Path) -> None:
    gold, guess = tree("(S (NP (NN a)))", tmp_path), tree("(S (NP (NP (NN a))))", tmp_path)
    figures = scores([(gold, guess)])
    assert (figures["recall"], figures["precision"]) == (1, pytest.approx(2 / 3))
    assert category("NP-SBJ|X") == "NP"


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("(S " * 3000 + "(N a)" + ")" * 3000, "t.mrg:1: brackets are nested more than 200 deep"),
        ("(S" + " (N a)" * 2001 + ")", "t.mrg:1: a tree has at most 2,000 words"),
    ],
)
def test_trees_that_nobody_wrote(tree: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.mrg").write_text(tree + "\n")
    refuses(message, read_trees, tmp_path / "t.mrg")
    deepest = "(S " * 199 + "(N a)" + ")" * 199 + "\n(S" + " (N a)" * 2000 + ")\n"
    (tmp_path / "t.mrg").write_text(deepest)
    assert [len(each.words()) for each in read_trees(tmp_path / "t.mrg")[0]] == [1, 2000]
