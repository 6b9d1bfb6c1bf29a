"""The job that made an output, remembered for this user.

The same command then need not do it again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage.cache_folder import keep, recall
from features.storage.checksums import identity_of
from features.storage.files import digest
from features.storage.outputs import MARK, owner_of

_KEY = "scored"


@dataclass(frozen=True)
class Finished:
    """A finished output.

    It is known only if this user made it on this machine, and nothing changed it since.

    fingerprint  of all that the output depends on
    others       what an output of another fingerprint holds
    verb         whose folders count as outputs; those of others are refused by who writes
    """

    output: Path
    fingerprint: str
    others: str = "scores of another model, input or options"
    verb: str = ""

    def earlier(self, overwrite: bool) -> Mapping[str, Any] | None:
        """The record of the same job, if the output is its own.

        None if there is none, or to `overwrite`.

        Raises InputError if the output is another's.
        """
        if overwrite or not self.is_there:
            return None
        known = self._known()
        if known is None:
            raise InputError(
                "is there already",
                location=self.output,
                remedy="name another file, or replace it by --overwrite",
            )
        if known["fingerprint"] != self.fingerprint:
            raise InputError(
                f"holds {self.others}",
                location=self.output,
                remedy="name another file, or replace it by --overwrite",
            )
        summary: Mapping[str, Any] = known["summary"]
        return summary

    @property
    def is_there(self) -> bool:
        """Whether there is a file, or a folder that the verb has marked as its own.

        /dev/null is neither.
        """
        if not self.output.is_dir():
            return self.output.is_file()
        if not self.verb or self.verb not in (owner_of(self.output), owner_of(self.output.parent)):
            return False
        return any(file.name != MARK and file.suffix != ".lock" for file in self.output.iterdir())

    @property
    def is_known(self) -> bool:
        """Whether what lies there is what the same job made."""
        known = self._known() if self.is_there else None
        return known is not None and known["fingerprint"] == self.fingerprint

    def remember(self, summary: Mapping[str, Any]) -> None:
        """Remembers what made the output; `summary` must be plain values."""
        content = {"fingerprint": self.fingerprint, "state": _state(self.output), "summary": summary}
        keep(self._name, json.dumps(content))

    @property
    def _name(self) -> str:
        return digest(_KEY, str(self.output.resolve()))

    def _known(self) -> dict[str, Any] | None:
        text = recall(self._name)
        known: dict[str, Any] = {} if text is None else json.loads(text)
        return known if known.get("state") == _state(self.output) else None


def _state(path: Path) -> list[str]:
    if not path.is_dir():
        return [*identity_of(path.stat())]
    files = (file for file in sorted(path.rglob("*")) if file.is_file() and file.suffix != ".lock")
    return [part for file in files for part in (str(file.relative_to(path)), *identity_of(file.stat()))]
