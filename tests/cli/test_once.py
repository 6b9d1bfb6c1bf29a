"""Outputs that are there are replaced only with --overwrite; a verb more is a line more."""

from pathlib import Path

import pytest

from qe.cli import main
from qe.cli._once import _THEMSELVES, output_options
from qe.cli._verbs import commands, verbs

FILES = {
    "s": "the red house\n",
    "t": "la casa roja\n",
    "p": "la casa blanca\n",
    "q": "una casa\n",
    "bank": "Ana B-PER\nmira O\n\n" * 5,
    "other": "Lima B-LOC\nmira O\n\n" * 5,
    "gold": "1\n2\n3\n4\n5\n2\n",
    "a": "1\n2\n2\n4\n5\n3\n",
    "b": "2\n2\n3\n4\n4\n1\n",
    "x": "la casa roja\nuna casa\nel perro duerme\nun gato\nel gato\nlas casas\n",
    "y": "la casa blanca\nuna casa\nel perro duerme bien\nun gato\nel gato gris\nlas casas\n",
}
COMPARE = "compare --references y --system m=x --system n=y --metrics ter --samples 99"
EVALUATE = "evaluate --gold gold --predictions m=a --samples 99"
POWER = "power --gold gold --predictions m=a n=b --samples 99"
# A command without its output, the output, what is exchanged in the command, and for what.
COMMANDS = [
    ("labels --target t --target-language es --post-edit p", "out.tsv", "p", "q"),
    ("filter -i s -i t --languages en es --without language -o out.s", "out.tsv", "t", "q"),
    ("evaluate --gold gold --predictions a --samples 99", "out.json", "a", "b"),
    (f"{EVALUATE} --json", "out.json", "m=a", "m=b"),
    (POWER, "out", "99", "98"),
    (COMPARE, "out", "m=x", "m=y"),
    (f"{COMPARE} --csv", "out", "99", "100"),
    ("annotate train --task entities --language es --treebank bank", "out", "bank", "other"),
    ("schema report", "out.json", "report", "summary"),
]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def state(path: Path) -> object:
    """Everything that shows whether a file, or a file of a folder, was written again."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return [(str(file), file.stat().st_mtime_ns, file.is_file() and file.read_bytes()) for file in files]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("command", "output", "one", "other"), COMMANDS, ids=lambda text: str(text)[:20])
def test_the_same_command_leaves_its_output_and_another_does_not_replace_it(
    command: str, output: str, one: str, other: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*command.split(), "-o", output]
    changed = [other if word == one else word for word in words]
    path = folder / output
    assert run(*words) == 0
    printed, before = capsys.readouterr().out, state(path)

    assert run(*words) == 0
    told = capsys.readouterr()
    assert "made already by the same command" in told.err and told.out == printed
    assert state(path) == before

    assert run(*changed) == 2
    assert "--overwrite" in capsys.readouterr().err and state(path) == before

    assert run(*changed, "--overwrite") == 0
    assert state(path) != before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "output", "name"), [(EVALUATE, "out.json", "out.json"), (POWER, "out", "out/power.json")]
)
def test_what_somebody_wrote_there_stays(command: str, output: str, name: str, folder: Path) -> None:
    words = [*command.split(), "-o", output]
    assert run(*words) == 0
    (folder / name).write_text("mine")
    assert run(*words) == 2
    assert (folder / name).read_text() == "mine"


def test_an_input_that_changed_is_another_input(folder: Path) -> None:
    command = [*EVALUATE.split(), "-o", "out.json"]
    assert run(*command) == 0
    (folder / "a").write_text(FILES["b"])
    assert run(*command) == 2


def test_another_form_of_what_is_printed_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [*EVALUATE.split(), "-o", "out.json"]
    assert run(*command) == 0
    capsys.readouterr()
    assert run(*command, "--json") == 0
    assert capsys.readouterr().out.startswith("{")


def test_every_command_that_writes_replaces_nothing_unasked() -> None:
    """By its option --overwrite, or as its own tests show."""
    known = {name: command for verb in verbs() for name, command in commands(verb)}
    assert known.keys() >= _THEMSELVES
    for name, command in known.items():
        if output_options(name, command.params):
            with command.make_context(f"qe {name}", [], resilient_parsing=True) as context:
                assert "overwrite" in [option.name for option in command.get_params(context)], name
