"""Entity files, conlleval's counts on cases worked by hand, and an annotator of a made language."""

from pathlib import Path

import pytest

from features.text.tokens import Tokens
from qe_treebanks.annotator_folder import AnnotatorFolder, Batch, train
from qe_treebanks.annotators.entities import read_entities, scores
from tests.factories import refuses
from tests.qe_treebanks.annotators.made import write_entities


def test_conlleval_by_hand() -> None:
    """Gold: PER 0-2, LOC 3-4, ORG 5-7. Predicted: PER right, LOC too long, ORG as MISC, one PER too many."""
    gold = ["B-PER", "I-PER", "O", "B-LOC", "O", "B-ORG", "I-ORG", "O", "O"]
    guess = ["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "B-MISC", "I-MISC", "O", "B-PER"]
    figures = scores([(gold, guess)])
    assert (figures["precision"], figures["recall"]) == (1 / 4, 1 / 3)
    assert figures["f1"] == pytest.approx(2 * (1 / 4) * (1 / 3) / (1 / 4 + 1 / 3))
    assert figures["types"]["PER"] == {
        "n": 1, "predicted": 2, "precision": 0.5, "recall": 1.0, "f1": pytest.approx(2 / 3)
    }  # fmt: skip
    assert figures["types"]["MISC"]["f1"] == figures["types"]["LOC"]["f1"] == 0


def test_an_inner_tag_that_continues_nothing_begins_an_entity() -> None:
    """As conlleval reads `O I-PER` and `B-LOC I-PER`."""
    assert scores([(["I-PER", "B-LOC", "I-PER"], ["B-PER", "B-LOC", "B-PER"])])["f1"] == 1
    assert scores([(["B-PER", "I-PER"], ["B-PER", "B-PER"])])["f1"] == 0


def test_files_of_all_kinds(tmp_path: Path) -> None:
    (tmp_path / "2002").write_text("Ana NC B-PER\nve VM O\n\nLima NC B-LOC\n")
    (tmp_path / "2003").write_text("-DOCSTART- -X- -X- O\n\nEU NNP B-NP I-ORG\nUN NNP I-NP I-ORG\n.  . O O\n")
    misc = ("NER=B-PER", "SpaceAfter=No|ner=E-PER", "NER=O")
    rows = [f"{i}\tw{i}" + "\t_" * 7 + f"\t{m}" for i, m in enumerate(misc, start=1)]
    (tmp_path / "u").write_text("\n".join(rows) + "\n")
    assert [s.tags for s in read_entities([tmp_path / "2002"])] == [["B-PER", "O"], ["B-LOC"]]
    assert [s.tags for s in read_entities([tmp_path / "2003"])] == [["B-ORG", "I-ORG", "O"]]
    assert [s.tags for s in read_entities([tmp_path / "u"])] == [["B-PER", "I-PER", "O"]]
    (tmp_path / "bad").write_text("Ana B-PER\nve V\n")
    refuses("bad:2: an entity tag must be O, B-TYPE or I-TYPE, but is 'V'", read_entities, [tmp_path / "bad"])


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
