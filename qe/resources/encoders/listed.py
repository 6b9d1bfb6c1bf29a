"""The user's encoders as a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.encoding.folder import EncoderFolder, encoder_names, encoders_home
from qe.display.numbers import number
from qe.display.table import Column, Table
from qe.resources.encoders.origin import origin_of


def listed() -> list[dict[str, Any]]:
    """An entry for every folder among the user's encoders."""
    return [entry(encoders_home() / name) for name in encoder_names()]


def entry(folder: Path) -> dict[str, Any]:
    """Name, source, revision, licence and size of an encoder; `problem`: why it cannot be read, or empty."""
    told: dict[str, Any] = {"name": folder.name, "folder": str(folder)}
    try:
        origin, place = origin_of(folder), EncoderFolder(folder)
        size = sum((folder / name).stat().st_size for name in place.files())
    except InputError as error:
        return {**told, "source": "", "revision": "", "licence": "", "size": 0, "problem": str(error)}
    known = ("", "", "") if origin is None else (origin.source, origin.revision, origin.licence)
    return {
        **told,
        **dict(zip(("source", "revision", "licence"), known, strict=True)),
        "size": size,
        "problem": "",
    }


def table(entries: Sequence[Mapping[str, Any]]) -> Table:
    """The entries for people."""
    columns = [Column("name"), Column("source"), Column("revision", drop=1), Column("licence"), Column("MB")]
    return Table(f"{len(entries)} in {encoders_home()}", columns, [_row(each) for each in entries])


def _row(encoder: Mapping[str, Any]) -> list[Any]:
    if encoder["problem"]:
        return [encoder["name"], f"not readable: {encoder['problem']}", "", "", number(0.0, 0)]
    source = encoder["source"] or "brought by you"
    return [
        encoder["name"],
        source,
        encoder["revision"][:12],
        encoder["licence"],
        number(encoder["size"] / 1e6, 0),
    ]
