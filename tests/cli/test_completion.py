"""Completion: what bash itself offers with the script that is printed."""

import shutil
import subprocess

import pytest

from qe.cli import main
from qe.cli._verbs import verbs

BASH = shutil.which("bash")


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "bash"])
    assert not ended.value.code
    return capsys.readouterr().out


def offered(script: str, *words: str) -> list[str]:
    """What bash offers for the last word."""
    assert BASH
    line = f'COMP_WORDS=("$@"); COMP_CWORD={len(words)}; _qe; printf "%s\\n" "${{COMPREPLY[@]}}"'
    command = [BASH, "-c", f"{script}\n{line}", "bash", "qe", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sco",), ["score"]),
        (("data", ""), ["check", "formats", "fetch", "translate"]),
        (("data", "check"), ["check"]),
        (("data", "check", "--fo"), ["--format"]),
        (("train", "x.yaml", "--over"), ["--overwrite"]),
        (("init", "x.tsv", "--higher"), ["--higher-is-better"]),
        (("train", "x"), []),  # files, by `-o default`
        (("data", "check", "x"), []),
    ],
)
def test_what_is_offered(script: str, words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(script, *words) == expected


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_every_verb_is_offered(script: str) -> None:
    assert offered(script, "") == verbs()


def test_zsh_reads_the_script_of_bash(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "zsh"])
    assert capsys.readouterr().out == "autoload -U +X bashcompinit && bashcompinit\n" + script
