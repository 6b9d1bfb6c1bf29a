"""Pipes as inputs of every verb: each gives what the same content gives as a file."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pandas as pd
import pytest

from qe.config import experiment
from qe.data.reading import Reading, read_table
from qe.data.table_rows import open_input
from qe.data.writing import save_table
from tests.factories import qe

ROWS = 6_000  # a pipe holds 64 KiB, and every input is larger
_LETTERS = "abcdefgh"


def texts(rows: int, seed: int, words: int = 6) -> str:
    """Lines of made-up words."""
    lines = (
        " ".join(_LETTERS[(row * seed + i * i) % 8] + str((row + i) % 7) for i in range(words + row % 5))
        for row in range(rows)
    )
    return "\n".join(lines) + "\n"


def numbers(rows: int, factor: float) -> str:
    """A number a line, 1 to 5."""
    return "".join(f"{1 + (row * factor) % 4:.12f}\n" for row in range(rows))


def pairs(rows: int) -> str:
    """A table of sources, targets and scores."""
    sides = zip(texts(rows, 3).splitlines(), texts(rows, 5).splitlines(), strict=True)
    cells = (f"{a}\t{b}\t{1 + row % 5}\n" for row, (a, b) in enumerate(sides))
    return "source\ttarget\tscore\n" + "".join(cells)


def metric_table(rows: int, factor: float) -> str:
    """Scores of segments of four systems."""
    cells = (
        f"{s}\t{i}\t{(i * factor + 3 * i % 7 * (s == 'b')) % 11:.3f}\n" for i in range(rows) for s in "abcd"
    )
    return "system\tsegment\tscore\n" + "".join(cells)


def rankings(rows: int) -> str:
    """Ranks that people gave to the translations of two systems."""
    cells = (f"cs,en,{i},judge-{i % 3},{s},{1 + (i + (s == 'b')) % 3}\n" for i in range(rows) for s in "ab")
    return "source_language,target_language,segment,judge,system,rank\n" + "".join(cells)


def tags(rows: int, step: int) -> str:
    """Tags of words, a line per segment."""
    return "".join(
        " ".join("BAD" if (i + j) % step == 0 else "OK" for j in range(6)) + "\n" for i in range(rows)
    )


def comet(rows: int) -> str:
    """What comet-score prints."""
    return "".join(f"a.txt\tSegment {i}\tscore: {(i * 7 % 11) / 11:.4f}\n" for i in range(rows))


# Name: (arguments, name of each input -> content); {x} is the path of x, {out} a folder for outputs.
VERBS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "evaluate": (
        "evaluate --gold {g.tsv} --predictions a={p} b={q} --samples 50 --bucket length={s} "
        "--bucket document={d}",
        {"g.tsv": pairs(ROWS), "p": comet(ROWS), "q": numbers(ROWS, 0.1),
         "s": texts(ROWS, 3), "d": "a\nb\n" * (ROWS // 2)},
    ),
    "evaluate words": (
        "evaluate words --gold {g} --predictions a={p} --layout words --samples 0",
        {"g": tags(ROWS, 3), "p": tags(ROWS, 4)},
    ),
    "triage": (
        "triage --gold {g} --predictions {p} --costs {c} --samples 20",
        {"g": numbers(ROWS, 0.1), "p": numbers(ROWS, 0.1),
         "c": "good: 4\npublish_bad: 10\npost_edit: 1\npost_edit_worst: 3\nretranslate: 4\n"},
    ),
    "compare": (
        "compare --references {r} --system a={a} --system b={b} --metrics length --samples 20 "
        "--scores m:a={m} --scores m:b={n}",
        {"r": texts(ROWS, 3), "a": texts(ROWS, 5), "b": texts(ROWS, 7),
         "m": numbers(ROWS, 0.1), "n": numbers(ROWS, 0.2)},
    ),
    "correlate": (
        "correlate --human {h.tsv} --metrics {m.tsv} --correlations pearson --permutations 0 --samples 0",
        {"h.tsv": metric_table(ROWS // 4, 0.3), "m.tsv": metric_table(ROWS // 4, 0.7)},
    ),
    "rank": ("rank {r} --methods expected_wins bojar --ranges none --samples 0", {"r": rankings(ROWS)}),
    "labels": (
        "labels --target {t} --post-edit {p} --target-language en --output {out}/labels.tsv",
        {"t": texts(ROWS // 2, 3, 10), "p": texts(ROWS // 2, 5, 10)},
    ),
    "filter": (
        "filter -i {s} -i {t} -o {out}/s -o {out}/t --languages en de --without language",
        {"s": texts(ROWS, 3), "t": texts(ROWS, 5)},
    ),
    "filter, table": (
        "filter -i {p.tsv} -o {out}/p.tsv --languages en de --without language",
        {"p.tsv": pairs(ROWS)},
    ),
    "resources": (
        "resources build --source {s} --target {t} --only source_lm --only lexicon_source_to_target "
        "-o {out}/resources",
        {"s": texts(ROWS // 4, 3, 12), "t": texts(ROWS // 4, 5, 12)},
    ),
    "data check": (
        "data check {p.tsv} --format table --set source_language=en --set target_language=de "
        "--set label.name=score --set label.higher_is_better=true --set columns.scores=score",
        {"p.tsv": pairs(ROWS)},
    ),
}  # fmt: skip
_MODEL: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "score": ("score --model {model} -i {p.tsv} -o {out}/scores.tsv", {"p.tsv": pairs(2000)}),
    "score, texts": (
        "score --model {model} -i {s} -i {t} -o {out}/scores.tsv",
        {"s": texts(2000, 3, 12), "t": texts(2000, 5, 12)},
    ),
}


@contextmanager
def pipes(folder: Path, contents: Mapping[str, bytes]) -> Iterator[None]:
    """Named pipes: the first reader of each gets the content, later ones nothing."""
    done = Event()

    def write(path: Path, content: bytes) -> None:
        with path.open("wb") as stream:
            stream.write(content)
        while not done.wait(0.005):
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:  # nobody reads it again
                continue

    for name, content in contents.items():
        os.mkfifo(folder / name)
        Thread(target=write, args=(folder / name, content), daemon=True).start()
    try:
        yield
    finally:
        done.set()


def run(arguments: str, folder: Path, **names: Path) -> tuple[object, ...]:
    """Exit code, standard output, and the files that a verb writes."""
    (folder / "out").mkdir()
    names |= {"out": folder / "out"}
    given = re.sub(r"\{([\w.]+)\}", lambda name: str(names.get(name[1], folder / name[1])), arguments)
    done = qe(*given.split())
    assert done.code in (0, 1), done.err
    printed = done.out.replace(str(folder), "")
    if arguments.startswith("resources"):
        printed = printed.splitlines()[0]  # seconds follow
    whole = {
        str(path.relative_to(folder)): path.read_bytes().replace(bytes(folder), b"")
        for path in sorted((folder / "out").rglob("*"))
        if path.is_file() and path.suffix in ("", ".tsv") and not path.name.startswith(".")
    }
    return done.code, printed, whole


def check(arguments: str, contents: Mapping[str, str], tmp_path: Path, **names: Path) -> None:
    """A verb gives the same from pipes as from files."""
    files, piped = tmp_path / "a", tmp_path / "b"
    for folder in (files, piped):
        folder.mkdir()
    for name, text in contents.items():
        (files / name).write_text(text)
    expected = run(arguments, files, **names)
    assert expected[1] or expected[2]
    with pipes(piped, {name: text.encode() for name, text in contents.items()}):
        found = run(arguments, piped, **names)
    assert found == expected
    shutil.rmtree(files)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_reads_pipes_as_files(verb: str, tmp_path: Path) -> None:
    check(*VERBS[verb], tmp_path)


@pytest.mark.parametrize("verb", _MODEL)
def test_a_model_reads_pipes_as_files(verb: str, demo_model: Path, tmp_path: Path) -> None:
    check(*_MODEL[verb], tmp_path, model=demo_model)


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet"])
def test_the_kind_of_a_table_from_a_pipe_is_detected(kind: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"source": ["a b", "c"], "target": ["d", "e, f"]})
    save_table(table, tmp_path / f"file.{kind}")
    content = (tmp_path / f"file.{kind}").read_bytes()
    with pipes(tmp_path, {"63": content}):
        columns = read_table(Reading(tmp_path), tmp_path / "63")
        rows = [row for row, _ in open_input([tmp_path / "63"]).rows()]
    assert rows == table.to_dict("records")
    assert {name: column.texts for name, column in columns.items()} == table.to_dict("list")


@pytest.mark.parametrize("piped", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_hyphen_is_standard_input(piped: bool, tmp_path: Path) -> None:
    (tmp_path / "gold").write_text(numbers(50, 0.1))
    command = [sys.executable, "-m", "qe", "evaluate", "--gold", "-", "--predictions", "a=gold"]
    command += ["--samples", "0"]
    with (tmp_path / "gold").open("rb") as stream:
        source = {"input": stream.read()} if piped else {"stdin": stream}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, **source)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    assert b"50 segments" in done.stdout


def test_paths_of_an_experiment_from_a_pipe_are_those_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = "name: a\nfeatures: [surface]\nlearner: {kind: ridge}\n"
    content += "dataset: {format: table, path: data.tsv, source_language: en, target_language: de}\n"
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(content)
    expected = experiment.load(Path("a.yaml")).dataset
    with pipes(tmp_path / "folder", {"b.yaml": content.encode()}):
        assert experiment.load(tmp_path / "folder" / "b.yaml").dataset == expected
