"""Outputs that are there are replaced only with --overwrite; a verb more is a line more."""

from pathlib import Path

import pytest

from qe.cli import main

TEXTS = {"s": "the red house\n", "t": "la casa roja\n", "p": "la casa blanca\n", "q": "una casa\n"}
# Verb -> its command without the input that changes, and that input.
COMMANDS: dict[str, tuple[list[str], str]] = {
    "labels": (["labels", "--target", "t", "--target-language", "es", "-o", "out.tsv", "--post-edit"], "p"),
    "filter": (
        [
            *("filter", "-i", "s", "-o", "out.s", "-o", "out.tsv", "--languages", "en", "es"),
            *("--without", "language", "-i"),
        ],
        "t",
    ),
}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_same_command_leaves_its_output_and_another_does_not_replace_it(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    command, changing = COMMANDS[verb]
    assert run(*command, changing) == 0
    output, printed = tmp_path / "out.tsv", capsys.readouterr().out
    before = output.stat().st_mtime_ns, output.read_bytes()

    assert run(*command, changing) == 0
    told = capsys.readouterr()
    assert "made already by the same command" in told.err and told.out == printed
    assert (output.stat().st_mtime_ns, output.read_bytes()) == before

    assert run(*command, "q") == 2
    assert "--overwrite" in capsys.readouterr().err
    assert (output.stat().st_mtime_ns, output.read_bytes()) == before

    assert run(*command, "q", "--overwrite") == 0
    assert output.read_bytes() != before[1]

    output.write_text("mine")
    assert run(*command, "q") == 2
    assert output.read_text() == "mine"
