"""Annotators of an experiment that are learned from treebanks: once, in the cache, and by what they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from features.basics.errors import InputError
from qe_treebanks.annotator_folder import AnnotatorFolder, train
from qe_treebanks.treebanks import annotators_for, treebank_mistakes
from tests.qe_treebanks.annotators.made import experiment, write_conllu, write_entities

LANGUAGES = {"source": "en", "target": "es"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("treebanks")
    write_conllu(folder / "t.conllu")
    write_entities(folder / "t.ner")
    return folder


POS = {"treebank": "t.conllu", "tasks": ["pos"], "settings": {"pos": {"epochs": 1}}}
ENTITIES = {"treebank": "t.ner", "tasks": "entities", "settings": {"entities": {"epochs": 1}}}


@pytest.mark.slow
def test_they_are_learned_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = experiment(folder, {"source": "apertium", "target": [POS, {**ENTITIES, "programs": "hunspell"}]})
    names = annotators_for(asked, LANGUAGES, tmp_path)
    place, plus, program = names["target"].partition("+")
    assert (list(names), plus, program) == (["target"], "+", "hunspell")
    for task, file in (("pos", "t.conllu"), ("entities", "t.ner")):
        train(task, [folder / file], "es", tmp_path / "by-hand", {"epochs": 1})
    assert AnnotatorFolder(Path(place)).fingerprint == AnnotatorFolder(tmp_path / "by-hand").fingerprint
    monkeypatch.setattr("qe_treebanks.treebanks.train", None)  # is not called again
    assert annotators_for(asked, LANGUAGES, tmp_path) == names


@pytest.mark.slow
def test_what_was_cut_off_goes_on_with_the_task_that_is_missing(folder: Path, tmp_path: Path) -> None:
    asked = experiment(folder, {"target": [POS, ENTITIES]})
    (place,) = annotators_for(asked, LANGUAGES, tmp_path).values()
    manifest = Path(place) / "annotators.json"
    whole = json.loads(manifest.read_text())
    (half,) = annotators_for(experiment(folder, {"target": POS}), LANGUAGES, tmp_path / "half").values()
    manifest.write_bytes((Path(half) / "annotators.json").read_bytes())
    assert AnnotatorFolder(Path(place)).tasks == ("pos",)
    annotators_for(asked, LANGUAGES, tmp_path)
    assert AnnotatorFolder(Path(place)).tasks == ("entities", "pos")
    assert json.loads(manifest.read_text()) == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"treebank": "t.conllu", "tasks": ["pos"]},
        {"treebank": "t.conllu", "tasks": ["pos"], "settings": {"pos": {"epochs": 2}}},
        {"treebank": "u.conllu", "tasks": ["pos"], "settings": {"pos": {"epochs": 1}}},
    ],
)
def test_another_file_or_setting_is_another_annotator(other: Any, folder: Path, tmp_path: Path) -> None:
    write_conllu(folder / "u.conllu", held_out=True)
    names = {
        annotators_for(experiment(folder, {"target": by}), LANGUAGES, tmp_path)["target"]
        for by in (POS, other)
    }
    assert len(names) == 2


MISTAKES: dict[str, tuple[Any, str]] = {
    "no such file": ([{"treebank": "x", "tasks": ["pos"]}], "annotations.source.0.treebank: no such file: "),
    "unknown task": ([{"treebank": "t.conllu", "tasks": ["poss"]}], "unknown task 'poss'; known: "),
    "a task that another needs": (
        [{"treebank": "t.conllu", "tasks": ["dependencies"]}],
        "annotations.source.0.tasks: 'dependencies' needs the task 'pos', which no treebank has",
    ),
    "a task twice": ([POS, POS], "annotations.source: the task 'pos' has several treebanks; name it once"),
    "unknown setting": (
        [{**POS, "settings": {"pos": {"epoch": 1}}}],
        "annotations.source.0.settings.pos: unknown setting 'epoch'; known: epochs, seed; did you mean",
    ),
    "settings of no task": (
        [{**POS, "settings": {"entities": {}}}],
        "annotations.source.0.settings: unknown task 'entities'; known: pos",
    ),
    "no treebank": ([{"tasks": ["pos"]}], "annotations.source.0: name one of `treebank` and `projected`"),
    "unknown program": ([{**POS, "programs": ["speller"]}], "annotations.source.0.programs: unknown program"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_told_with_their_place(case: str, folder: Path) -> None:
    by, expected = MISTAKES[case]
    sections = experiment(folder, {"source": by}).annotations["source"]
    assert not isinstance(sections, str)
    (told,) = treebank_mistakes(sections, "annotations.source")
    assert expected in told


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ([{"treebank": "t", "task": "pos"}], "annotations.source.0.tasks: Field required"),
        ([{"treebank": "t", "tasks": "pos", "x": 1}], "unknown key 'annotations.source.0.x'; known"),
        ([], "annotations.source: "),
        (3, "annotations.source: Input should be a valid string, but got 3"),
    ],
)
def test_keys_that_are_wrong_are_told_in_a_line_each(by: Any, message: str, folder: Path) -> None:
    with pytest.raises(InputError) as error:
        experiment(folder, {"source": by})
    assert message in str(error.value)
    assert "[" not in str(error.value).replace(", but got []", "")
