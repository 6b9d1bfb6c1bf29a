"""Outputs of verbs are not replaced silently, and the same command does not make them again."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_OTHERS = "what another command, other inputs or other options made"


@dataclass(frozen=True)
class Once:
    """The output files of a command.

    verb         as messages name it
    fingerprint  of its inputs and options
    """

    verb: str
    outputs: Sequence[Path]
    fingerprint: str

    @classmethod
    def of(
        cls,
        verb: str,
        outputs: Sequence[Path | None],
        inputs: Sequence[Path | None],
        options: Mapping[str, Any],
    ) -> "Once":
        """The command with the files it writes and reads, and all options that change what is written.

        An input that is not there is told by who reads it.
        """
        from features.basics.packages import version
        from features.storage.files import digest, sha256

        written = [path for path in outputs if path is not None]
        there = [path for path in inputs if path is not None and path.is_file()] if written else []
        read = [sha256(path) for path in there]
        said = json.dumps(dict(options), sort_keys=True, default=str)
        return cls(verb, written, digest("once", version(), verb, *read, said))

    def earlier(self, overwrite: bool) -> Mapping[str, Any] | None:
        """What was kept when the same command made all of the outputs, which is said; None if it is to run.

        Raises InputError if an output is there that another command made, or that was changed since.
        """
        kept: list[Mapping[str, Any] | None] = [each.earlier(overwrite) for each in self._finished]
        if not kept or any(one is None for one in kept):
            return None
        names = ", ".join(map(str, self.outputs))
        print(
            f"qe {self.verb}: {names}: made already by the same command, and left as it is", file=sys.stderr
        )
        return kept[0]

    def remember(self, summary: Mapping[str, Any]) -> None:
        """Remembers that the outputs are made; `summary`, plain values, is what the command prints."""
        for each in self._finished:
            each.remember(summary)

    @property
    def _finished(self) -> list[Any]:
        from qe.scoring.finished import Finished

        return [Finished(path, self.fingerprint, _OTHERS) for path in self.outputs]
