"""Large files of a folder: they are stored once, directly in the artifact store."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from features.storage.files import link_or_copy

# Bytes. Large files of a model's folder are resources and fitted word models, nothing that is edited by hand.
LARGE = 1 << 20


def large_files(folder: Path) -> list[Path]:
    """The files of LARGE bytes or more, relative to `folder`, in order."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size >= LARGE)
    return sorted(path.relative_to(folder) for path in paths)


@contextmanager
def copy_without(folder: Path, excluded: Sequence[Path]) -> Iterator[Path]:
    """A temporary copy of `folder`, with its name, without the files `excluded` (relative paths).

    `folder` itself if there are none.
    """
    if not excluded:
        yield folder
        return
    skipped = {folder / path for path in excluded}

    def ignore(parent: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(parent, name) in skipped]

    with TemporaryDirectory() as scratch:
        yield Path(shutil.copytree(folder, Path(scratch) / folder.name, ignore=ignore))


def bring(folder: Path, files: Iterable[Path], target: Path) -> None:
    """Gives files (relative paths) of `folder` a second name below `target`; else copies them."""
    for path in files:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(folder / path, target / path)
