"""What a run must not append to, and what it may: each refused within seconds, and unchanged."""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import optuna
import pytest

from features.basics.errors import InputError
from qe.config import stores
from qe.config.stores import STUDY_TABLES, check_database, check_journal, check_study_storage
from qe.training.study import mended, quiet, storage_at

RECORD = b'{"op_code":0,"worker_id":"w","study_name":"s","directions":[1]}\n'


def holding(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


def linked(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def make_and_link(path: Path) -> None:
        make(path.with_name("original"))
        path.symlink_to(path.with_name("original"))

    return make_and_link


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE notes (text TEXT)")
        database.commit()


def foreign_database_with_log(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE notes (text TEXT)")
        database.commit()


def looped_lock(path: Path) -> None:
    Path(f"{path}.lock").symlink_to(f"{path}.lock")


FILES: dict[str, Callable[[Path], None]] = {
    "a thesis without a final line end": holding(b"All of it in one line"),
    "notes": holding(b"one\ntwo\n"),
    "an empty line": holding(b"\n"),
    "JSON lines": holding(b'{"source": "a", "target": "b"}\n' * 3),
    "numbers": holding(b"0.5\n0.25\n"),
    "a JSON file in one line": holding(b'{"a": 1}'),
    "binary data": holding(bytes(range(256))),
    "a link to notes": linked(holding(b"one\ntwo\n")),
    "a link to itself": lambda path: path.symlink_to(path),
    "a folder": lambda path: path.mkdir(),
    "a pipe": lambda path: os.mkfifo(path),
    "a link to /dev/full": lambda path: path.symlink_to("/dev/full"),
    "a database": foreign_database,
    "a lock that leads nowhere": looped_lock,
    "a file in place of the lock": lambda path: Path(f"{path}.lock").touch(),
}
DATABASES: dict[str, Callable[[Path], None]] = {
    "notes": FILES["notes"],
    "a thesis": FILES["a thesis without a final line end"],
    "a link to itself": FILES["a link to itself"],
    "a pipe": FILES["a pipe"],
    "a folder": FILES["a folder"],
    "a link to /dev/full": FILES["a link to /dev/full"],
    "a database of another program": foreign_database,
    "a link to such a database": linked(foreign_database),
    "a database of another program with a log": foreign_database_with_log,
}


WAIT = 0.3  # seconds, here: no other process is at work
LONGEST = max(stores.LOCK_SECONDS, stores.POLLING)


@pytest.fixture(autouse=True)
def no_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "LOCK_SECONDS", WAIT)
    monkeypatch.setattr(stores, "POLLING", WAIT)


def state(folder: Path) -> dict[str, bytes | None]:
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


@pytest.mark.parametrize("use", [check_study_storage, mended, storage_at])
@pytest.mark.parametrize(
    ("address", "make"),
    [*(("{}", make) for make in FILES.values()), *(("sqlite:///{}", make) for make in DATABASES.values())],
    ids=[*FILES, *(f"database: {name}" for name in DATABASES)],
)
def test_what_is_no_study_is_refused_unchanged(
    address: str, make: Callable[[Path], None], use: Callable[[str], object], tmp_path: Path
) -> None:
    path = tmp_path / "store"
    make(path)
    before = state(tmp_path)
    started = time.monotonic()
    with pytest.raises(InputError):
        use(address.format(path))
    assert time.monotonic() - started - WAIT + LONGEST < 5
    assert state(tmp_path) == before


@pytest.mark.parametrize(
    "address",
    [
        "/dev/full", ":memory:", "sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true", "://",
        "host=db user=qe password=S3cret", "dbname=studies", "HOST = db", "password=S3cret",
        "postgresql://qe@db/studies?password=S3cret", "no\0name",
    ],
)  # fmt: skip
def test_addresses_without_a_store_are_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (check_study_storage, storage_at):
        with pytest.raises(InputError) as caught:
            use(address)
        assert "S3cret" not in str(caught.value) and "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content", [b"", RECORD, RECORD * 2 + RECORD[:9], RECORD[:30], RECORD[:5], bytes(40), RECORD + bytes(90)]
)
def test_journals_and_what_a_crash_leaves_of_one_are_accepted(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    path.write_bytes(content)
    check_journal(path)
    (tmp_path / "link").symlink_to(path)
    check_study_storage(str(tmp_path / "link"))
    assert path.read_bytes() == content


def test_a_damaged_journal_is_refused_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    path.write_bytes(RECORD + b"notes\n" + RECORD)
    with pytest.raises(InputError):
        storage_at(str(path))
    assert path.read_bytes() == RECORD + b"notes\n" + RECORD


def test_new_files_and_studies_are_accepted(tmp_path: Path) -> None:
    for address in (
        str(tmp_path / "new"),
        f"sqlite:///{tmp_path / 'new.db'}",
        f"sqlite:///{tmp_path / 'x y'}",
    ):
        for _ in range(2):
            with quiet():
                optuna.create_study(study_name="s", storage=storage_at(address), load_if_exists=True)
    (tmp_path / "empty.db").touch()
    check_database(f"sqlite:///{tmp_path / 'empty.db'}", STUDY_TABLES)
    check_study_storage("postgresql+psycopg://qe@db/studies")


def test_a_lock_is_waited_for_if_it_can_be_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock of a relative path leads to the journal, so that its age shows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    storage_at("runs/study.journal")
    Path("runs/study.journal.lock").symlink_to(tmp_path / "runs" / "study.journal")
    check_journal(Path("runs/study.journal"))
