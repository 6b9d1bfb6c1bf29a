"""Annotators of an experiment, learned from treebanks or projected: once, in the cache, by what they are."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from features import ParallelCorpus
from features.basics.errors import InputError
from features.core.bundle import Bundle, build
from qe_treebanks.annotator_folder import AnnotatorFolder, train
from qe_treebanks.annotators.entities import read_entities
from qe_treebanks.treebanks import (
    Projected,
    annotators_for,
    project_entities,
    projection_mistakes,
    treebank_mistakes,
)
from tests.factories import EN_ES, corpus, qe, refuses
from tests.features.parsed import entity_block
from tests.qe_treebanks.annotators.made import NAMES, experiment, sentences, write_conllu, write_entities

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


ENGLISH = {
    "el": "the", "la": "a", "gato": "cat", "perro": "dog", "casa": "house", "mesa": "table", "niño": "boy",
    "luna": "moon", "mira": "watches", "busca": "seeks", "pinta": "paints", "rompe": "breaks", "de": "of",
    "Ana": "Ann", "Luis": "Lewis", "Lima": "Leema", "Roma": "Rome", ".": ".",
}  # fmt: skip
SPANISH = [[word[0] for word in sentence] for sentence in sentences()]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = tmp_path_factory.mktemp("projection") / "bundle"
    pairs = [(" ".join(ENGLISH[w] for w in text), " ".join(text)) for text in SPANISH]
    return build(lambda: corpus(pairs, EN_ES), folder, ["aligner"])


@pytest.fixture(scope="module")
def annotators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("annotators")
    train("entities", [write_entities(folder / "t")], "es", folder / "es", {})
    return folder / "es"


@pytest.mark.slow
def test_names_are_projected(bundle: Bundle, annotators: Path, tmp_path: Path) -> None:
    """And every 25th sentence of the 240 is held out."""
    out, rest = tmp_path / "en", tmp_path / "rest"
    options = ["--annotator", annotators, "--resources", bundle.path, "-o", out]
    done = qe("annotate", "project", *options, "--test-sentences", rest, "--json")
    assert json.loads(done.out) == {
        "schema": 1, "output": str(out), "sentences": len(SPANISH), "skipped": 0,
        "entities": sum(word in NAMES for text in SPANISH for word in text),
    }  # fmt: skip
    learned, held_out = read_entities([out]), read_entities([rest])
    assert [s.words for s in held_out] == [[ENGLISH[w] for w in text] for text in SPANISH[24::25]]
    assert len(learned) + len(held_out) == len(SPANISH)
    for sentence in (*learned, *held_out):
        names = {ENGLISH[name]: f"B-{kind}" for name, kind in NAMES.items()}
        assert sentence.tags == [names.get(word, "O") for word in sentence.words]


class Knower:
    """Says which words begin with a capital, or nothing of entities."""

    fingerprint = "made"

    def __init__(self, tags: bool = True) -> None:
        self.tags = tags

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        for text in texts:
            block = entity_block((word, "B-PER" if word[0].isupper() else "O") for word in text)
            yield block if self.tags else re.sub(r"NER=\S+", "_", block)


def projected(bundle: Bundle, path: Path, by: Knower, language: str, pairs: int) -> Projected:
    texts = ParallelCorpus.load(bundle.path / "corpus")
    return project_entities(texts, bundle.part("aligner"), by, language, path, pairs)


@pytest.mark.slow
def test_the_source_can_be_what_is_known(bundle: Bundle, tmp_path: Path) -> None:
    texts = [text for text in SPANISH[-30:] if text[0] in NAMES]
    done = projected(bundle, tmp_path / "es", Knower(), "en", len(SPANISH))
    assert done.entities >= len(texts) > 0
    for sentence in read_entities([tmp_path / "es"]):
        assert sentence.tags == ["B-PER" if word[0].isupper() else "O" for word in sentence.words]


def test_mistakes_are_one_message(bundle: Bundle, annotators: Path, tmp_path: Path) -> None:
    languages = "of 'de', but the corpus of 'en' and 'es'"
    refuses(languages, projected, bundle, tmp_path / "none", Knower(), "de", 7)
    refuses("says nothing of entities", projected, bundle, tmp_path / "none", Knower(tags=False), "es", 7)
    assert not (tmp_path / "none").exists()
    options = ["--annotator", annotators, "--resources", tmp_path, "-o", tmp_path / "o"]
    done = qe("annotate", "project", *options)
    assert done.code == 2 and "build resources" in done.err and done.err.count("\n") == 1


@pytest.mark.slow
def test_an_experiment_learns_them_from_the_other_side(bundle: Bundle, tmp_path: Path) -> None:
    treebank = write_entities(tmp_path / "t")
    settings = {"entities": {"epochs": 1}}
    annotations = {
        "source": {"projected": "target", "tasks": "entities", "settings": settings},
        "target": {"treebank": treebank.name, "tasks": "entities", "settings": settings},
    }
    asked = experiment(tmp_path, annotations, resources={"source": "s", "target": "t"})
    assert not list(projection_mistakes(asked))
    names = annotators_for(asked, {"source": "en", "target": "es"}, tmp_path, aligned=lambda: bundle)
    train("entities", [treebank], "es", tmp_path / "es", {"epochs": 1})
    options = ["--annotator", tmp_path / "es", "--resources", bundle.path, "-o", tmp_path / "en.conll"]
    assert qe("annotate", "project", *options).code == 0
    train("entities", [tmp_path / "en.conll"], "en", tmp_path / "en", {"epochs": 1})
    by_hand = AnnotatorFolder(tmp_path / "en").fingerprint
    assert AnnotatorFolder(Path(names["source"])).fingerprint == by_hand


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"projected": "source", "tasks": "entities"}, "the source side has no treebank of entities"),
        ({"projected": "target", "tasks": "pos"}, "what is projected are entities"),
        ({"projected": "target", "tasks": "entities"}, "needs a parallel corpus; name one in `resources`"),
    ],
)
def test_what_cannot_be_projected_is_told(source: Any, message: str, tmp_path: Path) -> None:
    asked = experiment(tmp_path, {"source": source, "target": {"treebank": "t", "tasks": "entities"}})
    assert any(message in told for told in projection_mistakes(asked))
