"""When a scoring job has failed though it ended.

No row was scored, or a condition of the user's holds.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from features.basics.errors import InputError
from qe.display.numbers import percent

_UNSCORED: Final = re.compile(r"unscored\s*>\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)(%?)")


@dataclass(frozen=True)
class Condition:
    """A condition of `--fail-if`.

    most      rows without a score that are borne; None: the condition is about drift
    is_share  whether `most` is a percentage of the rows
    """

    text: str
    most: float | None = None
    is_share: bool = False

    @classmethod
    def parsed(cls, text: str) -> "Condition":
        """Raises InputError for a text of another form.

        >>> Condition.parsed("unscored>1%")
        Condition(text='unscored>1%', most=1.0, is_share=True)
        """
        if text.strip() == "drift":
            return cls("drift")
        found = _UNSCORED.fullmatch(text.strip())
        if found is None or (found[2] and float(found[1]) > 100) or (not found[2] and "." in found[1]):
            raise InputError(
                f"expected 'unscored>1%', 'unscored>100' or 'drift', but got '{text}'", location="--fail-if"
            )
        return cls(text.strip(), float(found[1]), bool(found[2]))

    def failed(self, rows: int, scored: int, drift: Sequence[str]) -> str:
        """How it holds; empty if it does not."""
        if self.most is None:
            return f"{self.text}: {'; '.join(drift)}" if drift else ""
        unscored = rows - scored
        borne = self.most * rows / 100 if self.is_share else self.most
        share = f" ({percent(unscored / rows)})" if rows else ""
        return f"{self.text}: {unscored:,} of {rows:,} rows{share} have no score" if unscored > borne else ""


def failures(
    conditions: Iterable[Condition], rows: int, scored: int, drift: Sequence[str] = ()
) -> Iterator[str]:
    """Why a job has failed, a sentence each.

    `drift` says how its input departs from the training data.
    """
    if not scored:
        yield f"none of {rows:,} rows was scored"
    for condition in conditions:
        told = condition.failed(rows, scored, drift)
        if told:
            yield told
