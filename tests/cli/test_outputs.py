"""Outputs that exist are replaced only with --overwrite."""

from pathlib import Path

import pytest

from qe.cli._verbs import commands, verbs
from qe.cli.shared.commands import OWN_CHECK
from tests.factories import Monkeypatch, exit_code, ran

FILES = {
    "t": "la casa roja\n",
    "p": "la casa blanca\n",
    "gold": "1\n2\n3\n4\n5\n2\n",
    "a": "1\n2\n2\n4\n5\n3\n",
    "b": "2\n2\n3\n4\n4\n1\n",
}
COMMANDS = [
    ("labels --target t --target-language es --post-edit p", "out.tsv"),
    ("filter -i t -i p --languages es es --without language -o out.s", "out.tsv"),
    ("evaluate --gold gold --predictions a --samples 99", "out.json"),
    ("power --gold gold --predictions m=a n=b --samples 99 --simulations 100", "out"),
    ("schema report", "out.json"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: Monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("command", "output"), COMMANDS)
def test_an_output_that_exists_is_refused_without_overwrite(command: str, output: str, folder: Path) -> None:
    words = [*command.split(), "-o", output]
    assert exit_code(*words) == 0
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert "--overwrite" in ran(*words, code=2).err
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert exit_code(*words, "--overwrite") == 0


def test_every_command_that_writes_replaces_nothing_unasked() -> None:
    """By its option --overwrite, or as its own tests show."""
    known = {name: command for verb in verbs() for name, command in commands(verb).items()}
    assert known.keys() >= OWN_CHECK
    for name, command in known.items():
        if command.outputs:
            assert "overwrite" in [option.parameter for option in command.options], name


LOOPED = [
    "evaluate --gold gold --predictions a -o loop",
    "init loop --kind tsv --source-language en --target-language de",
    "labels --target loop --post-edit p --target-language es -o out.tsv",
    "train loop",
    "resources build --source t --target p -o loop",
    "score --model m --input t -o loop",
]


@pytest.mark.parametrize("command", LOOPED)
def test_a_loop_of_links_is_one_message(command: str, folder: Path) -> None:
    (folder / "loop").symlink_to("other")
    (folder / "other").symlink_to("loop")
    assert ran(*command.split(), code=2).err.count("\n") == 1
    assert (folder / "loop").is_symlink() and (folder / "other").is_symlink()


def test_the_old_name_of_an_option_is_taken_with_a_notice(folder: Path) -> None:
    command = ["score", "--model", "none", "--input", "t", "--output", "out.tsv", "--known=before.tsv"]
    first, second = ran(*command, code=2).err.splitlines()
    assert first == "qe score: --known is now --reuse-scores; the old name will be removed"
    assert "before.tsv: no such file" in second
