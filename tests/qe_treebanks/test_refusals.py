"""What treebanks, folders of annotators and `qe annotate` refuse, a row each: the place with words of the
rule, and the call or the command line."""

import json
import re
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features.text.links import Links
from qe.language.conllu import read_conllu
from qe_treebanks.annotator_folder import MANIFEST, AnnotatorFolder, train
from qe_treebanks.annotators._grammar import read_trees
from qe_treebanks.annotators.dependencies import Dependencies
from qe_treebanks.annotators.entities import read_entities
from qe_treebanks.treebanks import write_projected
from tests.factories import Monkeypatch, ran, refuses, tokens
from tests.qe_treebanks.annotators.made import relist

OUT = Path("out")


def file(name: str, text: str, read: Any) -> Any:
    def written() -> None:
        Path(name).write_text(text + "\n", "utf-8")
        read(Path(name))

    return written


def row(number: object, head: object, form: str = "a") -> str:
    return "\t".join([str(number), form, "_", "NOUN", "_", "_", str(head), "dep", "_", "_"]) + "\n"


def trees(text: str) -> Any:
    return file("t.mrg", text, read_trees)


def treebank(text: str) -> Any:
    return file("t.conllu", text, lambda path: read_conllu([path]))


def training(task: str, text: str) -> Any:
    return file("t.conllu", text, lambda path: train(task, [path], "es", OUT, {}))


def parser(text: str) -> Any:
    return file("t.conllu", text, lambda path: Dependencies.train([path], "es", {"epochs": 1, "seed": 1}))


def place(links: str) -> Any:
    return partial(write_projected, OUT, tokens("Bob left"), tokens("B-PER O"), Links.from_pharaoh([links]))


BLANKS = "\t_" * 8
GOOD = "(S (N a) (V b))\n"
REFUSED = [
    (r"^t\.mrg:4: '\)' stands outside", trees(GOOD * 3 + "(S (N a) (V b)))")),
    (r"^t\.mrg:1: a bracket holds 'S b'", trees("(S (N a) b)")),
    (r"^t\.mrg: holds no tree", trees("no tree")),
    (r"^t\.mrg:1: .*more than 200 deep", trees("(S " * 3000 + "(N a)" + ")" * 3000)),
    (r"^t\.mrg:1: .*at most 2,000 words", trees("(S" + " (N a)" * 2001 + ")")),
    ("^bad:2: .*'V'", file("bad", "Ana B-PER\nve V", lambda path: read_entities([path]))),
    ("no sentence has a place", place("1-1")),
    ("links:1: the link 0-5", place("0-5")),
    (r"^t\.conllu:2: CoNLL-U has 10 columns, but this line 2", treebank("# text = a\n1\ta")),
    (r"^t\.conllu:1: ids must be 1, 2", treebank(f"2\ta{BLANKS}")),
    (r"^t\.conllu:1: a word without form", treebank(f"1\t{BLANKS}")),
    ("a word without part of speech in: a", training("pos", f"1\ta{BLANKS}")),
    (r"^t\.conllu:1: .*depends on itself", training("dependencies", row(1, 2) + row(2, 1, "b"))),
    (r"^t\.conllu:3: the word 'b' depends on itself", parser("# text\n" + row(1, 0) + row(2, 2, "b"))),
    (r"^t\.conllu:3: the word 'c' depends on itself",
     parser(f"{row(1, 0)}\n{row(1, 2, 'c')}# more\n{row(2, 1, 'd')}")),
    (r"^t\.conllu:1: the head of a word must be 0 to 1", parser(row(1, 3))),
    *((rf"^t\.conllu:1: '{found}' is no id of a word or a range", parser(row(number, 0)))
      for number, found in (("\u00b2", "\u00b2"), ("\u0661", "\u0661"), ("9" * 5000, "9+"))),
    (r"^t\.conllu:1: 30,000 words", parser("".join(row(i, i - 1) for i in range(1, 30_001)))),
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("location", "call"), REFUSED)
def test_refused_and_nothing_is_written(location: str, call: Any) -> None:
    refuses(location, call)
    assert not OUT.exists()


TRAIN = "annotate train --task pos --language es --output out --treebank no"
RUN = "annotate run --input a -o out --annotator"
COMMANDS = [
    ("^qe annotate: no: no such file; give CoNLL-U", TRAIN),
    ("'epoch'; known: epochs, seed; did you mean 'epochs'?", f"{TRAIN} --set epoch=3"),
    ("epochs.* must be a whole number", f"{TRAIN} --set epochs=x"),
    ("no annotator of 'entities' here", "annotate evaluate --annotator es --task entities --gold no"),
    ("add --language", f"{RUN} x:y"),
    ("unknown annotator 'treetagger'; known: apertium", f"{RUN} treetagger --language es"),
]


