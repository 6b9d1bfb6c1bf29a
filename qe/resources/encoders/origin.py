"""Origin of an encoder: a file beside it that says so, with the checksums of its files."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from features.basics.errors import InputError
from features.encoding.folder import EncoderFolder
from features.storage.damage import Damaged, read_json, whole

FILE: Final = "origin.json"
_TEXTS: Final = ("name", "source", "revision", "licence")
_REMEDY: Final = "make or fetch the encoder again"


@dataclass(frozen=True)
class Origin:
    """name      of the encoder
    source    what it was made of, or the repository it comes from
    revision  version of the package, or commit of the repository
    licence   as the source names it
    files     file -> SHA-256
    """

    name: str
    source: str
    revision: str
    licence: str
    files: Mapping[str, str]

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", "utf-8")

    def changed(self, folder: Path) -> list[str]:
        """The files that are read and are not what was recorded."""
        now = EncoderFolder(folder).checksums()
        return sorted(name for name in now if self.files.get(name) != now[name])


def origin_of(folder: Path) -> Origin | None:
    """What the folder says; None of an encoder that somebody put there.

    Raises InputError if the file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    content = read_json("the origin of the encoder", path, _REMEDY)
    with whole("the origin of the encoder", path, _REMEDY):
        return _origin(content)


def _origin(content: Mapping[str, Any]) -> Origin:
    name, source, revision, licence = texts = [content.get(key) for key in _TEXTS]
    files = content.get("files")
    if not isinstance(files, Mapping) or not all(isinstance(text, str) for text in (*texts, *files.values())):
        raise Damaged("it must hold name, source, revision, licence and files, all of them text")
    recorded = {str(file): str(value) for file, value in files.items()}
    return Origin(str(name), str(source), str(revision), str(licence), recorded)


def check_unchanged(origin: Origin, folder: Path) -> None:
    """Raises InputError if files are not what was recorded."""
    changed = origin.changed(folder)
    if changed:
        raise InputError(
            f"{', '.join(changed)} changed since the encoder was made or fetched",
            where=folder,
            remedy=_REMEDY,
        )
