"""Origin of an encoder: a file in its folder, with the checksums of the other files."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from features.basics.errors import InputError
from features.basics.hints import parsed
from features.encoding.folder import EncoderFolder
from features.storage.damage import damage_reported, read_json

FILE: Final = "origin.json"
_REMEDY: Final = "make or fetch the encoder again, with --overwrite"


@dataclass(frozen=True)
class Origin:
    """How an encoder was made: source, revision, licence, files (SHA-256), and the command."""

    name: str
    source: str
    revision: str
    licence: str
    files: Mapping[str, str]
    command: str = ""

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", "utf-8")

    def changed(self, folder: Path) -> list[str]:
        now = EncoderFolder(folder).checksums()
        return sorted(name for name in now if self.files.get(name) != now[name])


def origin_of(folder: Path) -> Origin | None:
    """What the folder says; None for an encoder that somebody put there."""
    path = folder / FILE
    if not path.is_file():
        return None
    content = read_json("the origin of the encoder", path, _REMEDY)
    with damage_reported("the origin of the encoder", path, _REMEDY):
        return parsed(content, Origin)  # type: ignore[no-any-return]


def is_up_to_date(output: Path, command: str, overwrite: bool) -> bool:
    """Whether the same command made the encoder in `output`; False if it is to be overwritten."""
    if not output.exists():
        return False
    origin = origin_of(output) if output.is_dir() else None
    if origin is None or not origin.command:
        raise InputError(
            "is there already, and `qe encoders` did not make it",
            location=output,
            remedy="name another folder by --output, or delete it first",
        )
    if overwrite:
        return False
    if origin.command == command:
        with suppress(InputError):  # files are gone
            if not origin.changed(output):
                return True
    changed = ", changed since" if origin.command == command else ""
    raise InputError(
        f"holds what `qe encoders {origin.command}` made{changed}",
        location=output,
        remedy="name another folder by --output, or replace it by --overwrite",
    )


def check_unchanged(origin: Origin, folder: Path) -> None:
    changed = origin.changed(folder)
    if changed:
        raise InputError(
            f"{', '.join(changed)} changed since the encoder was made or fetched",
            location=folder,
            remedy=_REMEDY,
        )
