"""What an experiment needs beside the project, and what is left of it where programs are missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from features.text.stems import WordNet
from qe.config.experiment import from_mapping
from qe.training import check as checks
from qe.training.check import check, needed, without_missing
from qe.training.plan import Plan
from tests.factories import qe

APERTIUM = "on Debian: apt-get install apertium apertium-eng-spa"


@pytest.fixture(autouse=True)
def no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def plan(folder: Path, **keys: Any) -> Plan:
    base = {
        "name": "e",
        "dataset": {"format": "wmt12", "path": "."},
        "features": [{"kind": "surface"}],
        "learner": {"kind": "ridge"},
    }
    return check(from_mapping({**base, **keys}, folder))


# Keys -> place, name and command of what is missing.
NEEDED: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "nothing": ({}, []),
    "a tagger": ({"annotations": {"source": "apertium"}}, [("annotations.source", "apertium", APERTIUM)]),
    "an engine": (
        {"translations": {"back_translation": "apertium"}},
        [("translations.back_translation", "apertium", APERTIUM)],
    ),
    "a speller, of the target's language": (
        {"annotations": {"target": "hunspell"}},
        [("annotations.target", "hunspell", "on Debian: apt-get install hunspell hunspell-es")],
    ),
    "a package": (
        {"annotations": {"source": "spacy:xx"}},
        [("annotations.source", "spacy:xx", "pip install spacy")],
    ),
}


@pytest.mark.parametrize("case", NEEDED)
def test_what_is_missing_is_named_with_the_command_that_installs_it(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "spacy", None)
    keys, expected = NEEDED[case]
    found = needed(plan(tmp_path, **keys))
    assert [(each.place, each.name, each.remedy) for each in found if each.absent] == expected


def test_synonyms_need_wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "english", lambda: WordNet.read(tmp_path))
    corpus = {side: tmp_path / side for side in ("source", "target")}
    for file in corpus.values():
        file.write_text("a line\n")
    asked = plan(
        tmp_path,
        translations={"back_translation": "apertium"},
        features=[{"kind": "inverted_scores", "synonyms": True}],
        resources={side: str(file) for side, file in corpus.items()},
    )
    (found,) = (each for each in needed(asked) if each.name == "wordnet")
    assert found.place == "features.inverted_scores" and f"{tmp_path}" in found.absent
    assert found.remedy == "on Debian: apt-get install wordnet-base"


def kinds(some: Plan) -> list[str]:
    return [config["kind"] for config in some.features]


def test_features_that_need_what_is_missing_are_left_out(tmp_path: Path) -> None:
    asked = plan(
        tmp_path,
        annotations={"source": "apertium"},
        translations={"pseudo_reference": "apertium"},
        features=[
            {"kind": "surface"},
            {"kind": "pseudo_reference"},
            {"kind": "link_grammar"},
            {"kind": "grammar_checks"},
        ],
    )
    left = without_missing(asked)
    assert kinds(left) == ["surface", "grammar_checks"]  # the latter needs the target's annotation
    assert left.experiment.made_columns() == {}
    assert left.omitted[0].startswith(
        "left out: annotations.source (apertium), translations.pseudo_reference (apertium): the program"
    )
    assert left.omitted[1] == "left out with them: pseudo_reference, link_grammar"


def test_parts_of_the_annotated_corpus_go_too(tmp_path: Path) -> None:
    for side in ("source", "target"):
        (tmp_path / side).write_text("a\n")
    corpus = {"source": "source", "target": "target"}
    features = [{"kind": "surface"}, {"kind": "tag_ambiguity"}]
    asked = plan(tmp_path, annotations={"source": "apertium"}, resources=corpus, features=features)
    assert kinds(without_missing(asked)) == ["surface"]


def test_the_check_lists_them(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(
        "name: e\ndataset: {format: wmt12, path: .}\nannotations: {source: apertium}\n"
        "features: [{kind: surface}, {kind: link_grammar}]\nlearner: {kind: ridge}\n"
    )
    assert f"apertium-tagger is not installed; {APERTIUM}" in qe("train", file, "--check", "--quiet").out
    done = qe("train", file, "--check", "--json", "--without-missing")
    (told,) = json.loads(done.out)["experiments"]
    assert (told["extractors"], told["needs"]) == (["surface"], [])
    assert "left out with them: link_grammar" in done.err
