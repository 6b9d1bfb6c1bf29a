"""Bracketed treebanks, entity files and their scores on cases worked by hand; entities over word links."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.syntax.trees import category
from features.text.annotation import spans
from features.text.links import Links
from features.text.tokens import Tokens
from qe_treebanks.annotator_folder import AnnotatorFolder, Batch, train
from qe_treebanks.annotators._grammar import Node, read_trees, scores
from qe_treebanks.annotators.entities import read_entities
from qe_treebanks.annotators.entities import scores as entity_scores
from qe_treebanks.treebanks import Projected, projected, write_projected
from tests.qe_treebanks.annotators.made import write_entities

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


def test_the_deepest_and_the_longest_tree(tmp_path: Path) -> None:
    deepest = "(S " * 199 + "(N a)" + ")" * 199 + "\n(S" + " (N a)" * 2000 + ")\n"
    (tmp_path / "t.mrg").write_text(deepest)
    assert [len(each.words()) for each in read_trees(tmp_path / "t.mrg")[0]] == [1, 2000]


def test_conlleval_by_hand() -> None:
    """Gold: PER 0-2, LOC 3-4, ORG 5-7. Predicted: PER right, LOC too long, ORG as MISC, one PER too many."""
    gold = ["B-PER", "I-PER", "O", "B-LOC", "O", "B-ORG", "I-ORG", "O", "O"]
    guess = ["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "B-MISC", "I-MISC", "O", "B-PER"]
    figures = entity_scores([(gold, guess)])
    assert (figures["precision"], figures["recall"]) == (1 / 4, 1 / 3)
    assert figures["f1"] == pytest.approx(2 * (1 / 4) * (1 / 3) / (1 / 4 + 1 / 3))
    assert figures["types"]["PER"] == {
        "n": 1, "predicted": 2, "precision": 0.5, "recall": 1.0, "f1": pytest.approx(2 / 3)
    }  # fmt: skip
    assert figures["types"]["MISC"]["f1"] == figures["types"]["LOC"]["f1"] == 0


def test_an_inner_tag_that_continues_nothing_begins_an_entity() -> None:
    """conlleval reads `O I-PER` and `B-LOC I-PER` so."""
    assert entity_scores([(["I-PER", "B-LOC", "I-PER"], ["B-PER", "B-LOC", "B-PER"])])["f1"] == 1
    assert entity_scores([(["B-PER", "I-PER"], ["B-PER", "B-PER"])])["f1"] == 0


def test_files_of_all_kinds(tmp_path: Path) -> None:
    (tmp_path / "2002").write_text("Ana NC B-PER\nve VM O\n\nLima NC B-LOC\n")
    (tmp_path / "2003").write_text("-DOCSTART- -X- -X- O\n\nEU NNP B-NP I-ORG\nUN NNP I-NP I-ORG\n.  . O O\n")
    misc = ("NER=B-PER", "SpaceAfter=No|ner=E-PER", "NER=O")
    rows = [f"{i}\tw{i}" + "\t_" * 7 + f"\t{m}" for i, m in enumerate(misc, start=1)]
    (tmp_path / "u").write_text("\n".join(rows) + "\n")
    assert [s.tags for s in read_entities([tmp_path / "2002"])] == [["B-PER", "O"], ["B-LOC"]]
    assert [s.tags for s in read_entities([tmp_path / "2003"])] == [["B-ORG", "I-ORG", "O"]]
    assert [s.tags for s in read_entities([tmp_path / "u"])] == [["B-PER", "I-PER", "O"]]


@pytest.mark.slow
def test_names_are_learned_and_only_allowed_tags_come_out(tmp_path: Path) -> None:
    output = tmp_path / "es"
    train("entities", [write_entities(tmp_path / "gold")], "es", output, {"epochs": 3})
    folder = AnnotatorFolder(output)
    outcome = folder.evaluate("entities", [tmp_path / "gold"])
    assert outcome["entities"]["f1"] == 1 and outcome["entities"]["types"]["LOC"]["n"] == 48
    batch = Batch(
        Tokens.from_lists([["Luis", "pinta", "la", "mesa"], [], ["Roma", "busca", "el", "gato"]]), "es"
    )
    folder.annotators[0].annotate(batch)
    assert [batch.layers["entity"].words(i) for i in range(3)] == [
        ["B-PER", "O", "O", "O"], [], ["B-LOC", "O", "O", "O"]
    ]  # fmt: skip


def test_a_word_without_links_inside_an_entity_belongs_to_it() -> None:
    """`Banco de España` for `Bank of Spain`, where `of` has no link."""
    assert projected(4, ["B-ORG", "I-ORG", "I-ORG", "O"], [(0, 0), (2, 2), (3, 3)]) == [
        "B-ORG", "I-ORG", "I-ORG", "O",
    ]  # fmt: skip


def test_an_entity_without_links_or_with_a_stranger_inside_has_no_place() -> None:
    assert projected(2, ["B-PER", "O"], [(0, 1)]) is None
    assert projected(3, ["B-PER", "I-PER", "O"], [(0, 0), (2, 1), (1, 2)]) is None


tags = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), min_size=1, max_size=8)


@given(tags)
def test_links_one_to_one_in_order_are_a_copy(given_tags: list[str]) -> None:
    made = projected(len(given_tags), given_tags, [(i, i) for i in range(len(given_tags))])
    assert made is not None and spans(made) == spans(given_tags)


def test_what_is_written_is_read_as_a_treebank(tmp_path: Path) -> None:
    words = Tokens.from_lists([["Ana", "sees", "Rome"], ["Bob", "left"], []])
    tags_of = Tokens.from_lists([["B-PER", "O", "B-LOC"], ["B-PER", "O"], ["O"]])
    links = Links.from_pharaoh(["0-0 1-1 2-2", "1-1", ""])
    assert write_projected(tmp_path / "en.conll", words, tags_of, links) == Projected(1, 2, 2)
    (sentence,) = read_entities([tmp_path / "en.conll"])
    assert (sentence.words, sentence.tags) == (["Ana", "sees", "Rome"], ["B-PER", "O", "B-LOC"])
