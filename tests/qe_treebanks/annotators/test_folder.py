"""Folders of annotators: damaged and mixed-up files are refused, and nothing in them is code."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from features.storage.files import sha256
from features.storage.outputs import MARK
from qe.language.taggers import for_corpora, tagger
from qe_treebanks.annotator_folder import MANIFEST, AnnotatorFolder, train
from tests.factories import refuses
from tests.qe_treebanks.annotators.made import relist, write_conllu, write_entities, write_trees

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("annotators")
    treebank = write_conllu(root / "t.conllu")
    for task in ("pos", "dependencies"):
        train(task, [treebank], "es", root / "es", {"epochs": 1})
    train("constituents", [write_trees(root / "t.mrg")], "es", root / "es", {"n_best": 3})
    train("entities", [write_entities(root / "t.ner")], "es", root / "es", {"epochs": 1})
    return root / "es"


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "es")
    return tmp_path / "es"


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


def test_changed_missing_and_added_files_are_refused(folder: Path) -> None:
    with (folder / "pos" / "tags.npy").open("r+b") as stream:
        stream.seek(-4, 2)
        stream.write(b"\1\2\3\4")
    refuses(
        r"pos: the annotator is damaged .*tags.npy has changed", lambda: AnnotatorFolder(folder).annotators
    )
    (folder / "pos" / "tags.npy").unlink()
    refuses("tags.npy is gone", lambda: AnnotatorFolder(folder).annotators)
    tasks = {"pos": {"files": {"../x": "0"}}}
    (folder / MANIFEST).write_text(json.dumps({"format": 1, "language": "es", "tasks": tasks}))
    refuses("is no manifest of annotators", lambda: AnnotatorFolder(folder).tasks)


@pytest.mark.parametrize(
    ("file", "array", "message"),
    [
        ("pos/candidates.npy", np.array([10**6], np.int32), "`offsets` must rise from 0 to 1"),
        ("pos/starts.npy", np.array([0], np.int64), "`offsets` must be int64"),
        ("pos/tags.npy", np.zeros(100, np.float32), "tags has 100 cells"),
        ("pos/tags.npy", np.zeros(100, np.float64), "`tags` must be float32"),
        ("pos/transitions.npy", np.zeros((2, 2), np.float32), "`transitions` must be float32"),
        (
            "dependencies/moves.npy",
            np.full((1 << 4) + 3, np.nan, np.float32),
            "`moves` must hold numbers",
        ),
        (
            "constituents/binary.npy",
            np.array([[0, 0, 10**6, 1]]),
            "`symbols` must be in 0 .. .* but has 1000000",
        ),
        ("constituents/binary.npy", np.array([[0, 0, -1, 1]]), "`symbols` must be in 0 .. .* but has -1"),
        ("constituents/binary.npy", np.array([[0, 0, 0, 1]]), "begins or ends at a symbol without rules"),
        ("constituents/uses.npy", np.array([[0, 10**6, 1]]), "`words` must be in 0"),
        ("constituents/uses.npy", np.array([[0, 0, 0]]), "`counts of uses` must be in 1"),
        ("constituents/guide.npy", np.zeros(100, np.float32), "guide has 100 cells"),
        ("constituents/transitions.npy", np.zeros((2, 2), np.float32), "`transitions` must be float32"),
        ("entities/entities.npy", np.array([object()], object), "the annotator is damaged"),
    ],
)
def test_forged_arrays_are_refused(folder: Path, file: str, array: np.ndarray, message: str) -> None:
    np.save(folder / file, array, allow_pickle=True)
    relist(folder)
    refuses(message, lambda: AnnotatorFolder(folder).annotators)


def test_guides_that_do_not_belong_to_the_grammar_are_refused(folder: Path) -> None:
    meta = folder / "constituents" / "meta.json"
    content = json.loads(meta.read_text("utf-8"))
    for changed, message in (
        ({"guide_version": "another"}, "was trained by another version"),
        ({"guide": ["/Q", *content["guide"][1:]]}, "the guide has tags that the grammar lacks"),
        ({"guide": ["Q", *content["guide"][1:]]}, "a label is no tag"),
        ({"guide": 3}, "guide is no list of texts"),
    ):
        meta.write_text(json.dumps({**content, **changed}), "utf-8")
        relist(folder)
        refuses(message, lambda: AnnotatorFolder(folder).annotators)


def test_damaged_descriptions_are_refused(folder: Path) -> None:
    meta = folder / "pos" / "meta.json"
    content = json.loads(meta.read_text("utf-8"))
    for changed, message in (
        ({**content, "version": "another"}, "trained by another version"),
        ({**content, "labels": [1, 2]}, "labels is no list of texts"),
        ({**content, "lemmas": []}, "the annotator is damaged"),
        (
            {name: value for name, value in content.items() if name != "labels"},
            "the annotator is damaged .*labels",
        ),
    ):
        meta.write_text(json.dumps(changed), "utf-8")
        relist(folder)
        refuses(message, lambda: AnnotatorFolder(folder).annotators)


def test_what_a_task_needs_is_said(tmp_path: Path) -> None:
    train("dependencies", [write_conllu(tmp_path / "t")], "es", tmp_path / "es", {"epochs": 1})
    needed = "the task 'dependencies' needs 'pos'.*--task pos"
    refuses(needed, lambda: AnnotatorFolder(tmp_path / "es").annotators)
    for task, language, output, message in (
        ("pos", "en", tmp_path / "es", "holds annotators of 'es', not of 'en'"),
        (
            "tags",
            "es",
            tmp_path / "es",
            "unknown task 'tags'; known: constituents, dependencies, entities, pos",
        ),
        ("pos", "es", tmp_path, "no annotators.json here"),
    ):
        refuses(message, train, task, [tmp_path / "t"], language, output, {})
