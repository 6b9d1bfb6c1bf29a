"""A part of a bundle on disk: files compared with their checksums, loaded, arrays checked."""

import json
from collections.abc import Mapping
from pathlib import Path

from features.core.resource import Resource, kind_of
from features.storage.checksums import checksums, regular_files, verify
from features.storage.files import digest
from features.storage.remembered import keep, recall

_LARGE = 1 << 20  # bytes; that the arrays of such a part are sound is remembered
_CHECKS = 2  # to be raised with any `check_arrays`, so that it is asked again


def exported(name: str) -> bool:
    """Whether a file is a text export for other tools (ARPA), which no part is loaded from."""
    return ".arpa" in Path(name).suffixes


def part_files(folder: Path) -> dict[str, str]:
    """The checksums of what a part is loaded from."""
    return checksums(folder, [name for name in regular_files(folder) if not exported(name)])


def load_part(
    folder: Path, kind: type[Resource], recorded: Mapping[str, str], *, verified: bool = False
) -> Resource:
    """The part in `folder`.

    recorded  its checksums when it was saved
    verified  whether its files have been compared with them already

    Raises Damaged if files have changed or arrays are not sound.
    """
    if not verified:
        verify(folder, recorded, [name for name in regular_files(folder) if exported(name)])
    resource = kind.load(folder)
    check_once(resource, folder, recorded)
    return resource


def check_once(resource: Resource, folder: Path, files: Mapping[str, str]) -> None:
    """`check_stored`; of a large part with the same files as before its settings alone."""
    resource.check_settings()
    large = sum((folder / name).stat().st_size for name in files) >= _LARGE
    kind = kind_of(type(resource)), resource.version, _CHECKS
    name = f"sound-{digest(*kind, json.dumps(dict(files), sort_keys=True))}"
    if not large or recall(name) is None:
        resource.check_arrays()
        if large:
            keep(name, "")
