"""Attacks on every verb, from tables: one message, the right exit code, and nothing touched.

`verbs/VERB.yaml` holds a list of cases; a new one is a line or two. A case runs in a folder of its own:

    case     what is attacked
    run      the command line; {model} is a trained model, {demo} the folder with its data, {experiment} its
             experiment file
    files    name -> content, made first (a name that ends in / is a folder)
    links    name -> target of a symbolic link
    same     name -> file that it is another name of (a hard link; as `x` and `X` where case is ignored)
    held     an output that another process is writing
    exit     the exit code (default 2)
    mistakes how many mistakes the message lists, one a line (default: it is one line)
    says     what the message holds; a list: all that it holds
    prints   what stdout holds beside an error (default: nothing)
    leaves   names that the command may make or change, of folders with all in them; all else stays as it is,
             to the byte

Every folder has the files of `COMMON`.
"""

import re
import shlex
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml

from features.basics.errors import options_in
from features.storage.outputs import locked_file, locked_folder
from qe.cli import main
from qe.cli._verbs import commands as all_commands
from qe.cli._verbs import is_verb, verbs
from qe.getting_started.demo.run import EXPERIMENT

HERE = Path(__file__).parent / "verbs"
KEYS = {"case", "run", "files", "links", "same", "held", "exit", "says", "prints", "leaves", "mistakes"}
COMMON = {
    "s.txt": "the red house\nthe dog sleeps\n",
    "t.txt": "la casa roja\nel perro duerme\n",
    "p.txt": "la casa roja\nel perro duerme bien\n",
    "in.tsv": "id\tsource\ttarget\n1\tthe red house\tla casa roja\n2\tthe dog sleeps\tel perro duerme\n",
    "gold.tsv": "score\n1\n2\n3\n4\n",
    "pred.tsv": "score\n1\n2\n2\n4\n",
}


def cases() -> Iterator[Any]:
    for path in sorted(HERE.glob("*.yaml")):
        for number, case in enumerate(yaml.safe_load(path.read_text("utf-8"))):
            yield pytest.param(case, id=f"{path.stem}-{number}-{case['case'].replace(' ', '-')}")


def snapshot(folder: Path) -> dict[str, object]:
    """Everything below a folder: content of files, targets of links."""
    by_name: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            by_name[name] = ("link", path.readlink())
        else:
            by_name[name] = path.read_bytes() if path.is_file() else "folder"
    return by_name


def prepare(folder: Path, case: dict[str, Any]) -> None:
    for name, content in {**COMMON, **case.get("files", {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_text(content, "utf-8")
    for name, target in case.get("links", {}).items():
        (folder / name).symlink_to(target)
    for name, other in case.get("same", {}).items():
        (folder / name).hardlink_to(folder / other)


def _filled(word: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def strange_options(text: str, words: list[str]) -> set[str]:
    """Options that a message names, or a command in it, which the command does not have."""
    commands = [(words, options_in(text))]
    for quoted in re.findall(r"`qe ([^`]+)`", text):
        commands.append((quoted.split(), options_in(quoted)))
    typed = {word.lstrip("-") for word in words}
    return {option for command, named in commands for option in named - options_of(command) - typed}


def options_of(words: list[str]) -> set[str]:
    """The options of the command that a command line begins with."""
    known = all_commands(words[0]) if is_verb(words[0]) else {}
    below = known.get(" ".join(words[:2])) or known.get(words[0])
    options = () if below is None else below.options
    return {name.lstrip("-") for one in options for name in (*one.names, *one.opposites)} | {"help"}


def held(case: dict[str, Any]) -> Any:
    if "held" not in case:
        return nullcontext()
    output, verb = Path(case["held"]), shlex.split(case["run"])[0]
    return locked_folder(output, verb) if output.suffix == "" else locked_file(output)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases())
def test_attack(
    case: dict[str, Any],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert set(case) <= KEYS
    names = {}
    if "{model}" in case["run"] or "{demo}" in case["run"]:
        model: Path = request.getfixturevalue("demo_model")
        names = {"model": str(model), "demo": str(model.parent), "experiment": str(EXPERIMENT)}
    prepare(tmp_path, case)
    monkeypatch.chdir(tmp_path)
    store = tmp_path_factory.mktemp("store")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{store / 'mlflow.db'}")
    cache = Path(names["demo"]) / "cache" if names else tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("QE_CACHE_DIR", str(cache))
    before = snapshot(tmp_path)
    command = [_filled(word, names) for word in shlex.split(case["run"])]
    with held(case), pytest.raises(SystemExit) as ended:
        main(command)
    told = capsys.readouterr()
    assert ended.value.code == case.get("exit", 2), told
    if case.get("exit", 2) == 2:
        assert told.err.startswith(f"qe {command[0]}: "), told.err
        assert told.err.count("\n") == 1 + case.get("mistakes", 0), told.err
        assert told.out == case.get("prints", "")
    assert not strange_options(told.err, command), told.err
    says = case.get("says", "")
    for text in [says] if isinstance(says, str) else says:
        assert text in told.err + told.out, told
    if "mistakes" in case:
        assert not list(store.iterdir()), "no run is tracked"
    assert not any(mark in told.err + told.out for mark in ("Traceback", "\x1b"))
    after = snapshot(tmp_path)
    left = [Path(name) for name in case.get("leaves", ())]
    for content in (before, after):
        for name in [name for name in content if any(Path(name).is_relative_to(path) for path in left)]:
            del content[name]
    assert after == before


def test_every_verb_that_writes_is_attacked() -> None:
    without_output = {"ablate", "models", "promote", "serve", "ui"}
    assert {path.stem for path in HERE.glob("*.yaml")} >= set(verbs()) - without_output
