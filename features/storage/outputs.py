"""Output paths: apart from inputs, owned by no one else, locked by one process."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from features.basics.errors import InputError
from features.storage.files import check_writable, refusals, resolved, tidy

MARK = ".qe-output"  # names the verb that a folder belongs to
_LOCK_SECONDS = 2.0  # seconds in which a process that was killed lets go of its lock
_REMEDY = "choose another output"


def check_output(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Raises InputError if the file `path` cannot be written, or is one of the inputs."""
    check_writable(path)
    check_no_overlap(path, inputs)


def check_outside(output: Path, folder: Path) -> None:
    """Raises InputError for an output within a folder such as a model's, which has no other files."""
    if any(_is_same_file(folder, above) for above in resolved(output).parents):
        raise InputError(f"would be a part of {folder}", location=output, remedy=_REMEDY)


def check_no_overlap(output: Path, inputs: Iterable[Path]) -> None:
    """Raises InputError if `output` is an input, or part of one, by device and inode."""
    for given in inputs:
        if _is_same_file(output, given):
            raise InputError("is an input too", location=output, remedy=_REMEDY)
        if any(_is_same_file(output, above) for above in resolved(given).parents):
            raise InputError(f"holds the input {given}", location=output, remedy=_REMEDY)
        if output.exists() and any(_is_same_file(given, above) for above in resolved(output).parents):
            raise InputError(f"is a part of the input {given}", location=output, remedy=_REMEDY)


def _is_same_file(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:  # one of them is not there (yet)
        return resolved(first) == resolved(second)


@contextmanager
def locked_file(path: Path, patience: float = _LOCK_SECONDS) -> Iterator[None]:
    """Keeps other processes that use the same lock, `.NAME.lock`, from writing the file `path`.

    Raises InputError if another process holds it for `patience` seconds, or the folder cannot be written.
    """
    path = resolved(path)
    with _created_folder(path.parent, path), _locked(path.with_name(f".{path.name}.lock"), path, patience):
        tidy(path)
        yield


@contextmanager
def locked_folder(
    path: Path,
    verb: str,
    *,
    inputs: Iterable[Path] = (),
    earlier_files: Iterable[str] = (),
    allowed_verbs: Iterable[str] = (),
) -> Iterator[None]:
    """Locks `path` as the output folder of a verb: new, empty, or marked as an earlier output of the verb.

    inputs         must be outside
    earlier_files  patterns (of `Path.glob`) of files that identify an earlier output without a mark
    allowed_verbs  verbs whose folders this verb may use

    Raises InputError for a folder with other content, and if another process holds the folder.
    """
    verbs = (verb, *allowed_verbs)
    check_no_overlap(path, inputs)
    _is_new(path, verbs, earlier_files)
    mark, lock = path / MARK, path / f".{verb}.lock"
    with _created_folder(path, path), _locked(lock, path):
        new = _is_new(path, verbs, earlier_files)
        try:
            if new:
                with refusals(path):
                    mark.write_text(f"qe {verb}\n", "utf-8")
            yield
        finally:
            if new and {left.name for left in path.iterdir()} <= {mark.name, lock.name}:
                mark.unlink(missing_ok=True)


def _is_new(path: Path, verbs: tuple[str, ...], earlier_files: Iterable[str]) -> bool:
    """Whether the folder holds no output yet; raises InputError if it holds anything of others."""
    resolved(path)
    if path.exists() and not path.is_dir():
        raise InputError("is a file, not a directory", location=path, remedy=_REMEDY)
    owner = owner_of(path)
    if owner is not None:
        if owner not in verbs:
            raise InputError(
                f"holds output of `qe {owner}`, not of `qe {verbs[0]}`", location=path, remedy=_REMEDY
            )
        return False
    if any(next(path.glob(pattern), None) for pattern in earlier_files):
        return False
    names = sorted(left.name for left in path.iterdir()) if path.is_dir() else []
    for name in names:
        if not _is_empty_own(path / name):
            problem = f"holds {name!r} and no output of `qe {verbs[0]}`"
            raise InputError(problem, location=path, remedy=_REMEDY)
    return True


def owner_of(path: Path) -> str | None:
    """The verb that marked the folder; None without a mark, or with an empty one after a full disk."""
    try:
        content = (path / MARK).read_text("utf-8", "replace")
    except OSError:
        return None
    return content.strip().removeprefix("qe ") or None


def _is_empty_own(path: Path) -> bool:
    own = path.name == MARK or (path.name.startswith(".") and path.suffix == ".lock")
    return own and path.stat().st_size == 0


@contextmanager
def _locked(lock: Path, output: Path, patience: float = _LOCK_SECONDS) -> Iterator[None]:
    held = FileLock(lock, timeout=patience)
    with refusals(output):
        try:
            held.acquire()
        except Timeout:
            raise InputError(
                "another process is writing this output",
                location=output,
                remedy="wait until it has ended, or choose another output",
            ) from None
    try:
        yield
    finally:
        if _is_empty_own(lock):  # a file of this name that holds something is no lock of ours
            lock.unlink(missing_ok=True)
        held.release()


@contextmanager
def _created_folder(folder: Path, output: Path) -> Iterator[None]:
    new = [above for above in (folder, *folder.parents) if not above.exists()]
    with refusals(output):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # not empty, or gone
            for above in new:
                above.rmdir()
