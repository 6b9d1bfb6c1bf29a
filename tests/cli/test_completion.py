"""Completion: what bash itself offers with the script that is printed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from qe.cli._verbs import verbs
from tests.factories import exit_code

BASH, ZSH = shutil.which("bash"), shutil.which("zsh")


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> str:
    assert exit_code("completion", "bash") == 0
    return capsys.readouterr().out


def offered(script: str, *words: str) -> list[str]:
    """What bash offers for the last word."""
    assert BASH
    line = f'COMP_WORDS=("$@"); COMP_CWORD={len(words)}; _qe; printf "%s\\n" "${{COMPREPLY[@]}}"'
    command = [BASH, "-c", f"{script}\n{line}", "bash", "qe", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.slow
@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sco",), ["score"]),
        (("data", ""), ["check", "formats", "fetch", "translate", "force"]),
        (("data", "check", "--fo"), ["--format"]),
        (("train", "x.yaml", "--over"), ["--overwrite"]),
        (("evaluate", "words", "--lay"), ["--layout"]),
        (("evaluate", "--test", ""), ["ar", "bootstrap", "win-ratio", "tukey", "scheffe"]),
        (("evaluate", "--gold", "g", "--correct", "ho"), ["holm"]),
        (("evaluate", "words", "--layout", "=", "w"), ["words"]),
        (("--ver",), ["--version"]),
        (("train", "x"), []),  # files, by `-o default`
    ],
)
def test_what_is_offered(script: str, words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(script, *words) == expected


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_every_verb_is_offered(script: str) -> None:
    assert sorted(offered(script, "")) == sorted([*verbs(), "--help", "--version"])


@pytest.mark.slow
@pytest.mark.skipif(ZSH is None, reason="zsh is not installed")
def test_zsh_completes_in_a_shell_that_has_not_begun_its_completion(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code("completion", "zsh")
    (tmp_path / "qe.zsh").write_text(printed := capsys.readouterr().out)
    assert printed.endswith(script) and ZSH
    command = [ZSH, "-f", "-c", f"source {tmp_path}/qe.zsh; print -- $_comps[qe]"]
    done = subprocess.run(command, capture_output=True, text=True, env={"HOME": str(tmp_path)}, check=True)
    assert done.stderr == "" and "_qe" in done.stdout
