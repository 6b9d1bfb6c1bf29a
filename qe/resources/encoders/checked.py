"""Encoders of the user: origin and checksums, checks (vectors, speed), a table."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import parsed
from features.encoding.encoded import TextEncoder
from features.encoding.folder import EncoderFolder, EncoderSettings, encoder_names, encoders_home
from features.storage.damage import damage_reported, read_json
from qe.display.numbers import number
from qe.display.table import Column, Table

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


def listed() -> list[dict[str, Any]]:
    return [entry(encoders_home() / name) for name in encoder_names()]


def entry(folder: Path) -> dict[str, Any]:
    """Name, source, revision, licence and size of an encoder; `problem`: why it cannot be read, or empty."""
    listing: dict[str, Any] = {
        "name": folder.name, "folder": str(folder), "source": "", "revision": "", "licence": "", "size": 0,
        "problem": "",
    }  # fmt: skip
    try:
        origin, place = origin_of(folder), EncoderFolder(folder)
        listing["size"] = sum((folder / name).stat().st_size for name in place.files())
    except InputError as error:
        return {**listing, "problem": str(error)}
    if origin is not None:
        listing |= {key: getattr(origin, key) for key in ("source", "revision", "licence")}
    return listing


def table(entries: Sequence[Mapping[str, Any]]) -> Table:
    columns = [Column("name"), Column("source"), Column("revision", drop=1), Column("licence"), Column("MB")]
    rows = []
    for each in entries:
        problem, megabytes = each["problem"], number(each["size"] / 1e6, 0)
        source = f"not readable: {problem}" if problem else each["source"] or "brought by you"
        rows.append([each["name"], source, each["revision"][:12], each["licence"], megabytes])
    return Table(f"{len(entries)} in {encoders_home()}", columns, rows)


# Three sentences, and their translations.
ENGLISH: Final = (
    "The church is on the hill.",
    "The government has cut taxes for small firms.",
    "She plays the violin in an orchestra.",
)
GERMAN: Final = (
    "Die Kirche steht auf dem Hügel.",
    "Die Regierung hat die Steuern für kleine Firmen gesenkt.",
    "Sie spielt Geige in einem Orchester.",
)
_REPEATS: Final = 8  # of the sentences, to time them


@dataclass(frozen=True, eq=False)
class Checked:
    """Measurements of an encoder: cosines (3, 3) of sentences, and pairs a second of processor time.

    `aligned`: whether every sentence is nearest to its own translation, in both directions.
    """

    folder: Path
    dimensions: int
    vectors_of_tokens: bool
    prompt: str
    cosines: FloatArray
    aligned: bool
    pairs_per_cpu_second: float

    def lines(self) -> list[str]:
        own = self.cosines.diagonal().mean()
        other = (self.cosines.sum() - self.cosines.trace()) / 6
        nearest = (
            "each is nearest to its translation" if self.aligned else "NOT each nearest to its translation"
        )
        return [
            f"{self.folder}: {self.dimensions} dimensions, {'with' if self.vectors_of_tokens else 'no'}"
            f" vectors of tokens, prompt {self.prompt!r}",
            f"three English sentences and their German translations: cosine {own:.3f}, "
            f"with the others {other:.3f}; {nearest}",
            f"{self.pairs_per_cpu_second:.0f} pairs of them a second of processor time",
        ]


def check_encoder(folder: Path) -> Checked:
    """Reads the folder and compares three sentences in two languages."""
    origin = origin_of(folder)
    if origin is not None:
        check_unchanged(origin, folder)
    place = EncoderFolder(folder)
    encoder, prompt = place.load(EncoderSettings()), place.prompt
    english, german = (vectors(encoder, texts, prompt) for texts in (ENGLISH, GERMAN))
    has_tokens = bool(encoder.encode(ENGLISH[:1], prompt)[0].tokens.size)
    speed = pairs_a_second(encoder, prompt)
    cosines = english @ german.T
    aligned = all((cosines.argmax(axis) == np.arange(len(cosines))).all() for axis in (0, 1))
    return Checked(folder, english.shape[1], has_tokens, prompt, cosines.round(6), aligned, speed)


def vectors(encoder: TextEncoder, texts: Sequence[str], prompt: str) -> FloatArray:
    """(n, d) vectors of length 1. Raises InputError for a text that the encoder does not know."""
    rows = []
    for text, each in zip(texts, encoder.encode(texts, prompt), strict=True):
        if each.vector is None:
            raise InputError(
                f"the encoder knows no token of {text!r}", remedy="take an encoder of English and German"
            )
        rows.append(each.vector / np.linalg.norm(each.vector))
    return np.array(rows, np.float64)


def pairs_a_second(encoder: TextEncoder, prompt: str) -> float:
    texts = [*ENGLISH, *GERMAN] * _REPEATS
    started = time.process_time()
    encoder.encode(texts, prompt)
    return len(texts) / 2 / max(time.process_time() - started, 1e-9)
