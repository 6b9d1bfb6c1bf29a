"""ScoringModel: which model makes scores, as summaries, tables and columns name it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from features.storage.files import sha256
from qe.models import description


@dataclass(frozen=True)
class ScoringModel:
    """A model that is known before a job begins.

    named      as the user named it
    identity   its fingerprint: SHA-256 of its model.json, which holds those of all its files
    version    (name, version) in the registry, if it was named by it
    signed_by  the public key that the model was verified with
    """

    named: str
    folder: Path
    identity: str
    version: tuple[str, str] | None = None
    signed_by: Path | None = None

    @cached_property
    def name(self) -> str:
        """The name that it was trained by, as model.json says."""
        return description.read_unverified(self.folder).name

    @property
    def label(self) -> str:
        """What the column `model` says: name, version in the registry, begin of the fingerprint."""
        return f"{'/'.join(self.version or (self.name,))} {self.identity[:12]}"

    def to_json(self) -> dict[str, Any]:
        """Its name, its fingerprint, name and version in the registry, and the key of its signature."""
        registered, version = self.version or (None, None)
        return {
            "named": self.named,
            "name": self.name,
            "registered": registered,
            "version": version,
            "fingerprint": self.identity,
            "signed_by": None if self.signed_by is None else sha256(self.signed_by),
        }

    def in_table(self) -> Mapping[str, Any]:
        """Metadata of the model for a table.

        The user's name for it is left out, so that equal jobs give equal bytes.
        """
        return {name: value for name, value in self.to_json().items() if name != "named"}
