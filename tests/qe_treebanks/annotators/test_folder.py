"""Folders of annotators: all tasks together, for corpora, and the same files from the same training."""

from pathlib import Path

import pytest

from features.storage.files import sha256
from features.storage.outputs import MARK
from qe.language.taggers import for_corpora, tagger
from qe_treebanks.annotator_folder import AnnotatorFolder, train

pytestmark = pytest.mark.slow


def test_all_tasks_run_together(trained: Path) -> None:
    annotators = AnnotatorFolder(trained)
    assert annotators.tasks == ("constituents", "entities", "pos", "dependencies")
    files = [file for file in trained.rglob("*") if file.is_file() and file.name != MARK]
    assert {file.suffix for file in files} == {".json", ".npy"}
    (block,) = annotators.annotate([["la", "luna", "busca", "el", "gato", "."]])
    assert block.startswith(
        "# constituency = (ROOT (S (NP (D la) (N luna)) (VP (V busca) (NP (D el) (N gato))) (. .)))"
    )
    assert "# tree_log_probability = -" in block and block.count("NER=O") == 6
    assert annotators.evaluate("constituents", [trained.parent / "t.mrg"])["brackets"]["f1"] == 1


def test_a_corpus_is_annotated_by_what_it_keeps_alone(trained: Path) -> None:
    """Trees and entities of a corpus are dropped: they are not made, and its cache outlives them."""
    chosen = for_corpora(tagger(f"{trained}+hunspell", "es", "en"))
    assert isinstance(chosen, AnnotatorFolder) and chosen.tasks == ("pos",)
    (block,) = chosen.annotate([["la", "luna"]])
    (whole,) = AnnotatorFolder(trained).annotate([["la", "luna"]])
    assert [line.split("\t")[2:6] for line in block.split("\n")] == [
        line.split("\t")[2:6] for line in whole.split("\n") if not line.startswith("#")
    ]
    assert chosen.fingerprint != AnnotatorFolder(trained).fingerprint
    entities = AnnotatorFolder(trained).for_layers(["entity"])
    assert entities.tasks == ("entities",)


def test_the_same_training_gives_the_same_files(trained: Path, tmp_path: Path) -> None:
    for task in ("pos", "dependencies"):
        train(task, [trained.parent / "t.conllu"], "es", tmp_path / "es", {"epochs": 1})
    for name in ("pos/tags.npy", "pos/meta.json", "dependencies/moves.npy", "dependencies/relations.npy"):
        assert sha256(tmp_path / "es" / name) == sha256(trained / name)