@pytest.mark.parametrize(("location", "command"), COMMANDS)
def test_refused_in_one_line(location: str, command: str) -> None:
    Path("es").mkdir()
    (Path("es") / MANIFEST).write_text(json.dumps({"format": 1, "language": "es", "tasks": {}}))
    done = ran(*command.split(), code=2)
    assert re.search(location, done.err) and done.err.count("\n") == 1, done.err
    assert not OUT.exists()


ES = Path("es")


def load() -> Any:
    return AnnotatorFolder(ES).annotators


def array(file: str, values: list[Any], kind: Any = np.int64) -> Any:
    def forged() -> None:
        np.save(ES / file, np.array(values, kind), allow_pickle=True)
        relist(ES)
        load()

    return forged


def about(task: str, change: Mapping[str, Any], without: str = "") -> Any:
    """The description of a task with other values, or without one."""

    def forged() -> None:
        path = ES / task / "meta.json"
        content = {**json.loads(path.read_text("utf-8")), **change}
        content.pop(without, None)
        path.write_text(json.dumps(content), "utf-8")
        relist(ES)
        load()

    return forged


def tasks(change: Any) -> None:
    content = json.loads((ES / MANIFEST).read_text("utf-8"))
    change(content["tasks"])
    (ES / MANIFEST).write_text(json.dumps(content))
    load()


def changed_weights() -> None:
    with (ES / "pos" / "tags.npy").open("r+b") as stream:
        stream.seek(-4, 2)
        stream.write(b"\1\2\3\4")
    load()


def missing_weights() -> None:
    (ES / "pos" / "tags.npy").unlink()
    load()


def more(task: str, language: str = "es", output: Path = ES) -> Any:
    return partial(train, task, [ES / MANIFEST], language, output, {})


SINGLE = np.float32
GUIDE = ["/N )", "/V", "/."]  # with `/D` before them
FORGED = [
    ("pos: the annotator is damaged .*tags.npy has changed", changed_weights),
    ("pos: the annotator is damaged .*tags.npy is gone", missing_weights),
    ("is no manifest of annotators", partial(tasks, lambda each: each["pos"].update(files={"../x": "0"}))),
    ("the task 'dependencies' needs 'pos'", partial(tasks, lambda each: each.pop("pos"))),
    ("^es: holds annotators of 'es', not of 'en'", more("pos", "en")),
    ("unknown task 'tags'", more("tags")),
    (r"^\.: no annotators\.json here", more("pos", output=Path())),
    ("pos: .*`offsets` must rise from 0 to 1", array("pos/candidates.npy", [10**6], np.int32)),
    ("pos: .*`offsets` must be int64", array("pos/starts.npy", [0])),
    ("pos: .*tags has 100 cells", array("pos/tags.npy", [0] * 100, SINGLE)),
    ("pos: .*`tags` must be float32", array("pos/tags.npy", [0] * 100, np.float64)),
    ("pos: .*`transitions` must be float32", array("pos/transitions.npy", [[0, 0]] * 2, SINGLE)),
    ("dependencies: .*`moves` must hold numbers", array("dependencies/moves.npy", [np.nan] * 19, SINGLE)),
    ("`symbols` must be in 0 .* 1000000", array("constituents/binary.npy", [[0, 0, 10**6, 1]])),
    ("`symbols` must be in 0 .* has -1", array("constituents/binary.npy", [[0, 0, -1, 1]])),
    ("a symbol without rules", array("constituents/binary.npy", [[0, 0, 0, 1]])),
    ("`words` must be in 0", array("constituents/uses.npy", [[0, 10**6, 1]])),
    ("`counts of uses` must be in 1", array("constituents/uses.npy", [[0, 0, 0]])),
    ("guide has 100 cells", array("constituents/guide.npy", [0] * 100, SINGLE)),
    ("constituents: .*`transitions` must be", array("constituents/transitions.npy", [[0, 0]] * 2, SINGLE)),
    ("entities: .*allow_pickle", array("entities/entities.npy", [object()], object)),
    ("constituents: .*another version", about("constituents", {"guide_version": "another"})),
    ("the guide has tags that the grammar lacks", about("constituents", {"guide": ["/Q", *GUIDE]})),
    ("a label is no tag", about("constituents", {"guide": ["Q", *GUIDE]})),
    ("guide is no list of texts", about("constituents", {"guide": 3})),
    ("pos: .*another version", about("pos", {"version": "another"})),
    ("labels is no list of texts", about("pos", {"labels": [1, 2]})),
    ("pos: .*TypeError", about("pos", {"lemmas": []})),
    ("pos: .*KeyError: 'labels'", about("pos", {}, without="labels")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("location", "call"), FORGED)
def test_forged_folders_are_refused(location: str, call: Any, trained: Path) -> None:
    shutil.copytree(trained, ES)
    refuses(location, call)
