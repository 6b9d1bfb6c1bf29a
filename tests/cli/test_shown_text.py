"""Text of unknown origin does nothing to a terminal: what nobody sees is escaped."""

import io
import json
import sys
import warnings
from collections.abc import Callable

import pytest

from features.basics.errors import InputError
from qe.cli._log import JsonLog, TextLog
from qe.cli._process import standard_streams
from qe.cli.shared import progress
from qe.display.summary import say, show
from qe.display.table import Column, Table
from qe.production.server.monitoring import write_stderr
from tests.factories import Capsys, Monkeypatch, exit_code

# Colour, title, carriage return, C1 control, deletion, override of direction, isolate.
UNSEEN = "a\x1b[8mb\x1b]0;t\x07c\rd\x9be\x7ff\u202eg\u2066h"
SHOWN = r"a\x1b[8mb\x1b]0;t\x07c\rd\x9be\x7ff\u202eg\u2066h"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def error() -> None:
    print(InputError(f"unknown model {UNSEEN}"), file=sys.stderr)


def bars() -> None:
    with progress.progress_bar() as report:
        report(UNSEEN, 1, 2)
        print(UNSEEN, file=sys.stderr)


MESSAGES: dict[str, Callable[[], object]] = {
    "a print": lambda: print(UNSEEN, file=sys.stderr),
    "lines": lambda: sys.stderr.writelines([UNSEEN]),
    "an error": error,
    "a note": lambda: TextLog("filter").tell("note", UNSEEN),
    "a warning": lambda: warnings.warn(UNSEEN, FutureWarning, stacklevel=1),
    "a line of the server": lambda: write_stderr(UNSEEN),
    "beside bars": bars,
}


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
@pytest.mark.parametrize("name", MESSAGES)
@pytest.mark.filterwarnings("default")
def test_messages_are_escaped_in_terminals_and_files(
    name: str, stream: type[io.StringIO], monkeypatch: Monkeypatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setattr(warnings, "showwarning", lambda text, *rest: print(text, file=sys.stderr))
    with standard_streams():
        MESSAGES[name]()
    written = sys.stderr.getvalue()  # type: ignore[attr-defined]
    if name == "beside bars":  # whose own control sequences stay
        assert "\u202e" not in written and "\x9b" not in written
        assert "]0;t" not in written.replace("\\x1b]0;t", "")
    else:
        assert SHOWN in written and not set(UNSEEN) & set(written) - set(SHOWN)


DATA: dict[str, Callable[[], object]] = {
    "a table": lambda: show(Table("", [Column("model")], [[UNSEEN.replace("\r", "")]])),
    "a sentence": lambda: say(UNSEEN.replace("\r", "")),
    "a print": lambda: print(UNSEEN.replace("\r", "")),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_data_are_escaped_in_terminals_alone(
    name: str, stream: type[io.StringIO], monkeypatch: Monkeypatch
) -> None:
    monkeypatch.setattr(sys, "stdout", stream())
    monkeypatch.setattr("shutil.get_terminal_size", lambda: type("Size", (), {"columns": 200}))
    with standard_streams():
        DATA[name]()
    written = sys.stdout.getvalue()  # type: ignore[attr-defined]
    expected = SHOWN.replace(r"\r", "") if stream is Terminal else UNSEEN.replace("\r", "")
    assert expected in written


def test_a_log_in_json_stays_json(monkeypatch: Monkeypatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with standard_streams():
        JsonLog("score").tell("note", UNSEEN + "é")
    line = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert json.loads(line)["message"] == UNSEEN + "é" and "é" in line
    assert not set(UNSEEN) & set(line) - set(SHOWN)


def test_a_refusal_of_the_system_names_the_file_escaped(capsys: Capsys, monkeypatch: Monkeypatch) -> None:
    def fails(*rest: object) -> None:
        raise OSError(13, "Permission denied", UNSEEN)

    monkeypatch.setattr("qe.cli._main._run", fails)
    assert exit_code("models", "list") == 2 and f"{SHOWN}: Permission denied" in capsys.readouterr().err
